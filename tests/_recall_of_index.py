"""Recall of an index beside exact search."""

import numpy as np


def normal(n, d, seed):
    return np.random.default_rng(seed).normal(size=(n, d))


def best_ten(rows, queries):
    return np.argsort(-(queries @ rows.T), axis=1, kind="stable")[:, :10]


def measured(index, rows, queries):
    ids = index.query(queries, 10)[0]
    hits = [np.isin(*pair).mean() for pair in zip(ids, best_ten(rows, queries), strict=True)]
    return np.mean(hits)

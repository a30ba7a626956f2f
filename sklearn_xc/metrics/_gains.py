"""Discounted gains of ranked labels: the formula of nDCG, which searches of parameters use too."""

import numpy as np


def discounts(n_ranks: int) -> np.ndarray:
    """Return 1 / log2(r + 1) for the ranks r = 1..n_ranks."""
    return 1 / np.log2(np.arange(2, n_ranks + 2))


def ndcg_of_rows(hits: np.ndarray, n_true: np.ndarray, k: int | None = None) -> np.ndarray:
    """Return the nDCG@k of each row of hits, 0 where no label is true.

    `n_true` are the true labels of each row, k the ranks that a perfect ranking fills, by default
    those of `hits`, which may be fewer than k.
    """
    k = hits.shape[1] if k is None else k
    # ideal[m] is the gain of m true labels at the first m ranks; 1 of none, for 0 / 1
    ideal = np.concatenate([[1.0], discounts(k).cumsum()])
    return hits @ discounts(hits.shape[1]) / ideal[np.minimum(n_true, k)]

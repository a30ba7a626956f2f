"""Ten lines of NumPy that TopKNeighborsClassifier is held against."""

import numpy as np
from scipy import sparse


def unit(X):
    X = (X.toarray() if sparse.issparse(X) else np.asarray(X)).astype(np.float64)
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(lengths > 0, lengths, 1)


def nearest(X, Q, k):
    """Similarities and numbers of the k nearest rows, ties to the smaller number."""
    similarities = unit(Q) @ unit(X).T
    ids = np.argsort(-similarities.round(12), axis=1, kind="stable")[:, :k]
    return np.take_along_axis(similarities, ids, axis=1), ids


def scores(X, Y, Q, k, p, q=0.0, w=0.0, texts=(), weight=None):
    """Scores of all labels: ``f ** -q (sum of s ** p + w t ** p)``."""
    Y = (Y.toarray() if sparse.issparse(Y) else np.asarray(Y)).astype(np.float64)
    weight = np.ones(len(Y)) if weight is None else np.asarray(weight, dtype=np.float64)
    similarities, ids = nearest(X, Q, k)
    votes = np.where(similarities > 0, np.maximum(similarities, 0) ** p, 0) * weight[ids]
    sums = np.einsum("ij,ijl->il", votes, Y[ids])
    if len(texts):
        best = np.max([np.maximum(unit(Q) @ unit(T).T, 0) for T in texts], axis=0)
        sums = sums + w * np.where(best > 0, best**p, 0)
    frequencies = weight @ (Y != 0)
    return sums * np.where(frequencies > 0, frequencies, 1.0) ** -q


def best(values, k):
    return np.argsort(-values.round(10), axis=1, kind="stable")[:, :k]

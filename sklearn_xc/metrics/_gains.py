"""Discounted gains of ranked labels: the formula of nDCG, which searches of parameters use too."""

import numpy as np


def discounts(n_ranks: int) -> np.ndarray:
    """Return 1 / log2(r + 1) for the ranks r = 1..n_ranks."""
    return 1 / np.log2(np.arange(2, n_ranks + 2))


def ndcg_of_rows(hits: np.ndarray, n_true: np.ndarray, k: int | None = None) -> np.ndarray:
    """Return the nDCG@k of each row, 0 where no label is true.

    Parameters
    ----------
    hits : ndarray of bool (n_rows, n_ranks)
        Whether the label at each rank is true.
    n_true : ndarray of int (n_rows,)
        True labels of each row.
    k : int, default=None
        Ranks that a perfect ranking fills; by default n_ranks, which is at most k.
    """
    k = hits.shape[1] if k is None else k
    ideal = np.concatenate([[1.0], discounts(k).cumsum()])  # of no true label: 0 / 1
    return hits @ discounts(hits.shape[1]) / ideal[np.minimum(n_true, k)]

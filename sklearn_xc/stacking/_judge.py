"""Quality of an order of candidates: nDCG@5 on samples."""

import numpy as np
from scipy import sparse

from ..metrics._gains import ndcg_of_rows
from ..topk._restriction import best_of_each

TOP = 5


def hits_of(row: np.ndarray, places: np.ndarray, truth: sparse.csr_array) -> np.ndarray:
    """Return whether the label of each pair is true."""
    of = np.repeat(np.arange(truth.shape[0], dtype=np.int64), np.diff(truth.indptr))
    return np.isin(row * truth.shape[1] + places, of * truth.shape[1] + truth.indices)


def gains(
    starts: np.ndarray, values: np.ndarray, hits: np.ndarray, n_true: np.ndarray
) -> np.ndarray:
    """Return the nDCG@5 of each row with a label, NaN of others.

    Values order the pairs of a row, ties to the first. True labels that are no candidates count in
    `n_true`.
    """
    best, _ = best_of_each(starts, np.arange(len(values)), values, TOP)
    found = (best >= 0) & hits[np.maximum(best, 0)] if len(hits) else best >= 0
    return np.where(n_true > 0, ndcg_of_rows(found, n_true), np.nan)


def mean_gain(gain: np.ndarray, weight: np.ndarray | None) -> float:
    """Return the weighted mean over the rows that have a label; 0 if none has."""
    there = ~np.isnan(gain)
    if not there.any():
        return 0.0
    return float(np.average(gain[there], weights=None if weight is None else weight[there]))

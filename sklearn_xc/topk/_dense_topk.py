"""The k best columns of dense scores, in NumPy."""

import numpy as np


def best_columns(values: np.ndarray, k: int, counted: np.ndarray | None = None) -> np.ndarray:
    """Return columns of the k highest values of each row, best first, ties to the smaller column.

    Parameters
    ----------
    values : ndarray of floats (n_rows, n_columns)
        Without NaN.
    counted : ndarray of bool (n_rows, n_columns), default=None
        Entries that are there; by default all. The value of one that is not is minus infinity.

    Returns
    -------
    columns : ndarray of int64 (n_rows, min(k, n_columns))
        -1 where a row has no entry left.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_xc.topk._dense_topk import best_columns
    >>> best_columns(np.array([[1.0, 3.0, 3.0, 2.0, 2.0]]), 3).tolist()
    [[1, 2, 3]]
    """
    n_rows, n_columns = values.shape
    k = min(k, n_columns)
    # A partition, not a sort: only the k chosen ones are sorted below.
    kth_best = np.partition(values, n_columns - k, axis=1)[:, n_columns - k, None]
    chosen = values >= kth_best
    if counted is not None:
        chosen &= counted
    # More than k where the k-th value is there several times: few rows, looked at again.
    tied = np.flatnonzero(np.count_nonzero(chosen, axis=1) > k)
    chosen[tied] = _first_of_ties(chosen[tied], values[tied] > kth_best[tied], k)
    row, column = np.nonzero(chosen)
    # lexsort is stable and np.nonzero goes from left to right: ties stay in order of column.
    order = np.lexsort((-values[row, column], row))
    lengths = np.count_nonzero(chosen, axis=1)
    columns = np.full((n_rows, k), -1, dtype=np.int64)
    columns[np.arange(k) < lengths[:, None]] = column[order]
    return columns


def _first_of_ties(chosen: np.ndarray, above: np.ndarray, k: np.ndarray | int) -> np.ndarray:
    """Mark entries equal to the k-th best, the first ones, that fill the places left."""
    ties = chosen & ~above
    places_left = k - np.count_nonzero(above, axis=1)
    return above | (ties & (ties.cumsum(axis=1) <= places_left[:, None]))

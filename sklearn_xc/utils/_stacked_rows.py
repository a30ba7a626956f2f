"""Rows below others, and the first of them: without a copy of X where none is needed."""

import numpy as np

from ._rows import Rows
from ._typing import Empty


def stacked(rows: Rows, more: Rows, empty: Empty = np.empty) -> Rows:
    """Return rows with others of as many features below them, in the form of the first.

    ``empty`` makes the large arrays, as :func:`numpy.empty`.
    """
    more = more.as_dense() if rows.dense else more.as_sparse()
    n, n_more = int(rows.indptr[-1]), int(more.indptr[-1])
    data, indices = empty(n + n_more, np.float32), rows.indices
    data[:n], data[n:] = rows.data[:n], more.data[:n_more]
    if not rows.dense:
        indices = empty(n + n_more, np.int32)
        indices[:n], indices[n:] = rows.indices[:n], more.indices[:n_more]
    indptr = np.concatenate([rows.indptr, n + more.indptr[1:]])
    shape = rows.shape[0] + more.shape[0], rows.shape[1]
    return Rows(indptr, indices, data, rows.dense, shape)


def first(rows: Rows, n: int) -> Rows:
    """Return the first n rows; shares all values."""
    indptr = rows.indptr[: n + 1]
    stop = int(indptr[-1])
    indices = rows.indices if rows.dense else rows.indices[:stop]
    return Rows(indptr, indices, rows.data[:stop], rows.dense, (n, rows.shape[1]))

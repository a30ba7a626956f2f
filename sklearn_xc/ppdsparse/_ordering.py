"""Views of X that PPDSparse computes on: an order of rows and features, columns, a sparse copy."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from ..utils._matrix import (
    Rows,
    as_matrix,
    as_rows,
    entry_counts,
    stretches,
    sums_of_rows,
    transposed,
)

STRETCH = 512  # rows that are sorted by length among themselves


class Columns(NamedTuple):
    """The non-zero entries of a matrix column by column.

    Attributes
    ----------
    indptr : ndarray of int64, shape (n_features + 1,)
    rows : ndarray of int32, shape (nnz,), ascending inside a column
    data : ndarray of float32, shape (nnz,)
    """

    indptr: np.ndarray
    rows: np.ndarray
    data: np.ndarray


class Order(NamedTuple):
    """An order of samples and features in which kernels run faster.

    Attributes
    ----------
    samples : ndarray of int32 (n_samples,)
        The caller's number of the sample at each position.
    features : ndarray of int32 (n_features,)
        The caller's number of the feature at each position.
    """

    samples: np.ndarray
    features: np.ndarray

    def rows(self, rows, empty=np.empty):
        """The rows in this order; dense ones are copied only if some are left out.

        Parameters
        ----------
        rows : Rows
        empty : callable
            Makes the arrays of sparse rows, as :func:`numpy.empty`.
        """
        if rows.dense:
            return rows if len(self.samples) == rows.shape[0] else rows.take(self.samples)
        csr = as_matrix(rows)
        position = np.empty_like(self.features)
        position[self.features] = np.arange(len(position), dtype=position.dtype)
        lengths = np.diff(rows.indptr)[self.samples]
        indptr = np.append(0, np.cumsum(lengths, dtype=np.int64))
        indices, data = empty(indptr[-1], np.int32), empty(indptr[-1], np.float32)
        for some, entries in stretches(indptr):
            part = csr[self.samples[some]]
            indices[entries], data[entries] = position[part.indices], part.data
        return Rows(indptr, indices, data, False, (len(self.samples), rows.shape[1]))


def fast_order(rows, seed, sample_weight=None):
    """Frequent features first, so that their weights share the caches; samples shuffled.

    Any stretch of the samples is then a random one. Inside stretches the rows are sorted by
    length, which makes the ends of their loops predictable.

    Parameters
    ----------
    rows : Rows
    seed : int
    sample_weight : ndarray (n_samples,), default=None
        Samples of weight zero are left out: they have no part in norms, maxima or draws.

    Returns
    -------
    order : Order
        Of dense rows, the order that they have.
    """
    n_samples, n_features = rows.shape
    there = np.arange(n_samples, dtype=np.int32)
    if sample_weight is not None:
        there = there[sample_weight > 0]
    if rows.dense:
        return Order(there, np.arange(n_features, dtype=np.int32))
    frequency = entry_counts(rows, sample_weight)
    samples = there[np.random.default_rng(seed).permutation(len(there))]
    lengths = np.diff(rows.indptr)[samples]
    samples = samples[np.lexsort((lengths, np.arange(len(there)) // STRETCH))]
    return Order(samples, np.argsort(-frequency, kind="stable").astype(np.int32))


def columns_of(rows, empty=np.empty):
    """The entries of sparse rows, column by column.

    Parameters
    ----------
    rows : Rows
        All rows of a matrix (not a block of them).
    empty : callable
        Makes the large arrays, as :func:`numpy.empty`.

    Returns
    -------
    columns : Columns
    """
    return Columns(*transposed(as_matrix(rows), empty))


def extremes(rows):
    """max(0, max_i x_ij) and min(0, min_i x_ij) of each feature j, two float32 (n_features,)."""
    if rows.dense:
        X = rows.data.reshape(rows.shape)
        return X.max(axis=0, initial=0), X.min(axis=0, initial=0)
    highest, lowest = np.zeros((2, rows.shape[1]), dtype=np.float32)
    for _, entries in stretches(rows.indptr):
        np.maximum.at(highest, rows.indices[entries], rows.data[entries])
        np.minimum.at(lowest, rows.indices[entries], rows.data[entries])
    return highest, lowest


def above(rows, threshold, empty=np.empty):
    """The rows without their entries of magnitude up to `threshold`, always sparse."""
    if rows.dense:
        X = rows.data.reshape(rows.shape)
        return as_rows(sparse.csr_array(np.where(np.abs(X) > threshold, X, np.float32(0))))
    counts = sums_of_rows(rows.indptr, rows.data, lambda x: np.abs(x) > np.float32(threshold))
    indptr = np.append(0, np.cumsum(counts, dtype=np.int64))
    indices, data = empty(indptr[-1], np.int32), empty(indptr[-1], np.float32)
    for some, entries in stretches(rows.indptr):
        keep = np.abs(rows.data[entries]) > threshold
        kept = slice(indptr[some.start], indptr[some.stop])
        indices[kept], data[kept] = rows.indices[entries][keep], rows.data[entries][keep]
    return rows._replace(indptr=indptr, indices=indices, data=data)

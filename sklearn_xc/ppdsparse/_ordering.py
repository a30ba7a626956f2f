"""Views of X that PPDSparse computes on: an order of rows and features, columns, a sparse copy."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from ..utils._matrix import as_matrix, as_rows

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

    def rows(self, rows):
        """The rows in this order; dense ones are never copied, and always in the caller's."""
        if rows.dense:
            return rows
        csr = as_matrix(rows)[self.samples]
        position = np.empty_like(self.features)
        position[self.features] = np.arange(len(position), dtype=position.dtype)
        csr.indices = position[csr.indices]
        csr.has_sorted_indices = False
        return as_rows(csr)


def fast_order(rows, seed):
    """Frequent features first, so that their weights share the caches; samples shuffled.

    Any stretch of the samples is then a random one. Inside stretches the rows are sorted by
    length, which makes the ends of their loops predictable.

    Parameters
    ----------
    rows : Rows
    seed : int

    Returns
    -------
    order : Order
        Of dense rows, the order that they have.
    """
    n_samples, n_features = rows.shape
    if rows.dense:
        return Order(np.arange(n_samples, dtype=np.int32), np.arange(n_features, dtype=np.int32))
    frequency = np.bincount(rows.indices, minlength=n_features)
    samples = np.random.default_rng(seed).permutation(n_samples)
    lengths = np.diff(rows.indptr)[samples]
    samples = samples[np.lexsort((lengths, np.arange(n_samples) // STRETCH))]
    return Order(samples.astype(np.int32), np.argsort(-frequency, kind="stable").astype(np.int32))


def columns_of(rows):
    """The non-zero entries of rows, column by column.

    Parameters
    ----------
    rows : Rows
        All rows of a matrix (not a block of them).

    Returns
    -------
    columns : Columns
    """
    X = as_matrix(rows)
    csc = sparse.csc_array(X) if rows.dense else X.tocsc()
    return Columns(
        csc.indptr.astype(np.int64, copy=False), csc.indices.astype(np.int32, copy=False), csc.data
    )


def extremes(rows):
    """max(0, max_i x_ij) and min(0, min_i x_ij) of each feature j, two float32 (n_features,)."""
    if rows.dense:
        X = rows.data.reshape(rows.shape)
        return X.max(axis=0, initial=0), X.min(axis=0, initial=0)
    highest, lowest = np.zeros((2, rows.shape[1]), dtype=np.float32)
    np.maximum.at(highest, rows.indices, rows.data)
    np.minimum.at(lowest, rows.indices, rows.data)
    return highest, lowest


def above(rows, threshold):
    """The rows without their entries of magnitude up to `threshold`, always sparse."""
    if rows.dense:
        X = rows.data.reshape(rows.shape)
        return as_rows(sparse.csr_array(np.where(np.abs(X) > threshold, X, np.float32(0))))
    keep = np.abs(rows.data) > threshold
    indptr = np.append(0, np.cumsum(keep))[rows.indptr]
    return rows._replace(indptr=indptr, indices=rows.indices[keep], data=rows.data[keep])

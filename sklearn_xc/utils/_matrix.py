"""Rows of X as the kernels take them: float32 values beside int32 feature numbers."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from ._sparse import checked_csr

LARGEST_INDEX = np.iinfo(np.int32).max
KERNEL_READS = "C", "A"  # C order, and each number at a multiple of its size


class Rows(NamedTuple):
    """The rows of a matrix, sparse or dense, as three arrays.

    Row ``i`` has the entries ``e = indptr[i], ..., indptr[i + 1] - 1`` with the values ``data[e]``.
    Their features are ``indices[e]`` in a sparse matrix. In a dense one all rows share the same
    features, and the first entry of each row belongs to ``indices[0]``.

    Attributes
    ----------
    indptr : ndarray of int64, shape (n_samples + 1,)
    indices : ndarray of int32, shape (nnz,), or (n_features,) when dense
    data : ndarray of float32, shape (nnz,), or (n_samples * n_features,) when dense
    dense : bool
    shape : tuple (n_samples, n_features)
    """

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    dense: bool
    shape: tuple

    def block(self, start, stop):
        """The rows ``start`` to ``stop - 1``; shares all arrays."""
        return self._replace(
            indptr=self.indptr[start : stop + 1], shape=(stop - start, self.shape[1])
        )

    def take(self, samples):
        """The rows named; copies them."""
        return as_rows(as_matrix(self)[samples])


MOST_ENTRIES = 1 / 3  # of dense rows that are taken as sparse ones


def compact(X):
    """Dense rows that are mostly zeros as CSR, others as they are.

    A kernel that reads an entry of a dense row to multiply sixteen weights by zero has the cost of
    one that is not zero, and cannot walk columns or order rows and features. With a third of the
    entries CSR has a third of the operations, and with what is kept beside it (rows in another
    order, columns) about twice the memory.

    Parameters
    ----------
    X : ndarray or csr_array of float32 (n_samples, n_features)
        As from :func:`normalise`.

    Returns
    -------
    X : ndarray or csr_array of float32 (n_samples, n_features)
    """
    if sparse.issparse(X) or np.count_nonzero(X) > MOST_ENTRIES * X.size:
        return X
    return normalise(sparse.csr_array(X))


def normalise(X, name="X"):
    """X in the one form of its kind that the kernels know, copying only what has to change.

    Parameters
    ----------
    X : ndarray or SciPy sparse matrix or array, shape (n_samples, n_features)
        Finite numbers of any float, integer or boolean dtype. Never written to.
    name : str, default="X"
        What the errors call it.

    Returns
    -------
    X : ndarray or scipy.sparse.csr_array, dtype float32
        C-contiguous where X was dense; otherwise with sorted int32 indices and no duplicates.

    Raises
    ------
    ValueError
        If X holds no real numbers or one beyond the range of float32, if it has more than 2**31 - 1
        features, or if the structure of a sparse X is not valid.
    """
    if X.shape[1] > LARGEST_INDEX:
        raise ValueError(
            f"{name} has {X.shape[1]} features; at most {LARGEST_INDEX} (2**31 - 1) are supported"
        )
    if not sparse.issparse(X):
        return np.require(_as_float32(X, name), requirements=KERNEL_READS)
    csr = sparse.csr_array(checked_csr(X, name))
    if not csr.has_canonical_format:
        csr = csr.astype(np.float64)  # copies; duplicates of small integers must not wrap around
        csr.sum_duplicates()
    csr = narrow_indices(csr)
    csr.data = np.require(_as_float32(csr.data, name), requirements=KERNEL_READS)
    csr.indices = np.require(csr.indices, requirements=KERNEL_READS)
    csr.indptr = np.require(csr.indptr, requirements=KERNEL_READS)
    return csr


def narrow_indices(csr):
    """Give a CSR of our own int32 index arrays, unless it has 2**31 non-zeros or more."""
    if csr.nnz <= LARGEST_INDEX:
        csr.indices = csr.indices.astype(np.int32, copy=False)
        csr.indptr = csr.indptr.astype(np.int32, copy=False)
    return csr


def narrow_pointers(indptr):
    """The int32 index pointer beside which SciPy keeps int32 indices; next to int64 it copies them.

    Unchanged if there are 2**31 non-zeros or more.
    """
    return indptr.astype(np.int32, copy=False) if indptr[-1] <= LARGEST_INDEX else indptr


def _as_float32(values, name):
    """Cast finite values to float32, refusing those that would become infinite."""
    if values.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold real numbers, got dtype {values.dtype}")
    with np.errstate(over="ignore"):
        cast = np.asarray(values).astype(np.float32, copy=False)
    if values.dtype.kind == "f" and values.dtype.itemsize > 4 and np.isinf(cast).any():
        raise ValueError(
            f"{name} holds {np.abs(values).max():.3g}, beyond the range of float32 "
            f"(up to {np.finfo(np.float32).max:.3g}) in which the estimators compute; "
            "scale the features"
        )
    return cast


def as_rows(X):
    """The :class:`Rows` of a matrix that :func:`normalise` returned.

    Parameters
    ----------
    X : ndarray or CSR, dtype float32

    Returns
    -------
    rows : Rows
        Shares the values with X; ``indptr`` is always int64 and ``indices`` int32.
    """
    n_samples, n_features = X.shape
    if sparse.issparse(X):
        return Rows(
            X.indptr.astype(np.int64, copy=False),
            X.indices.astype(np.int32, copy=False),
            X.data,
            False,
            X.shape,
        )
    return Rows(
        np.arange(n_samples + 1, dtype=np.int64) * n_features,
        np.arange(n_features, dtype=np.int32),
        X.ravel(),
        True,
        X.shape,
    )


def as_matrix(rows):
    """The matrix, dense or csr_array, that all rows of `as_rows` came from; shares the values."""
    if rows.dense:
        return rows.data.reshape(rows.shape)
    indptr = narrow_pointers(rows.indptr)
    return sparse.csr_array((rows.data, rows.indices, indptr), shape=rows.shape)


STRETCH = 1 << 24  # entries of which something is computed at a time: 128 MB in float64
# So many times less is 512 KB: the same memory serves every stretch, where larger arrays are mapped
# anew each time, page by page, which takes longer than what is computed.
IN_CACHE = 256


def stretches(indptr, part=1):
    """Cut sparse rows so that what is computed of their entries needs little memory.

    Parameters
    ----------
    indptr : ndarray (n_samples + 1,)
    part : int, default=1
        Cut into that many times more, where many numbers are computed of an entry.

    Yields
    ------
    rows : slice
        As many rows as have ``STRETCH // part`` entries together, or one that has more.
    entries : slice
        Their entries.
    """
    start, n, most = 0, len(indptr) - 1, STRETCH // part
    while start < n:
        stop = max(start + 1, int(np.searchsorted(indptr, indptr[start] + most, "right")) - 1)
        yield slice(start, stop), slice(int(indptr[start]), int(indptr[stop]))
        start = stop


def sums_of_rows(indptr, data, term):
    """sum_j term(x_ij) of each sparse row i, float64; `term` is given the values in float64."""
    sums = np.zeros(len(indptr) - 1)
    for rows, entries in stretches(indptr, IN_CACHE):
        values = np.append(term(data[entries].astype(np.float64)), 0)
        starts = indptr[rows.start : rows.stop + 1] - indptr[rows.start]
        sums[rows] = np.add.reduceat(values, starts[:-1])
        sums[rows][starts[1:] == starts[:-1]] = 0
    return sums


def transposed(csr, empty=np.empty):
    """A CSR matrix column by column, in little memory beside the result.

    Parameters
    ----------
    csr : csr_array (n_rows, n_columns)
    empty : callable
        Makes the two large arrays, as :func:`numpy.empty`.

    Returns
    -------
    indptr : ndarray of int64 (n_columns + 1,)
    rows : ndarray of int32 (nnz,)
        Ascending in each column.
    data : ndarray of csr's dtype (nnz,)
    """
    counts = np.zeros(csr.shape[1], dtype=np.int64)
    for _, entries in stretches(csr.indptr):
        counts += np.bincount(csr.indices[entries], minlength=csr.shape[1])
    indptr = np.append(0, np.cumsum(counts))
    rows, data, free = empty(csr.nnz, np.int32), empty(csr.nnz, csr.dtype), indptr[:-1].copy()
    for some, _ in stretches(csr.indptr):
        part = csr[some].tocsc()
        lengths = np.diff(part.indptr)
        if part.nnz == csr.nnz:
            place = slice(None)
        else:
            place = np.repeat(free - part.indptr[:-1], lengths)
            place += np.arange(part.nnz)
        rows[place], data[place] = part.indices, part.data
        rows[place] += some.start
        free += lengths
    return indptr, rows, data


def entry_counts(rows, sample_weight=None):
    """How many samples of weight above zero have each feature, int64 (n_features,)."""
    counted = np.ones(rows.shape[0], bool) if sample_weight is None else sample_weight > 0
    if rows.dense:
        return np.count_nonzero(rows.data.reshape(rows.shape)[counted], axis=0)
    counts = np.zeros(rows.shape[1], dtype=np.int64)
    for some, entries in stretches(rows.indptr):
        lengths = np.diff(rows.indptr[some.start : some.stop + 1])
        of_entry = np.repeat(counted[some], lengths) & (rows.data[entries] != 0)
        counts += np.bincount(rows.indices[entries][of_entry], minlength=rows.shape[1])
    return counts


def weighted_norms(rows, sample_weight):
    """sqrt(sum_i sample_weight_i x_ij^2) of each feature j, float32 (n_features,)."""
    if rows.dense:
        X = rows.data.reshape(rows.shape)
        squares = np.einsum("ij,ij,i->j", X, X, sample_weight, dtype=np.float64)
    else:
        squares = np.zeros(rows.shape[1])
        for some, entries in stretches(rows.indptr):
            lengths = np.diff(rows.indptr[some.start : some.stop + 1])
            weight = np.repeat(sample_weight[some].astype(np.float64), lengths)
            weight *= rows.data[entries]
            weight *= rows.data[entries]
            squares += np.bincount(rows.indices[entries], weight, minlength=rows.shape[1])
    with np.errstate(over="ignore"):
        return np.sqrt(squares).astype(np.float32)


def squared_norms(rows):
    """||x||^2 of each row, float64 (n_samples,)."""
    if rows.dense:
        X = rows.data.reshape(rows.shape)
        return np.einsum("ij,ij->i", X, X, dtype=np.float64)
    return sums_of_rows(rows.indptr, rows.data, np.square)


def as_dense(matrix):
    """A matrix, dense or sparse, as an ndarray."""
    return matrix.toarray() if sparse.issparse(matrix) else matrix

"""CSR arrays: the integers of their indices, stretches of their rows, their columns."""

import numpy as np
from scipy import sparse

LARGEST_INDEX = np.iinfo(np.int32).max


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


def as_dense(matrix):
    """A matrix, dense or sparse, as an ndarray."""
    return matrix.toarray() if sparse.issparse(matrix) else matrix

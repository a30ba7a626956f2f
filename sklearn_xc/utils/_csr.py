"""CSR arrays: the integers of their index pointers, stretches of their rows."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from scipy import sparse

from ._typing import SparseMatrix

LARGEST_INDEX = np.iinfo(np.int32).max


def narrow_pointers(indptr: np.ndarray) -> np.ndarray:
    """Return the int32 index pointer beside which SciPy keeps int32 indices; next to int64 it
    copies them.

    Unchanged if there are 2**31 non-zeros or more.
    """
    return indptr.astype(np.int32, copy=False) if indptr[-1] <= LARGEST_INDEX else indptr


STRETCH = 1 << 24  # entries of which something is computed at a time: 128 MB in float64
# So many times less is 512 KB: the same memory serves every stretch, where larger arrays are mapped
# anew each time, page by page, which takes longer than what is computed.
IN_CACHE = 256


def stretches(indptr: np.ndarray, part: int = 1) -> Iterator[tuple[slice, slice]]:
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


FEWEST = 1 << 18  # entries of a thread, below which it is not worth its start


def even_stretches(indptr: np.ndarray, n: int) -> list[slice]:
    """Cut sparse rows into at most n stretches of about as many entries each, none of few.

    Parameters
    ----------
    indptr : ndarray (n_samples + 1,)
    n : int

    Returns
    -------
    stretches : list of slice
        Of the rows.
    """
    n = max(1, min(n, int(indptr[-1] - indptr[0]) // FEWEST))
    ends = np.searchsorted(indptr, np.linspace(indptr[0], indptr[-1], n + 1)[1:-1])
    bounds = [0, *ends.tolist(), len(indptr) - 1]
    return [slice(a, b) for a, b in pairwise(bounds)]


def as_dense(matrix: np.ndarray | SparseMatrix) -> np.ndarray:
    """Return a matrix, dense or sparse, as an ndarray."""
    return matrix.toarray() if sparse.issparse(matrix) else matrix

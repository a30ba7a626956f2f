"""CSR arrays: the integers of their index pointers, slices of their rows."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from scipy import sparse

from ._typing import SparseMatrix

LARGEST_INDEX = np.iinfo(np.int32).max


def narrow_pointers(indptr: np.ndarray) -> np.ndarray:
    """Return an index pointer in int32, or unchanged if there are 2**31 non-zeros or more."""
    # SciPy wants one dtype of both: next to an int64 pointer it would copy int32 indices.
    return indptr.astype(np.int32, copy=False) if indptr[-1] <= LARGEST_INDEX else indptr


# Entries of which something is computed at a time: 128 MB in float64.
STRETCH = 1 << 24
# An IN_CACHE-th of it is 512 KB: the same memory serves every slice, where larger arrays are mapped
# again each time, page by page, which takes longer than what is computed.
IN_CACHE = 256


def stretches(indptr: np.ndarray, part: int = 1) -> Iterator[tuple[slice, slice]]:
    """Yield slices of sparse rows, and of their entries, for computations in little memory.

    Rows have ``STRETCH // part`` entries together, or it is one row that has more. `part` is for
    computations that keep many numbers of an entry.
    """
    start, n, most = 0, len(indptr) - 1, STRETCH // part
    while start < n:
        # at least one row, or a long one would stop the loop for ever
        stop = max(start + 1, int(np.searchsorted(indptr, indptr[start] + most, "right")) - 1)
        yield slice(start, stop), slice(int(indptr[start]), int(indptr[stop]))
        start = stop


# Entries of a thread, below which it is not worth its start.
FEWEST = 1 << 18


def even_stretches(indptr: np.ndarray, n: int) -> list[slice]:
    """Return at most n slices of sparse rows, of about as many entries each, none of few."""
    n = max(1, min(n, int(indptr[-1] - indptr[0]) // FEWEST))
    ends = np.searchsorted(indptr, np.linspace(indptr[0], indptr[-1], n + 1)[1:-1])
    bounds = [0, *ends.tolist(), len(indptr) - 1]
    return [slice(a, b) for a, b in pairwise(bounds)]


def as_dense(matrix: np.ndarray | SparseMatrix) -> np.ndarray:
    """Return a matrix, dense or sparse, as an ndarray."""
    return matrix.toarray() if sparse.issparse(matrix) else matrix

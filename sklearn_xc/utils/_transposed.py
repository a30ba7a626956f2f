"""The entries of sparse rows, column by column."""

from typing import NamedTuple

import numpy as np

from .._kernels.common import _sparse_rows as kernel
from ._csr import even_stretches, stretches
from ._parallel import in_threads
from ._typing import Empty


class Columns(NamedTuple):
    """The non-zero entries of a matrix column by column."""

    indptr: np.ndarray  # int64 (n_features + 1,)
    rows: np.ndarray  # int32 (nnz,), ascending inside a column
    data: np.ndarray  # float32 (nnz,)


class Csr(NamedTuple):
    """The three arrays of sparse rows, which `utils/_rows.py` describes."""

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray


def transposed(csr: Csr, n_columns: int, empty: Empty, n_threads: int) -> Columns:
    """Return entries column by column, in little memory beside the result."""
    n_entries = len(csr.data)
    # A thread keeps a count of each column, which must be little beside its entries.
    parts = even_stretches(csr.indptr, min(n_threads, n_entries // (4 * n_columns + 1)))
    rows, data = empty(n_entries, np.int32), empty(n_entries, np.float32)
    fill = _fill_in_threads if len(parts) > 1 else _fill_in_order
    return Columns(fill(csr, n_columns, parts, rows, data), rows, data)


def _fill_in_order(
    csr: Csr, n_columns: int, _: list[slice], rows: np.ndarray, data: np.ndarray
) -> np.ndarray:
    """Fill `rows` and `data` piece by piece, and return where each column begins."""
    counts = np.zeros(n_columns, dtype=np.int64)
    for _, entries in stretches(csr.indptr):
        counts += np.bincount(csr.indices[entries], minlength=n_columns)
    indptr = np.append(0, np.cumsum(counts))
    free = indptr[:-1]
    for some, entries in stretches(csr.indptr):
        of_rows = csr.indptr[some.start : some.stop + 1]
        if len(of_rows) == len(csr.indptr):
            kernel.transpose(of_rows, csr.indices, csr.data, 0, free.copy(), rows, data)
            continue
        # by way of memory: files are written column by column, not one entry here, one there
        lengths = np.bincount(csr.indices[entries], minlength=n_columns)
        starts = np.append(0, np.cumsum(lengths))
        part = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.float32)
        kernel.transpose(of_rows, csr.indices, csr.data, some.start, starts[:-1].copy(), *part)
        # entry e of a piece's column c goes to free[c] + e - starts[c]
        place = np.repeat(free - starts[:-1], lengths)
        place += np.arange(len(place))
        rows[place], data[place] = part
        free = free + lengths
    return indptr


def _fill_in_threads(
    csr: Csr, n_columns: int, parts: list[slice], rows: np.ndarray, data: np.ndarray
) -> np.ndarray:
    """Fill `rows` and `data`, a thread for each part, and return where each column begins."""

    def count(some: slice) -> np.ndarray:
        entries = slice(csr.indptr[some.start], csr.indptr[some.stop])
        return np.bincount(csr.indices[entries], minlength=n_columns)

    def place(of_part: tuple[slice, np.ndarray]) -> None:
        some, free = of_part
        of_rows = csr.indptr[some.start : some.stop + 1]
        kernel.transpose(of_rows, csr.indices, csr.data, some.start, free, rows, data)

    counts = np.array(list(in_threads(count, parts, n_threads=len(parts))))
    indptr = np.append(0, np.cumsum(counts.sum(axis=0)))
    # In a column the entries of a part follow those of the parts before: threads share no place,
    # and rows ascend as with one thread.
    free = indptr[:-1] + np.cumsum(counts, axis=0) - counts
    list(in_threads(place, zip(parts, free, strict=True), n_threads=len(parts)))
    return indptr

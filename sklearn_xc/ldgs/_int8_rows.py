"""Weights as int8 rows, in a quarter of the memory; see `_kernels/ldgs/_int8_rows.pxd`."""

import numpy as np

from .._kernels.ldgs import _candidate_gradients as kernel


class ByteRows:
    """The rows of weights rounded to bytes, by which most that are scored need not be read."""

    def __init__(self, W: np.ndarray, n_threads: int = 1) -> None:
        self._n_threads = n_threads
        self.values = empty_on_lines((len(W), kernel.bytes_of_row(W.shape[1])))
        self.update(W, np.arange(len(W), dtype=np.int32))

    @staticmethod
    def size_of(W: np.ndarray) -> int:
        """Return the bytes that the rows of W take."""
        return len(W) * kernel.bytes_of_row(W.shape[1])

    def update(self, W: np.ndarray, rows: np.ndarray) -> None:
        """Round some rows again; `rows` is int32, distinct."""
        kernel.round_rows(W, rows, self.values, self._n_threads)


def empty_on_lines(shape: tuple[int, int]) -> np.ndarray:
    """Return an array of int8 that begins with a cache line: rows of whole lines touch no
    others.
    """
    size, line = shape[0] * shape[1], 64
    # An array of NumPy may begin within a line: one line more, of which the beginning is left out.
    memory = np.empty(size + line, dtype=np.int8)
    first = -memory.ctypes.data % line
    return memory[first : first + size].reshape(shape)

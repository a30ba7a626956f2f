"""Rows of float32 split in two planes of 16 bits and joined, in place; see `_split_float.pxd`."""

from cython.parallel cimport parallel, prange, threadid
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

import numpy as np

from sklearn_xc._kernels.common._common cimport dispatched


cdef dispatched part(
    const float* values, int64_t half, uint32_t* upper, uint32_t* lower
) noexcept nogil:
    """Two times `half` values."""
    cdef int64_t i
    cdef uint32_t first, second
    for i in range(half):
        first, second = to_bits(values[i]), to_bits(values[half + i])
        upper[i] = (upper_half(first) & LOW) | upper_half(second) << 16
        lower[i] = (first & LOW) | second << 16


cdef dispatched join(
    const uint32_t* upper, const uint32_t* lower, int64_t half, float factor, float* values
) noexcept nogil:
    cdef int64_t i
    for i in range(half):
        values[i] = factor * from_bits(joined(upper[i] & LOW, lower[i] & LOW))
        values[half + i] = factor * from_bits(joined(upper[i] >> 16, lower[i] >> 16))


cdef void halve_row(float* row, int64_t n, uint32_t* spare) noexcept nogil:
    """Part a row of n values in halves; `spare` holds it."""
    cdef int64_t b
    cdef uint32_t* lower = spare + n // 2
    for b in range(n // BLOCK):
        part(row + b * BLOCK, HALF, spare + b * HALF, lower + b * HALF)
    if n % BLOCK:
        b = n // BLOCK
        part(row + b * BLOCK, QUARTER, spare + b * HALF, lower + b * HALF)
    memcpy(row, spare, n * sizeof(float))


cdef void join_row(float* row, int64_t n, float factor, uint32_t* spare) noexcept nogil:
    """A row in halves becomes one of numbers, times a factor; `spare` holds it."""
    cdef int64_t b
    cdef const uint32_t* lower = spare + n // 2
    memcpy(spare, row, n * sizeof(float))
    for b in range(n // BLOCK):
        join(spare + b * HALF, lower + b * HALF, HALF, factor, row + b * BLOCK)
    if n % BLOCK:
        b = n // BLOCK
        join(spare + b * HALF, lower + b * HALF, QUARTER, factor, row + b * BLOCK)


def halve_rows(float[:, ::1] W, uint8_t[::1] halved):
    """Part the rows of W that are not in halves; see `join_rows`."""
    cdef int64_t u
    cdef uint32_t[::1] spare = np.empty(W.shape[1] + 1, dtype=np.uint32)
    for u in range(W.shape[0]):
        if not halved[u]:
            halve_row(&W[u, 0], W.shape[1], &spare[0])
            halved[u] = 1


def join_rows(float[:, ::1] W, uint8_t[::1] halved, float[::1] scales, int n_threads):
    """Join the rows that are in halves and multiply all by their factors.

    Parameters
    ----------
    W : IN/OUT (n_rows, n_columns), n_columns a multiple of 16
    halved : IN/OUT (n_rows,), whether a row is; 0 after. Of size 0 if none is
    scales : IN/OUT (n_rows,), 1 after
    """
    cdef int64_t c
    cdef int64_t u
    cdef int thread = 0
    cdef uint32_t[:, ::1] spare = np.empty((n_threads, W.shape[1] + 1), dtype=np.uint32)
    with nogil, parallel(num_threads=n_threads):
        thread = threadid()
        for u in prange(scales.shape[0], schedule="dynamic", chunksize=16):
            if halved.shape[0] and halved[u]:
                join_row(&W[u, 0], W.shape[1], scales[u], &spare[thread, 0])
                halved[u] = 0
            elif scales[u] != 1:
                for c in range(W.shape[1]):
                    W[u, c] *= scales[u]
            scales[u] = 1

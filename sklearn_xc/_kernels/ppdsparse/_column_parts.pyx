"""Long columns in two parts, the few entries of large magnitude and all others.

A search that leaves a feature out has to reckon with its largest entry (`_pruned_search`).  Most
entries of a frequent word are far smaller than that: it reads the few large ones and leaves out the
rest, which can lift a row by much less.
"""

from libc.math cimport fabsf
from libc.stdint cimport int32_t, int64_t

import numpy as np

cdef enum:
    BINS = 256  # of magnitudes
    # One entry in so many is large.  A tenth, a quarter, two or three cuts read about as much.
    ONE_IN = 10
    # Columns with less than this part of the rows cost little as they are.
    SHORT = 256


cdef inline int bin_of(float magnitude, float scale) noexcept nogil:
    """Of the histogram; safe where values are not finite."""
    cdef float x = magnitude * scale
    return <int>x if x < BINS - 1 else BINS - 1


cdef float cut_of(const float *values, Py_ssize_t n) noexcept nogil:
    """A magnitude that at most one of ONE_IN entries exceeds, 0 where none would be left over."""
    cdef Py_ssize_t e, above = 0
    cdef int64_t counts[BINS]
    cdef int b = BINS - 1
    cdef float largest = 0, rest = 0, scale
    for e in range(n):
        largest = max(largest, fabsf(values[e]))
    scale = BINS / largest if largest > 0 else 0
    for e in range(BINS):
        counts[e] = 0
    for e in range(n):
        counts[bin_of(fabsf(values[e]), scale)] += 1
    while b > 0 and (above + counts[b]) * ONE_IN <= n:
        above += counts[b]
        b -= 1
    for e in range(n):
        if bin_of(fabsf(values[e]), scale) <= b:
            rest = max(rest, fabsf(values[e]))
    return rest if above else 0


cdef int64_t divide(
    int32_t *rows, float *values, Py_ssize_t n, float cut, int32_t *low_rows, float *low_values
) noexcept nogil:
    """Put the entries above the cut in front, in their order; returns how many there are."""
    cdef Py_ssize_t e, n_high = 0, n_low = 0
    for e in range(n):
        if fabsf(values[e]) > cut:
            rows[n_high] = rows[e]
            values[n_high] = values[e]
            n_high += 1
        else:
            low_rows[n_low] = rows[e]
            low_values[n_low] = values[e]
            n_low += 1
    for e in range(n_low):
        rows[n_high + e] = low_rows[e]
        values[n_high + e] = low_values[e]
    return n_high


def divide_columns(
    const int64_t[::1] indptr, int32_t[::1] rows, float[::1] values, Py_ssize_t n_rows
):
    """Put the large entries of long columns in front of the others.

    Parameters
    ----------
    indptr : (n_columns + 1,)
    rows, values : IN / OUT, the entries column by column; both parts keep their order
    n_rows : of the matrix

    Returns
    -------
    middle : ndarray of int64 (n_columns,)
        Where the smaller entries begin; the end of a column that is not divided.
    rest : ndarray of float32 (n_columns,)
        The largest magnitude of these; 0 where there are none.
    """
    cdef Py_ssize_t j, n, longest = np.max(np.diff(indptr), initial=0)
    middle, rest = np.array(indptr[1:]), np.zeros(indptr.shape[0] - 1, dtype=np.float32)
    cdef int64_t[::1] to_middle = middle
    cdef float[::1] to_rest = rest
    cdef int32_t[::1] low_rows = np.empty(max(1, longest), dtype=np.int32)
    cdef float[::1] low_values = np.empty(max(1, longest), dtype=np.float32)
    with nogil:
        for j in range(indptr.shape[0] - 1):
            n = indptr[j + 1] - indptr[j]
            if n < ONE_IN or n * SHORT < n_rows:
                continue
            to_rest[j] = cut_of(&values[indptr[j]], n)
            if to_rest[j] > 0:
                to_middle[j] = indptr[j] + divide(
                    &rows[indptr[j]], &values[indptr[j]], n, to_rest[j], &low_rows[0],
                    &low_values[0],
                )
    return middle, rest

"""Rows of weights rounded to bytes, and scores from them with a bound of their error.

A row takes a quarter of the memory: where the weights of many classes from all over the memory are
to be scored, and only the highest scores count, most rows need not be read. Column c of a row is
byte c, as a multiple of a scale that the last four bytes hold; between them are zeros, up to whole
cache lines. The query is rounded to 16 bits, so that scores are sums of integers.
"""

from libc.math cimport NAN, fabsf, rintf
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t
from libc.string cimport memcpy, memset

from sklearn_xc._kernels.common._common cimport prefetch_far
from sklearn_xc._kernels.common._vector_ops cimport divides, largest_magnitude

cdef enum:
    LINE = 64  # bytes
    LARGEST = 127  # of the bytes


cdef struct Query:
    int16_t* values  # (n_bytes,), zero behind the columns
    float scale
    float error  # of a score, for a row with a scale of 1


cdef inline void round_query(
    const float* h, int64_t n_columns, int64_t n_bytes, Query* query
) noexcept nogil:
    """OUT what to score with; no sum of products leaves 32 bits."""
    cdef int64_t c
    cdef float length = 0, limit = <float>2e9 / (LARGEST * n_bytes)
    for c in range(n_columns):
        # ||h||_1.
        length += fabsf(h[c])
    # Zeros meet the bytes of the scale, and those that fill up the line.
    memset(query.values, 0, n_bytes * sizeof(int16_t))
    # A sum has n_bytes products of at most 127 times the largest value, together 2e9 < 2^31; and
    # values have 16 bits.
    query.scale = largest_magnitude(h, n_columns) / min(limit, <float>32767)
    if divides(query.scale):
        for c in range(n_columns):
            query.values[c] = <int16_t><int32_t>rintf(h[c] / query.scale)
        # For a row of scale 1: |<h, w> - <h~, w~>| <= |<h, w - w~>| + |<h - h~, w~>| <= ||h||_1 / 2
        # + 127 n_columns scale / 2. 0.51 for a half leaves room for the sums in float32.
        query.error = <float>0.51 * (length + LARGEST * n_columns * query.scale)
    else:
        # A tiny query scores 0, an error of 127 ||h||_1 at most; an infinite or NaN one scores NaN,
        # which no bound takes out.
        query.scale = 0 if query.scale < 1 else NAN
        query.error = LARGEST * length


cdef inline float scale_of(const int8_t* row, int64_t n_bytes) noexcept nogil:
    cdef float scale
    memcpy(&scale, row + n_bytes - sizeof(scale), sizeof(scale))
    return scale


cdef inline int32_t byte_product(
    const int16_t* query, const int8_t* row, int64_t n_bytes
) noexcept nogil:
    """Their inner product; the bytes of the scale meet zeros."""
    cdef int64_t v
    cdef int32_t c, total = 0
    # Whole lines, without a rest: compilers make vectors of the inner loop.
    for v in range(n_bytes // LINE):
        for c in range(LINE):
            total += <int32_t>query[v * LINE + c] * <int32_t>row[v * LINE + c]
    return total


cdef inline void fetch_byte_row(const int8_t* row, int64_t n_bytes) noexcept nogil:
    cdef int64_t v
    for v in range(n_bytes // LINE):
        prefetch_far(row + v * LINE)

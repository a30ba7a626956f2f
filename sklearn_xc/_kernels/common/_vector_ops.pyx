"""Dispatched loops over short vectors; see the .pxd."""

from libc.stdint cimport int32_t, int64_t

from sklearn_xc._kernels.common._common cimport dispatched


cdef dispatched inner_product(const float* x, const float* w, int64_t n, float* out) noexcept nogil:
    """OUT <x, w>."""
    out[0] = dot(x, w, n)


cdef dispatched add_multiple(float* out, const float* x, float factor, int64_t n) noexcept nogil:
    """out += factor * x."""
    cdef int64_t c
    for c in range(n):
        out[c] += factor * x[c]


cdef dispatched largest(const float* z, int64_t n, float* top) noexcept nogil:
    """IN / OUT the largest so far."""
    cdef float part[LANES]
    cdef int64_t e
    cdef int32_t c
    for c in range(LANES):
        part[c] = top[0]
    for e in range(n // LANES):
        for c in range(LANES):
            part[c] = z[e * LANES + c] if z[e * LANES + c] > part[c] else part[c]
    for e in range(n - n % LANES, n):
        part[0] = z[e] if z[e] > part[0] else part[0]
    for c in range(LANES):
        top[0] = part[c] if part[c] > top[0] else top[0]


cdef dispatched sum_of_squares(const float* x, int64_t n, double* out) noexcept nogil:
    """OUT ||x||^2 in float64, where no square is too small or too large."""
    cdef double part[8]
    cdef double total = 0
    cdef int64_t e
    cdef int32_t c
    for c in range(8):
        part[c] = 0
    for e in range(n // 8):
        for c in range(8):
            part[c] += <double>x[8 * e + c] * x[8 * e + c]
    for e in range(n - n % 8, n):
        total += <double>x[e] * x[e]
    for c in range(8):
        total += part[c]
    out[0] = total

"""Loops over short vectors that many kernels have: one definition each.

`dot` and the prefetches are inlined into `dispatched` functions; the others are dispatched here.
"""

from libc.math cimport exp, fabs
from libc.stdint cimport int32_t, int64_t

from sklearn_xc._kernels.common._common cimport dispatched, prefetch, prefetch_far

cdef enum:
    LANES = 16  # one AVX-512 register of float32, one cache line


cdef extern from "_dot.h" nogil:
    float dot "xc_dot"(const float* x, const float* w, int64_t n)


cdef inline void prefetch_floats(const float* values, int64_t n) noexcept nogil:
    """Every cache line of n numbers, into the first cache."""
    cdef int64_t line
    for line in range((n + LANES - 1) // LANES):
        prefetch(values + line * LANES)


cdef inline void prefetch_floats_far(const float* values, int64_t n) noexcept nogil:
    """Every cache line of n numbers, not into the first cache: it is full."""
    cdef int64_t line
    for line in range((n + LANES - 1) // LANES):
        prefetch_far(values + line * LANES)


cdef inline double sigmoid(double z) noexcept nogil:
    cdef double e = exp(-fabs(z))
    return 1 / (1 + e) if z >= 0 else e / (1 + e)


cdef inline double weight_of(const float[::1] sample_weight, int32_t i) noexcept nogil:
    """The weight of a sample; all are 1 where there are none."""
    return sample_weight[i] if sample_weight.shape[0] else 1


cdef dispatched inner_product(const float* x, const float* w, int64_t n, float* out) noexcept nogil
cdef dispatched add_multiple(float* out, const float* x, float factor, int64_t n) noexcept nogil
cdef dispatched largest(const float* z, int64_t n, float* top) noexcept nogil
cdef dispatched sum_of_squares(const float* x, int64_t n, double* out) noexcept nogil

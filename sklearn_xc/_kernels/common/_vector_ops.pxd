"""Loops over short vectors that many kernels have: one definition each.

`dot` and the prefetches are inlined into `dispatched` functions; the others are dispatched here.
"""

from libc.math cimport exp, fabs
from libc.stdint cimport int32_t, int64_t

from sklearn_xc._kernels.common._common cimport dispatched, prefetch, prefetch_far

cdef enum:
    LANES = 16  # one AVX-512 register of float32, one cache line


cdef extern from *:
    # With GCC's vector extensions, as in _simd.h: of the plain loop compilers make an ordered sum.
    """
    #include "_simd.h"

    #if defined(__GNUC__) || defined(__clang__)
    typedef float xc_quarter __attribute__((vector_size(16)));

    static inline __attribute__((always_inline)) float xc_dot(const float *x, const float *w,
                                                              long long n) {
        xc_floats total = xc_zeros(), more = xc_zeros();
        xc_half half, a, b;
        xc_quarter quarters[2], quarter;
        float rest = 0;
        /* Where w comes from memory, the fewer instructions, the more of it is on its way. */
        for (; n >= 64; n -= 64, x += 64, w += 64) {
            total = xc_plus_products(total, xc_load(x), xc_load(w));
            more = xc_plus_products(more, xc_load(x + 16), xc_load(w + 16));
            total = xc_plus_products(total, xc_load(x + 32), xc_load(w + 32));
            more = xc_plus_products(more, xc_load(x + 48), xc_load(w + 48));
        }
        for (; n >= 16; n -= 16, x += 16, w += 16)
            total = xc_plus_products(total, xc_load(x), xc_load(w));
        total = xc_sum(total, more);
        half = total.low + total.high;
        if (n >= 8) {
            __builtin_memcpy(&a, x, sizeof a);
            __builtin_memcpy(&b, w, sizeof b);
            half += a * b;
            n -= 8, x += 8, w += 8;
        }
        for (long long i = 0; i < n; i++) rest += x[i] * w[i];
        __builtin_memcpy(quarters, &half, sizeof half);
        quarter = quarters[0] + quarters[1];
        return rest + ((quarter[0] + quarter[1]) + (quarter[2] + quarter[3]));
    }
    #else
    static inline float xc_dot(const float *x, const float *w, long long n) {
        float total = 0;
        for (long long i = 0; i < n; i++) total += x[i] * w[i];
        return total;
    }
    #endif
    """
    float dot "xc_dot"(const float* x, const float* w, int64_t n) noexcept nogil


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

"""Loops over short vectors that many kernels have: one definition each.

A `dispatched` function here becomes one of each module that uses it, compiled for each instruction
set there. All of them add in an order that the length alone decides, never the width of a register:
every instruction set gives the same bits.
"""

from libc.math cimport INFINITY, exp, fabs
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from sklearn_xc._kernels.common._common cimport dispatched, prefetch, prefetch_far

cdef enum:
    LANES = 16  # one AVX-512 register of float32, one cache line


cdef extern from "_dot.h" nogil:
    # inlined into functions that are dispatched themselves; for others `inner_product`
    float dot "xc_dot"(const float* x, const float* w, int64_t n)

cdef extern from "_simd.h" nogil:
    # a bit for each of LANES values that is above its threshold
    unsigned int mask_above "xc_mask_above"(const float* values, const float* thresholds)
    int lowest_bit "xc_lowest_bit"(unsigned int mask)


cdef inline void prefetch_floats(const float* values, int64_t n) noexcept nogil:
    """Ask for every cache line of n numbers, into the first cache."""
    cdef int64_t line
    for line in range((n + LANES - 1) // LANES):
        prefetch(values + line * LANES)


cdef inline void prefetch_floats_far(const float* values, int64_t n) noexcept nogil:
    """Ask for every cache line of n numbers, not into the first cache: it is full."""
    cdef int64_t line
    for line in range((n + LANES - 1) // LANES):
        prefetch_far(values + line * LANES)


cdef inline int64_t first_from(
    const int32_t* numbers, int64_t low, int64_t high, int64_t least
) noexcept nogil:
    """The first place from `low` on whose number, ascending, is not below `least`; or high."""
    cdef int64_t middle
    while low < high:
        middle = (low + high) // 2
        if numbers[middle] < least:
            low = middle + 1
        else:
            high = middle
    return low


cdef inline float largest_magnitude(const float* x, int64_t n) noexcept nogil:
    """The largest absolute value; NaN if one is."""
    # Without their sign, floats are in the order of their bits, NaN above all: integer maxima are
    # vectors, and no NaN is lost as in fmax.
    cdef int64_t c
    cdef int32_t bits, most = 0
    cdef float found
    for c in range(n):
        memcpy(&bits, x + c, sizeof(bits))
        most = max(most, bits & 0x7fffffff)
    memcpy(&found, &most, sizeof(found))
    return found


cdef inline bint divides(float scale) noexcept nogil:
    """Whether quotients by a scale come out right."""
    # Neither tiny, where few bits are left of it, nor infinite, nor NaN, which no comparison is
    # true of.
    return <float>1e-30 < scale < <float>INFINITY


cdef inline double sigmoid(double z) noexcept nogil:
    """1 / (1 + e^-z)."""
    # both forms are equal; exp of a number below 0 cannot overflow
    cdef double e = exp(-fabs(z))
    return 1 / (1 + e) if z >= 0 else e / (1 + e)


cdef inline double weight_of(const float[::1] sample_weight, int32_t i) noexcept nogil:
    """The weight of a sample; all are 1 where there are none."""
    return sample_weight[i] if sample_weight.shape[0] else 1


cdef inline dispatched inner_product(
    const float* x, const float* w, int64_t n, float* out
) noexcept nogil:
    """OUT <x, w>."""
    out[0] = dot(x, w, n)


cdef inline dispatched add_multiple(
    float* out, const float* x, float factor, int64_t n
) noexcept nogil:
    """out += factor * x."""
    cdef int64_t c
    for c in range(n):
        out[c] += factor * x[c]


cdef inline dispatched largest(const float* z, int64_t n, float* top) noexcept nogil:
    """IN / OUT the largest so far."""
    # A maximum for each lane: one alone would wait for every comparison before it. Chosen by value,
    # not by a branch, so that the comparisons become vectors.
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


cdef inline dispatched sum_of_squares(const float* x, int64_t n, double* out) noexcept nogil:
    """OUT ||x||^2 in float64, where no square is too small or too large."""
    # eight sums of float64, one AVX-512 register, which are added up in their order at the end
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

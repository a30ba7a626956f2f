"""Rows of float32 in two halves: the upper 16 bits of all values, then the lower ones of all.

The upper half of a value, rounded to a mantissa of eight bits, is what scores are computed with:
they wait for memory, and of that it is half as much. Steps are made on both, and lose nothing.

Two halves share a word of 32 bits: of BLOCK columns word i has columns i and i + BLOCK / 2, so that
two vectors of floats are a shift and a mask away. Rows are multiples of BLOCK / 2 columns; what is
left beside the blocks lies likewise.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport memcpy

cdef enum:
    BLOCK = 32
    HALF = 16  # of a block
    QUARTER = 8
    LOW = 0xffff

cdef extern from *:
    # In words, as in _simd.h.
    """
    #include "_simd.h"

    #if defined(__GNUC__) || defined(__clang__)
    #define XC_ADD_HALVES(row, factor)                                 \\
        do {                                                           \\
            __builtin_memcpy(&words, row, sizeof words);               \\
            bits = words << 16;                                        \\
            __builtin_memcpy(&values, &bits, sizeof values);           \\
            first += (factor) * values;                                \\
            bits = words & (int)0xffff0000u;                           \\
            __builtin_memcpy(&values, &bits, sizeof values);           \\
            second += (factor) * values;                               \\
        } while (0)

    static inline __attribute__((always_inline)) void xc_add_block_of_halves(
        float *out, const float *base, const unsigned *a, float s, const unsigned *b, float t,
        const unsigned *c, float u, const unsigned *d, float v) {
        xc_floats first, second, values;
        xc_ints words, bits;
        __builtin_memcpy(&first, base, sizeof first);
        __builtin_memcpy(&second, base + 16, sizeof second);
        XC_ADD_HALVES(a, s);
        XC_ADD_HALVES(b, t);
        XC_ADD_HALVES(c, u);
        XC_ADD_HALVES(d, v);
        __builtin_memcpy(out, &first, sizeof first);
        __builtin_memcpy(out + 16, &second, sizeof second);
    }
    #else
    static inline float xc_half(unsigned word, int shift) {
        unsigned bits = word >> shift << 16;
        float value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }

    static inline void xc_add_block_of_halves(
        float *out, const float *base, const unsigned *a, float s, const unsigned *b, float t,
        const unsigned *c, float u, const unsigned *d, float v) {
        for (int i = 0; i < 32; i++)
            out[i] = base[i] + s * xc_half(a[i % 16], i & 16) + t * xc_half(b[i % 16], i & 16) +
                     u * xc_half(c[i % 16], i & 16) + v * xc_half(d[i % 16], i & 16);
    }
    #endif
    """
    void add_block_of_halves "xc_add_block_of_halves"(
        float* out, const float* base, const uint32_t* a, float s, const uint32_t* b, float t,
        const uint32_t* c, float u, const uint32_t* d, float v
    ) noexcept nogil


cdef inline float from_bits(uint32_t bits) noexcept nogil:
    cdef float value
    memcpy(&value, &bits, sizeof(value))
    return value


cdef inline uint32_t to_bits(float value) noexcept nogil:
    cdef uint32_t bits
    memcpy(&bits, &value, sizeof(bits))
    return bits


cdef inline uint32_t upper_half(uint32_t bits) noexcept nogil:
    return (bits + 0x8000) >> 16


cdef inline uint32_t joined(uint32_t upper, uint32_t lower) noexcept nogil:
    """The upper half was rounded: from there the lower one counts up or down."""
    return (upper << 16) + (lower ^ 0x8000) - 0x8000


cdef inline float of_upper_half(const uint32_t* words, int64_t c, int64_t half) noexcept nogil:
    """Column c of 2 * `half` columns that `half` words hold."""
    return from_bits(words[c % half] >> (16 * (c // half)) << 16)


cdef inline void add_to_halves(uint32_t* row, int64_t n, int64_t c, float change) noexcept nogil:
    """Column c of a row of n += change."""
    cdef int64_t half = HALF if c < n - n % BLOCK else QUARTER  # powers of two
    cdef int64_t at = c // BLOCK * HALF + (c & (half - 1))
    cdef int32_t shift = 0 if (c & half) == 0 else 16
    cdef uint32_t* upper = row + at
    cdef uint32_t* lower = row + n // 2 + at
    cdef uint32_t others = ~(<uint32_t>LOW << shift)
    cdef uint32_t bits = joined(upper[0] >> shift & LOW, lower[0] >> shift & LOW)
    bits = to_bits(from_bits(bits) + change)
    upper[0] = (upper[0] & others) | (upper_half(bits) & LOW) << shift
    lower[0] = (lower[0] & others) | (bits & LOW) << shift


cdef void halve_row(float* row, int64_t n, uint32_t* spare) noexcept nogil
cdef void join_row(float* row, int64_t n, float factor, uint32_t* spare) noexcept nogil

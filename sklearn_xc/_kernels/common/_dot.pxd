"""The inner product of two short vectors, to be called from `dispatched` functions."""

from libc.stdint cimport int64_t

cdef extern from *:
    # In words, as in _simd.h: from the plain loop compilers make ordered sums of the lanes.
    """
    #include "_simd.h"

    #if defined(__GNUC__) || defined(__clang__)
    typedef float xc_floats8 __attribute__((vector_size(32)));
    typedef float xc_floats4 __attribute__((vector_size(16)));

    #define XC_ADD_PRODUCT(total, offset)                \\
        do {                                             \\
            __builtin_memcpy(&a, x + (offset), sizeof a); \\
            __builtin_memcpy(&b, w + (offset), sizeof b); \\
            (total) += a * b;                            \\
        } while (0)

    static inline __attribute__((always_inline)) float xc_dot(const float *x, const float *w,
                                                              long long n) {
        xc_floats total = {0}, more = {0}, a, b;
        xc_floats8 halves[2], half, c, d;
        xc_floats4 quarters[2], quarter;
        float rest = 0;
        /* Where w comes from memory, the fewer instructions, the more of it is on its way. */
        for (; n >= 64; n -= 64, x += 64, w += 64) {
            XC_ADD_PRODUCT(total, 0);
            XC_ADD_PRODUCT(more, 16);
            XC_ADD_PRODUCT(total, 32);
            XC_ADD_PRODUCT(more, 48);
        }
        for (; n >= 16; n -= 16, x += 16, w += 16) XC_ADD_PRODUCT(total, 0);
        total += more;
        __builtin_memcpy(halves, &total, sizeof total);
        half = halves[0] + halves[1];
        if (n >= 8) {
            __builtin_memcpy(&c, x, sizeof c);
            __builtin_memcpy(&d, w, sizeof d);
            half += c * d;
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

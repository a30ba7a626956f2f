/* The inner product of two vectors, for functions that are `dispatched`. */
#ifndef SKLEARN_XC_DOT_H
#define SKLEARN_XC_DOT_H

#include "_simd.h"

#if defined(__GNUC__) || defined(__clang__)
/* With GCC's vector extensions: of the plain loop compilers make an ordered sum. */
typedef float xc_quarter __attribute__((vector_size(16)));

typedef struct {
    xc_floats total, more;
} xc_sums;

/* Where w comes from memory, the fewer instructions, the more of it is on its way. */
XC_INLINE xc_sums xc_plus_64(xc_sums sums, const float *x, const float *w) {
    sums.total = xc_plus_products(sums.total, xc_load(x), xc_load(w));
    sums.more = xc_plus_products(sums.more, xc_load(x + 16), xc_load(w + 16));
    sums.total = xc_plus_products(sums.total, xc_load(x + 32), xc_load(w + 32));
    sums.more = xc_plus_products(sums.more, xc_load(x + 48), xc_load(w + 48));
    return sums;
}

/* The sums of all before, and of n < 64 numbers more. */
XC_INLINE float xc_sum_up(xc_sums sums, const float *x, const float *w, long long n) {
    xc_half half, a, b;
    xc_quarter quarters[2], quarter;
    float rest = 0;
    for (; n >= 16; n -= 16, x += 16, w += 16)
        sums.total = xc_plus_products(sums.total, xc_load(x), xc_load(w));
    sums.total = xc_sum(sums.total, sums.more);
    half = sums.total.low + sums.total.high;
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

XC_INLINE float xc_dot(const float *x, const float *w, long long n) {
    xc_sums sums = {xc_zeros(), xc_zeros()};
    for (; n >= 64; n -= 64, x += 64, w += 64) sums = xc_plus_64(sums, x, w);
    return xc_sum_up(sums, x, w, n);
}
#else
XC_INLINE float xc_dot(const float *x, const float *w, long long n) {
    float total = 0;
    for (long long i = 0; i < n; i++) total += x[i] * w[i];
    return total;
}
#endif

#endif

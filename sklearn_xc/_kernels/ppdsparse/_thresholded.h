/* The product of a sparse row and soft-thresholded values, the inner loop of the dual descents. */
#ifndef SKLEARN_XC_THRESHOLDED_H
#define SKLEARN_XC_THRESHOLDED_H

#include <stddef.h>
#include <stdint.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

static inline float xc_soft_threshold(float value, float level) {
    const float above = value > -level ? value : -level;
    return value - (above < level ? above : level);
}

/* sum_e S(v[places[e]]) x[e].  Four entries at a time stand in a vector, so that thresholds are
 * compared without branches: a compiler turns the plain loop into jumps that depend on the signs
 * of v, most of which are guessed wrongly.  Two sums, since one would wait for itself. */
#if defined(__GNUC__) || defined(__clang__)
typedef float xc_four __attribute__((vector_size(16)));
typedef int32_t xc_four_bits __attribute__((vector_size(16)));

static inline __attribute__((always_inline)) xc_four xc_soft_thresholds(xc_four value,
                                                                        xc_four level) {
#if defined(__SSE__) /* three instructions; GCC makes none of them of a comparison and a choice */
    return value - (xc_four)_mm_max_ps(_mm_min_ps((__m128)value, (__m128)level), (__m128)-level);
#else
    const xc_four_bits above = (xc_four_bits)(value - level) & (value > level);
    const xc_four_bits below = (xc_four_bits)(value + level) & (value < -level);
    return (xc_four)(above | below);
#endif
}

static inline __attribute__((always_inline)) float xc_thresholded_dot(
    const int32_t *places, const float *x, ptrdiff_t n, const float *v, float level) {
    const xc_four high = {level, level, level, level};
    xc_four sum = {0, 0, 0, 0}, other = {0, 0, 0, 0};
    const ptrdiff_t whole = n & ~(ptrdiff_t)3;
    ptrdiff_t e = 0;
    for (; e < whole; e += 4) {
        const xc_four value = {v[places[e]], v[places[e + 1]], v[places[e + 2]], v[places[e + 3]]};
        xc_four entry;
        __builtin_memcpy(&entry, x + e, sizeof entry);
        const xc_four next = sum + xc_soft_thresholds(value, high) * entry;
        sum = other;
        other = next;
    }
    sum += other;
    float z = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    for (; e < n; e++) z += xc_soft_threshold(v[places[e]], level) * x[e];
    return z;
}

/* v[places[e]] += change * x[e].  Stores may be what the next entry reads, so that a compiler has
 * neither vectors nor several entries in a turn of the plain loop. */
static inline __attribute__((always_inline)) void xc_add_entries(
    const int32_t *places, const float *x, ptrdiff_t n, float change, float *v) {
    const xc_four factor = {change, change, change, change};
    const ptrdiff_t whole = n & ~(ptrdiff_t)3;
    ptrdiff_t e = 0;
    for (; e < whole; e += 4) {
        xc_four term;
        __builtin_memcpy(&term, x + e, sizeof term);
        term *= factor;
        for (int q = 0; q < 4; q++) v[places[e + q]] += term[q];
    }
    for (; e < n; e++) v[places[e]] += change * x[e];
}
#else
static inline void xc_add_entries(const int32_t *places, const float *x, ptrdiff_t n, float change,
                                  float *v) {
    for (ptrdiff_t e = 0; e < n; e++) v[places[e]] += change * x[e];
}

static inline float xc_thresholded_dot(const int32_t *places, const float *x, ptrdiff_t n,
                                       const float *v, float level) {
    float z = 0;
    for (ptrdiff_t e = 0; e < n; e++) z += xc_soft_threshold(v[places[e]], level) * x[e];
    return z;
}
#endif

#endif

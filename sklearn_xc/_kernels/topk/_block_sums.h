/* Sums of a block of 64 classes that lie next to one another. */
#ifndef SKLEARN_XC_BLOCK_SUMS_H
#define SKLEARN_XC_BLOCK_SUMS_H

#include <stdint.h>
#include <string.h>

#include "../common/_simd.h"

/* Weights by which those of a column are fetched before they are added: five blocks. */
enum { XC_AHEAD = 320 };

/* totals[c] = scores[c] + the sum of values[f] * weights[columns[f] * stride + c], for the classes
 * c of a block, over f = 0, 1, ... until a column is -1. Of a loop over 64 numbers GCC keeps the
 * sums in memory between two features. */
#if defined(__GNUC__) || defined(__clang__)
XC_INLINE void xc_add_columns(
    const int32_t *columns, const float *values, const float *weights, int64_t stride,
    const float *scores, float *totals) {
    xc_floats s0 = xc_load(scores), s1 = xc_load(scores + 16);
    xc_floats s2 = xc_load(scores + 32), s3 = xc_load(scores + 48);
    for (; *columns >= 0; columns++, values++) {
        const float *of_column = weights + *columns * stride;
        for (int c = XC_AHEAD; c < XC_AHEAD + 64; c += 16) XC_PREFETCH(of_column + c);
        s0 = xc_plus_multiple(s0, *values, xc_load(of_column));
        s1 = xc_plus_multiple(s1, *values, xc_load(of_column + 16));
        s2 = xc_plus_multiple(s2, *values, xc_load(of_column + 32));
        s3 = xc_plus_multiple(s3, *values, xc_load(of_column + 48));
    }
    xc_store(totals, s0), xc_store(totals + 16, s1);
    xc_store(totals + 32, s2), xc_store(totals + 48, s3);
}

/* The same for two rows, with each weight read once; totals are IN/OUT. By halves of the block, whose
 * sums fill half of the registers of AVX2. */
XC_INLINE void xc_add_columns_to_two(
    const int32_t *columns, const float *values, const float *others, const float *weights,
    int64_t stride, float *totals, float *of_others) {
    for (int c = 0; c < 64; c += 32) {
        xc_floats s0 = xc_load(totals + c), s1 = xc_load(totals + c + 16);
        xc_floats t0 = xc_load(of_others + c), t1 = xc_load(of_others + c + 16);
        for (int f = 0; columns[f] >= 0; f++) {
            const float *of_column = weights + columns[f] * stride + c;
            const xc_floats w0 = xc_load(of_column), w1 = xc_load(of_column + 16);
            s0 = xc_plus_multiple(s0, values[f], w0);
            t0 = xc_plus_multiple(t0, others[f], w0);
            s1 = xc_plus_multiple(s1, values[f], w1);
            t1 = xc_plus_multiple(t1, others[f], w1);
        }
        xc_store(totals + c, s0), xc_store(totals + c + 16, s1);
        xc_store(of_others + c, t0), xc_store(of_others + c + 16, t1);
    }
}

XC_INLINE xc_half xc_larger(xc_half a, xc_half b) {
    const xc_half_bits larger = a > b;
    return (xc_half)(((xc_half_bits)a & larger) | ((xc_half_bits)b & ~larger));
}

/* At least the largest of the totals of a block, for values that are not negative. `maxima` has
 * sixteen numbers of each block and column: the largest weights of classes c, c + 16, c + 32 and
 * c + 48. */
XC_INLINE float xc_bound_of_block(const int32_t *columns, const float *values, const float *maxima,
                                  int64_t stride, const float *scores) {
    const xc_floats s0 = xc_load(scores), s1 = xc_load(scores + 16);
    const xc_floats s2 = xc_load(scores + 32), s3 = xc_load(scores + 48);
    xc_floats most = {
        xc_larger(xc_larger(s0.low, s1.low), xc_larger(s2.low, s3.low)),
        xc_larger(xc_larger(s0.high, s1.high), xc_larger(s2.high, s3.high)),
    };
    for (; *columns >= 0; columns++, values++)
        most = xc_plus_multiple(most, *values, xc_load(maxima + *columns * stride));
    const xc_half half = xc_larger(most.low, most.high);
    const xc_half swapped = {half[4], half[5], half[6], half[7], half[0], half[1], half[2], half[3]};
    const xc_half quarter = xc_larger(half, swapped);
    const float a = quarter[0] > quarter[1] ? quarter[0] : quarter[1];
    const float b = quarter[2] > quarter[3] ? quarter[2] : quarter[3];
    return a > b ? a : b;
}
#else
static inline void xc_add_columns_to_two(const int32_t *columns, const float *values,
                                         const float *others, const float *weights,
                                         int64_t stride, float *totals, float *of_others) {
    for (; *columns >= 0; columns++, values++, others++)
        for (int c = 0; c < 64; c++) {
            totals[c] += *values * weights[*columns * stride + c];
            of_others[c] += *others * weights[*columns * stride + c];
        }
}

static inline void xc_add_columns(const int32_t *columns, const float *values,
                                  const float *weights, int64_t stride, const float *scores,
                                  float *totals) {
    memcpy(totals, scores, 64 * sizeof(float));
    for (; *columns >= 0; columns++, values++)
        for (int c = 0; c < 64; c++) totals[c] += *values * weights[*columns * stride + c];
}

static inline float xc_bound_of_block(const int32_t *columns, const float *values,
                                      const float *maxima, int64_t stride, const float *scores) {
    float bound = scores[0];
    for (int c = 0; c < 16; c++) {
        float most = scores[c];
        for (int v = 16; v < 64; v += 16) most = scores[v + c] > most ? scores[v + c] : most;
        for (int f = 0; columns[f] >= 0; f++) most += values[f] * maxima[columns[f] * stride + c];
        bound = most > bound ? most : bound;
    }
    return bound;
}
#endif

#endif

/* Sums of a block of 64 classes that lie next to one another. */
#ifndef SKLEARN_XC_BLOCK_SUMS_H
#define SKLEARN_XC_BLOCK_SUMS_H

#include <stdint.h>
#include <string.h>

#include "../common/_simd.h"

/* Weights by which those of a column are fetched before they are added: five blocks. */
enum { XC_AHEAD = 320 };

/* totals[c] = scores[c] + the sum of values[f] * weights[columns[f] * stride + c], for the classes
 * c of a block, over f = 0, 1, ... until a column is -1. Sixteen classes make a vector: of a loop
 * over 64 numbers GCC keeps the sums in memory between two features. */
#if defined(__GNUC__) || defined(__clang__)
static inline __attribute__((always_inline)) void xc_add_columns(
    const int32_t *columns, const float *values, const float *weights, int64_t stride,
    const float *scores, float *totals) {
    xc_floats s0, s1, s2, s3, w;
    memcpy(&s0, scores, sizeof w);
    memcpy(&s1, scores + 16, sizeof w);
    memcpy(&s2, scores + 32, sizeof w);
    memcpy(&s3, scores + 48, sizeof w);
    for (; *columns >= 0; columns++, values++) {
        const float *of_column = weights + *columns * stride;
        for (int c = XC_AHEAD; c < XC_AHEAD + 64; c += 16) XC_PREFETCH(of_column + c);
        memcpy(&w, of_column, sizeof w);
        s0 += *values * w;
        memcpy(&w, of_column + 16, sizeof w);
        s1 += *values * w;
        memcpy(&w, of_column + 32, sizeof w);
        s2 += *values * w;
        memcpy(&w, of_column + 48, sizeof w);
        s3 += *values * w;
    }
    memcpy(totals, &s0, sizeof w);
    memcpy(totals + 16, &s1, sizeof w);
    memcpy(totals + 32, &s2, sizeof w);
    memcpy(totals + 48, &s3, sizeof w);
}

/* The same for two rows, with each weight read once; totals are IN/OUT. */
static inline __attribute__((always_inline)) void xc_add_columns_to_two(
    const int32_t *columns, const float *values, const float *others, const float *weights,
    int64_t stride, float *totals, float *of_others) {
    xc_floats s[4], t[4], w;
    memcpy(s, totals, sizeof s);
    memcpy(t, of_others, sizeof t);
    xc_floats s0 = s[0], s1 = s[1], s2 = s[2], s3 = s[3];
    xc_floats t0 = t[0], t1 = t[1], t2 = t[2], t3 = t[3];
    for (; *columns >= 0; columns++, values++, others++) {
        const float *of_column = weights + *columns * stride;
        memcpy(&w, of_column, sizeof w);
        s0 += *values * w;
        t0 += *others * w;
        memcpy(&w, of_column + 16, sizeof w);
        s1 += *values * w;
        t1 += *others * w;
        memcpy(&w, of_column + 32, sizeof w);
        s2 += *values * w;
        t2 += *others * w;
        memcpy(&w, of_column + 48, sizeof w);
        s3 += *values * w;
        t3 += *others * w;
    }
    s[0] = s0, s[1] = s1, s[2] = s2, s[3] = s3;
    t[0] = t0, t[1] = t1, t[2] = t2, t[3] = t3;
    memcpy(totals, s, sizeof s);
    memcpy(of_others, t, sizeof t);
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
#endif

#endif

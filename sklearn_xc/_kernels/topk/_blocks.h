/* Loops of prediction over classes that lie next to one another. */
#ifndef SKLEARN_XC_BLOCKS_H
#define SKLEARN_XC_BLOCKS_H

#include <stdint.h>
#include <string.h>

#include "../common/_simd.h"

enum { XC_BLOCK = 64 };

#if defined(__GNUC__) || defined(__clang__)
#define XC_INLINE static inline __attribute__((always_inline))
#else
#define XC_INLINE static inline
#endif

/* totals[c] = scores[c] + the sum of values[f] * weights[columns[f] * stride + c], for a block of
 * classes c, over f = 0, ... until a column is -1. */
XC_INLINE void xc_add_columns(const int32_t *columns, const float *values, const float *weights,
                              int64_t stride, const float *scores, float *totals) {
#if defined(__GNUC__) || defined(__clang__)
    /* Of a loop over arrays GCC keeps the sums in memory between two features. */
    xc_floats s0, s1, s2, s3, w;
    memcpy(&s0, scores, sizeof w);
    memcpy(&s1, scores + 16, sizeof w);
    memcpy(&s2, scores + 32, sizeof w);
    memcpy(&s3, scores + 48, sizeof w);
    for (; *columns >= 0; columns++, values++) {
        const float *of_column = weights + *columns * stride;
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
#else
    memcpy(totals, scores, XC_BLOCK * sizeof(float));
    for (; *columns >= 0; columns++, values++)
        for (int c = 0; c < XC_BLOCK; c++) totals[c] += *values * weights[*columns * stride + c];
#endif
}

#endif

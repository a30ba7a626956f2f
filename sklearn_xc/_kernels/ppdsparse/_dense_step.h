/* A step of a dual descent over dense rows. */
#ifndef SKLEARN_XC_DENSE_STEP_H
#define SKLEARN_XC_DENSE_STEP_H

#include "_dot.h"
#include "ppdsparse/_thresholded.h"

/* v += change * x and <S(v), next>, in one pass over v: S(v) is not stored, and v read once, where
 * one after the other would read v twice. Meanwhile `ahead`, a row to come, is fetched into the
 * first cache, line by line. */
#if defined(__GNUC__) || defined(__clang__)
XC_INLINE void xc_add_and_shrink(float *__restrict v, const float *__restrict x, float change,
                                 float level, float *__restrict shrunk, long long n) {
    for (long long j = 0; j < n; j++) {
        const float u = v[j] + change * x[j];
        v[j] = u;
        shrunk[j] = xc_soft_threshold(u, level);
    }
}

XC_INLINE float xc_dense_step(float *v, const float *x, float change, float level,
                              const float *next, const float *ahead, long long n) {
    xc_sums sums = {xc_zeros(), xc_zeros()};
    float shrunk[64];
    for (; n >= 64; n -= 64, v += 64, x += 64, next += 64, ahead += 64) {
        for (int line = 0; line < 64; line += 16) XC_PREFETCH(ahead + line);
        xc_add_and_shrink(v, x, change, level, shrunk, 64);
        sums = xc_plus_64(sums, shrunk, next);
    }
    for (long long line = 0; line < n; line += 16) XC_PREFETCH(ahead + line);
    xc_add_and_shrink(v, x, change, level, shrunk, n);
    return xc_sum_up(sums, shrunk, next, n);
}
#else
XC_INLINE float xc_dense_step(float *v, const float *x, float change, float level,
                              const float *next, const float *ahead, long long n) {
    float total = 0;
    for (long long j = 0; j < n; j++) {
        v[j] += change * x[j];
        total += xc_soft_threshold(v[j], level) * next[j];
    }
    return total;
}
#endif

#endif

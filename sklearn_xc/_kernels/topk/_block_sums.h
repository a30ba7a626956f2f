/* Sums of a block of 64 classes that lie next to one another. */
#ifndef SKLEARN_XC_BLOCK_SUMS_H
#define SKLEARN_XC_BLOCK_SUMS_H

#include <stdint.h>
#include <string.h>

#include "../common/_simd.h"

/* Weights by which those of a feature are fetched before they are added: five blocks. */
enum { XC_AHEAD = 320 };

#if defined(__GNUC__) || defined(__clang__)
/* What the two functions below share, with sums s0, ..., s3. */
#define XC_ADD_TO_SUMS                                                                      \
    for (; *starts >= 0; starts++, values++) {                                              \
        const float *of_feature = weights + *starts;                                        \
        for (int c = XC_AHEAD; c < XC_AHEAD + 64; c += 16) XC_PREFETCH(of_feature + c);     \
        s0 = xc_plus_multiple(s0, *values, xc_load(of_feature));                            \
        s1 = xc_plus_multiple(s1, *values, xc_load(of_feature + 16));                       \
        s2 = xc_plus_multiple(s2, *values, xc_load(of_feature + 32));                       \
        s3 = xc_plus_multiple(s3, *values, xc_load(of_feature + 48));                       \
    }

/* totals[c] = scores[c] + the sum of values[f] * weights[starts[f] + c], for the classes c of a
 * block, over f = 0, 1, ... until a start is -1. Of a loop over 64 numbers GCC keeps the sums in
 * memory between two features. */
XC_INLINE void xc_add_features(
    const int64_t *starts, const float *values, const float *weights, const float *scores,
    float *totals) {
    xc_floats s0 = xc_load(scores), s1 = xc_load(scores + 16);
    xc_floats s2 = xc_load(scores + 32), s3 = xc_load(scores + 48);
    XC_ADD_TO_SUMS;
    xc_store(totals, s0), xc_store(totals + 16, s1);
    xc_store(totals + 32, s2), xc_store(totals + 48, s3);
}

/* The same for a block of which only totals from `worst` on matter: whether there is one, and OUT
 * `totals` only then. The scores are those of `anew` afterwards. */
XC_INLINE int xc_finish_from(
    const int64_t *starts, const float *values, const float *weights, float worst,
    const float *anew, float *scores, float *totals) {
    xc_floats s0 = xc_load(scores), s1 = xc_load(scores + 16);
    xc_floats s2 = xc_load(scores + 32), s3 = xc_load(scores + 48);
    for (int c = 0; c < 64; c += 16) xc_store(scores + c, xc_load(anew + c));
    XC_ADD_TO_SUMS;
    const xc_half_bits a0 = s0.low >= worst, a1 = s0.high >= worst, a2 = s1.low >= worst;
    const xc_half_bits a3 = s1.high >= worst, a4 = s2.low >= worst, a5 = s2.high >= worst;
    const xc_half_bits a6 = s3.low >= worst, a7 = s3.high >= worst;
    const xc_half_bits found = ((a0 | a1) | (a2 | a3)) | ((a4 | a5) | (a6 | a7));
    int64_t any[4];
    memcpy(any, &found, sizeof any);
    if (((any[0] | any[1]) | (any[2] | any[3])) == 0) return 0;
    xc_store(totals, s0), xc_store(totals + 16, s1);
    xc_store(totals + 32, s2), xc_store(totals + 48, s3);
    return 1;
}

/* totals[c] += the sum of values[f] * weights[32 f + c] over n features, for half a block of classes,
 * and the same for another row. The sums fill half of the registers of AVX2. */
XC_INLINE void xc_add_to_two(const float *values, const float *others, int64_t n,
                             const float *weights, float *totals, float *of_others) {
    xc_floats s0 = xc_load(totals), s1 = xc_load(totals + 16);
    xc_floats t0 = xc_load(of_others), t1 = xc_load(of_others + 16);
    for (int64_t f = 0; f < n; f++, weights += 32) {
        const xc_floats w0 = xc_load(weights), w1 = xc_load(weights + 16);
        s0 = xc_plus_multiple(s0, values[f], w0);
        t0 = xc_plus_multiple(t0, others[f], w0);
        s1 = xc_plus_multiple(s1, values[f], w1);
        t1 = xc_plus_multiple(t1, others[f], w1);
    }
    xc_store(totals, s0), xc_store(totals + 16, s1);
    xc_store(of_others, t0), xc_store(of_others + 16, t1);
}
#else
static inline void xc_add_to_two(const float *values, const float *others, int64_t n,
                                 const float *weights, float *totals, float *of_others) {
    for (int64_t f = 0; f < n; f++, weights += 32)
        for (int c = 0; c < 32; c++) {
            totals[c] += values[f] * weights[c];
            of_others[c] += others[f] * weights[c];
        }
}

static inline void xc_add_features(const int64_t *starts, const float *values,
                                   const float *weights, const float *scores, float *totals) {
    memcpy(totals, scores, 64 * sizeof(float));
    for (; *starts >= 0; starts++, values++)
        for (int c = 0; c < 64; c++) totals[c] += *values * weights[*starts + c];
}

static inline int xc_finish_from(const int64_t *starts, const float *values, const float *weights,
                                 float worst, const float *anew, float *scores, float *totals) {
    (void)worst;
    xc_add_features(starts, values, weights, scores, totals);
    memcpy(scores, anew, 64 * sizeof(float));
    return 1;
}
#endif

#endif

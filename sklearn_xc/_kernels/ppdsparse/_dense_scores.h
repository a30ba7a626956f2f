/* Scores of dense rows for sixteen classes: a matrix product in tiles of a few rows, whose sums stay
 * in registers while a column of weights is read once for all of them.
 *
 * Each sum runs over the features in order, so that neither the height of a tile nor the way rows are
 * cut into blocks changes a bit. With GCC vector extensions, as in _simd.h.
 */
#ifndef XC_DENSE_SCORES_H
#define XC_DENSE_SCORES_H

#include <string.h>

#include "_simd.h"

#define XC_TILE_LANES 16
#define XC_TILE_AHEAD 3 /* tiles, which are on their way from memory */

/* Of `height` rows, in `parts` vectors each, which make sixteen lanes. One vector is copied at a
 * time: several at once would go through memory. */
#define XC_TILE(vector, parts, height)                                                          \
    do {                                                                                        \
        vector z[height][parts], column[parts];                                                 \
        for (int r = 0; r < height; r++) memcpy(z[r], bias, sizeof z[r]);                       \
        for (long long j = 0; j < width; j++) {                                                 \
            XC_PREFETCH(x + height * (XC_TILE_AHEAD * width + j));                              \
            for (int p = 0; p < parts; p++)                                                     \
                memcpy(&column[p], weights + XC_TILE_LANES * j + p * (XC_TILE_LANES / parts),   \
                       sizeof column[p]);                                                       \
            for (int r = 0; r < height; r++)                                                    \
                for (int p = 0; p < parts; p++) z[r][p] += x[r * width + j] * column[p];        \
        }                                                                                       \
        for (int r = 0; r < height; r++) memcpy(scores + XC_TILE_LANES * r, z[r], sizeof z[r]); \
    } while (0)

/* As many tiles as there are, and the rows that are left over one by one. */
#define XC_TILES(vector, parts, height)                                               \
    do {                                                                              \
        for (; n >= height; n -= height) {                                            \
            XC_TILE(vector, parts, height);                                           \
            x += height * width, scores += height * XC_TILE_LANES;                    \
        }                                                                             \
        for (; n > 0; n--, x += width, scores += XC_TILE_LANES) XC_TILE(vector, parts, 1); \
    } while (0)

#if defined(__GNUC__) || defined(__clang__)
#define XC_TILE_VECTOR xc_half
#define XC_TILE_PARTS 2
#else
#define XC_TILE_VECTOR float
#define XC_TILE_PARTS XC_TILE_LANES
#endif

/* Six rows: their sums take twelve of the sixteen registers of AVX2. */
XC_CLONES static void xc_dense_scores_narrow(const float *x, long long n, long long width,
                                             const float *weights, const float *bias,
                                             float *scores) {
    XC_TILES(XC_TILE_VECTOR, XC_TILE_PARTS, 6);
}

#if defined(XC_AVX512) && defined(__x86_64__)
/* Eight of the 32 registers of AVX-512, of which one takes sixteen lanes. */
typedef float xc_tile_row __attribute__((vector_size(64)));

__attribute__((target("arch=x86-64-v4"))) static void xc_dense_scores_wide(
    const float *x, long long n, long long width, const float *weights, const float *bias,
    float *scores) {
    XC_TILES(xc_tile_row, 1, 8);
}
#define XC_HAS_WIDE_TILES() __builtin_cpu_supports("avx512f")
#else
#define xc_dense_scores_wide xc_dense_scores_narrow
#define XC_HAS_WIDE_TILES() 0
#endif

/* scores[i, c] = bias[c] + sum_j x[i, j] weights[j, c] for n rows and sixteen classes. */
static inline void xc_dense_scores(const float *x, long long n, long long width,
                                   const float *weights, const float *bias, float *scores) {
    if (XC_HAS_WIDE_TILES())
        xc_dense_scores_wide(x, n, width, weights, bias, scores);
    else
        xc_dense_scores_narrow(x, n, width, weights, bias, scores);
}

#endif

/* Bounds of the scores of blocks of 64 classes, from a quarter of the weights. */
#ifndef SKLEARN_XC_BLOCK_BOUNDS_H
#define SKLEARN_XC_BLOCK_BOUNDS_H

#include <stdint.h>

#include "../common/_simd.h"

#define XC_BOUNDS_ARGUMENTS                                                                   \
    const int32_t *columns, const float *values, const float *maxima, int64_t stride,         \
        const float *scores, int64_t n_blocks, float *bounds

/* bounds[b] is at least the largest of the totals of a block, for values that are not negative.
 * `maxima` has sixteen numbers of each block and column: the largest weights of classes c, c + 16,
 * c + 32 and c + 48. */
static inline void xc_bounds_plain(XC_BOUNDS_ARGUMENTS) {
    for (int64_t b = 0; b < n_blocks; b++, scores += 64, maxima += 16) {
        float bound = 0;
        for (int c = 0; c < 16; c++) {
            float most = scores[c];
            for (int v = 16; v < 64; v += 16) most = scores[v + c] > most ? scores[v + c] : most;
            for (int f = 0; columns[f] >= 0; f++)
                most += values[f] * maxima[columns[f] * stride + c];
            bound = c == 0 || most > bound ? most : bound;
        }
        bounds[b] = bound;
    }
}

#define XC_PARTS_ARGUMENTS                                                            \
    const int32_t *columns, const float *values, const float *maxima, int64_t stride, \
        const float *scores, float worst

/* Bit v says whether the total of one of the classes 16 v, ..., 16 v + 15 of a block may reach
 * `worst`. */
static inline unsigned xc_parts_plain(XC_PARTS_ARGUMENTS) {
    unsigned parts = 0;
    for (int c = 0; c < 64; c++) {
        float most = scores[c];
        for (int f = 0; columns[f] >= 0; f++)
            most += values[f] * maxima[columns[f] * stride + c % 16];
        parts |= (unsigned)!(most < worst) << c / 16;
    }
    return parts;
}

#if defined(XC_CLONE_TARGETS) && defined(__x86_64__)
#include <immintrin.h>

/* By intrinsics: of the plain loops GCC makes comparisons one by one. */
__attribute__((target("arch=x86-64-v3"))) static void xc_bounds_avx2(XC_BOUNDS_ARGUMENTS) {
    for (int64_t b = 0; b < n_blocks; b++, scores += 64, maxima += 16) {
        __m256 half[2];
        for (int h = 0; h < 2; h++) {
            const float *s = scores + 8 * h;
            half[h] = _mm256_max_ps(_mm256_max_ps(_mm256_loadu_ps(s), _mm256_loadu_ps(s + 16)),
                                    _mm256_max_ps(_mm256_loadu_ps(s + 32), _mm256_loadu_ps(s + 48)));
        }
        for (int f = 0; columns[f] >= 0; f++) {
            const float *of_column = maxima + columns[f] * stride;
            const __m256 value = _mm256_set1_ps(values[f]);
            half[0] = _mm256_add_ps(half[0], _mm256_mul_ps(value, _mm256_loadu_ps(of_column)));
            half[1] = _mm256_add_ps(half[1], _mm256_mul_ps(value, _mm256_loadu_ps(of_column + 8)));
        }
        const __m256 both = _mm256_max_ps(half[0], half[1]);
        __m128 most = _mm_max_ps(_mm256_castps256_ps128(both), _mm256_extractf128_ps(both, 1));
        most = _mm_max_ps(most, _mm_movehl_ps(most, most));
        bounds[b] = _mm_cvtss_f32(_mm_max_ss(most, _mm_movehdup_ps(most)));
    }
}

__attribute__((target("arch=x86-64-v3"))) static unsigned xc_parts_avx2(XC_PARTS_ARGUMENTS) {
    const __m256 least = _mm256_set1_ps(worst);
    unsigned parts = 0;
    for (int h = 0; h < 2; h++) {
        __m256 s[4];
        for (int v = 0; v < 4; v++) s[v] = _mm256_loadu_ps(scores + 16 * v + 8 * h);
        for (int f = 0; columns[f] >= 0; f++) {
            const __m256 most = _mm256_mul_ps(
                _mm256_set1_ps(values[f]), _mm256_loadu_ps(maxima + columns[f] * stride + 8 * h));
            for (int v = 0; v < 4; v++) s[v] = _mm256_add_ps(s[v], most);
        }
        for (int v = 0; v < 4; v++)
            parts |= (unsigned)(_mm256_movemask_ps(_mm256_cmp_ps(s[v], least, _CMP_NLT_UQ)) != 0)
                     << v;
    }
    return parts;
}

static inline void xc_bounds_of_blocks(XC_BOUNDS_ARGUMENTS) {
    if (__builtin_cpu_supports("avx2"))
        xc_bounds_avx2(columns, values, maxima, stride, scores, n_blocks, bounds);
    else
        xc_bounds_plain(columns, values, maxima, stride, scores, n_blocks, bounds);
}

static inline unsigned xc_parts_of_block(XC_PARTS_ARGUMENTS) {
    if (__builtin_cpu_supports("avx2"))
        return xc_parts_avx2(columns, values, maxima, stride, scores, worst);
    return xc_parts_plain(columns, values, maxima, stride, scores, worst);
}
#else
#define xc_bounds_of_blocks xc_bounds_plain
#define xc_parts_of_block xc_parts_plain
#endif

#endif

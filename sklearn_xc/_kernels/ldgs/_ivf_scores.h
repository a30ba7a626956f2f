/* Scores of int8 rows in blocks of sixteen, and the keys of those above a threshold.
 *
 * With GCC vector extensions, as in _simd.h, which comes first.
 */
#ifndef XC_IVF_SCORES_H
#define XC_IVF_SCORES_H

#if defined(__GNUC__) || defined(__clang__)
XC_INLINE xc_half xc_bytes_of(xc_half_bits words, int k) {
    return __builtin_convertvector((words << (24 - 8 * k)) >> 24, xc_half);
}

XC_INLINE void xc_score_bytes(const float *query, const int *values, float scale, long long width,
                              float *scores) {
    xc_half low = {0}, high = {0};
    xc_half_bits first, second;
    for (long long c = 0; c < width; c += 4, values += 16) {
        __builtin_memcpy(&first, values, sizeof first);
        __builtin_memcpy(&second, values + 8, sizeof second);
        for (int k = 0; k < 4 && c + k < width; k++) {
            low += query[c + k] * xc_bytes_of(first, k);
            high += query[c + k] * xc_bytes_of(second, k);
        }
    }
    low *= scale, high *= scale;
    __builtin_memcpy(scores, &low, sizeof low);
    __builtin_memcpy(scores + 8, &high, sizeof high);
}
#else
static inline void xc_score_bytes(const float *query, const int *values, float scale,
                                  long long width, float *scores) {
    float total[16] = {0};
    for (long long c = 0; c < width; c++)
        for (int k = 0; k < 16; k++)
            total[k] += query[c] * (signed char)(values[c / 4 * 16 + k] >> 8 * (c % 4));
    for (int k = 0; k < 16; k++) scores[k] = scale * total[k];
}
#endif

/* The keys (see key_of) of the scores above a threshold, by compress-stores, which compilers
 * make from no plain loop. Up to sixteen keys beyond are written. */
#if defined(XC_AVX512) && defined(__x86_64__) && !defined(__clang__)
#include <immintrin.h>

#define XC_HAS_COMPRESS_STORE() __builtin_cpu_supports("avx512f")

__attribute__((target("avx512f,popcnt"))) static inline long long xc_keys_above(
    float threshold, const float *scores, const int *ids, long long n_blocks,
    unsigned long long *keys) {
    const __m512i low =
        _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
    const __m512i sign = _mm512_set1_epi32((int)0x80000000u), ones = _mm512_set1_epi32(-1);
    const __m512 least = _mm512_set1_ps(threshold);
    long long n = 0;
    for (long long b = 0; b < n_blocks; b++) {
        __m512 score = _mm512_loadu_ps(scores + 16 * b);
        __m512i bits = _mm512_castps_si512(score);
        __m512i id = _mm512_xor_si512(_mm512_loadu_si512(ids + 16 * b), ones);
        unsigned mask = _mm512_cmp_ps_mask(score, least, _CMP_GT_OQ);
        bits = _mm512_xor_si512(bits, _mm512_or_si512(_mm512_srai_epi32(bits, 31), sign));
        __m512i first = _mm512_permutex2var_epi32(id, low, bits);
        __m512i second = _mm512_permutex2var_epi32(id, high, bits);
        first = _mm512_maskz_compress_epi64((__mmask8)mask, first);
        second = _mm512_maskz_compress_epi64((__mmask8)(mask >> 8), second);
        _mm512_storeu_si512(keys + n, first);
        n += __builtin_popcount(mask & 255);
        _mm512_storeu_si512(keys + n, second);
        n += __builtin_popcount(mask >> 8);
    }
    return n;
}
#else
#define XC_HAS_COMPRESS_STORE() 0
#define xc_keys_above(threshold, scores, ids, n_blocks, keys) 0
#endif

#endif

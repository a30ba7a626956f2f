/* Scores of rows rounded to bytes for sixteen classes, and the rows that may matter to any of them.
 *
 * A tile of sums of integers is what the machine has for four bytes at a time; sums of integers have
 * no order, so that every instruction set gives the same scores.
 */
#ifndef XC_BYTE_SCORES_H
#define XC_BYTE_SCORES_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "_simd.h"

#define XC_BYTE_LANES 16
#define XC_BYTE_WEIGHT 127 /* the largest weight as a byte */
/* Of the products of so many features those with two of every four, one half, are added in 16 bits.
 * There is room for them where neither positive nor negative weights of a half add up to more than 128,
 * since bytes of rows are at most 255; that is XC_BYTE_HALF before eight weights are rounded. */
#define XC_BYTE_BLOCK 16
#define XC_BYTE_HALF 124
#define XC_BYTE_TILE 8
/* What float32 arithmetic of a score may add to it, with room to spare, by the size of its terms. */
#define XC_BYTE_ROUNDING 1e-6
#define XC_BYTE_AHEAD 3 /* tiles, which are on their way from memory: few rows fit in a cache */

typedef struct {
    const uint8_t *values; /* (n, width): 128 + a row's numbers in units of its scale */
    long long width;       /* a multiple of XC_BYTE_BLOCK */
    const float *scale;
    const float *error;  /* at least the length of what rounding has taken away */
    const float *length; /* at least the length of the rounded row */
} xc_byte_rows;

typedef struct {
    const int8_t *values; /* four features of a class side by side, then those of the next class */
    int32_t start[XC_BYTE_LANES]; /* takes the 128 away again */
    float scale[XC_BYTE_LANES];
    float bias[XC_BYTE_LANES];
    float of_error[XC_BYTE_LANES]; /* what an error, and a length, can do to a score */
    float of_length[XC_BYTE_LANES];
    float threshold[XC_BYTE_LANES];
} xc_byte_weights;

typedef struct {
    long long n;
    int32_t *rows;
    uint32_t *masks;
    float *scores; /* sixteen a row */
} xc_byte_hits;

#if defined(__GNUC__) || defined(__clang__)
/* Sixteen inner products by two vectors, then scores, and what they can be at most; the same operations
 * in the same order whatever the width of the vectors. */
XC_INLINE void xc_byte_products(const int32_t *sums, float scale, const xc_byte_weights *w,
                                float *products) {
    for (int c = 0; c < XC_BYTE_LANES; c += 8) {
        xc_half_bits total;
        xc_half unit, product;
        memcpy(&total, sums + c, sizeof total);
        memcpy(&unit, w->scale + c, sizeof unit);
        product = __builtin_convertvector(total, xc_half) * scale * unit;
        memcpy(products + c, &product, sizeof product);
    }
}

XC_INLINE void xc_byte_scores(const float *products, float error, float length,
                              const xc_byte_weights *w, float *scores, float *most) {
    for (int c = 0; c < XC_BYTE_LANES; c += 8) {
        xc_half product, bias, of_error, of_length, z, upper;
        memcpy(&product, products + c, sizeof product);
        memcpy(&bias, w->bias + c, sizeof bias);
        memcpy(&of_error, w->of_error + c, sizeof of_error);
        memcpy(&of_length, w->of_length + c, sizeof of_length);
        z = bias + product;
        upper = z + (of_error * error + of_length * length);
        memcpy(scores + c, &z, sizeof z);
        memcpy(most + c, &upper, sizeof upper);
    }
}
#else
XC_INLINE void xc_byte_products(const int32_t *sums, float scale, const xc_byte_weights *w,
                                float *products) {
    for (int c = 0; c < XC_BYTE_LANES; c++) products[c] = (float)sums[c] * scale * w->scale[c];
}

XC_INLINE void xc_byte_scores(const float *products, float error, float length,
                              const xc_byte_weights *w, float *scores, float *most) {
    for (int c = 0; c < XC_BYTE_LANES; c++) {
        scores[c] = w->bias[c] + products[c];
        most[c] = scores[c] + (w->of_error[c] * error + w->of_length[c] * length);
    }
}
#endif

/* What a product has to exceed at least for its row to exceed a threshold: the largest error and length
 * of any of the rows take the place of its own, and XC_BYTE_ROUNDING is more than arithmetic takes. */
XC_INLINE void xc_byte_room(const xc_byte_rows *rows, long long low, long long high,
                            const xc_byte_weights *w, float *room) {
    int32_t errors = 0, lengths = 0; /* numbers without sign are in the order of their bits */
    float error, length;
    for (long long i = low; i < high; i++) {
        int32_t bits;
        memcpy(&bits, rows->error + i, sizeof bits);
        errors = bits > errors ? bits : errors;
        memcpy(&bits, rows->length + i, sizeof bits);
        lengths = bits > lengths ? bits : lengths;
    }
    memcpy(&error, &errors, sizeof error);
    memcpy(&length, &lengths, sizeof length);
    for (int c = 0; c < XC_BYTE_LANES; c++) {
        const float slack = w->of_error[c] * error + w->of_length[c] * length;
        const float size = fabsf(w->threshold[c]) + fabsf(w->bias[c]) + slack;
        room[c] = w->threshold[c] - w->bias[c] - slack - (float)XC_BYTE_ROUNDING * size;
    }
}

/* The rows low, ..., high - 1 by tiles, and the last ones one by one. `member` has a bit for each
 * lane that knows a row already. Nearly all rows end at the first test. */
#define XC_BYTE_SEARCH(ROWS, TILE, MASK)                                                        \
    do {                                                                                        \
        int32_t sums[ROWS][XC_BYTE_LANES];                                                      \
        float products[XC_BYTE_LANES], most[XC_BYTE_LANES], room[XC_BYTE_LANES];                \
        long long i = low, height;                                                              \
        xc_byte_room(rows, low, high, weights, room);                                           \
        for (; i < high; i += height) {                                                         \
            const uint8_t *x = rows->values + i * rows->width;                                  \
            height = high - i < ROWS ? 1 : ROWS;                                                \
            if (height == 1)                                                                    \
                TILE(1);                                                                        \
            else                                                                                \
                TILE(ROWS);                                                                     \
            for (long long r = 0; r < height; r++) {                                            \
                const unsigned unknown = ~(unsigned)member[i + r];                              \
                xc_byte_products(sums[r], rows->scale[i + r], weights, products);               \
                if (!(MASK(products, room) & unknown)) continue;                                \
                xc_byte_scores(products, rows->error[i + r], rows->length[i + r], weights,      \
                               hits->scores + XC_BYTE_LANES * hits->n, most);                   \
                hits->rows[hits->n] = (int32_t)(i + r);                                         \
                hits->masks[hits->n] = MASK(most, weights->threshold) & unknown;                \
                hits->n += hits->masks[hits->n] != 0;                                           \
            }                                                                                   \
        }                                                                                       \
    } while (0)

#define XC_BYTE_ARGUMENTS                                                            \
    const xc_byte_rows *rows, long long low, long long high, const uint16_t *member, \
        const xc_byte_weights *weights, xc_byte_hits *hits

/* Of a row and the weights of one class in 16 bits. */
XC_CLONES static int32_t xc_fine_sum(const uint8_t *x, const int16_t *w, long long n) {
    int32_t total = 0;
    for (long long j = 0; j < n; j++) {
        const int16_t number = x[j];
        total += number * w[j];
    }
    return total;
}

/* Four rows at a time, since the bytes of weights are taken apart once for all of them. */
#if defined(__GNUC__) || defined(__clang__)
XC_INLINE void xc_byte_sums(const uint8_t *x, long long width, int height,
                            const xc_byte_weights *weights, int32_t (*sums)[XC_BYTE_LANES]) {
    for (int c = 0; c < XC_BYTE_LANES; c += 8) {
        xc_half_bits z[4], words, one;
        for (int r = 0; r < height; r++) memcpy(&z[r], weights->start + c, sizeof z[r]);
        for (long long j = 0; j < width; j += 4) {
            memcpy(&words, weights->values + XC_BYTE_LANES * j + 4 * c, sizeof words);
            for (int k = 0; k < 4; k++) {
                one = (words << (24 - 8 * k)) >> 24;
                for (int r = 0; r < height; r++) z[r] += one * (int)x[r * width + j + k];
            }
        }
        for (int r = 0; r < height; r++) memcpy(sums[r] + c, &z[r], sizeof z[r]);
    }
}
#else
XC_INLINE void xc_byte_sums(const uint8_t *x, long long width, int height,
                            const xc_byte_weights *weights, int32_t (*sums)[XC_BYTE_LANES]) {
    for (int r = 0; r < height; r++) {
        memcpy(sums[r], weights->start, sizeof sums[r]);
        for (long long j = 0; j < width; j++)
            for (int c = 0; c < XC_BYTE_LANES; c++)
                sums[r][c] += x[r * width + j] *
                              weights->values[j / 4 * 4 * XC_BYTE_LANES + 4 * c + j % 4];
    }
}
#endif

#define XC_PLAIN_TILE(rows_of_tile)                                                  \
    do {                                                                             \
        if ((rows_of_tile) % 4)                                                      \
            xc_byte_sums(x, rows->width, 1, weights, sums);                          \
        else                                                                         \
            for (int r = 0; r < (rows_of_tile); r += 4)                              \
                xc_byte_sums(x + r * rows->width, rows->width, 4, weights, sums + r); \
    } while (0)

XC_CLONES static void xc_byte_search_plain(XC_BYTE_ARGUMENTS) {
    XC_BYTE_SEARCH(XC_BYTE_TILE, XC_PLAIN_TILE, xc_mask_above);
}

#if defined(XC_CLONE_TARGETS) && defined(__x86_64__)
#include <immintrin.h>

#define XC_LOAD_256(at) _mm256_loadu_si256((const __m256i *)(at))
/* Of additions that it may reorder GCC makes more sums than there are registers. */
#define XC_ADD_256(add, sum, more)                                     \
    do {                                                               \
        const __m256i term = more;                                     \
        __asm__(add " %1, %0, %0" : "+x"(sum) : "x"(term));            \
    } while (0)

/* Of three rows, which share the weights, or one; sums of more would not fit in registers. Products of
 * bytes come in pairs, and the pairs of a block are added before they are widened. */
#define XC_AVX2_ROWS 3
XC_INLINE __attribute__((target("arch=x86-64-v3"))) void xc_avx2_sums(
    const uint8_t *x, long long width, const int height, const xc_byte_weights *weights,
    int32_t (*sums)[XC_BYTE_LANES]) {
    const __m256i ones = _mm256_set1_epi16(1);
    const uint8_t *ahead = x + XC_BYTE_AHEAD * XC_BYTE_TILE * width;
    __m256i low[XC_AVX2_ROWS], high[XC_AVX2_ROWS], part_low[XC_AVX2_ROWS], part_high[XC_AVX2_ROWS];
    for (int r = 0; r < height; r++) {
        low[r] = XC_LOAD_256(weights->start);
        high[r] = XC_LOAD_256(weights->start + 8);
    }
    for (long long j = 0; j < width; j += XC_BYTE_BLOCK) {
        XC_PREFETCH(ahead + height * j);
        for (int k = 0; k < XC_BYTE_BLOCK; k += 4) {
            const int8_t *w = weights->values + XC_BYTE_LANES * (j + k);
            const __m256i w_low = XC_LOAD_256(w), w_high = XC_LOAD_256(w + 32);
            for (int r = 0; r < height; r++) {
                int32_t four;
                memcpy(&four, x + r * width + j + k, sizeof four);
                const __m256i all = _mm256_set1_epi32(four);
                if (k == 0) {
                    part_low[r] = _mm256_maddubs_epi16(all, w_low);
                    part_high[r] = _mm256_maddubs_epi16(all, w_high);
                } else {
                    XC_ADD_256("vpaddw", part_low[r], _mm256_maddubs_epi16(all, w_low));
                    XC_ADD_256("vpaddw", part_high[r], _mm256_maddubs_epi16(all, w_high));
                }
            }
        }
        for (int r = 0; r < height; r++) {
            XC_ADD_256("vpaddd", low[r], _mm256_madd_epi16(part_low[r], ones));
            XC_ADD_256("vpaddd", high[r], _mm256_madd_epi16(part_high[r], ones));
        }
    }
    for (int r = 0; r < height; r++) {
        _mm256_storeu_si256((__m256i *)sums[r], low[r]);
        _mm256_storeu_si256((__m256i *)(sums[r] + 8), high[r]);
    }
}

#define XC_AVX2_MASK_OF(values, thresholds)                                                  \
    (unsigned)_mm256_movemask_ps(                                                            \
        _mm256_cmp_ps(_mm256_loadu_ps(values), _mm256_loadu_ps(thresholds), _CMP_GT_OQ))
#define XC_AVX2_MASK(values, thresholds) \
    (XC_AVX2_MASK_OF(values, thresholds) | XC_AVX2_MASK_OF((values) + 8, (thresholds) + 8) << 8)

#define XC_AVX2_TILE(height) xc_avx2_sums(x, rows->width, height, weights, sums)

__attribute__((target("arch=x86-64-v3"))) static void xc_byte_search_avx2(XC_BYTE_ARGUMENTS) {
    XC_BYTE_SEARCH(XC_AVX2_ROWS, XC_AVX2_TILE, XC_AVX2_MASK);
}
#define XC_HAS_AVX2() __builtin_cpu_supports("avx2")
#else
#define xc_byte_search_avx2 xc_byte_search_plain
#define XC_HAS_AVX2() 0
#endif

#if defined(XC_AVX512) && defined(__x86_64__)
#define XC_VNNI_MASK(values, thresholds) \
    (unsigned)_mm512_cmp_ps_mask(_mm512_loadu_ps(values), _mm512_loadu_ps(thresholds), _CMP_GT_OQ)

/* GCC copies each sum before and after its intrinsic for this. */
#define XC_DPBUSD(sum, x, w) __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(x), "v"(w))

#define XC_VNNI_TILE(rows_of_tile)                                                              \
    do {                                                                                        \
        __m512i z[rows_of_tile], w;                                                             \
        for (int r = 0; r < (rows_of_tile); r++) memcpy(&z[r], weights->start, sizeof z[r]);    \
        for (long long j = 0; j < rows->width; j += 4) {                                        \
            XC_PREFETCH(x + (rows_of_tile) * (XC_BYTE_AHEAD * rows->width + j));                \
            memcpy(&w, weights->values + XC_BYTE_LANES * j, sizeof w);                          \
            for (int r = 0; r < (rows_of_tile); r++) {                                          \
                int32_t four;                                                                   \
                memcpy(&four, x + r * rows->width + j, sizeof four);                            \
                XC_DPBUSD(z[r], _mm512_set1_epi32(four), w);                                    \
            }                                                                                   \
        }                                                                                       \
        for (int r = 0; r < (rows_of_tile); r++) memcpy(sums[r], &z[r], sizeof z[r]);           \
    } while (0)

__attribute__((target("arch=x86-64-v4,avx512vnni"))) static void xc_byte_search_vnni(
    XC_BYTE_ARGUMENTS) {
    XC_BYTE_SEARCH(XC_BYTE_TILE, XC_VNNI_TILE, XC_VNNI_MASK);
}
#define XC_HAS_VNNI() (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vnni"))
#else
#define xc_byte_search_vnni xc_byte_search_plain
#define XC_HAS_VNNI() 0
#endif

enum { XC_PLAIN, XC_AVX2, XC_VNNI };

/* Append to `hits` the rows that lie above the threshold of any lane that does not know them, by
 * instructions up to `widest`. */
static inline void xc_byte_search(int widest, XC_BYTE_ARGUMENTS) {
    if (widest >= XC_VNNI && XC_HAS_VNNI())
        xc_byte_search_vnni(rows, low, high, member, weights, hits);
    else if (widest >= XC_AVX2 && XC_HAS_AVX2())
        xc_byte_search_avx2(rows, low, high, member, weights, hits);
    else
        xc_byte_search_plain(rows, low, high, member, weights, hits);
}

#endif

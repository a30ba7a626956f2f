/* Wide vectors chosen at run time.
 *
 * A kernel's hot leaf function is declared in Cython with the return type `dispatched`, which is
 * spelt `XC_CLONES void` in C: the compiler then makes one copy of it for each instruction set in
 * XC_CLONE_TARGETS (setup.py probes them), and the loader picks the widest that the machine has.
 * The loops themselves are plain; sixteen consecutive floats fill one AVX-512 register, two of
 * AVX2 or four of SSE2.
 */
#ifndef SKLEARN_XC_SIMD_H
#define SKLEARN_XC_SIMD_H

#ifdef XC_CLONE_TARGETS
#define XC_CLONES __attribute__((target_clones(XC_CLONE_TARGETS, "default")))
#else
#define XC_CLONES
#endif

/* The return type of a function whose loop reads values from all over an array. GCC makes vectors
 * of them, one value at a time, which takes longer than the arithmetic that this would speed up. */
#if defined(__GNUC__) && !defined(__clang__)
#define XC_SCALAR __attribute__((noinline, optimize("no-tree-vectorize")))
#else
#define XC_SCALAR
#endif

/* The empty assembly keeps GCC from taking a function that only prefetches for one that does
 * nothing, calls of which it leaves out. */
#if defined(__GNUC__) || defined(__clang__)
#define XC_PREFETCH(address) ({ __builtin_prefetch(address); __asm__ volatile(""); })
#define XC_PREFETCH_FAR(address) ({ __builtin_prefetch(address, 0, 2); __asm__ volatile(""); })
#else
#define XC_PREFETCH(address) ((void)(address))
#define XC_PREFETCH_FAR(address) ((void)(address))
#endif

/* Sixteen floats that stay in registers: two vectors of eight. Of a vector wider than its registers
 * GCC keeps every copy in memory, which takes several times as long where there is no AVX-512.
 * With AVX-512 two halves take two instructions where one vector would take one. */
#if defined(__GNUC__) || defined(__clang__)
#define XC_INLINE static inline __attribute__((always_inline))
typedef float xc_half __attribute__((vector_size(32)));
typedef int xc_half_bits __attribute__((vector_size(32)));
typedef struct {
    xc_half low, high;
} xc_floats;

XC_INLINE xc_floats xc_load(const float *values) {
    xc_floats v;
    __builtin_memcpy(&v.low, values, sizeof v.low);
    __builtin_memcpy(&v.high, values + 8, sizeof v.high);
    return v;
}

XC_INLINE void xc_store(float *values, xc_floats v) {
    __builtin_memcpy(values, &v.low, sizeof v.low);
    __builtin_memcpy(values + 8, &v.high, sizeof v.high);
}

XC_INLINE xc_floats xc_zeros(void) { return (xc_floats){{0}, {0}}; }

XC_INLINE xc_floats xc_sum(xc_floats a, xc_floats b) {
    return (xc_floats){a.low + b.low, a.high + b.high};
}

/* total + factor * v, and total + v * w */
XC_INLINE xc_floats xc_plus_multiple(xc_floats total, float factor, xc_floats v) {
    return (xc_floats){total.low + factor * v.low, total.high + factor * v.high};
}

XC_INLINE xc_floats xc_plus_products(xc_floats total, xc_floats v, xc_floats w) {
    return (xc_floats){total.low + v.low * w.low, total.high + v.high * w.high};
}
#else
#define XC_INLINE static inline
#endif

/* Bit c says whether value c of sixteen lies above its threshold. Compilers turn the plain loop into
 * a chain of scalar compares, and vectors wider than registers too. */
#if defined(__SSE2__)
#include <emmintrin.h>

XC_INLINE unsigned xc_mask_above(const float *values, const float *thresholds) {
    unsigned mask = 0;
    for (int c = 0; c < 16; c += 4)
        mask |= (unsigned)_mm_movemask_ps(
                    _mm_cmpgt_ps(_mm_loadu_ps(values + c), _mm_loadu_ps(thresholds + c)))
                << c;
    return mask;
}
#elif defined(__GNUC__) || defined(__clang__)
typedef float xc_four_floats __attribute__((vector_size(16)));
typedef int xc_four_ints __attribute__((vector_size(16)));

XC_INLINE unsigned xc_mask_above(const float *values, const float *thresholds) {
    const xc_four_ints bits = {1, 2, 4, 8};
    xc_four_ints any = {0};
    for (int c = 0; c < 16; c += 4) {
        xc_four_floats v, t;
        __builtin_memcpy(&v, values + c, sizeof v);
        __builtin_memcpy(&t, thresholds + c, sizeof t);
        any |= ((v > t) & bits) << c;
    }
    return (unsigned)((any[0] | any[1]) | (any[2] | any[3]));
}
#else
XC_INLINE unsigned xc_mask_above(const float *values, const float *thresholds) {
    unsigned mask = 0;
    for (int c = 0; c < 16; c++) mask |= (unsigned)(values[c] > thresholds[c]) << c;
    return mask;
}
#endif

#if defined(__GNUC__) || defined(__clang__)
static inline int xc_lowest_bit(unsigned mask) { return __builtin_ctz(mask); }
#else
static inline int xc_lowest_bit(unsigned mask) {
    int c = 0;
    while (!(mask >> c & 1)) c++;
    return c;
}
#endif

#endif

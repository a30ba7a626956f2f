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

#if defined(__GNUC__) || defined(__clang__)
#define XC_PREFETCH(address) __builtin_prefetch(address)
#else
#define XC_PREFETCH(address) ((void)(address))
#endif

/* Whether any of sixteen values lies above its threshold; compilers turn the plain loop into a
 * chain of scalar compares, hence the vectors in words. */
#if defined(__GNUC__) || defined(__clang__)
typedef float xc_floats __attribute__((vector_size(64)));
typedef int xc_ints __attribute__((vector_size(64)));
typedef long long xc_longs __attribute__((vector_size(64)));

static inline __attribute__((always_inline)) int xc_any_above(const float *values,
                                                              const float *thresholds) {
    xc_floats v, t;
    __builtin_memcpy(&v, values, sizeof v);
    __builtin_memcpy(&t, thresholds, sizeof t);
    xc_ints above = v > t;
    xc_longs pairs;
    __builtin_memcpy(&pairs, &above, sizeof pairs);
    return (pairs[0] | pairs[1] | pairs[2] | pairs[3] | pairs[4] | pairs[5] | pairs[6] |
            pairs[7]) != 0;
}
#else
static inline int xc_any_above(const float *values, const float *thresholds) {
    int any = 0;
    for (int c = 0; c < 16; c++) any |= values[c] > thresholds[c];
    return any;
}
#endif

#endif

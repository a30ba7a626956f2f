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
/* A sum in the order of its terms, for several instruction sets: as vectors the products would be
 * rounded before they are added, which a fused multiply-add of another kernel does not do. */
#define XC_ORDERED XC_CLONES __attribute__((optimize("no-tree-vectorize")))
#else
#define XC_SCALAR
#define XC_ORDERED XC_CLONES
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

/* Bit c says whether value c of sixteen lies above its threshold; compilers turn the plain loop
 * into a chain of scalar compares, hence the vectors in words. */
#if defined(__GNUC__) || defined(__clang__)
typedef float xc_floats __attribute__((vector_size(64)));
typedef int xc_ints __attribute__((vector_size(64)));
typedef int xc_quad __attribute__((vector_size(16)));

static inline __attribute__((always_inline)) unsigned xc_mask_above(const float *values,
                                                                    const float *thresholds) {
    const xc_ints bits = {1,      1 << 1, 1 << 2,  1 << 3,  1 << 4,  1 << 5,  1 << 6,  1 << 7,
                          1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15};
    xc_floats v, t;
    __builtin_memcpy(&v, values, sizeof v);
    __builtin_memcpy(&t, thresholds, sizeof t);
    xc_ints above = (v > t) & bits;
    xc_quad part[4];
    __builtin_memcpy(part, &above, sizeof above);
    xc_quad any = (part[0] | part[1]) | (part[2] | part[3]);
    return (unsigned)((any[0] | any[1]) | (any[2] | any[3]));
}

static inline int xc_lowest_bit(unsigned mask) { return __builtin_ctz(mask); }
#else
static inline unsigned xc_mask_above(const float *values, const float *thresholds) {
    unsigned mask = 0;
    for (int c = 0; c < 16; c++) mask |= (unsigned)(values[c] > thresholds[c]) << c;
    return mask;
}

static inline int xc_lowest_bit(unsigned mask) {
    int c = 0;
    while (!(mask >> c & 1)) c++;
    return c;
}
#endif

#endif

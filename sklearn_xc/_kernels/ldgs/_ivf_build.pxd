"""Blocks of inverted lists (see `_ivf_build.pyx`): their sizes, and scores of centroids."""

from libc.stdint cimport int64_t

from sklearn_xc._kernels.common._vector_ops cimport LANES

cdef enum:
    BYTES = 4  # columns of the values of a row in one word

cdef extern from *:
    # Compilers turn the plain loop into vectors along the columns, with many permutations; hence
    # the vectors in words, as in _simd.h.
    """
    #include "_simd.h"

    #if defined(__GNUC__) || defined(__clang__)
    static inline __attribute__((always_inline)) void xc_score_block(
        const float *query, const float *values, long long width, float *scores) {
        xc_floats total = xc_zeros();
        for (long long c = 0; c < width; c++)
            total = xc_plus_multiple(total, query[c], xc_load(values + 16 * c));
        xc_store(scores, total);
    }
    #else
    static inline void xc_score_block(const float *query, const float *values, long long width,
                                      float *scores) {
        float total[16] = {0};
        for (long long c = 0; c < width; c++)
            for (int k = 0; k < 16; k++) total[k] += query[c] * values[16 * c + k];
        for (int k = 0; k < 16; k++) scores[k] = total[k];
    }
    #endif
    """
    void score_block "xc_score_block"(
        const float* query, const float* values, int64_t width, float* scores
    ) noexcept nogil


cdef inline int64_t words_of(int64_t width) noexcept nogil:
    """The size of a block of this many columns."""
    return (width + BYTES - 1) // BYTES * LANES

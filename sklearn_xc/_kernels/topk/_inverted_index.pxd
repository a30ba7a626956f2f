"""The weights as kernels see them, and the order of additions, which `_candidate_scores` keeps."""

from libc.stdint cimport int32_t, int64_t

cdef extern from "_block_sums.h" nogil:
    void add_columns "xc_add_columns" (
        const int32_t* columns, const float* values, const float* weights, int64_t stride,
        const float* scores, float* totals,
    )

cdef enum:
    BATCH = 256  # features with weights for all classes that are added in one pass over the classes

cdef struct Index:
    const int64_t* indptr
    const int32_t* classes
    const float* weights
    const int32_t* full_column
    const float* full_weights
    const float* intercept
    const int32_t* by_intercept
    int64_t stride  # from one feature's weights for all classes to those of the next
    int32_t n_classes
    int32_t n_blocks

cdef struct Batch:
    int32_t column[BATCH + 1]  # ends with -1
    float value[BATCH]

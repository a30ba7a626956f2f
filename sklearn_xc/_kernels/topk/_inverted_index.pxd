"""The weights as kernels see them, and the order of additions, which `_candidate_scores` keeps."""

from libc.stdint cimport int32_t, int64_t, uint16_t
from libc.string cimport memcpy

from sklearn_xc._kernels.common._common cimport prefetch
from sklearn_xc._kernels.common._heap cimport sift

cdef extern from "_block_sums.h" nogil:
    void add_columns "xc_add_columns" (
        const int32_t* columns, const float* values, const float* weights, int64_t stride,
        const float* scores, float* totals,
    )
    bint finish_columns_above "xc_finish_above" (
        const int32_t* columns, const float* values, const float* weights, int64_t stride,
        float worst, const float* anew, float* scores, float* totals,
    )
    void add_to_two "xc_add_to_two" (
        const float* values, const float* others, int64_t n, const float* weights, float* totals,
        float* of_others,
    )

cdef enum:
    BLOCK = 64  # classes whose scores are finished and compared at once
    LINE = 16  # numbers of four bytes in a cache line
    AHEAD = 256  # entries of a list by which it is fetched before it is added
    BATCH = 256  # features with weights for all classes that are added in one pass over the classes

ctypedef fused ClassNumber:
    int32_t
    uint16_t

cdef struct Index:
    const int64_t* indptr
    const int32_t* classes
    const uint16_t* narrow_classes  # in their place where two bytes hold a class; else NULL
    const float* weights
    const int32_t* full_column
    const float* full_weights
    const float* intercept
    const int32_t* by_intercept
    int64_t stride  # from one feature's weights for all classes to those of the next
    int32_t n_classes
    int32_t n_columns  # of the weights for all classes: those of classes, or of whole blocks
    int32_t n_blocks

cdef struct Batch:
    int32_t column[BATCH + 1]  # ends with -1
    float value[BATCH]


cdef class Postings:
    cdef const int64_t[::1] indptr
    cdef const int32_t[::1] classes
    cdef const uint16_t[::1] narrow_classes
    cdef const float[::1] weights
    cdef const int32_t[::1] full_column
    cdef const float[:, :] full_weights
    cdef const float[::1] intercept
    cdef const int32_t[::1] by_intercept

    cdef Index pointers(self) except *


cdef inline int32_t class_at(Index index, int64_t p) noexcept nogil:
    if index.narrow_classes != NULL:
        return index.narrow_classes[p]
    return index.classes[p]


cdef inline void add_list(
    float value, int64_t p, int64_t stop, Index index, float* scores
) noexcept nogil:
    """scores += value times the weights from p to stop."""
    if p == stop:
        return
    if index.narrow_classes != NULL:
        add_entries(value, index.narrow_classes + p, index.weights + p, stop - p, scores)
    else:
        add_entries(value, index.classes + p, index.weights + p, stop - p, scores)


cdef inline void add_entries(
    float value, const ClassNumber* classes, const float* weights, int64_t n, float* scores
) noexcept nogil:
    """scores[classes] += value times n weights."""
    cdef int64_t p = 0
    cdef int32_t c
    while p + LINE <= n:
        prefetch(classes + p + AHEAD)
        prefetch(weights + p + AHEAD)
        for c in range(LINE):
            scores[classes[p + c]] += value * weights[p + c]
        p += LINE
    while p < n:
        scores[classes[p]] += value * weights[p]
        p += 1


cdef inline void finish_block(
    const int32_t* columns, const float* values, Index index, int32_t block, const float* scores,
    float* totals,
) noexcept nogil:
    """totals = scores + the columns' part of W x, for the classes of one block."""
    cdef const float* of_block = index.full_weights + <int64_t>block * BLOCK
    cdef int32_t c, n = index.n_columns - block * BLOCK
    if n >= BLOCK:
        add_columns(columns, values, of_block, index.stride, scores, totals)
        return
    memcpy(totals, scores, BLOCK * sizeof(float))
    while columns[0] >= 0:  # nothing is read beyond the weights
        for c in range(n):
            totals[c] += values[0] * of_block[columns[0] * index.stride + c]
        columns += 1
        values += 1


cdef inline bint finish_above(
    const int32_t* columns, const float* values, Index index, int32_t block, float worst,
    float* scores, float* totals,
) noexcept nogil:
    """Whether a total may lie above `worst`; OUT totals only then. Leaves the intercepts behind."""
    cdef const float* intercept = index.intercept + <int64_t>block * BLOCK
    if index.n_columns - block * BLOCK >= BLOCK:
        return finish_columns_above(
            columns, values, index.full_weights + <int64_t>block * BLOCK, index.stride, worst,
            intercept, scores, totals,
        )
    finish_block(columns, values, index, block, scores, totals)
    memcpy(scores, intercept, BLOCK * sizeof(float))
    return True


cdef inline void offer_block(
    const float* totals, int32_t start, float* top, int32_t* labels, int64_t k
) noexcept nogil:
    """Offer a block of classes to the k best; a tie never replaces the smaller class."""
    cdef int32_t c, hits = 0
    cdef float worst = top[0]
    for c in range(BLOCK):
        hits |= totals[c] > worst
    if hits:
        for c in range(BLOCK):
            if totals[c] > top[0]:
                sift(top, labels, k, totals[c], start + c)


cdef inline void add_positives(
    const float* totals, int32_t start, int32_t n, int64_t* count, float* wrong, int32_t* found
) noexcept nogil:
    """The positive ones of n scores, which follow those that were counted before."""
    cdef int32_t c, hits = 0
    for c in range(n):
        hits += totals[c] > 0
        wrong[0] += totals[c] * 0  # NaN for infinity and NaN
    if hits and found != NULL:
        for c in range(n):
            if totals[c] > 0:
                found[count[0]] = start + c
                count[0] += 1
    else:
        count[0] += hits

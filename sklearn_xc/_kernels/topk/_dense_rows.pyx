"""The k best classes of dense rows, of which several share each reading of the weights.

Rows of a group have the same features, also where a value is zero. The scores of a block of classes
are finished for all of them while the block's weights are in a cache. Sums are those of
`_inverted_index`, in its order of additions, to the last bit.
"""

from cython.parallel cimport prange, threadid
from libc.math cimport INFINITY
from libc.stdint cimport INT32_MAX, int32_t, int64_t
from libc.string cimport memcpy

from sklearn_xc._kernels.common._common cimport dispatched
from sklearn_xc._kernels.common._heap cimport sort_heap
from sklearn_xc._kernels.common._rows cimport Rows, pointers_to_rows
from sklearn_xc._kernels.topk._inverted_index cimport (
    BATCH, BLOCK, Index, Postings, add_columns_to_two, add_list, finish_block, offer_block,
)

cdef enum:
    MOST_TOGETHER = 32  # rows

cdef struct Group:
    int64_t n  # rows
    int32_t column[BATCH + 1]  # ends with -1
    float value[MOST_TOGETHER][BATCH]


def most_together():
    """The largest number of rows in a group."""
    return MOST_TOGETHER


def batch_of_features():
    """The number of features that are added to the scores at once."""
    return BATCH


cdef inline void finish_group(
    const Group* group, Index index, int32_t block, const float* scores, int64_t stride,
    float* totals,
) noexcept nogil:
    """totals = scores + the group's part of W x, for one block of classes of each row."""
    cdef const float* of_block = index.full_weights + <int64_t>block * BLOCK
    cdef int64_t r, first = 0
    if index.n_columns - block * BLOCK >= BLOCK:
        for r in range(group.n):
            memcpy(totals + r * BLOCK, scores + r * stride + block * BLOCK, BLOCK * sizeof(float))
        first = group.n // 2 * 2
        for r in range(0, first, 2):
            add_columns_to_two(
                group.column, group.value[r], group.value[r + 1], of_block, index.stride,
                totals + r * BLOCK, totals + (r + 1) * BLOCK,
            )
    for r in range(first, group.n):
        finish_block(
            group.column, group.value[r], index, block, scores + r * stride + block * BLOCK,
            totals + r * BLOCK,
        )


cdef dispatched accumulate_group(
    Rows rows, int64_t start, Index index, float* scores, int64_t stride, Group* group
) noexcept nogil:
    """scores += W x of each row, but for the features that are left in the group."""
    cdef float totals[MOST_TOGETHER * BLOCK]
    cdef int64_t e, r, n_features = rows.indptr[start + 1] - rows.indptr[start]
    cdef const float* values = rows.values + rows.indptr[start]
    cdef int32_t j, block, n = 0
    for e in range(n_features):
        j = rows.features[e]
        if index.full_column[j] < 0:
            for r in range(group.n):
                if values[r * n_features + e] != 0:
                    add_list(
                        values[r * n_features + e], index.indptr[j], index.indptr[j + 1], index,
                        scores + r * stride,
                    )
            continue
        if n == BATCH:
            group.column[n] = -1
            for block in range(index.n_blocks):
                finish_group(group, index, block, scores, stride, totals)
                for r in range(group.n):
                    memcpy(
                        scores + r * stride + block * BLOCK, totals + r * BLOCK,
                        BLOCK * sizeof(float),
                    )
            n = 0
        group.column[n] = index.full_column[j]
        for r in range(group.n):
            group.value[r][n] = values[r * n_features + e]
        n += 1
    group.column[n] = -1


cdef dispatched scan_group(
    const Group* group, Index index, float* scores, int64_t stride, float* top, int32_t* labels,
    int64_t k,
) noexcept nogil:
    """Offer all classes to each row in ascending order; leaves the intercepts behind."""
    cdef float totals[MOST_TOGETHER * BLOCK]
    cdef int32_t block
    cdef int64_t r
    for block in range(index.n_blocks):
        finish_group(group, index, block, scores, stride, totals)
        for r in range(group.n):
            memcpy(
                scores + r * stride + block * BLOCK, index.intercept + block * BLOCK,
                BLOCK * sizeof(float),
            )
            offer_block(totals + r * BLOCK, block * BLOCK, top + r * k, labels + r * k, k)


cdef void topk_group(
    Rows rows, int64_t start, int64_t stop, Index index, float* scores, int64_t stride,
    float* top, int32_t* labels, int64_t k,
) noexcept nogil:
    cdef Group group
    cdef int64_t r
    group.n = stop - start
    for r in range(group.n * k):
        top[r] = -INFINITY
        labels[r] = INT32_MAX
    accumulate_group(rows, start, index, scores, stride, &group)
    scan_group(&group, index, scores, stride, top, labels, k)
    for r in range(group.n):
        sort_heap(top + r * k, labels + r * k, k)


def topk(
    const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data, bint dense,
    Postings postings, float[:, ::1] scores,
    int32_t[:, ::1] top_classes, float[:, ::1] top_scores, int n_threads,
):
    """As `_inverted_index.topk`, of dense rows.

    Parameters
    ----------
    scores : IN/OUT scratch (n_threads * rows of a group, n_places or more), the intercepts before
        and after
    """
    if not dense:
        raise ValueError("rows must be dense")
    cdef Index index = postings.pointers()
    cdef Rows rows = pointers_to_rows(indptr, indices, data, dense)
    cdef int64_t n_rows = indptr.shape[0] - 1, k = top_classes.shape[1]
    cdef int64_t together = min(<int64_t>MOST_TOGETHER, scores.shape[0] // n_threads)
    cdef int64_t g
    for g in prange(
        (n_rows + together - 1) // together, schedule="dynamic", num_threads=n_threads, nogil=True
    ):
        topk_group(
            rows, g * together, min(n_rows, (g + 1) * together), index,
            &scores[threadid() * together, 0], scores.shape[1],
            &top_scores[g * together, 0], &top_classes[g * together, 0], k,
        )

"""Scores of dense rows and the best of them; several rows share each reading of the weights.

Rows of a group have the same features, also where a value is zero. The scores of a block of classes
are finished for all of them while the block's weights are in a cache. Sums are those of
`_inverted_index`, in its order of additions, to the last bit.
"""

from cython.parallel cimport prange, threadid
from libc.math cimport INFINITY
from libc.stdint cimport INT32_MAX, int32_t, int64_t
from libc.string cimport memcpy, memset

from sklearn_xc._kernels.common._common cimport dispatched, prefetch_far
from sklearn_xc._kernels.common._heap cimport sort_heap
from sklearn_xc._kernels.common._rows cimport Rows, pointers_to_rows
from sklearn_xc._kernels.topk._batch cimport BATCH
from sklearn_xc._kernels.topk._inverted_index cimport (
    BLOCK, LINE, Index, Postings, add_list, add_positives, add_to_two, blocks_of, offer_block,
    write_block,
)

cdef enum:
    MOST_TOGETHER = 128  # rows, where no feature has a list
    MOST_WITH_LISTS = 32  # rows, each of which has its scores in scratch memory
    HALF = BLOCK // 2
    AT_ONCE = 128  # features whose weights for half a block, 16 KiB, stay in the first cache

cdef struct Group:
    int64_t n  # rows
    int64_t n_features  # that are still to be added
    int32_t n_blocks  # for which one of them has weights
    const int64_t* starts
    const int32_t* stops  # blocks for which each has weights; NULL where all have those of all
    const float* values[MOST_TOGETHER]  # of each row, as many as features

cdef struct Batches:  # where some features have lists, those that have stored weights too
    int64_t start[BATCH]
    int32_t stop[BATCH]
    float value[MOST_WITH_LISTS][BATCH]


cdef bint has_lists(Postings postings):
    cdef Py_ssize_t j
    for j in range(postings.full_stop.shape[0]):
        if postings.full_stop[j] < postings.by_intercept.shape[0]:
            return True
    return False


def most_together(bint lists):
    """Return the most rows of a group, where some features have lists and where none has."""
    # With lists, a row has scores of all classes between its lists and its blocks.
    return MOST_WITH_LISTS if lists else MOST_TOGETHER


cdef inline void finish_group(
    const Group* group, Index index, int32_t block, const float* scores, int64_t stride,
    float* totals,
) noexcept nogil:
    """Write totals = scores + the group's part of W x, for one block of classes of each row."""
    cdef const float* of_block = index.full_weights + <int64_t>block * BLOCK
    cdef const float* of_half
    cdef const float* of_feature
    cdef const float* others
    cdef float packed[AT_ONCE * HALF]
    cdef int64_t r, part, first, some, width, n = index.n_stored - block * BLOCK
    cdef int32_t half, f
    for r in range(group.n):
        memcpy(totals + r * BLOCK, scores + r * stride + block * BLOCK, BLOCK * sizeof(float))
    # No feature has weights from here on.
    if block >= group.n_blocks:
        return
    # Half a block of two rows: the sums take half of AVX2's registers, weights and values others.
    for half in range(2):
        of_half = of_block + half * HALF
        width = min(<int64_t>HALF, n - half * HALF)  # nothing is read beyond the weights
        if width <= 0:
            break
        # The last block, of weights that have no places behind the classes.
        if width < HALF:
            memset(packed, 0, sizeof(packed))
        for part in range((group.n_features + AT_ONCE - 1) // AT_ONCE):
            first = part * AT_ONCE
            some = min(<int64_t>AT_ONCE, group.n_features - first)
            # Side by side; where they are, they share few places of the first cache.
            for f in range(some):
                # Its weights end before this block: zeros keep the order of additions.
                if group.stops != NULL and block >= group.stops[first + f]:
                    memset(packed + f * HALF, 0, HALF * sizeof(float))
                    continue
                of_feature = of_half + group.starts[first + f]
                memcpy(packed + f * HALF, of_feature, width * sizeof(float))
                # The next block of the feature, read when all rows of the group have this one.
                prefetch_far(of_feature + BLOCK)
                prefetch_far(of_feature + BLOCK + LINE)
            for r in range(0, group.n, 2):
                # The last of an odd number of rows stands beside itself; there is room behind it.
                others = group.values[r + 1] if r + 1 < group.n else group.values[r]
                add_to_two(
                    group.values[r] + first, others + first, some, packed,
                    totals + r * BLOCK + half * HALF, totals + (r + 1) * BLOCK + half * HALF,
                )


cdef dispatched accumulate_group(
    Rows rows, int64_t start, Index index, float* scores, int64_t stride, Group* group,
    Batches* batches,
) noexcept nogil:
    """Add W x of each row to its scores, but for the features that are left in the group."""
    cdef float totals[MOST_WITH_LISTS * BLOCK]
    cdef int64_t e, r, n_features = rows.indptr[start + 1] - rows.indptr[start]
    cdef const float* values = rows.values + rows.indptr[start]
    cdef int32_t j, block, stop
    for e in range(n_features):
        j = rows.features[e]
        # A list, once for all rows of the group: its entries stay in the first cache.
        if index.indptr[j] < index.indptr[j + 1]:
            for r in range(group.n):
                # Zeros are left out, as by `collect_lists`: the same additions.
                if values[r * n_features + e] != 0:
                    add_list(
                        values[r * n_features + e], index.indptr[j], index.indptr[j + 1], index,
                        scores + r * stride,
                    )
    # Then stored weights, which wait in the group for `finish_group`: the order of `accumulate`.
    group.n_features = group.n_blocks = 0
    group.starts = batches.start
    group.stops = batches.stop
    for r in range(group.n):
        group.values[r] = batches.value[r]
    for e in range(n_features):
        j = rows.features[e]
        stop = blocks_of(index, j)
        if stop == 0:
            continue
        # More stored features than fit: these are added to the scores, and the group begins anew.
        if group.n_features == BATCH:
            for block in range(group.n_blocks):
                finish_group(group, index, block, scores, stride, totals)
                for r in range(group.n):
                    memcpy(
                        scores + r * stride + block * BLOCK, totals + r * BLOCK,
                        BLOCK * sizeof(float),
                    )
            group.n_features = group.n_blocks = 0
        batches.start[group.n_features] = index.full_start[j]
        batches.stop[group.n_features] = stop
        for r in range(group.n):
            batches.value[r][group.n_features] = values[r * n_features + e]
        group.n_features += 1
        group.n_blocks = max(group.n_blocks, stop)


# --------------------------------------------------------------- what becomes of the scores


cdef struct Wanted:  # from the first row on; what is not wanted is NULL
    int64_t k
    float* top
    int32_t* labels
    float* out  # (n_rows, n_classes)
    int64_t* counts  # of positive scores, -1 where a score is not finite
    const int64_t* found_indptr
    int32_t* found  # perhaps NULL where there are counts


cdef dispatched scan_group(
    const Group* group, int64_t first, Index index, float* scores, int64_t stride,
    const Wanted* wanted,
) noexcept nogil:
    """Go over all classes; leaves the intercepts behind.

    With stride 0 the scores are the intercepts and stay.
    """
    cdef float totals[MOST_TOGETHER * BLOCK]
    cdef float wrong[MOST_TOGETHER]
    cdef float* of_row
    cdef int32_t block, start
    cdef int64_t r, i
    for r in range(group.n):
        # Becomes NaN with a score that is not finite, and stays so.
        wrong[r] = 0
    for block in range(index.n_blocks):
        # Once for all rows of the group: the block's weights come from memory once.
        finish_group(group, index, block, scores, stride, totals)
        start = block * BLOCK
        for r in range(group.n):
            i = first + r
            of_row = totals + r * BLOCK
            # Each row's scores go back to the intercepts; with stride 0 they never changed.
            if stride:
                memcpy(
                    scores + r * stride + start, index.intercept + start, BLOCK * sizeof(float)
                )
            if wanted.top != NULL:
                offer_block(
                    of_row, start, index, wanted.top + i * wanted.k,
                    wanted.labels + i * wanted.k, wanted.k,
                )
            elif wanted.out != NULL:
                write_block(of_row, start, index, wanted.out + i * index.n_classes)
            else:
                add_positives(
                    of_row, start, index, &wanted.counts[i], &wrong[r],
                    NULL if wanted.found == NULL else wanted.found + wanted.found_indptr[i],
                )
    if wanted.counts != NULL:
        for r in range(group.n):
            # True for NaN.
            if wrong[r] != 0:
                wanted.counts[first + r] = -1


cdef void scores_of_group(
    Rows rows, int64_t start, int64_t stop, Index index, float* scores, int64_t stride,
    const Wanted* wanted,
) noexcept nogil:
    cdef Group group
    cdef Batches batches
    cdef int64_t r
    group.n = stop - start
    if wanted.counts != NULL:
        memset(wanted.counts + start, 0, group.n * sizeof(int64_t))
    # No turn where k is 0, as it is unless the best are wanted.
    for r in range(start * wanted.k, stop * wanted.k):
        wanted.top[r] = -INFINITY
        wanted.labels[r] = INT32_MAX
    if stride:
        accumulate_group(rows, start, index, scores, stride, &group, &batches)
    else:  # the features in their order, as they stand in the rows
        group.n_features = rows.indptr[start + 1] - rows.indptr[start]
        group.n_blocks = index.n_blocks
        group.starts = index.full_start
        group.stops = NULL
        for r in range(group.n):
            group.values[r] = rows.values + rows.indptr[start + r]
    scan_group(&group, start, index, scores, stride, wanted)
    if wanted.top != NULL:
        for r in range(start, stop):
            sort_heap(wanted.top + r * wanted.k, wanted.labels + r * wanted.k, wanted.k)


cdef int run(
    const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data, bint dense,
    Postings postings, float[:, ::1] scores, const Wanted* wanted, int64_t together, int n_threads,
) except -1:
    cdef Index index = postings.pointers()
    cdef Rows rows = pointers_to_rows(indptr, indices, data, dense)
    cdef int64_t n_rows = indptr.shape[0] - 1, stride = 0
    cdef float* of_thread
    cdef int64_t g
    if not dense:
        raise ValueError("rows must be dense")
    if has_lists(postings):
        stride = scores.shape[1]
    # Arrays on the stack and scratch memory have room for so many rows: nothing is written beyond.
    if not 1 <= together <= most_together(stride > 0) or (
        stride and scores.shape[0] < n_threads * together
    ):
        raise ValueError(f"there is no room for groups of {together} rows")
    # A group is of one thread, which has `together` rows of scratch memory.
    for g in prange(
        (n_rows + together - 1) // together, schedule="dynamic", num_threads=n_threads, nogil=True
    ):
        # Read only: without lists no score is kept between two blocks.
        of_thread = <float*>index.intercept
        if stride:
            of_thread = &scores[threadid() * together, 0]
        scores_of_group(
            rows, g * together, min(n_rows, (g + 1) * together), index, of_thread, stride, wanted
        )
    return 0


def topk(
    const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data, bint dense,
    Postings postings, float[:, ::1] scores,
    int32_t[:, ::1] top_classes, float[:, ::1] top_scores, int64_t together, int n_threads,
):
    """Find the k best classes of each row, as `_inverted_index.topk` does, of dense rows.

    Parameters
    ----------
    scores : IN/OUT scratch (n_threads * together, n_places or more), the intercepts before and
        after; not looked at where no feature has a list
    together : IN, rows of a group, at most `most_together`
    """
    cdef Wanted wanted
    memset(&wanted, 0, sizeof(Wanted))
    wanted.k = top_classes.shape[1]
    wanted.top = &top_scores[0, 0]
    wanted.labels = &top_classes[0, 0]
    run(indptr, indices, data, dense, postings, scores, &wanted, together, n_threads)


def positives(
    const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data, bint dense,
    Postings postings, float[:, ::1] scores, int64_t[::1] counts,
    const int64_t[::1] found_indptr, int32_t[::1] found, int64_t together, int n_threads,
):
    """Find positive scores as `_inverted_index.positives` does; other arguments as in `topk`."""
    cdef Wanted wanted
    memset(&wanted, 0, sizeof(Wanted))
    wanted.counts = &counts[0]
    wanted.found_indptr = &found_indptr[0]
    wanted.found = &found[0] if found.shape[0] else NULL
    run(indptr, indices, data, dense, postings, scores, &wanted, together, n_threads)


def all_scores(
    const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data, bint dense,
    Postings postings, float[:, ::1] scores, float[:, ::1] out, int64_t together, int n_threads,
):
    """Write scores as `_inverted_index.all_scores` does; other arguments as in `topk`."""
    cdef Wanted wanted
    memset(&wanted, 0, sizeof(Wanted))
    wanted.out = &out[0, 0]
    run(indptr, indices, data, dense, postings, scores, &wanted, together, n_threads)

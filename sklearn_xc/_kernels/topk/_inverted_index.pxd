"""The weights as kernels see them, and the order of additions, which `_candidate_scores` keeps.

Classes stand by their ranks here, places in an order in which those with many weights come first.
A feature has its weights stored for the first `full_stop` of them, and a list of the others that
use it. A score adds the lists of a row's features, in their order, and then the stored weights, in
the same order.
"""

from libc.math cimport INFINITY, nextafterf
from libc.stdint cimport int32_t, int64_t, uint16_t
from libc.string cimport memcpy

from sklearn_xc._kernels.common._common cimport prefetch
from sklearn_xc._kernels.common._heap cimport better, sift
from sklearn_xc._kernels.common._rows cimport Row

cdef extern from "_block_sums.h" nogil:
    void add_features "xc_add_features" (
        const int64_t* starts, const float* values, const float* weights, const float* scores,
        float* totals,
    )
    bint finish_features_from "xc_finish_from" (
        const int64_t* starts, const float* values, const float* weights, float worst,
        const float* anew, float* scores, float* totals,
    )
    void add_to_two "xc_add_to_two" (
        const float* values, const float* others, int64_t n, const float* weights, float* totals,
        float* of_others,
    )

cdef enum:
    BLOCK = 64  # classes whose scores are finished and compared at once
    LINE = 16  # numbers of four bytes in a cache line
    LISTS = 256  # of a row, that are collected before the first is added
    BEGINNING = 32  # entries of each that are fetched then
    AHEAD = 256  # entries of a list by which it is fetched before it is added

ctypedef fused ClassNumber:
    int32_t
    uint16_t

# Feature j has the entries indptr[j], ..., indptr[j + 1] - 1 in its list, and its weights for the
# classes of rank 0, ..., full_stop[j] - 1 at full_weights[full_start[j] + rank].
cdef struct Index:
    const int64_t* indptr
    const int32_t* classes  # by their ranks, ascending in a list
    const uint16_t* narrow_classes  # in their place where two bytes hold a class; else NULL
    const float* weights
    const int32_t* full_stop  # feature by feature, and so on
    const int64_t* full_start
    const float* full_weights  # zeros from full_stop to the end of a block, if there is one
    const float* intercept
    const int32_t* by_intercept
    const int32_t* order  # the classes, rank by rank; NULL if these are their numbers
    const int32_t* lowest  # the smallest class of each block, or NULL
    int32_t n_classes
    int32_t n_stored  # classes of a feature that has all, or those of whole blocks
    int32_t n_blocks


cdef struct Extent:  # of what is read for a row
    int64_t n_postings  # classes that lists mention
    int32_t n_blocks  # for which some feature has weights stored


cdef struct List:  # of a feature, as the row has it
    int64_t start
    int64_t stop
    float value


cdef class Postings:
    cdef const int64_t[::1] indptr
    cdef const int32_t[::1] classes
    cdef const uint16_t[::1] narrow_classes
    cdef const float[::1] weights
    cdef const int32_t[::1] full_stop
    cdef const int64_t[::1] full_start
    cdef const float[:, :] full_weights
    cdef const float[::1] intercept
    cdef const int32_t[::1] by_intercept
    cdef const int32_t[::1] order
    cdef const int32_t[::1] lowest
    cdef int32_t n_stored

    cdef Index pointers(self) except *


cdef inline int32_t blocks_of(Index index, int32_t feature) noexcept nogil:
    """Return for how many blocks of classes the weights of a feature are stored."""
    # The last block may be stored in part: behind `full_stop` it is filled with zeros.
    return (index.full_stop[feature] + BLOCK - 1) // BLOCK


cdef inline int32_t class_of(Index index, int32_t rank) noexcept nogil:
    return rank if index.order == NULL else index.order[rank]


cdef inline int32_t class_at(Index index, int64_t p) noexcept nogil:
    if index.narrow_classes != NULL:
        return index.narrow_classes[p]
    return index.classes[p]


cdef inline void add_list(
    float value, int64_t p, int64_t stop, Index index, float* scores
) noexcept nogil:
    """Add value times the weights from p to stop to the scores."""
    if p == stop:
        return
    # One choice a list, none an entry: the loop is made for both widths.
    if index.narrow_classes != NULL:
        add_entries(value, index.narrow_classes + p, index.weights + p, stop - p, scores)
    else:
        add_entries(value, index.classes + p, index.weights + p, stop - p, scores)


cdef inline void add_entries(
    float value, const ClassNumber* classes, const float* weights, int64_t n, float* scores
) noexcept nogil:
    """Add value times n weights to scores[classes]; the classes of a list differ."""
    cdef int64_t p = 0
    while p + LINE <= n:
        # Beyond the end of a list these are addresses only; a prefetch never faults.
        prefetch(classes + p + AHEAD)
        prefetch(weights + p + AHEAD)
        add_eight(value, classes + p, weights + p, scores)
        add_eight(value, classes + p + 8, weights + p + 8, scores)
        p += LINE
    while p < n:
        scores[classes[p]] += value * weights[p]
        p += 1


cdef inline void add_eight(
    float value, const ClassNumber* classes, const float* weights, float* scores
) noexcept nogil:
    """Add eight entries, whose scores are read before the first is written."""
    cdef float sums[8]
    cdef int32_t c
    for c in range(8):
        # No later score then waits for a write whose place the processor does not know yet. The
        # classes of a list differ, so no score is both read and written here.
        sums[c] = scores[classes[c]] + value * weights[c]
    for c in range(8):
        scores[classes[c]] = sums[c]


cdef inline void fetch_entries(Index index, int64_t p, int64_t stop) noexcept nogil:
    """Fetch entries of a list, which lies anywhere in the index."""
    while p < stop:
        if index.narrow_classes != NULL:
            prefetch(index.narrow_classes + p)
        else:
            prefetch(index.classes + p)
        prefetch(index.weights + p)
        p += LINE


cdef inline int32_t collect_lists(
    Row row, int64_t first, int64_t last, Index index, Extent* extent, List* lists
) noexcept nogil:
    """Write the lists of the entries from first to last that are not empty; return their number."""
    cdef int64_t e
    cdef int32_t feature, there, n = 0
    # Whether a list is empty is chance, so that a branch on it costs more than a copy in vain:
    # there is room for one list beyond `last - first`.
    for e in range(first, last):
        feature = row.features[e]
        # A stored zero of X reads nothing and counts nothing, by a factor in place of a branch.
        there = row.values[e] != 0
        lists[n].start = index.indptr[feature]
        lists[n].stop = index.indptr[feature + 1]
        lists[n].value = row.values[e]
        extent.n_blocks = max(extent.n_blocks, there * blocks_of(index, feature))
        extent.n_postings += there * (lists[n].stop - lists[n].start)
        n += there & (lists[n].stop > lists[n].start)
    for e in range(n):
        # All lists of the row are on their way before the first of them is added.
        fetch_entries(index, lists[e].start, min(lists[e].start + BEGINNING, lists[e].stop))
    return n


cdef inline void finish_block(
    const int64_t* starts, const float* values, Index index, int32_t block, const float* scores,
    float* totals,
) noexcept nogil:
    """Write totals = scores + the batch's part of W x, for the classes of one block."""
    # 64 weights of a feature are added without a remainder; `n` is less in the last block of dense
    # weights, which have no zeros behind the classes.
    cdef const float* of_block = index.full_weights + <int64_t>block * BLOCK
    cdef int32_t c, n = index.n_stored - block * BLOCK
    if n >= BLOCK:
        add_features(starts, values, of_block, scores, totals)
        return
    memcpy(totals, scores, BLOCK * sizeof(float))
    # Feature by feature, in the order of `add_features`.
    while starts[0] >= 0:  # nothing is read beyond the weights
        for c in range(n):
            totals[c] += values[0] * of_block[starts[0] + c]
        starts += 1
        values += 1


cdef inline bint finish_from(
    const int64_t* starts, const float* values, Index index, int32_t block, float worst,
    float* scores, float* totals,
) noexcept nogil:
    """Return whether a total may be `worst` or more, and write totals then; resets the scores."""
    cdef const float* intercept = index.intercept + <int64_t>block * BLOCK
    if index.n_stored - block * BLOCK >= BLOCK:
        return finish_features_from(
            starts, values, index.full_weights + <int64_t>block * BLOCK, worst, intercept, scores,
            totals,
        )
    finish_block(starts, values, index, block, scores, totals)
    # Totals are offered whole, whatever `worst` is: the last block is one of many.
    memcpy(scores, intercept, BLOCK * sizeof(float))
    return True


cdef inline void offer(
    Index index, int32_t rank, float score, float* top, int32_t* labels, int64_t k
) noexcept nogil:
    """Put a class among the k best, if it is one; a tie goes to the smaller class."""
    cdef int32_t label
    # top[0] is the worst of the k best: a heap whose root leaves first.
    if score >= top[0]:
        label = class_of(index, rank)
        if better(score, label, top[0], labels[0]):
            sift(top, labels, k, score, label)


cdef inline bint may_win_ties(Index index, int32_t block, const int32_t* labels) noexcept nogil:
    """Return whether a class of a block may come before the last of the k best at its score."""
    # labels[0] is the class of the worst: only a smaller class with its score would replace it.
    return (block * BLOCK if index.lowest == NULL else index.lowest[block]) < labels[0]


cdef inline void offer_block(
    const float* totals, int32_t start, Index index, float* top, int32_t* labels, int64_t k
) noexcept nogil:
    cdef int32_t c, hits = 0
    cdef float worst = top[0]
    if not may_win_ties(index, start // BLOCK, labels):
        # No class of the block wins a tie, so an equal score is no hit.
        worst = nextafterf(worst, INFINITY)
    for c in range(BLOCK):
        # A loop without a branch, which becomes vectors; few blocks have a hit.
        hits |= totals[c] >= worst
    if hits:
        # Places behind the classes have the intercept minus infinity, and are cut off here.
        for c in range(min(BLOCK, index.n_classes - start)):
            offer(index, start + c, totals[c], top, labels, k)


cdef inline void write_block(
    const float* totals, int32_t start, Index index, float* out
) noexcept nogil:
    """Write the scores of a block of classes to the places of their numbers."""
    cdef int32_t c, n = min(BLOCK, index.n_classes - start)
    if index.order == NULL:
        memcpy(out + start, totals, n * sizeof(float))
        return
    for c in range(n):
        # Ranks back to numbers.
        out[index.order[start + c]] = totals[c]


cdef inline void add_positives(
    const float* totals, int32_t start, Index index, int64_t* count, float* wrong, int32_t* found
) noexcept nogil:
    """Count the positive scores of a block, and list their classes behind the earlier ones."""
    cdef int32_t c, hits = 0, n = min(BLOCK, index.n_classes - start)
    for c in range(n):
        hits += totals[c] > 0
        wrong[0] += totals[c] * 0  # NaN for infinity and NaN
    # `found` is NULL in a first call, which counts how much room the second needs.
    if hits and found != NULL:
        for c in range(n):
            if totals[c] > 0:
                found[count[0]] = class_of(index, start + c)
                count[0] += 1
    else:
        count[0] += hits

"""The k best classes of a row without the scores of all: bounds of blocks come first.

Lists have been added to the scores by then, and features with weights for all classes are left. Of
each group of four classes of a block, sixteen places apart, `full_maxima` has the largest weight of
a feature. The largest score of a group plus values times these is at least each score in it, for
values that are not negative: to the last bit, since both are summed in the same order, and rounding
keeps order. So a quarter of the weights is read for all blocks, and the others for those alone whose
bound reaches the k-th best score. The blocks with the highest bounds are the first, after which few
others are left.
"""

from libc.math cimport INFINITY
from libc.stdint cimport INT32_MAX, int32_t, int64_t
from libc.string cimport memcpy

from sklearn_xc._kernels.common._common cimport dispatched, prefetch
from sklearn_xc._kernels.common._heap cimport better, sift, sort_heap
from sklearn_xc._kernels.topk._inverted_index cimport BLOCK, LINE, Batch, Index, finish_block

cdef extern from "_block_sums.h" nogil:
    float bound_of_block "xc_bound_of_block" (
        const int32_t* columns, const float* values, const float* maxima, int64_t stride,
        const float* scores,
    )

cdef enum:
    LANES = 16  # groups of a block
    AHEAD_OF_BLOCKS = 3  # by which full weights are fetched
    FEWEST_FIRST = 4  # blocks
    BLOCKS_OF_ANSWER = 8  # blocks for each of the k, with fewer of which most are read anyway
    FEWEST_COLUMNS = 2  # with one, bounds and what is read again cost as much as all scores


cdef bint may_prune(const Batch* batch, Index index, int64_t k) noexcept nogil:
    """Whether bounds hold, and are not too many for this module."""
    cdef int64_t f = 0
    if index.full_maxima == NULL or k > MOST_PRUNED:
        return False
    while batch.column[f] >= 0:
        if not batch.value[f] >= 0:
            return False
        f += 1
    return True


cdef bint worth_pruning(const Batch* batch, Index index, int64_t k) noexcept nogil:
    cdef int64_t f
    for f in range(FEWEST_COLUMNS):
        if batch.column[f] < 0:
            return False
    return BLOCKS_OF_ANSWER * k <= index.n_blocks and may_prune(batch, index, k)


cdef inline void offer_in_any_order(
    const float* totals, int32_t start, float* top, int32_t* labels, int64_t k
) noexcept nogil:
    """Offer a block of classes to the k best, when those after it may have been offered already."""
    cdef int32_t c, hits = 0
    cdef float worst = top[0]
    for c in range(BLOCK):
        hits |= totals[c] >= worst
    if hits:
        for c in range(BLOCK):
            if totals[c] > -INFINITY and better(totals[c], start + c, top[0], labels[0]):
                sift(top, labels, k, totals[c], start + c)


cdef inline void fetch_block(const Batch* batch, Index index, int32_t block) noexcept nogil:
    """The full weights of a block, which lie far from those of others that are wanted."""
    cdef int64_t f = 0
    cdef const float* of_column
    while batch.column[f] >= 0:
        of_column = index.full_weights + batch.column[f] * index.stride + <int64_t>block * BLOCK
        prefetch(of_column)
        prefetch(of_column + LINE)
        prefetch(of_column + 2 * LINE)
        prefetch(of_column + 3 * LINE)
        f += 1


cdef dispatched offer_blocks(
    const Batch* batch, Index index, const int32_t* blocks, int64_t n_blocks, float* bounds,
    const float* scores, float* top, int32_t* labels, int64_t k,
) noexcept nogil:
    """Offer those of some blocks whose bounds reach the k best, which have risen meanwhile."""
    cdef float totals[BLOCK]
    cdef int64_t i
    cdef int32_t block
    for i in range(min(AHEAD_OF_BLOCKS, n_blocks)):
        fetch_block(batch, index, blocks[i])
    for i in range(n_blocks):
        if i + AHEAD_OF_BLOCKS < n_blocks:
            fetch_block(batch, index, blocks[i + AHEAD_OF_BLOCKS])
        block = blocks[i]
        if bounds[block] >= top[0] and bounds[block] > -INFINITY:
            finish_block(batch.column, batch.value, index, block, scores + block * BLOCK, totals)
            offer_in_any_order(totals, block * BLOCK, top, labels, k)
            bounds[block] = -INFINITY


cdef dispatched pruned_scan(
    const Batch* batch, Index index, float* scores, float* bounds, float* top, int32_t* labels,
    int64_t k,
) noexcept nogil:
    """As `_inverted_index.scan`, of batches that `may_prune`; `bounds` is scratch (2 n_blocks + 1,)."""
    cdef float highest[MOST_PRUNED]
    cdef int32_t first[MOST_PRUNED]
    cdef int32_t* others = <int32_t*>(bounds + index.n_blocks)
    cdef int32_t block
    cdef int64_t n_first = min(max(k, <int64_t>FEWEST_FIRST), index.n_blocks), n, i
    for i in range(n_first):
        highest[i] = -INFINITY
        first[i] = INT32_MAX
    for block in range(index.n_blocks):
        bounds[block] = bound_of_block(
            batch.column, batch.value, index.full_maxima + <int64_t>block * LANES,
            <int64_t>index.n_blocks * LANES, scores + block * BLOCK,
        )
        if bounds[block] != bounds[block]:  # sums overflowed, in opposite directions
            bounds[block] = INFINITY
        if better(bounds[block], block, highest[0], first[0]):
            sift(highest, first, n_first, bounds[block], block)
    sort_heap(highest, first, n_first)
    offer_blocks(batch, index, first, n_first, bounds, scores, top, labels, k)
    n = 0
    for block in range(index.n_blocks):
        others[n] = block
        n += bounds[block] >= top[0]
    offer_blocks(batch, index, others, n, bounds, scores, top, labels, k)
    memcpy(scores, index.intercept, <int64_t>index.n_blocks * BLOCK * sizeof(float))

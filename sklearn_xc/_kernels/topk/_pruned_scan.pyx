"""The k best classes of a row without the scores of all: bounds of blocks come first.

Of each group of four classes of a block, sixteen places apart, `full_maxima` has the largest weight
of a feature with weights for all classes. The largest score of a group, to which lists have been
added, plus values times these is at least each total in it, for values that are not negative: to
the last bit, since both are summed in the same order, and rounding keeps order. So a quarter of the
weights is read for all blocks. The blocks with the highest bounds are finished first. Of the others
only those are looked at whose bounds reach the k-th best total by then, and of these only the
parts, of sixteen classes, that have a class whose own score and the maxima of its group reach it.
"""

from libc.math cimport INFINITY
from libc.stdint cimport INT32_MAX, int32_t, int64_t
from libc.string cimport memcpy

from sklearn_xc._kernels.common._common cimport dispatched, prefetch
from sklearn_xc._kernels.common._heap cimport better, sift
from sklearn_xc._kernels.topk._postings cimport (
    BLOCK, TILE_BLOCKS, Batch, Index, Lists, add_tile,
)

cdef extern from "_block_sums.h" nogil:
    void add_part_of_columns "xc_add_part_of_columns" (
        const int32_t* columns, const float* values, const float* weights, int64_t stride,
        const float* scores, float* totals,
    )

cdef extern from "_block_bounds.h" nogil:
    void bounds_of_blocks "xc_bounds_of_blocks" (
        const int32_t* columns, const float* values, const float* maxima, int64_t stride,
        const float* scores, int64_t n_blocks, float* bounds,
    )
    unsigned int parts_of_block "xc_parts_of_block" (
        const int32_t* columns, const float* values, const float* maxima, int64_t stride,
        const float* scores, float worst,
    )

cdef enum:
    LANES = 16  # groups of a block, and classes of a part
    PARTS = 4  # of a block
    FEWEST_FIRST = 4  # blocks
    BLOCKS_OF_ANSWER = 8  # blocks for each of the k, with fewer of which most are read anyway
    FEWEST_COLUMNS = 2  # with one, bounds and what is read again cost as much as all scores
    PARTS_AHEAD = 6  # by which weights are fetched, since they lie far from one another


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


cdef inline void fetch_part(const Batch* batch, Index index, int32_t part) noexcept nogil:
    cdef int64_t f = 0
    while batch.column[f] >= 0:
        prefetch(index.full_weights + batch.column[f] * index.stride + <int64_t>part * LANES)
        f += 1


cdef dispatched offer_parts(
    const Batch* batch, Index index, const int32_t* parts, int64_t n_parts, const float* scores,
    float* top, int32_t* labels, int64_t k,
) noexcept nogil:
    """Offer parts in any order: a tie may be of a smaller class than those offered before."""
    cdef float totals[LANES]
    cdef int64_t i
    cdef int32_t c, start
    for i in range(min(PARTS_AHEAD, n_parts)):
        fetch_part(batch, index, parts[i])
    for i in range(n_parts):
        if i + PARTS_AHEAD < n_parts:
            fetch_part(batch, index, parts[i + PARTS_AHEAD])
        start = parts[i] * LANES
        add_part_of_columns(
            batch.column, batch.value, index.full_weights + start, index.stride, scores + start,
            totals,
        )
        for c in range(LANES):
            if (
                totals[c] >= top[0] and totals[c] > -INFINITY
                and better(totals[c], start + c, top[0], labels[0])
            ):
                sift(top, labels, k, totals[c], start + c)


cdef dispatched pruned_scan(
    Lists* lists, const Batch* batch, Index index, float* scores, float* bounds, float* top,
    int32_t* labels, int64_t k,
) noexcept nogil:
    """As `_inverted_index.scan`, of batches that `may_prune`.

    `bounds` is scratch (n_blocks,), and behind it `parts` (n_places / LANES,).
    """
    cdef float highest[MOST_PRUNED]
    cdef int32_t first[MOST_PRUNED]
    cdef int32_t* parts = <int32_t*>(bounds + index.n_blocks)
    cdef int64_t stride = <int64_t>index.n_blocks * LANES
    cdef int64_t n_first = min(max(k, <int64_t>FEWEST_FIRST), index.n_blocks), n = 0, i
    cdef int32_t block = 0, part
    cdef unsigned int reaching
    for i in range(n_first):
        highest[i] = -INFINITY
        first[i] = INT32_MAX
    while block < index.n_blocks:
        add_tile(lists, index, block, scores)
        bounds_of_blocks(
            batch.column, batch.value, index.full_maxima + <int64_t>block * LANES, stride,
            scores + block * BLOCK, min(<int32_t>TILE_BLOCKS, index.n_blocks - block),
            bounds + block,
        )
        block += TILE_BLOCKS
    for block in range(index.n_blocks):
        if bounds[block] != bounds[block]:  # sums overflowed, in opposite directions
            bounds[block] = INFINITY
        if better(bounds[block], block, highest[0], first[0]):
            sift(highest, first, n_first, bounds[block], block)
    for i in range(n_first):
        for part in range(PARTS):
            parts[n] = first[i] * PARTS + part
            n += 1
        bounds[first[i]] = -INFINITY
    offer_parts(batch, index, parts, n, scores, top, labels, k)
    n = 0
    for block in range(index.n_blocks):
        if bounds[block] >= top[0] and bounds[block] > -INFINITY:
            reaching = parts_of_block(
                batch.column, batch.value, index.full_maxima + <int64_t>block * LANES, stride,
                scores + block * BLOCK, top[0],
            )
            for part in range(PARTS):
                parts[n] = block * PARTS + part
                n += reaching >> part & 1
    offer_parts(batch, index, parts, n, scores, top, labels, k)
    memcpy(scores, index.intercept, <int64_t>index.n_blocks * BLOCK * sizeof(float))

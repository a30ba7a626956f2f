"""An inverted index feature -> (class, weight): its lists, scores of rows, the best k of them.

A row's scores gather in a float32 accumulator of one place a class, by rank, which holds the
intercepts between rows. A feature that many of the first classes use has its weights for these
stored, in blocks of BLOCK classes; a list names the other classes that use it.

Two ways lead to the result. `scan` goes over classes once, block by block: it adds the stored
weights, in registers, compares, and leaves the intercepts behind. `touched` is for rows whose lists
mention few classes: only the blocks are scanned for which one of the features has stored weights,
and after them it reads the classes that the lists mention and then the others in the order of their
intercepts, until none can be among the best. Both see the same sums in the same order of additions,
so they give the same bits.
"""

from cython.parallel cimport prange, threadid
from libc.float cimport FLT_MAX
from libc.math cimport INFINITY
from libc.stdint cimport INT32_MAX, int32_t, int64_t
from libc.string cimport memcpy

from sklearn_xc._kernels.common._common cimport dispatched
from sklearn_xc._kernels.common._heap cimport better, sort_heap
from sklearn_xc._kernels.common._rows cimport Row, Rows, pointers_to_rows, row_at
from sklearn_xc._kernels.topk._batch cimport (
    BATCH, Batch, append_feature, begin, drop_ended, end, read_together, take_features,
)

cdef enum:
    CHUNK = 32  # rows that a thread takes at a time
    FEW_BLOCKS = 8  # of classes, whose weights stay in a cache
    TOUCH_COST = 10  # classes that `scan` reads in the time of one posting of `touched`

cdef enum Way:
    CHEAPER = 0
    SCAN = 1
    TOUCHED = 2


def block_of_classes():
    """Return the number of classes in a block of `Postings`."""
    return BLOCK


cdef class Postings:
    """A read-only view of the weights, feature by feature (`topk/_inverted_index.py`)."""

    def __init__(
        self,
        const int64_t[::1] indptr, classes, const float[::1] weights,
        const int32_t[::1] full_stop, const int64_t[::1] full_start, const float[:, :] full_weights,
        int32_t n_stored, const float[::1] intercept, const int32_t[::1] by_intercept,
        const int32_t[::1] order, const int32_t[::1] lowest,
    ):
        if full_weights.shape[0] and full_weights.strides[1] != sizeof(float):
            raise ValueError("the weights of a feature must lie next to one another")
        self.indptr = indptr
        # One of the two views is None; `class_at` and `add_list` look which.
        narrow = classes.dtype == "uint16"
        self.classes = None if narrow else classes
        self.narrow_classes = classes if narrow else None
        self.weights = weights
        self.full_stop = full_stop
        self.full_start = full_start
        self.full_weights = full_weights
        self.n_stored = n_stored
        self.intercept = intercept
        self.by_intercept = by_intercept
        self.order = order
        self.lowest = lowest

    cdef Index pointers(self) except *:
        cdef Index index
        index.indptr = &self.indptr[0]
        index.classes, index.narrow_classes = NULL, NULL
        if self.classes is not None and self.classes.shape[0]:
            index.classes = &self.classes[0]
        if self.narrow_classes is not None and self.narrow_classes.shape[0]:
            index.narrow_classes = &self.narrow_classes[0]
        index.weights = &self.weights[0] if self.weights.shape[0] else NULL
        index.full_stop = &self.full_stop[0] if self.full_stop.shape[0] else NULL
        index.full_start = &self.full_start[0] if self.full_start.shape[0] else NULL
        index.full_weights = NULL
        if self.full_weights.shape[0] and self.full_weights.shape[1]:
            index.full_weights = &self.full_weights[0, 0]
        index.intercept = &self.intercept[0]
        # There is at least one class, and a whole block of places.
        index.by_intercept = &self.by_intercept[0]
        index.order = NULL if self.order is None else &self.order[0]
        index.lowest = NULL if self.lowest is None else &self.lowest[0]
        index.n_classes = <int32_t>self.by_intercept.shape[0]
        index.n_stored = self.n_stored
        index.n_blocks = <int32_t>(self.intercept.shape[0] // BLOCK)
        return index


cdef dispatched add_batch(Batch* batch, bint whole, Index index, float* scores) noexcept nogil:
    """Add the batch's part of W x to the scores, some features at a time; the last may be left."""
    cdef Batch part
    cdef float totals[BLOCK]
    cdef int32_t block, stop, first = 0
    while first < batch.n:
        stop = read_together(batch, first, index.n_blocks)
        # The last ones are added while blocks are compared (`scan`), which saves a pass over them.
        if stop == batch.n and not whole:
            break
        take_features(batch, first, stop, &part)
        for block in range(index.n_blocks):
            drop_ended(&part, block)
            if part.n == 0:
                break
            finish_block(part.start, part.value, index, block, scores + block * BLOCK, totals)
            # Through `totals`, since inputs and outputs of `finish_block` may not overlap.
            memcpy(scores + block * BLOCK, totals, BLOCK * sizeof(float))
        first = stop
    if first:
        # Features that have not been added move to the beginning.
        take_features(batch, first, batch.n, batch)


cdef dispatched accumulate(
    Row row, Index index, Extent* extent, float* scores, Batch* batch
) noexcept nogil:
    """Add W x to the scores, but for the features that the batch then has; writes `extent`."""
    cdef List lists[LISTS + 1]
    cdef int64_t e, part, first
    cdef int32_t stop, i, n
    extent.n_postings = extent.n_blocks = 0
    # First all lists, then stored weights: the order of additions that every way keeps.
    for part in range((row.n + LISTS - 1) // LISTS):
        first = part * LISTS
        n = collect_lists(row, first, min(row.n, first + LISTS), index, extent, lists)
        for i in range(n):
            if i + 1 < n:
                fetch_entries(
                    index, lists[i + 1].start + BEGINNING,
                    min(lists[i + 1].start + AHEAD, lists[i + 1].stop),
                )
            add_list(lists[i].value, lists[i].start, lists[i].stop, index, scores)
    begin(batch)
    # Features whose weights are stored for some classes wait in the batch.
    for e in range(row.n if extent.n_blocks else 0):
        stop = blocks_of(index, row.features[e]) if row.values[e] != 0 else 0
        if stop:
            if batch.n == BATCH:
                end(batch)
                add_batch(batch, True, index, scores)
            append_feature(batch, index.full_start[row.features[e]], row.values[e], stop)
    end(batch)
    # Of many blocks a pass with all features would read more streams than are fetched ahead.
    if index.n_blocks > FEW_BLOCKS:
        add_batch(batch, False, index, scores)


cdef inline int32_t blocks_to_scan(Extent extent, Index index, int way) noexcept nogil:
    """Return how many blocks to scan: all, or few where `touched` is the cheaper way."""
    # Classes that lists mention, and those of the blocks that have to be read anyway.
    cdef int64_t cost = TOUCH_COST * extent.n_postings + extent.n_blocks * BLOCK
    if way == TOUCHED or (way == CHEAPER and cost < index.n_classes):
        return extent.n_blocks
    return index.n_blocks


cdef inline void reset_touched(Row row, Index index, float* scores) noexcept nogil:
    cdef int64_t e, p
    cdef int32_t c
    for e in range(row.n):
        if row.values[e] != 0:
            for p in range(index.indptr[row.features[e]], index.indptr[row.features[e] + 1]):
                c = class_at(index, p)
                # A class twice is set twice; what no list mentions has its intercept already.
                scores[c] = index.intercept[c]


# ----------------------------------------------------------------------------------- the k best


cdef dispatched scan(
    Batch* batch, Index index, int32_t n_blocks, float* scores, float* top, int32_t* labels,
    int64_t k,
) noexcept nogil:
    """Offer the classes of the first blocks."""
    cdef float totals[BLOCK]
    cdef float worst = top[0], above = nextafterf(top[0], INFINITY)
    cdef int32_t block
    for block in range(n_blocks):
        drop_ended(batch, block)
        if finish_from(
            batch.start, batch.value, index, block,
            # The k-th best at the moment; a block without a score from it on is left at once.
            worst if may_win_ties(index, block, labels) else above, scores + block * BLOCK,
            totals,
        ):
            # A class that gets in raises what the next ones have to reach.
            offer_block(totals, block * BLOCK, index, top, labels, k)
            worst, above = top[0], nextafterf(top[0], INFINITY)


cdef void touched(
    Row row, Index index, int32_t first, float* scores, float* top, int32_t* labels, int64_t k
) noexcept nogil:
    """Offer classes from a rank on: the touched ones, then others by falling intercept."""
    cdef int64_t e, p
    cdef int32_t c, i
    for e in range(row.n):
        if row.values[e] == 0:
            continue
        for p in range(index.indptr[row.features[e]], index.indptr[row.features[e] + 1]):
            c = class_at(index, p)
            if c < first:
                continue
            offer(index, c, scores[c], top, labels, k)
            # The scores are reset after the row, so a mark may take their place.
            scores[c] = -INFINITY  # offered; another feature may mention the class again
    # Classes that no list mentions have their intercepts as scores, which fall from here on.
    for i in range(index.n_classes):
        c = index.by_intercept[i]
        if c < first or scores[c] == -INFINITY:
            continue
        # No later one is better: they have smaller intercepts, or equal ones and larger classes.
        if not better(scores[c], class_of(index, c), top[0], labels[0]):
            break
        offer(index, c, scores[c], top, labels, k)


cdef void topk_row(
    Row row, Index index, float* scores, float* top, int32_t* labels, int64_t k, int way
) noexcept nogil:
    cdef Batch batch
    cdef int64_t j
    cdef Extent extent
    cdef int32_t n_blocks
    for j in range(k):
        # Worse than any class, so that the first k that come are taken.
        top[j] = -INFINITY
        labels[j] = INT32_MAX
    accumulate(row, index, &extent, scores, &batch)
    n_blocks = blocks_to_scan(extent, index, way)
    scan(&batch, index, n_blocks, scores, top, labels, k)
    # Scanned blocks have their intercepts back; the others are reset where lists changed them.
    if n_blocks < index.n_blocks:
        touched(row, index, n_blocks * BLOCK, scores, top, labels, k)
        reset_touched(row, index, scores)
    sort_heap(top, labels, k)


# ------------------------------------------------------------------------- the positive scores


# In the place of a score that was looked at; finite, unlike one that has overflowed.
cdef float SEEN = -FLT_MAX


cdef dispatched scan_positives(
    Batch* batch, Index index, int32_t n_blocks, float* scores, int64_t* n_found, float* wrong,
    int32_t* found,
) noexcept nogil:
    """Collect positive scores of the first blocks; `wrong` is NaN if a score is not finite."""
    cdef float totals[BLOCK]
    cdef int32_t start, block
    for block in range(n_blocks):
        drop_ended(batch, block)
        start = block * BLOCK
        finish_block(batch.start, batch.value, index, block, scores + start, totals)
        memcpy(scores + start, index.intercept + start, BLOCK * sizeof(float))
        # The intercepts are back before the next row, whatever is found.
        add_positives(totals, start, index, n_found, wrong, found)


cdef inline void add_positive(
    Index index, int32_t rank, int64_t* n_found, int32_t* found
) noexcept nogil:
    if found != NULL:
        found[n_found[0]] = class_of(index, rank)
    n_found[0] += 1


cdef void touched_positives(
    Row row, Index index, int32_t first, float* scores, int64_t* n_found, float* wrong,
    int32_t* found,
) noexcept nogil:
    """Collect positive scores of classes from a rank on."""
    cdef int64_t e, p
    cdef int32_t c, i
    for e in range(row.n):
        if row.values[e] == 0:
            continue
        for p in range(index.indptr[row.features[e]], index.indptr[row.features[e] + 1]):
            c = class_at(index, p)
            if c < first:
                continue
            # NaN for infinity and NaN, which are errors of the caller's data.
            wrong[0] += scores[c] * 0
            if scores[c] > 0:
                add_positive(index, c, n_found, found)
            scores[c] = SEEN
    for i in range(index.n_classes):
        c = index.by_intercept[i]
        # Untouched classes have their intercepts, which fall: no later one is positive.
        if index.intercept[c] <= 0:
            break
        # Not from scanned blocks, nor from lists, whose classes were counted above.
        if c >= first and scores[c] != SEEN:
            add_positive(index, c, n_found, found)


cdef int64_t positives_row(Row row, Index index, float* scores, int32_t* found) noexcept nogil:
    """Collect positive scores of a row; returns how many, -1 if a score is not finite."""
    cdef Batch batch
    cdef int64_t n = 0
    cdef float wrong = 0
    cdef Extent extent
    cdef int32_t n_blocks
    accumulate(row, index, &extent, scores, &batch)
    n_blocks = blocks_to_scan(extent, index, CHEAPER)
    scan_positives(&batch, index, n_blocks, scores, &n, &wrong, found)
    if n_blocks < index.n_blocks:
        touched_positives(row, index, n_blocks * BLOCK, scores, &n, &wrong, found)
        reset_touched(row, index, scores)
    # NaN is not 0.
    return n if wrong == 0 else -1


# ----------------------------------------------------------------------------------- every score


cdef dispatched scores_row(
    Row row, Index index, const int32_t* ranks, float* scores, float* out
) noexcept nogil:
    cdef Batch batch
    cdef Extent extent
    cdef float totals[BLOCK]
    cdef int32_t start, c, block
    accumulate(row, index, &extent, scores, &batch)
    for block in range(index.n_blocks):
        drop_ended(&batch, block)
        start = block * BLOCK
        finish_block(batch.start, batch.value, index, block, scores + start, totals)
        memcpy(scores + start, totals, BLOCK * sizeof(float))
    if ranks == NULL:
        memcpy(out, scores, index.n_classes * sizeof(float))
    else:  # read in no order from a cache, and written in order
        for c in range(index.n_classes):
            out[c] = scores[ranks[c]]
    # The accumulator holds the intercepts between rows.
    memcpy(scores, index.intercept, index.n_blocks * BLOCK * sizeof(float))


def topk(
    const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data, bint dense,
    Postings postings, float[:, ::1] scores,
    int32_t[:, ::1] top_classes, float[:, ::1] top_scores, int way, int n_threads,
):
    """Find the k best classes of each row, best first, ties to the smaller class.

    Parameters
    ----------
    indptr, indices, data, dense : IN, the rows (see `utils/_rows.Rows`)
    postings : IN
    scores : IN/OUT scratch (n_threads, n_places or more), holding the intercepts before and after
    top_classes, top_scores : OUT (n_rows, k)
    way : IN, 1 scan, 2 touched, 0 the cheaper one for each row; the results are the same
    """
    cdef Index index = postings.pointers()
    cdef Rows rows = pointers_to_rows(indptr, indices, data, dense)
    cdef Py_ssize_t i, n_rows = indptr.shape[0] - 1
    # Rows of one thread follow one another; dynamic, since their lengths differ.
    for i in prange(
        n_rows, schedule="dynamic", chunksize=CHUNK, num_threads=n_threads, nogil=True
    ):
        topk_row(
            row_at(rows, i), index, &scores[threadid(), 0],
            &top_scores[i, 0], &top_classes[i, 0], top_classes.shape[1], way,
        )


def positives(
    const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data, bint dense,
    Postings postings, float[:, ::1] scores,
    int64_t[::1] counts, const int64_t[::1] found_indptr, int32_t[::1] found, int n_threads,
):
    """Find classes with a score above zero: how many a row has, and which if `found` has room.

    Parameters
    ----------
    indptr ... scores : as in `topk`
    counts : OUT (n_rows,), -1 where a score is not finite
    found_indptr : IN (n_rows + 1,), where the classes of each row go
    found : OUT, the classes in no particular order; of size 0 to count only
    """
    cdef Index index = postings.pointers()
    cdef Rows rows = pointers_to_rows(indptr, indices, data, dense)
    cdef Py_ssize_t i, n_rows = indptr.shape[0] - 1
    # Two calls, since only counts tell how large `found` has to be.
    cdef int32_t* out = &found[0] if found.shape[0] else NULL
    for i in prange(
        n_rows, schedule="dynamic", chunksize=CHUNK, num_threads=n_threads, nogil=True
    ):
        counts[i] = positives_row(
            row_at(rows, i), index, &scores[threadid(), 0],
            NULL if out == NULL else out + found_indptr[i],
        )


def all_scores(
    const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data, bint dense,
    Postings postings, float[:, ::1] scores, const int32_t[::1] ranks, float[:, ::1] out,
    int n_threads,
):
    """Write all scores of each row.

    Parameters
    ----------
    indptr ... scores : as in `topk`
    ranks : IN (n_classes,), of each class; None where these are their numbers
    out : OUT (n_rows, n_classes)
    """
    cdef Index index = postings.pointers()
    cdef Rows rows = pointers_to_rows(indptr, indices, data, dense)
    cdef const int32_t* of_classes = NULL if ranks is None else &ranks[0]
    cdef Py_ssize_t i, n_rows = indptr.shape[0] - 1
    for i in prange(
        n_rows, schedule="dynamic", chunksize=CHUNK, num_threads=n_threads, nogil=True
    ):
        scores_row(row_at(rows, i), index, of_classes, &scores[threadid(), 0], &out[i, 0])


# ------------------------------------------------------------ the lists, from the weights by class


def dense_prefixes(
    const int64_t[::1] indptr, const int32_t[::1] indices, const int64_t[::1] order, double share,
    double least, double[::1] gain, int64_t[::1] used, int32_t[::1] stop,
):
    """Choose the first classes of each feature, of which so many use it that all are stored.

    They are chosen such that the classes among them that use the feature, less `share` of all of
    them, are most; where that is below `least` there are none.

    Parameters
    ----------
    indptr, indices : CSR pattern of the weights (n_classes, n_features)
    order : (n_classes,), the classes, rank by rank
    share, least : see above
    gain : (n_features,) of zeros, IN/OUT scratch
    used : (n_features,) of zeros, IN/OUT scratch
    stop : (n_features,) of zeros, OUT: how many of the first classes were chosen
    """
    cdef Py_ssize_t rank, e
    cdef int32_t j
    cdef double now
    with nogil:
        for rank in range(order.shape[0]):
            for e in range(indptr[order[rank]], indptr[order[rank] + 1]):
                j = indices[e]
                used[j] += 1
                # Largest where the prefix is densest beyond `share`; rank by rank, so one pass
                # finds it.
                now = used[j] - share * (rank + 1)
                if now >= least and now > gain[j]:
                    gain[j] = now
                    stop[j] = <int32_t>(rank + 1)


def count_lists(
    const int64_t[::1] indptr, const int32_t[::1] indices, const int64_t[::1] order,
    Py_ssize_t first, const int32_t[::1] full_stop, int64_t[::1] lengths,
):
    """Count the entries of each list, in `lengths` of zeros; other arguments as in `fill_lists`."""
    cdef Py_ssize_t place, e
    with nogil:
        for place in range(order.shape[0]):
            for e in range(indptr[order[place]], indptr[order[place] + 1]):
                # Only what is not stored goes into a list.
                lengths[indices[e]] += first + place >= full_stop[indices[e]]


def fill_lists(
    const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data,
    const int64_t[::1] order, Py_ssize_t first, const int32_t[::1] full_stop,
    const int64_t[::1] full_start, int64_t[::1] free, ClassNumber[::1] classes, float[::1] weights,
    float[::1] full_weights,
):
    """Put the weights of classes into the lists of features, or where the first ones are stored.

    Parameters
    ----------
    indptr, indices, data : CSR of the weights (n_classes, n_features)
    order : (n_some,), some classes, rank by rank
    first : the rank of the first of them
    full_stop, full_start : (n_features,), for how many of the first classes the weights of a
        feature are stored, and where in `full_weights` they begin
    free : (n_features,), IN / OUT: where the next entry of each list is put
    classes, weights : (n_entries,), OUT: the lists, classes by their ranks; int32, or uint16 where
        that holds them
    full_weights : OUT: what is there is written, zeros are not
    """
    cdef Py_ssize_t place, rank, e
    cdef int64_t at
    cdef int32_t j
    with nogil:
        for place in range(order.shape[0]):
            rank = first + place
            for e in range(indptr[order[place]], indptr[order[place] + 1]):
                j = indices[e]
                # `full_weights` comes as zeros: classes without the feature stay so.
                if rank < full_stop[j]:
                    full_weights[full_start[j] + rank] = data[e]
                else:
                    at = free[j]
                    # Ranks ascend in the loop, and so do the classes of each list.
                    free[j] = at + 1
                    classes[at] = <ClassNumber>rank
                    weights[at] = data[e]

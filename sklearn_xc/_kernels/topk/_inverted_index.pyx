"""Scores of rows over an inverted index feature -> (class, weight), and the best k of them.

A row's scores gather in a float32 accumulator of one place a class, which holds the intercepts
between rows. For most features a list names the classes that use it; a feature that many classes
use has its weights stored for all classes, in blocks of BLOCK classes.

Two ways lead to the result. `scan` goes over all K classes once, block by block: it adds the
weights of the features that have them for all classes, in registers, compares, and leaves the
intercepts behind. `touched` is for rows whose features all have lists: it reads only the classes
that they mention and then the others in the order of their intercepts, until none can be among the
best; it pays when few classes are touched. Both see the same sums in the same order of additions,
so they give the same bits.
"""

from cython.parallel cimport prange, threadid
from libc.float cimport FLT_MAX
from libc.math cimport INFINITY
from libc.stdint cimport INT32_MAX, int32_t, int64_t
from libc.string cimport memcpy

from sklearn_xc._kernels.common._common cimport dispatched, prefetch
from sklearn_xc._kernels.common._heap cimport better, sift, sort_heap
from sklearn_xc._kernels.common._rows cimport Row, Rows, pointers_to_rows, row_at

cdef enum:
    CHUNK = 32  # rows that a thread takes at a time
    TOGETHER = 5  # features whose weights for all classes are read in one pass
    FEW_BLOCKS = 8  # of classes, whose weights stay in a cache
    BEGINNING = 32  # entries of each list that are fetched before the first list is added
    TOUCH_COST = 10  # classes that `scan` reads in the time of one posting of `touched`

cdef enum Way:
    CHEAPER = 0
    SCAN = 1
    TOUCHED = 2


def block_of_classes():
    """The number of classes in a block of `Postings`."""
    return BLOCK


cdef class Postings:
    """A read-only view of the weights, feature by feature (`topk/_inverted_index.py`)."""

    def __init__(
        self,
        const int64_t[::1] indptr, classes, const float[::1] weights,
        const int32_t[::1] full_column, const float[:, :] full_weights,
        const float[::1] intercept, const int32_t[::1] by_intercept,
    ):
        if full_weights.shape[0] and full_weights.strides[1] != sizeof(float):
            raise ValueError("the weights of a feature must lie next to one another")
        self.indptr = indptr
        narrow = classes.dtype == "uint16"
        self.classes = None if narrow else classes
        self.narrow_classes = classes if narrow else None
        self.weights = weights
        self.full_column = full_column
        self.full_weights = full_weights
        self.intercept = intercept
        self.by_intercept = by_intercept

    cdef Index pointers(self) except *:
        cdef Index index
        index.indptr = &self.indptr[0]
        index.classes, index.narrow_classes = NULL, NULL
        if self.classes is not None and self.classes.shape[0]:
            index.classes = &self.classes[0]
        if self.narrow_classes is not None and self.narrow_classes.shape[0]:
            index.narrow_classes = &self.narrow_classes[0]
        index.weights = &self.weights[0] if self.weights.shape[0] else NULL
        index.full_column = &self.full_column[0] if self.full_column.shape[0] else NULL
        index.full_weights = &self.full_weights[0, 0] if self.full_weights.shape[0] else NULL
        index.intercept = &self.intercept[0]
        index.by_intercept = &self.by_intercept[0]
        index.stride = self.full_weights.strides[0] // <int64_t>sizeof(float)
        index.n_classes = <int32_t>self.by_intercept.shape[0]
        index.n_columns = <int32_t>min(self.full_weights.shape[1], self.intercept.shape[0])
        index.n_blocks = <int32_t>(self.intercept.shape[0] // BLOCK)
        return index


cdef inline int64_t count_postings(Row row, Index index) noexcept nogil:
    """How many classes the lists of the row mention; -1 if a feature has no list."""
    cdef int64_t e, total = 0
    for e in range(row.n):
        if row.values[e] == 0:
            continue
        if index.full_column[row.features[e]] >= 0:
            return -1
        total += index.indptr[row.features[e] + 1] - index.indptr[row.features[e]]
    return total


cdef inline void fetch_list(
    Index index, int32_t feature, int64_t start, int64_t stop
) noexcept nogil:
    """These entries of a feature's list, which lies anywhere in the index."""
    cdef int64_t p = index.indptr[feature] + start
    stop = min(index.indptr[feature] + stop, index.indptr[feature + 1])
    while p < stop:
        if index.narrow_classes != NULL:
            prefetch(index.narrow_classes + p)
        else:
            prefetch(index.classes + p)
        prefetch(index.weights + p)
        p += LINE


cdef dispatched add_batch(
    Batch* batch, int32_t* n_in_batch, int32_t most_left, Index index, float* scores
) noexcept nogil:
    """scores += the part of W x of features in the batch, TOGETHER at a time; some may be left.

    The weights of many features at once are more than a processor fetches ahead.
    """
    cdef float totals[BLOCK]
    cdef int32_t block, behind, f, stop, start = 0, n = n_in_batch[0]
    batch.column[n] = -1
    while n - start > most_left:
        stop = min(start + TOGETHER, n)
        behind = batch.column[stop]
        batch.column[stop] = -1
        for block in range(index.n_blocks):
            finish_block(
                batch.column + start, batch.value + start, index, block, scores + block * BLOCK,
                totals,
            )
            memcpy(scores + block * BLOCK, totals, BLOCK * sizeof(float))
        batch.column[stop] = behind
        start = stop
    for f in range(n - start):
        batch.column[f] = batch.column[start + f]
        batch.value[f] = batch.value[start + f]
    n_in_batch[0] = n - start


cdef dispatched accumulate(Row row, Index index, float* scores, Batch* batch) noexcept nogil:
    """scores += W x, but for the features in the batch, which `finish_block` has still to add."""
    cdef int64_t e
    cdef int32_t feature, n = 0
    for e in range(row.n):
        if index.full_column[row.features[e]] < 0:
            fetch_list(index, row.features[e], 0, BEGINNING)
    for e in range(row.n):
        if e + 1 < row.n and index.full_column[row.features[e + 1]] < 0:
            fetch_list(index, row.features[e + 1], BEGINNING, AHEAD)
        if row.values[e] == 0:
            continue
        feature = row.features[e]
        if index.full_column[feature] < 0:
            add_list(row.values[e], index.indptr[feature], index.indptr[feature + 1], index, scores)
            continue
        if n == BATCH:
            add_batch(batch, &n, 0, index, scores)
        batch.column[n] = index.full_column[feature]
        batch.value[n] = row.values[e]
        n += 1
    if n > TOGETHER and index.n_blocks > FEW_BLOCKS:
        add_batch(batch, &n, TOGETHER, index, scores)
    batch.column[n] = -1


cdef inline bint worth_touching(Row row, Index index, int way) noexcept nogil:
    cdef int64_t n_postings = -1 if way == SCAN else count_postings(row, index)
    return n_postings >= 0 and (way == TOUCHED or TOUCH_COST * n_postings < index.n_classes)


cdef inline void reset_touched(Row row, Index index, float* scores) noexcept nogil:
    cdef int64_t e, p
    cdef int32_t c
    for e in range(row.n):
        if row.values[e] != 0:
            for p in range(index.indptr[row.features[e]], index.indptr[row.features[e] + 1]):
                c = class_at(index, p)
                scores[c] = index.intercept[c]


# ----------------------------------------------------------------------------------- the k best


cdef dispatched scan(
    const Batch* batch, Index index, float* scores, float* top, int32_t* labels, int64_t k
) noexcept nogil:
    """Offer all classes in ascending order, so that a tie never replaces the smaller class."""
    cdef float totals[BLOCK]
    cdef int32_t block, start
    for block in range(index.n_blocks):
        start = block * BLOCK
        if finish_above(
            batch.column, batch.value, index, block, top[0], scores + start, totals
        ):
            offer_block(totals, start, top, labels, k)


cdef void touched(
    Row row, Index index, float* scores, float* top, int32_t* labels, int64_t k
) noexcept nogil:
    """Offer the touched classes, then the others by falling intercept until one is too low."""
    cdef int64_t e, p
    cdef int32_t c, i
    for e in range(row.n):
        if row.values[e] == 0:
            continue
        for p in range(index.indptr[row.features[e]], index.indptr[row.features[e] + 1]):
            c = class_at(index, p)
            if better(scores[c], c, top[0], labels[0]):
                sift(top, labels, k, scores[c], c)
            scores[c] = -INFINITY  # offered; another feature may mention the class again
    for i in range(index.n_classes):
        c = index.by_intercept[i]
        if scores[c] == -INFINITY:
            continue
        if not better(scores[c], c, top[0], labels[0]):
            break
        sift(top, labels, k, scores[c], c)


cdef void topk_row(
    Row row, Index index, float* scores, float* top, int32_t* labels, int64_t k, int way
) noexcept nogil:
    cdef Batch batch
    cdef int64_t j
    for j in range(k):
        top[j] = -INFINITY
        labels[j] = INT32_MAX
    accumulate(row, index, scores, &batch)
    if worth_touching(row, index, way):
        touched(row, index, scores, top, labels, k)
        reset_touched(row, index, scores)
    else:
        scan(&batch, index, scores, top, labels, k)
    sort_heap(top, labels, k)


# ------------------------------------------------------------------------- the positive scores


# In the place of a score that was looked at; finite, unlike one that has overflowed.
cdef float SEEN = -FLT_MAX


cdef dispatched scan_positives(
    const Batch* batch, Index index, float* scores, int64_t* n_found, int32_t* found
) noexcept nogil:
    """OUT `n_found`, -1 if a score is not finite."""
    cdef float totals[BLOCK]
    cdef int32_t block, start
    cdef int64_t n = 0
    cdef float wrong = 0
    for block in range(index.n_blocks):
        start = block * BLOCK
        finish_block(batch.column, batch.value, index, block, scores + start, totals)
        memcpy(scores + start, index.intercept + start, BLOCK * sizeof(float))
        add_positives(totals, start, min(BLOCK, index.n_classes - start), &n, &wrong, found)
    n_found[0] = n if wrong == 0 else -1


cdef int64_t touched_positives(
    Row row, Index index, float* scores, int32_t* found
) noexcept nogil:
    """How many there are, -1 if a score is not finite."""
    cdef int64_t e, p, n = 0
    cdef int32_t c, i
    cdef float wrong = 0
    for e in range(row.n):
        if row.values[e] == 0:
            continue
        for p in range(index.indptr[row.features[e]], index.indptr[row.features[e] + 1]):
            c = class_at(index, p)
            wrong += scores[c] * 0
            if scores[c] > 0:
                if found != NULL:
                    found[n] = c
                n += 1
            scores[c] = SEEN
    for i in range(index.n_classes):
        c = index.by_intercept[i]
        if index.intercept[c] <= 0:
            break
        if scores[c] != SEEN:
            if found != NULL:
                found[n] = c
            n += 1
    return n if wrong == 0 else -1


cdef int64_t positives_row(Row row, Index index, float* scores, int32_t* found) noexcept nogil:
    cdef Batch batch
    cdef int64_t n
    accumulate(row, index, scores, &batch)
    if worth_touching(row, index, CHEAPER):
        n = touched_positives(row, index, scores, found)
        reset_touched(row, index, scores)
    else:
        scan_positives(&batch, index, scores, &n, found)
    return n


# ----------------------------------------------------------------------------------- every score


cdef dispatched scores_row(Row row, Index index, float* scores, float* out) noexcept nogil:
    cdef Batch batch
    cdef float totals[BLOCK]
    cdef int32_t block, start
    accumulate(row, index, scores, &batch)
    for block in range(index.n_blocks):
        start = block * BLOCK
        finish_block(batch.column, batch.value, index, block, scores + start, totals)
        memcpy(scores + start, index.intercept + start, BLOCK * sizeof(float))
        memcpy(out + start, totals, min(BLOCK, index.n_classes - start) * sizeof(float))


def topk(
    const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data, bint dense,
    Postings postings, float[:, ::1] scores,
    int32_t[:, ::1] top_classes, float[:, ::1] top_scores, int way, int n_threads,
):
    """The k best classes of each row, best first, ties to the smaller class.

    Parameters
    ----------
    indptr, indices, data, dense : IN, the rows (see `utils/_matrix.Rows`)
    postings : IN
    scores : IN/OUT scratch (n_threads, n_places or more), holding the intercepts before and after
    top_classes, top_scores : OUT (n_rows, k)
    way : IN, 1 scan, 2 touched, 0 the cheaper one for each row; the results are the same. A row
        with a feature that has no list is always scanned.
    """
    cdef Index index = postings.pointers()
    cdef Rows rows = pointers_to_rows(indptr, indices, data, dense)
    cdef Py_ssize_t i, n_rows = indptr.shape[0] - 1
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
    """The classes with a score above zero: how many a row has, and which when `found` has room.

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
    Postings postings, float[:, ::1] scores, float[:, ::1] out, int n_threads,
):
    """All scores of each row: OUT (n_rows, n_classes); the others as in `topk`."""
    cdef Index index = postings.pointers()
    cdef Rows rows = pointers_to_rows(indptr, indices, data, dense)
    cdef Py_ssize_t i, n_rows = indptr.shape[0] - 1
    for i in prange(
        n_rows, schedule="dynamic", chunksize=CHUNK, num_threads=n_threads, nogil=True
    ):
        scores_row(row_at(rows, i), index, &scores[threadid(), 0], &out[i, 0])

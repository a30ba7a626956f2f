"""Scores of rows over an inverted index feature -> (class, weight), and the best k of them.

A row's scores gather in a float32 accumulator of one place a class, which holds the intercepts
between rows. Two ways lead from there to the result. `scan` reads all K places, sixteen a step.
`touched` reads only the classes that the row's features mention and then the others in the order of
their intercepts, until none can be among the best; it pays when few classes are touched. Both see
the same sums in the same order of additions, so they give the same bits.
"""

from cython.parallel cimport parallel, prange, threadid
from libc.math cimport INFINITY
from libc.stdint cimport INT32_MAX, int32_t, int64_t
from libc.string cimport memcpy

cdef extern from "_simd.h" nogil:
    ctypedef void dispatched "XC_CLONES void"

cdef extern from *:
    """
    #ifdef _OPENMP
    #define XC_OPENMP 1
    #else
    #define XC_OPENMP 0
    #endif
    """
    const bint XC_OPENMP

cdef enum:
    BLOCK = 64  # scores compared at once with the k-th best
    CHUNK = 32  # rows that a thread takes at a time
    # One posting of `touched` costs about as much as this many classes of `scan`.
    TOUCH_COST = 10

cdef struct Index:
    const int64_t* indptr
    const int32_t* classes
    const float* weights
    const float* intercept
    int32_t n_classes

cdef struct Row:
    const int32_t* features
    const float* values
    int64_t n


def openmp_enabled():
    """Whether this build runs the rows on several threads."""
    return bool(XC_OPENMP)


# ---------------------------------------------------------------------------------------- one row


cdef inline int64_t count_postings(Row row, Index index) noexcept nogil:
    cdef int64_t e, total = 0
    for e in range(row.n):
        if row.values[e] != 0:
            total += index.indptr[row.features[e] + 1] - index.indptr[row.features[e]]
    return total


cdef dispatched accumulate(Row row, Index index, float* scores) noexcept nogil:
    """scores += W x, feature by feature."""
    cdef int64_t e, p
    cdef float value
    for e in range(row.n):
        value = row.values[e]
        if value == 0:
            continue
        for p in range(index.indptr[row.features[e]], index.indptr[row.features[e] + 1]):
            scores[index.classes[p]] += value * index.weights[p]


cdef inline void reset_touched(Row row, Index index, float* scores) noexcept nogil:
    cdef int64_t e, p
    for e in range(row.n):
        if row.values[e] != 0:
            for p in range(index.indptr[row.features[e]], index.indptr[row.features[e] + 1]):
                scores[index.classes[p]] = index.intercept[index.classes[p]]


# --------------------------------------------------------------- the k best: a heap, worst on top


cdef inline bint better(float s, int32_t c, float t, int32_t d) noexcept nogil:
    """The order of the results: higher score first, ties to the smaller class."""
    return s > t or (s == t and c < d)


cdef inline void sift(float* top, int32_t* labels, int64_t k, float s, int32_t c) noexcept nogil:
    """Put (s, c) in place of the worst of k and restore the heap."""
    cdef int64_t place = 0, child = 1
    while child < k:
        if child + 1 < k and better(top[child], labels[child], top[child + 1], labels[child + 1]):
            child += 1
        if not better(s, c, top[child], labels[child]):
            break
        top[place] = top[child]
        labels[place] = labels[child]
        place = child
        child = 2 * place + 1
    top[place] = s
    labels[place] = c


cdef inline void sort_heap(float* top, int32_t* labels, int64_t k) noexcept nogil:
    cdef int64_t last
    cdef float s
    cdef int32_t c
    for last in range(k - 1, 0, -1):
        s = top[last]
        c = labels[last]
        top[last] = top[0]
        labels[last] = labels[0]
        sift(top, labels, last, s, c)


cdef dispatched scan(
    const float* scores, int32_t n_classes, float* top, int32_t* labels, int64_t k
) noexcept nogil:
    """Offer all classes in ascending order, so that a tie never replaces the smaller class."""
    cdef int32_t block, start, stop, c, hits
    cdef float worst
    for block in range((n_classes + BLOCK - 1) // BLOCK):
        start = block * BLOCK
        stop = min(start + BLOCK, n_classes)
        worst = top[0]
        hits = 0
        for c in range(start, stop):
            hits |= scores[c] > worst
        if hits:
            for c in range(start, stop):
                if scores[c] > top[0]:
                    sift(top, labels, k, scores[c], c)


cdef void touched(
    Row row, Index index, const int32_t* by_intercept, float* scores,
    float* top, int32_t* labels, int64_t k,
) noexcept nogil:
    """Offer the touched classes, then the others by falling intercept until one is too low."""
    cdef int64_t e, p
    cdef int32_t c, i
    for e in range(row.n):
        if row.values[e] == 0:
            continue
        for p in range(index.indptr[row.features[e]], index.indptr[row.features[e] + 1]):
            c = index.classes[p]
            if better(scores[c], c, top[0], labels[0]):
                sift(top, labels, k, scores[c], c)
            scores[c] = -INFINITY  # offered; another feature may mention the class again
    for i in range(index.n_classes):
        c = by_intercept[i]
        if scores[c] == -INFINITY:
            continue
        if not better(scores[c], c, top[0], labels[0]):
            break
        sift(top, labels, k, scores[c], c)


cdef void topk_row(
    Row row, Index index, const int32_t* by_intercept, float* scores,
    float* top, int32_t* labels, int64_t k, int way,
) noexcept nogil:
    cdef int64_t j
    for j in range(k):
        top[j] = -INFINITY
        labels[j] = INT32_MAX
    accumulate(row, index, scores)
    if way == 0:
        way = 2 if TOUCH_COST * count_postings(row, index) < index.n_classes else 1
    if way == 2:
        touched(row, index, by_intercept, scores, top, labels, k)
        reset_touched(row, index, scores)
    else:
        scan(scores, index.n_classes, top, labels, k)
        memcpy(scores, index.intercept, index.n_classes * sizeof(float))
    sort_heap(top, labels, k)


# ------------------------------------------------------------------------- the positive scores


cdef dispatched scan_positives(
    const float* scores, int32_t n_classes, int64_t* n_found, int32_t* found
) noexcept nogil:
    cdef int32_t block, start, stop, c, hits
    cdef int64_t n = 0
    for block in range((n_classes + BLOCK - 1) // BLOCK):
        start = block * BLOCK
        stop = min(start + BLOCK, n_classes)
        hits = 0
        for c in range(start, stop):
            hits += scores[c] > 0
        if hits and found != NULL:
            for c in range(start, stop):
                if scores[c] > 0:
                    found[n] = c
                    n += 1
        else:
            n += hits
    n_found[0] = n


cdef int64_t touched_positives(
    Row row, Index index, const int32_t* by_intercept, float* scores, int32_t* found
) noexcept nogil:
    cdef int64_t e, p, n = 0
    cdef int32_t c, i
    for e in range(row.n):
        if row.values[e] == 0:
            continue
        for p in range(index.indptr[row.features[e]], index.indptr[row.features[e] + 1]):
            c = index.classes[p]
            if scores[c] > 0:
                if found != NULL:
                    found[n] = c
                n += 1
            scores[c] = -INFINITY
    for i in range(index.n_classes):
        c = by_intercept[i]
        if index.intercept[c] <= 0:
            break
        if scores[c] != -INFINITY:
            if found != NULL:
                found[n] = c
            n += 1
    return n


cdef int64_t positives_row(
    Row row, Index index, const int32_t* by_intercept, float* scores, int32_t* found
) noexcept nogil:
    cdef int64_t n
    accumulate(row, index, scores)
    if TOUCH_COST * count_postings(row, index) < index.n_classes:
        n = touched_positives(row, index, by_intercept, scores, found)
        reset_touched(row, index, scores)
    else:
        scan_positives(scores, index.n_classes, &n, found)
        memcpy(scores, index.intercept, index.n_classes * sizeof(float))
    return n


# ------------------------------------------------------------------------------- all rows


cdef inline Index make_index(
    const int64_t[::1] indptr, const int32_t[::1] classes, const float[::1] weights,
    const float[::1] intercept,
) noexcept nogil:
    cdef Index index
    index.indptr = &indptr[0]
    index.classes = &classes[0] if classes.shape[0] else NULL
    index.weights = &weights[0] if weights.shape[0] else NULL
    index.intercept = &intercept[0]
    index.n_classes = <int32_t>intercept.shape[0]
    return index


cdef inline Row row_at(
    const int64_t* indptr, const int32_t* indices, const float* data, bint dense, Py_ssize_t i
) noexcept nogil:
    cdef Row row
    row.features = indices if dense else indices + indptr[i]
    row.values = data + indptr[i]
    row.n = indptr[i + 1] - indptr[i]
    return row


def topk(
    const int64_t[::1] row_indptr,
    const int32_t[::1] row_indices,
    const float[::1] row_data,
    bint dense,
    const int64_t[::1] indptr,
    const int32_t[::1] classes,
    const float[::1] weights,
    const float[::1] intercept,
    const int32_t[::1] by_intercept,
    float[:, ::1] scores,
    int32_t[:, ::1] top_classes,
    float[:, ::1] top_scores,
    int way,
    int n_threads,
):
    """The k best classes of each row, best first, ties to the smaller class.

    Parameters
    ----------
    row_indptr, row_indices, row_data, dense : IN, the rows (see `_rows.Rows`)
    indptr, classes, weights : IN, postings of each feature: its classes and their weights
    intercept, by_intercept : IN, and the classes in the order of falling intercept
    scores : IN/OUT scratch (n_threads, n_classes), holding the intercepts before and after
    top_classes, top_scores : OUT (n_rows, k)
    way : IN, 1 scan, 2 touched, 0 the cheaper one for each row; the results are the same
    """
    cdef Py_ssize_t i, n_rows = row_indptr.shape[0] - 1
    cdef int64_t k = top_classes.shape[1]
    cdef Index index = make_index(indptr, classes, weights, intercept)
    cdef const int32_t* features = &row_indices[0] if row_indices.shape[0] else NULL
    cdef const float* values = &row_data[0] if row_data.shape[0] else NULL
    cdef const int64_t* starts = &row_indptr[0]
    cdef const int32_t* order = &by_intercept[0]
    cdef float* mine = NULL
    with nogil, parallel(num_threads=n_threads):
        mine = &scores[threadid(), 0]
        for i in prange(n_rows, schedule="dynamic", chunksize=CHUNK):
            topk_row(
                row_at(starts, features, values, dense, i), index, order, mine,
                &top_scores[i, 0], &top_classes[i, 0], k, way,
            )


def positives(
    const int64_t[::1] row_indptr,
    const int32_t[::1] row_indices,
    const float[::1] row_data,
    bint dense,
    const int64_t[::1] indptr,
    const int32_t[::1] classes,
    const float[::1] weights,
    const float[::1] intercept,
    const int32_t[::1] by_intercept,
    float[:, ::1] scores,
    int64_t[::1] counts,
    const int64_t[::1] found_indptr,
    int32_t[::1] found,
    int n_threads,
):
    """The classes with a score above zero: how many a row has, and which when `found` has room.

    Parameters
    ----------
    row_indptr ... scores : as in `topk`
    counts : OUT (n_rows,)
    found_indptr : IN (n_rows + 1,), where the classes of each row go
    found : OUT, the classes in no particular order; of size 0 to count only
    """
    cdef Py_ssize_t i, n_rows = row_indptr.shape[0] - 1
    cdef Index index = make_index(indptr, classes, weights, intercept)
    cdef const int32_t* features = &row_indices[0] if row_indices.shape[0] else NULL
    cdef const float* values = &row_data[0] if row_data.shape[0] else NULL
    cdef const int64_t* starts = &row_indptr[0]
    cdef const int32_t* order = &by_intercept[0]
    cdef int32_t* out = &found[0] if found.shape[0] else NULL
    cdef float* mine = NULL
    with nogil, parallel(num_threads=n_threads):
        mine = &scores[threadid(), 0]
        for i in prange(n_rows, schedule="dynamic", chunksize=CHUNK):
            counts[i] = positives_row(
                row_at(starts, features, values, dense, i), index, order, mine,
                NULL if out == NULL else out + found_indptr[i],
            )


def all_scores(
    const int64_t[::1] row_indptr,
    const int32_t[::1] row_indices,
    const float[::1] row_data,
    bint dense,
    const int64_t[::1] indptr,
    const int32_t[::1] classes,
    const float[::1] weights,
    const float[::1] intercept,
    float[:, ::1] out,
    int n_threads,
):
    """All scores of each row: OUT (n_rows, n_classes)."""
    cdef Py_ssize_t i, n_rows = row_indptr.shape[0] - 1
    cdef Index index = make_index(indptr, classes, weights, intercept)
    cdef const int32_t* features = &row_indices[0] if row_indices.shape[0] else NULL
    cdef const float* values = &row_data[0] if row_data.shape[0] else NULL
    cdef const int64_t* starts = &row_indptr[0]
    for i in prange(n_rows, nogil=True, schedule="dynamic", chunksize=CHUNK, num_threads=n_threads):
        memcpy(&out[i, 0], index.intercept, index.n_classes * sizeof(float))
        accumulate(row_at(starts, features, values, dense, i), index, &out[i, 0])

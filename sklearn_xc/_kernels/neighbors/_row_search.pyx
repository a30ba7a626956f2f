"""The rows of largest inner product with a query, over inverted lists feature -> (row, value).

The score of row r is ``sum_j q_j x_rj``. Rows are taken a block at a time, so that the accumulators
of a block stay in the first cache: a cursor of each of the query's lists adds the products of the
block's rows, then the block is compared with the worst of the k best so far. Every row is seen, so
the answer is exact, zeros and negative scores included; products are added in the order of the
query's features whatever the blocks are, so a row has the same score, to the last bit, wherever it
stands.

Lists may come from a mapped file that nobody has checked: a row number outside of its block ends
the list, and bounds of lists are compared with the number of entries.
"""

from cython.parallel cimport parallel, prange, threadid
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport memset

from sklearn_xc._kernels.common._common cimport dispatched
from sklearn_xc._kernels.common._heap cimport sift
from sklearn_xc._kernels.common._rows cimport Row, Rows, pointers_to_rows, row_at

cdef enum:
    BLOCK = 8192  # rows whose scores gather at once: 32 KB
    STEP = 64  # scores compared with the worst of the best at once
    CHUNK = 4  # queries that a thread takes at a time

cdef struct Cursor:
    int64_t place
    int64_t stop
    float value

cdef struct Pointers:
    const int32_t* features
    const int64_t* starts
    const int32_t* rows
    const float* values
    int64_t n_features  # that have a list
    int64_t n_entries
    int64_t n_rows


def block_of_rows():
    """The number of rows whose scores a thread holds."""
    return BLOCK


cdef class Lists:
    """Inverted lists, read only (see `neighbors/_row_lists.RowLists`).

    Parameters
    ----------
    features : (n_listed,), ascending: the features that some row has
    starts : (n_listed + 1,), where the list of each begins among the entries
    rows : (n_entries,), ascending in a list
    values : (n_entries,)
    n_rows : int
    """

    cdef const int32_t[::1] features
    cdef const int64_t[::1] starts
    cdef const int32_t[::1] rows
    cdef const float[::1] values
    cdef int64_t n_rows

    def __init__(
        self, const int32_t[::1] features, const int64_t[::1] starts, const int32_t[::1] rows,
        const float[::1] values, int64_t n_rows,
    ):
        if starts.shape[0] != features.shape[0] + 1 or rows.shape[0] != values.shape[0]:
            raise ValueError("the arrays of inverted lists differ in length")
        self.features = features
        self.starts = starts
        self.rows = rows
        self.values = values
        self.n_rows = n_rows

    cdef Pointers pointers(self) noexcept:
        cdef Pointers lists
        lists.n_features = self.features.shape[0]
        lists.n_entries = self.rows.shape[0]
        lists.n_rows = self.n_rows
        lists.features = &self.features[0] if lists.n_features else NULL
        lists.starts = &self.starts[0]
        lists.rows = &self.rows[0] if lists.n_entries else NULL
        lists.values = &self.values[0] if lists.n_entries else NULL
        return lists


cdef int64_t open_lists(Row query, Pointers lists, Cursor* cursors) noexcept nogil:
    """Cursors at the lists of the query's features; returns their number."""
    cdef int64_t e, n = 0, low = 0, high, middle, begin, stop
    for e in range(query.n):
        if query.values[e] == 0:
            continue
        high = lists.n_features
        while low < high:  # features ascend in both: the search goes on from the last place
            middle = (low + high) // 2
            if lists.features[middle] < query.features[e]:
                low = middle + 1
            else:
                high = middle
        if low == lists.n_features:
            break
        if lists.features[low] != query.features[e]:
            continue
        begin, stop = lists.starts[low], lists.starts[low + 1]
        if 0 <= begin < stop <= lists.n_entries:
            cursors[n].place, cursors[n].stop = begin, stop
            cursors[n].value = query.values[e]
            n += 1
    return n


cdef inline void add_list(
    Cursor* cursor, Pointers lists, int64_t first, uint32_t size, float* scores
) noexcept nogil:
    """Add the products of one list to the scores of rows [first, first + size)."""
    cdef int64_t p = cursor.place
    cdef uint32_t row
    while p < cursor.stop:
        row = <uint32_t>(lists.rows[p] - first)
        if row >= size:
            break
        scores[row] += cursor.value * lists.values[p]
        p += 1
    cursor.place = p


cdef dispatched offer_block(
    const float* scores, int64_t size, int32_t first, float* top, int32_t* ids, int64_t k
) noexcept nogil:
    """Offer the scores of consecutive rows to a heap; of equal ones the first stays."""
    cdef int64_t step, start, j
    cdef int32_t hits
    cdef float worst
    for step in range(size // STEP):
        start = step * STEP
        worst = top[0]
        hits = 0
        for j in range(STEP):
            hits |= scores[start + j] > worst
        if hits:
            for j in range(start, start + STEP):
                if scores[j] > top[0]:
                    sift(top, ids, k, scores[j], first + <int32_t>j)
    for j in range(size - size % STEP, size):
        if scores[j] > top[0]:
            sift(top, ids, k, scores[j], first + <int32_t>j)


cdef void search(
    Row query, Pointers lists, int32_t base, float* scores, Cursor* cursors, float* top,
    int32_t* ids, int64_t k,
) noexcept nogil:
    cdef int64_t block, first, size, c, n = open_lists(query, lists, cursors)
    for block in range((lists.n_rows + BLOCK - 1) // BLOCK):
        first = block * BLOCK
        size = min(<int64_t>BLOCK, lists.n_rows - first)
        memset(scores, 0, size * sizeof(float))
        for c in range(n):
            add_list(&cursors[c], lists, first, <uint32_t>size, scores)
        offer_block(scores, size, base + <int32_t>first, top, ids, k)


def nearest(
    const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data,
    Lists lists, int32_t base, float[:, ::1] top_scores, int32_t[:, ::1] top_ids,
    float[:, ::1] scratch, int64_t[:, :, ::1] cursors, int n_threads,
):
    """Offer all rows of some lists to the heap of each query.

    Parameters
    ----------
    indptr, indices, data : IN, sparse queries (see `utils/_matrix.Rows`)
    lists : IN
    base : int, the number of the lists' first row; the heaps hold smaller ones
    top_scores, top_ids : IN/OUT (n_queries, k), heaps (see `mips/_scores.empty`)
    scratch : OUT (n_threads, block_of_rows())
    cursors : OUT (n_threads, longest query, 3)
    """
    cdef Py_ssize_t i, n_queries = top_scores.shape[0]
    cdef int64_t k = top_scores.shape[1]
    cdef int mine
    cdef Pointers pointers
    cdef Rows queries
    if n_queries == 0 or k == 0 or lists.n_rows == 0:
        return
    pointers = lists.pointers()
    queries = pointers_to_rows(indptr, indices, data, False)
    with nogil, parallel(num_threads=n_threads):
        mine = threadid()
        for i in prange(n_queries, schedule="dynamic", chunksize=CHUNK):
            search(
                row_at(queries, i), pointers, base, &scratch[mine, 0],
                <Cursor*>&cursors[mine, 0, 0], &top_scores[i, 0], &top_ids[i, 0], k,
            )


# ------------------------------------------------------------------------- all rows that match


cdef int64_t match(
    Row query, Pointers lists, int32_t* ids, float* scores, int64_t room, int32_t* places,
    Cursor* cursors,
) noexcept nogil:
    """The rows that share a feature with the query, each once, in the order of the lists.

    Returns their number. ``places`` holds one more than the place of each row among them, and
    zeros for other rows.
    """
    cdef int64_t c, p, n_found = 0, n = open_lists(query, lists, cursors)
    cdef int32_t row
    for c in range(n):
        for p in range(cursors[c].place, cursors[c].stop):
            row = lists.rows[p]
            if row < 0 or row >= lists.n_rows:
                continue
            if places[row] == 0:
                if n_found == room:
                    continue
                ids[n_found], scores[n_found] = row, 0
                n_found += 1
                places[row] = <int32_t>n_found
            scores[places[row] - 1] += cursors[c].value * lists.values[p]
    return n_found


def matches(
    const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data,
    Lists lists, const int64_t[::1] starts, int32_t[::1] ids, float[::1] scores,
    int64_t[::1] counts, int32_t[:, ::1] scratch, int64_t[:, :, ::1] cursors, int n_threads,
):
    """The rows that share a feature with each query, and their scores.

    Parameters
    ----------
    indptr, indices, data : IN, sparse queries (see `utils/_matrix.Rows`)
    lists : IN
    starts : IN (n_queries + 1,), where the answer to each may begin: room for all entries of the
        query's lists, but never more than n_rows
    ids, scores : OUT, the answers
    counts : OUT (n_queries,), how many rows each has
    scratch : IN/OUT (n_threads, n_rows), zero before and after
    cursors : OUT (n_threads, longest query, 3)
    """
    cdef Py_ssize_t i, e, n_queries = counts.shape[0]
    cdef int mine
    cdef Pointers pointers
    cdef Rows queries
    if n_queries == 0 or lists.n_rows == 0 or ids.shape[0] == 0:
        return
    pointers = lists.pointers()
    queries = pointers_to_rows(indptr, indices, data, False)
    with nogil, parallel(num_threads=n_threads):
        mine = threadid()
        for i in prange(n_queries, schedule="dynamic", chunksize=CHUNK):
            if starts[i] == starts[i + 1]:
                continue
            counts[i] = match(
                row_at(queries, i), pointers, &ids[starts[i]], &scores[starts[i]],
                starts[i + 1] - starts[i], &scratch[mine, 0], <Cursor*>&cursors[mine, 0, 0],
            )
            for e in range(starts[i], starts[i] + counts[i]):
                scratch[mine, ids[e]] = 0

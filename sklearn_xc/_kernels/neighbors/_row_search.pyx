"""The rows of largest inner product with a query, over inverted lists feature -> (row, value).

The score of row r is ``sum_j q_j x_rj``. Rows are taken a block at a time, so that the accumulators
of a block stay in the first cache: a cursor of each of the query's lists adds the products of the
block's rows, then the block is compared with the worst of the k best so far.

A feature that many rows have is stored as a column, a number for each row. Products are added by
falling ``|q_j|``. What the last terms, from m on, can still give is at most
``U_m = sqrt(sum of q_j ** 2, j >= m)``, by Cauchy and Schwarz, as rows have length 1: if these are
columns and ``U_m`` is below the worst score of the best, theta, they are looked up only for rows
whose sum so far is above ``theta - U_m``. Every other row is below theta without a doubt, so the
answer is exact, zeros and negative scores included. The order of the sum depends on the query
alone: a row has the same score, to the last bit, wherever it stands.

Lists may come from a mapped file that nobody has checked: a row number outside of its block ends
the list, and bounds of lists are compared with the number of entries.
"""

from cython.parallel cimport parallel, prange, threadid
from libc.math cimport INFINITY, fabs, sqrt
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.stdlib cimport qsort
from libc.string cimport memset

from sklearn_xc._kernels.common._common cimport dispatched
from sklearn_xc._kernels.common._heap cimport sift
from sklearn_xc._kernels.common._rows cimport Row, Rows, pointers_to_rows, row_at

cdef enum:
    BLOCK = 8192  # rows whose scores gather at once: 32 KB
    STEP = 64  # scores compared with a threshold at once
    CHUNK = 4  # queries that a thread takes at a time
    WORDS = 6  # of 8 bytes that a term takes at most

# Sums of float32 err by less than this for each term; rows have length 1 but for so much.
cdef double ROUNDING = 2.5e-7

cdef struct Term:
    int64_t place  # in the list
    int64_t stop
    const float* column  # NULL for a list
    double bound  # U of this term and those after it
    float value
    int32_t feature

cdef struct Pointers:
    const int32_t* features
    const int64_t* starts
    const int32_t* rows
    const float* values
    const int32_t* column_of
    const float* columns
    int64_t n_features  # that have a list or a column
    int64_t n_entries
    int64_t n_rows
    int64_t n_columns


def block_of_rows():
    """The number of rows whose scores a thread holds."""
    return BLOCK


def words_of_a_term():
    """The numbers of 8 bytes that hold what is known of a feature of a query."""
    return WORDS


cdef class Lists:
    """Inverted lists and columns, read only (see `neighbors/_row_lists.RowLists`).

    Parameters
    ----------
    features : (n_listed,), ascending: the features that some row has
    starts : (n_listed + 1,), where the list of each begins among the entries
    rows : (n_entries,), ascending in a list
    values : (n_entries,)
    column_of : (n_listed,), the column of each feature, -1 where it has a list
    columns : (n_columns, n_rows)
    n_rows : int
    """

    cdef const int32_t[::1] features
    cdef const int64_t[::1] starts
    cdef const int32_t[::1] rows
    cdef const float[::1] values
    cdef const int32_t[::1] column_of
    cdef const float[:, ::1] columns
    cdef int64_t n_rows

    def __init__(
        self, const int32_t[::1] features, const int64_t[::1] starts, const int32_t[::1] rows,
        const float[::1] values, const int32_t[::1] column_of, const float[:, ::1] columns,
        int64_t n_rows,
    ):
        if starts.shape[0] != features.shape[0] + 1 or rows.shape[0] != values.shape[0]:
            raise ValueError("the arrays of inverted lists differ in length")
        if column_of.shape[0] != features.shape[0] or (
            columns.shape[0] and columns.shape[1] != n_rows
        ):
            raise ValueError("the columns of inverted lists differ in length")
        self.features = features
        self.starts = starts
        self.rows = rows
        self.values = values
        self.column_of = column_of
        self.columns = columns
        self.n_rows = n_rows

    cdef Pointers pointers(self) noexcept:
        cdef Pointers lists
        lists.n_features = self.features.shape[0]
        lists.n_entries = self.rows.shape[0]
        lists.n_rows = self.n_rows
        lists.n_columns = self.columns.shape[0] if self.n_rows else 0
        lists.features = &self.features[0] if lists.n_features else NULL
        lists.starts = &self.starts[0]
        lists.rows = &self.rows[0] if lists.n_entries else NULL
        lists.values = &self.values[0] if lists.n_entries else NULL
        lists.column_of = &self.column_of[0] if lists.n_features else NULL
        lists.columns = &self.columns[0, 0] if lists.n_columns else NULL
        return lists


cdef int64_t open_terms(Row query, Pointers lists, Term* terms) noexcept nogil:
    """Terms of the query's features that some row has, in their order; returns their number."""
    cdef int64_t e, n = 0, low = 0, high, middle, column
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
        column = lists.column_of[low]
        terms[n].column = NULL
        terms[n].place, terms[n].stop = lists.starts[low], lists.starts[low + 1]
        if 0 <= column < lists.n_columns:
            terms[n].column = lists.columns + column * lists.n_rows
        elif not 0 <= terms[n].place < terms[n].stop <= lists.n_entries:
            continue
        terms[n].value, terms[n].feature = query.values[e], query.features[e]
        n += 1
    return n


cdef int by_magnitude(const void* one, const void* other) noexcept nogil:
    """Order of the sum: by falling magnitude, of equal ones the smaller feature first."""
    cdef const Term* a = <const Term*>one
    cdef const Term* b = <const Term*>other
    cdef double x = fabs(a.value), y = fabs(b.value)
    if x != y:
        return -1 if x > y else 1
    return -1 if a.feature < b.feature else 1


cdef int64_t order_terms(Term* terms, int64_t n) noexcept nogil:
    """Sort the terms and set their bounds; returns where the columns at their end begin."""
    cdef int64_t c = n, first = n
    cdef double squares = 0
    qsort(terms, n, sizeof(Term), by_magnitude)
    while c > 0:
        c -= 1
        squares += <double>terms[c].value * terms[c].value
        terms[c].bound = sqrt(squares) * (1 + 1e-5) + ROUNDING * n
        if terms[c].column != NULL and first == c + 1:
            first = c
    return first


cdef inline void add_list(
    Term* term, Pointers lists, int64_t first, uint32_t size, float* scores
) noexcept nogil:
    """Add the products of one list to the scores of rows [first, first + size)."""
    cdef int64_t p = term.place
    cdef uint32_t row
    while p < term.stop:
        row = <uint32_t>(lists.rows[p] - first)
        if row >= size:
            break
        scores[row] += term.value * lists.values[p]
        p += 1
    term.place = p


cdef dispatched add_column(
    float value, const float* column, int64_t size, float* scores
) noexcept nogil:
    cdef int64_t j
    for j in range(size):
        scores[j] += value * column[j]


cdef dispatched rows_above(
    const float* scores, int64_t size, float threshold, int32_t* hits, int64_t* n_hits
) noexcept nogil:
    """The places of scores above a threshold, ascending."""
    cdef int64_t step, start, j, n = 0
    cdef int32_t some
    for step in range(size // STEP):
        start = step * STEP
        some = 0
        for j in range(STEP):
            some |= scores[start + j] > threshold
        if some:
            for j in range(start, start + STEP):
                hits[n] = <int32_t>j
                n += scores[j] > threshold
    for j in range(size - size % STEP, size):
        hits[n] = <int32_t>j
        n += scores[j] > threshold
    n_hits[0] = n


cdef void finish(
    const int32_t* hits, int64_t n_hits, const float* scores, int64_t first, int32_t base,
    const Term* terms, int64_t m, int64_t n, float* top, int32_t* ids, int64_t k,
) noexcept nogil:
    """Add the columns of terms [m, n) to the scores of some rows, and offer these to the heap.

    Rows are offered in their order: of equal scores the first stays.
    """
    cdef int64_t h, c, row
    cdef float score
    for h in range(n_hits):
        row = first + hits[h]
        score = scores[hits[h]]
        for c in range(m, n):
            if not score + terms[c].bound > top[0]:
                score = -INFINITY
                break
            score += terms[c].value * terms[c].column[row]
        if score > top[0]:
            sift(top, ids, k, score, base + <int32_t>row)


cdef void search(
    Row query, Pointers lists, int32_t base, float* scores, int32_t* hits, Term* terms,
    float* top, int32_t* ids, int64_t k,
) noexcept nogil:
    cdef int64_t block, first, size, c, n_hits, m, n = open_terms(query, lists, terms)
    cdef int64_t columns = order_terms(terms, n)
    for block in range((lists.n_rows + BLOCK - 1) // BLOCK):
        first = block * BLOCK
        size = min(<int64_t>BLOCK, lists.n_rows - first)
        m = columns
        while m < n and not terms[m].bound < top[0]:
            m += 1
        memset(scores, 0, size * sizeof(float))
        for c in range(m):
            if terms[c].column == NULL:
                add_list(&terms[c], lists, first, <uint32_t>size, scores)
            else:
                add_column(terms[c].value, terms[c].column + first, size, scores)
        rows_above(
            scores, size, top[0] - <float>terms[m].bound if m < n else top[0], hits, &n_hits
        )
        finish(hits, n_hits, scores, first, base, terms, m, n, top, ids, k)


def nearest(
    const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data,
    Lists lists, int32_t base, float[:, ::1] top_scores, int32_t[:, ::1] top_ids,
    float[:, ::1] scratch, int32_t[:, ::1] hits, int64_t[:, :, ::1] terms, int n_threads,
):
    """Offer all rows of some lists to the heap of each query.

    Parameters
    ----------
    indptr, indices, data : IN, sparse queries of length 1 or 0 (see `utils/_matrix.Rows`)
    lists : IN, of rows of length 1 or 0
    base : int, the number of the lists' first row; the heaps hold smaller ones
    top_scores, top_ids : IN/OUT (n_queries, k), heaps (see `mips/_scores.empty`)
    scratch : OUT (n_threads, block_of_rows())
    hits : OUT (n_threads, block_of_rows() + 1)
    terms : OUT (n_threads, longest query, words_of_a_term())
    """
    cdef Py_ssize_t i, n_queries = top_scores.shape[0]
    cdef int64_t k = top_scores.shape[1]
    cdef int mine
    cdef Pointers pointers
    cdef Rows queries
    if sizeof(Term) > 8 * WORDS:
        raise ValueError("terms take more room than they are given")
    if n_queries == 0 or k == 0 or lists.n_rows == 0:
        return
    pointers = lists.pointers()
    queries = pointers_to_rows(indptr, indices, data, False)
    with nogil, parallel(num_threads=n_threads):
        mine = threadid()
        for i in prange(n_queries, schedule="dynamic", chunksize=CHUNK):
            search(
                row_at(queries, i), pointers, base, &scratch[mine, 0], &hits[mine, 0],
                <Term*>&terms[mine, 0, 0], &top_scores[i, 0], &top_ids[i, 0], k,
            )


# ------------------------------------------------------------------------- all rows that match


cdef int64_t match(
    Row query, Pointers lists, int32_t* ids, float* scores, int64_t room, int32_t* places,
    Term* terms,
) noexcept nogil:
    """The rows that share a feature with the query, each once, in the order of the lists.

    Returns their number. ``places`` holds one more than the place of each row among them, and
    zeros for other rows.
    """
    cdef int64_t c, p, n_found = 0, n = open_terms(query, lists, terms)
    cdef int32_t row
    for c in range(n):
        if terms[c].column != NULL:
            continue
        for p in range(terms[c].place, terms[c].stop):
            row = lists.rows[p]
            if row < 0 or row >= lists.n_rows:
                continue
            if places[row] == 0:
                if n_found == room:
                    continue
                ids[n_found], scores[n_found] = row, 0
                n_found += 1
                places[row] = <int32_t>n_found
            scores[places[row] - 1] += terms[c].value * lists.values[p]
    return n_found


def matches(
    const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data,
    Lists lists, const int64_t[::1] starts, int32_t[::1] ids, float[::1] scores,
    int64_t[::1] counts, int32_t[:, ::1] scratch, int64_t[:, :, ::1] terms, int n_threads,
):
    """The rows that share a feature with each query, and their scores.

    Parameters
    ----------
    indptr, indices, data : IN, sparse queries (see `utils/_matrix.Rows`)
    lists : IN, without columns
    starts : IN (n_queries + 1,), where the answer to each may begin: room for all entries of the
        query's lists, but never more than n_rows
    ids, scores : OUT, the answers
    counts : OUT (n_queries,), how many rows each has
    scratch : IN/OUT (n_threads, n_rows), zero before and after
    terms : OUT (n_threads, longest query, words_of_a_term())
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
                starts[i + 1] - starts[i], &scratch[mine, 0], <Term*>&terms[mine, 0, 0],
            )
            for e in range(starts[i], starts[i] + counts[i]):
                scratch[mine, ids[e]] = 0

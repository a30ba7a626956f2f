"""The rows of largest inner product with a query, over inverted lists feature -> (row, value).

The score of row r is ``sum_j q_j x_rj``. Rows are taken a block at a time, so that the accumulators
of a block stay in a near cache: a cursor of each of the query's lists adds the products of the
block's rows, then the block is compared with the worst of the k best so far.

A feature that many rows have is stored as a column, a number for each row. Products are added by
falling ``|q_j|``. What the last terms, from m on, can still give is at most
``U_m = sqrt(sum of q_j ** 2, j >= m)``, by Cauchy and Schwarz, as rows have length 1: if these are
columns and ``U_m`` is below the worst score of the best, theta, they are looked up only for rows
whose sum so far is above ``theta - U_m``. Every other row is below theta without a doubt, so the
answer is exact, zeros and negative scores included. The order of the sum depends on the query
alone: a row has the same score, to the last bit, wherever it stands.

Lists may come from a mapped file that nobody has checked: a row number outside of its block ends
the list.
"""

from cython.parallel cimport parallel, prange, threadid
from libc.math cimport INFINITY, nextafterf
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport memset

from sklearn_xc._kernels.common._common cimport dispatched
from sklearn_xc._kernels.common._heap cimport better, sift
from sklearn_xc._kernels.common._rows cimport Row, Rows, pointers_to_rows, row_at
from sklearn_xc._kernels.neighbors._lists cimport (
    WORDS, Lists, Pointers, Term, open_terms, order_terms,
)

cdef extern from "_simd.h" nogil:
    unsigned int mask_above "xc_mask_above" (const float *values, const float *thresholds)
    int lowest_bit "xc_lowest_bit" (unsigned int mask)

cdef enum:
    BLOCK = 16384  # rows whose scores gather at once: 64 KB
    STEP = 64  # scores compared with a threshold at once
    CHUNK = 4  # queries that a thread takes at a time
    BINS = 1024  # of scores from 0 to 1
    EACH = 2  # blocks, one of which is looked at for a floor

# Of a bin, by which its lower end is lowered: the sums in it are rounded.
cdef double EDGE = 2.5e-7

cdef struct Scratch:
    float* scores  # of a block, zero
    int32_t* hits
    float* found
    Term* terms
    int32_t* histogram


def block_of_rows():
    """The number of rows whose scores a thread holds."""
    return BLOCK


def bins():
    """The number of bins of a histogram of scores."""
    return BINS


cdef inline void add_list(
    Term* term, Pointers lists, int64_t first, uint32_t size, float* scores
) noexcept nogil:
    """Add the products of one list to the scores of rows [first, first + size)."""
    cdef int64_t p = term.place
    cdef uint32_t row
    term.begin = p
    while p < term.stop:
        row = <uint32_t>(lists.rows[p] - first)
        if row >= size:
            break
        scores[row] += term.value * lists.values[p]
        p += 1
    term.place = p


cdef inline int64_t place_of(const Term* term, Pointers lists, int64_t first) noexcept nogil:
    """The first place in a list, from where it is read, with a row from `first` on."""
    cdef int64_t low = term.place, high = term.stop, middle
    while low < high:
        middle = (low + high) // 2
        if lists.rows[middle] < first:
            low = middle + 1
        else:
            high = middle
    return low


cdef inline int64_t take_list(
    const Term* term, Pointers lists, int64_t first, float threshold, float* scores,
    int32_t* hits, float* found, int64_t n
) noexcept nogil:
    """Note the rows that `add_list` has just seen with scores above a threshold; clear all."""
    cdef int64_t p
    cdef int32_t row
    for p in range(term.begin, term.place):
        row = <int32_t>(lists.rows[p] - first)
        if scores[row] > threshold:
            hits[n], found[n] = row, scores[row]
            n += 1
        scores[row] = 0
    return n


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
    cdef unsigned int mask
    cdef float[16] thresholds
    for j in range(16):
        thresholds[j] = threshold
    for step in range(size // STEP):
        start = step * STEP
        some = 0
        for j in range(STEP):
            some |= scores[start + j] > threshold
        if not some:
            continue
        for j in range(start, start + STEP, 16):
            mask = mask_above(scores + j, thresholds)
            while mask:
                hits[n] = <int32_t>j + lowest_bit(mask)
                mask &= mask - 1
                n += 1
    for j in range(size - size % STEP, size):
        hits[n] = <int32_t>j
        n += scores[j] > threshold
    n_hits[0] = n


cdef int64_t block_above(
    Pointers lists, int64_t first, int64_t size, Scratch scratch, int64_t m, bint only_lists,
    float threshold,
) noexcept nogil:
    """The rows of a block whose sums of terms [0, m) are above a threshold; returns their number.

    Their places and sums lie in ``hits`` and ``found``. If all terms are lists and the threshold
    is not negative, only rows in the lists are looked at, and come in the order of these.
    ``scores`` are zero before and after.
    """
    cdef int64_t c, h, n = 0
    cdef Term* terms = scratch.terms
    for c in range(m):
        if terms[c].column == NULL:
            add_list(&terms[c], lists, first, <uint32_t>size, scratch.scores)
        else:
            add_column(terms[c].value, terms[c].column + first, size, scratch.scores)
    if only_lists and threshold >= 0:
        for c in range(m):
            n = take_list(
                &terms[c], lists, first, threshold, scratch.scores, scratch.hits, scratch.found, n
            )
        return n
    rows_above(scratch.scores, size, threshold, scratch.hits, &n)
    for h in range(n):
        scratch.found[h] = scratch.scores[scratch.hits[h]]
    memset(scratch.scores, 0, size * sizeof(float))
    return n


cdef int64_t complete(
    const Term* terms, int64_t m, int64_t n, int64_t first, float limit, int32_t* hits,
    float* found, int64_t n_hits,
) noexcept nogil:
    """Add the columns of terms [m, n) to the sums of some rows, one column after the other.

    After each the rows stay that may still be above the limit; returns their number. Without a
    branch: which rows stay cannot be foreseen, and columns are far apart in memory.
    """
    cdef int64_t c, h, n_left
    cdef const float* column
    cdef float value, least, score
    for c in range(m, n):
        column, value, n_left = terms[c].column + first, terms[c].value, 0
        least = limit if c + 1 == n else nextafterf(limit - <float>terms[c + 1].bound, -INFINITY)
        for h in range(n_hits):
            score = found[h] + value * column[hits[h]]
            hits[n_left], found[n_left] = hits[h], score
            n_left += score > least
        n_hits = n_left
    return n_hits


cdef void scan(
    Pointers lists, int32_t base, float floor, Scratch scratch, int64_t columns, int64_t n,
    bint only_lists, float* top, int32_t* ids, int64_t k,
) noexcept nogil:
    """Offer all rows with a score above `floor` to the heap.

    Rows come in their order, so that of equal scores the first stays; but inside a block that is
    read by lists only, where equal scores are compared by number.
    """
    cdef int64_t block, first, size, h, n_hits, m
    cdef bint ordered
    cdef int32_t row
    cdef float limit, score
    cdef Term* terms = scratch.terms
    for block in range((lists.n_rows + BLOCK - 1) // BLOCK):
        first = block * BLOCK
        size = min(<int64_t>BLOCK, lists.n_rows - first)
        limit = max(floor, top[0])
        m = columns
        while m < n and not terms[m].bound < limit:
            m += 1
        ordered = not only_lists or m > columns or not limit > 0
        n_hits = block_above(
            lists, first, size, scratch, m, not ordered,
            nextafterf(limit - <float>terms[m].bound if m < n else limit, -INFINITY),
        )
        if not ordered:
            limit = max(floor, nextafterf(top[0], -INFINITY))
        n_hits = complete(
            terms, m, n, first, limit, scratch.hits, scratch.found, n_hits
        )
        for h in range(n_hits):
            row, score = base + <int32_t>(first + scratch.hits[h]), scratch.found[h]
            if score > limit and better(score, row, top[0], ids[0]):
                sift(top, ids, k, score, row)


cdef float floor_of(
    Pointers lists, Scratch scratch, int64_t columns, bint only_lists, double given, int64_t k,
) noexcept nogil:
    """A score that at least k rows reach, if terms from `columns` on take away `given` at most.

    By a histogram of the sums of the other terms, in one of `EACH` blocks: reading all would cost
    as much as is saved. Minus infinity if fewer rows have any.
    """
    cdef int64_t block, first, size, c, h, n_hits, place, lowest = 0, n_counted = 0
    cdef Term* terms = scratch.terms
    cdef float floor = -INFINITY
    memset(scratch.histogram, 0, (BINS + 1) * sizeof(int32_t))
    for block in range((lists.n_rows + EACH * BLOCK - 1) // (EACH * BLOCK)):
        first = EACH * block * BLOCK
        for c in range(columns):
            if terms[c].column == NULL:
                terms[c].place = place_of(&terms[c], lists, first)
        size = min(<int64_t>BLOCK, lists.n_rows - first)
        n_hits = block_above(
            lists, first, size, scratch, columns, only_lists, <float>max(given, floor + given)
        )
        for h in range(n_hits):
            place = <int64_t>min((scratch.found[h] - given) * BINS, <double>BINS)
            scratch.histogram[place] += 1
            n_counted += place >= lowest
        while lowest < BINS and n_counted - scratch.histogram[lowest] >= k:
            n_counted -= scratch.histogram[lowest]
            lowest += 1
        if n_counted >= k and lowest > 0:
            floor = <float>((<double>lowest) / BINS) * (1 - EDGE)
    return floor


cdef void search(
    Row query, Pointers lists, int32_t base, Scratch scratch, float* top, int32_t* ids, int64_t k,
) noexcept nogil:
    cdef int64_t n = open_terms(query, lists, scratch.terms)
    cdef int64_t columns = order_terms(scratch.terms, n)
    cdef double given = 0
    cdef float floor = -INFINITY
    cdef bint only_lists = True
    cdef int64_t c
    for c in range(columns):
        only_lists = only_lists and scratch.terms[c].column == NULL
    if columns < n and columns > 0:
        if lists.signed or not all_positive(scratch.terms, columns, n):
            given = scratch.terms[columns].bound
        floor = floor_of(lists, scratch, columns, only_lists, given, k)
        open_terms(query, lists, scratch.terms)  # the lists from their beginning
        order_terms(scratch.terms, n)
    scan(lists, base, floor, scratch, columns, n, only_lists, top, ids, k)


cdef inline Scratch scratch_of(float* scores, int32_t* counts, int64_t* terms) noexcept nogil:
    cdef Scratch scratch
    scratch.scores, scratch.found = scores, scores + BLOCK
    scratch.hits, scratch.histogram = counts, counts + BLOCK + 1
    scratch.terms = <Term*>terms
    return scratch


cdef bint all_positive(const Term* terms, int64_t m, int64_t n) noexcept nogil:
    cdef int64_t c
    for c in range(m, n):
        if terms[c].value < 0:
            return False
    return True


def nearest(
    const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data,
    Lists lists, int32_t base, float[:, ::1] top_scores, int32_t[:, ::1] top_ids,
    float[:, ::1] scores, int32_t[:, ::1] counts, int64_t[:, :, ::1] terms, int n_threads,
):
    """Offer all rows of some lists to the heap of each query.

    Parameters
    ----------
    indptr, indices, data : IN, sparse queries of length 1 or 0 (see `utils/_matrix.Rows`)
    lists : IN, of rows of length 1 or 0
    base : int, the number of the lists' first row; the heaps hold smaller ones
    top_scores, top_ids : IN/OUT (n_queries, k), heaps (see `mips/_scores.empty`)
    scores : IN/OUT (n_threads, 2 * block_of_rows()), zero in the first half before and after
    counts : OUT (n_threads, block_of_rows() + 1 + bins() + 1)
    terms : OUT (n_threads, longest query, words_of_a_term())
    """
    cdef Py_ssize_t i, n_queries = top_scores.shape[0]
    cdef int64_t k = top_scores.shape[1]
    cdef Scratch mine
    cdef int number
    cdef Pointers pointers
    cdef Rows queries
    if sizeof(Term) > 8 * WORDS:
        raise ValueError("terms take more room than they are given")
    if n_queries == 0 or k == 0 or lists.n_rows == 0:
        return
    pointers = lists.pointers()
    queries = pointers_to_rows(indptr, indices, data, False)
    with nogil, parallel(num_threads=n_threads):
        number = threadid()
        mine = scratch_of(&scores[number, 0], &counts[number, 0], &terms[number, 0, 0])
        for i in prange(n_queries, schedule="dynamic", chunksize=CHUNK):
            search(
                row_at(queries, i), pointers, base, mine, &top_scores[i, 0], &top_ids[i, 0], k
            )

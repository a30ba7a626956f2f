"""The rows nearest to a query, or all that share a feature with it, over inverted lists.

A list is feature -> (row, value). The score of row r is ``sum_j q_j x_rj``. Rows are taken a block
at a time, so that the accumulators of a block stay in a near cache: a cursor of each of the query's
lists adds the products of the block's rows, then the block is compared with the worst of the k best
so far.

A feature that many rows have is stored as a column, a number for each row; one that fewer have, as
a list with a bit for each row. What either gives to one row can be looked up. Products are added by
falling ``|q_j|``. What the last terms, from m on, can still give to row r is at most
``U_m = sqrt(sum of q_j ** 2, j >= m)`` times the length of r in features that can be looked up, its
share, by Cauchy and Schwarz: if the last terms are such features, they are looked up, one after the
other, only for rows whose sum so far is above theta less that, with theta the worst score of the
best. Most rows have small shares; the few others are kept apart, and looked at by themselves. Every
other row is below theta without a doubt, so the answer is exact, zeros and negative scores
included. The order of the sum depends on the query alone: a row has the same score, to the last
bit, wherever it stands.

Theta is high from the first block on: a sample of a few thousand entries of the rarest features,
completed by what can be looked up, gives a floor that k rows exceed.

Lists may come from a mapped file that nobody has checked: a row number outside of its block ends
the list.
"""

from cython.parallel cimport parallel, prange, threadid
from libc.math cimport INFINITY, nextafterf
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memset

from sklearn_xc._kernels.common._common cimport dispatched
from sklearn_xc._kernels.common._heap cimport better, sift
from sklearn_xc._kernels.common._rows cimport Row, Rows, pointers_to_rows, row_at
from sklearn_xc._kernels.common._vector_ops cimport (
    add_multiple, first_from, lowest_bit, mask_above,
)
from sklearn_xc._kernels.neighbors._lists cimport (
    UNIT, WORDS, Kind, Lists, Pointers, Term, looked_up, open_terms, order_terms,
)

cdef enum:
    BLOCK = 16384  # rows whose scores gather at once: 64 KB
    STEP = 64  # scores compared with a threshold at once
    CHUNK = 4  # queries that a thread takes at a time
    BINS = 1024  # of scores from 0 to 1
    SAMPLE = 4096  # entries that a floor is made of, at most BLOCK

# Sums of float32 err by less than this for each term, four units of roundoff: rows and queries of
# length 1 keep partial sums below 1.
cdef double ROUNDING = 2.5e-7
# Entries of a query's lists, of each row, from which on all rows of a block are looked at: such a
# pass reads 4 bytes a row without a branch, and its answers come in order.
cdef double DENSE = 0.5
# Of a bin, by which its lower end is lowered: the sums in it are rounded.
cdef double EDGE = 2.5e-7

# Memory of one thread. `hits` has a place more than a block: what is written there beyond the last
# hit, before it is known to be none, stays inside.
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
    # Lists ascend, and so do blocks: the cursor goes on where the block before has left it.
    term.begin = p
    while p < term.stop:
        # One comparison for both ends: below the block the difference wraps around.
        row = <uint32_t>(lists.rows[p] - first)
        if row >= size:
            break
        scores[row] += term.value * lists.values[p]
        p += 1
    term.place = p


cdef inline int64_t add_list_above(
    Term* term, Pointers lists, int64_t first, uint32_t size, float threshold, float* scores,
    int32_t* hits, int64_t n
) noexcept nogil:
    """As `add_list`, and note the rows that rise above a threshold; products are not below 0."""
    cdef int64_t p = term.place
    cdef uint32_t row
    cdef float before, after
    term.begin = p
    while p < term.stop:
        row = <uint32_t>(lists.rows[p] - first)
        if row >= size:
            break
        before = scores[row]
        after = before + term.value * lists.values[p]
        # No branch, since which rows pass cannot be foreseen: each is written, and n moves on if it
        # did. Sums only grow, so a row passes once; n stays within the buffer on any file.
        scores[row], hits[n] = after, <int32_t>row
        n += (before <= threshold) & (after > threshold) & (n < BLOCK)
        p += 1
    term.place = p
    return n


cdef inline int64_t take_list(
    const Term* term, Pointers lists, int64_t first, float threshold, float* scores,
    int32_t* hits, float* found, int64_t n
) noexcept nogil:
    """Note the rows that `add_list` has just seen with scores above a threshold; clear all."""
    cdef int64_t p
    cdef int32_t row
    # `add_list` has checked that these rows are in the block. A row of several lists is noted by
    # the first, for the sum is zero afterwards.
    for p in range(term.begin, term.place):
        row = <int32_t>(lists.rows[p] - first)
        if scores[row] > threshold:
            hits[n], found[n] = row, scores[row]
            n += 1
        scores[row] = 0
    return n


cdef inline int64_t note_above(
    const float* scores, int64_t start, const float* thresholds, int32_t* hits, int64_t n
) noexcept nogil:
    """Note the places of STEP scores, from `start` on, that are above the same threshold."""
    cdef int64_t j
    cdef unsigned int mask
    for j in range(0, STEP, 16):
        mask = mask_above(scores + j, thresholds)
        while mask:
            hits[n] = <int32_t>(start + j) + lowest_bit(mask)
            mask &= mask - 1
            n += 1
    return n


cdef dispatched rows_within(
    const float* scores, const uint8_t* shares, float factor, int64_t size, float threshold,
    int32_t* hits, int64_t* n_hits
) noexcept nogil:
    """The places where a score and `factor` times the row's share exceed a threshold, ascending."""
    cdef int64_t step, start, j, n = 0
    cdef int32_t some
    cdef float[16] thresholds
    cdef float[64] most
    for j in range(16):
        thresholds[j] = threshold
    # Few rows are within: sixty-four are compared at once, and only steps with a hit bit by bit.
    for step in range(size // STEP):
        start = step * STEP
        some = 0
        for j in range(STEP):
            most[j] = scores[start + j] + factor * shares[start + j]
            some |= most[j] > threshold
        if not some:
            continue
        n = note_above(most, start, thresholds, hits, n)
    # The rest of the last block, without a branch.
    for j in range(size - size % STEP, size):
        hits[n] = <int32_t>j
        n += scores[j] + factor * shares[j] > threshold
    n_hits[0] = n


cdef dispatched rows_above(
    const float* scores, int64_t size, float threshold, int32_t* hits, int64_t* n_hits
) noexcept nogil:
    """The places of scores above a threshold, ascending."""
    cdef int64_t step, start, j, n = 0
    cdef int32_t some
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
        n = note_above(scores + start, start, thresholds, hits, n)
    for j in range(size - size % STEP, size):
        hits[n] = <int32_t>j
        n += scores[j] > threshold
    n_hits[0] = n


cdef void add_terms(
    Pointers lists, int64_t first, int64_t size, Scratch scratch, int64_t m
) noexcept nogil:
    """Add what terms [0, m) give to the scores of the rows of a block."""
    cdef int64_t c
    cdef Term* terms = scratch.terms
    for c in range(m):
        if terms[c].column == NULL:
            add_list(&terms[c], lists, first, <uint32_t>size, scratch.scores)
        else:
            add_multiple(scratch.scores, terms[c].column + first, terms[c].value, size)


cdef int64_t take_rows(
    int64_t first, int64_t size, Scratch scratch, int64_t m, int64_t n, float limit
) noexcept nogil:
    """Note all rows of a block that terms [m, n) may lift above a limit, and clear the block."""
    cdef int64_t h, n_hits = 0
    cdef const Term* term = scratch.terms + m
    # With nothing left to add scores are complete. Else a row stays whose share times the length of
    # the rest of the query may lift it to the limit, less what the sums of both may have lost.
    if m == n:
        rows_above(scratch.scores, size, nextafterf(limit, -INFINITY), scratch.hits, &n_hits)
    else:
        rows_within(
            scratch.scores, term.kind.shares + first, <float>(term.bound / UNIT), size,
            limit - <float>(ROUNDING * n), scratch.hits, &n_hits
        )
    for h in range(n_hits):
        scratch.found[h] = scratch.scores[scratch.hits[h]]
    memset(scratch.scores, 0, size * sizeof(float))
    return n_hits


cdef inline int64_t add_apart(
    const Term* term, int64_t first, int64_t size, Scratch scratch, float threshold, float least,
    int64_t n_hits
) noexcept nogil:
    """Note rows of large shares that are not above a threshold, but may be lifted above `least`."""
    cdef const Kind* kind = term.kind
    cdef float score, factor = <float>(term.bound / UNIT)
    cdef int64_t p = first_from(kind.apart, 0, kind.n_apart, first)  # of the block
    while p < kind.n_apart and kind.apart[p] < first + size and n_hits < BLOCK:
        score = scratch.scores[kind.apart[p] - first]
        scratch.hits[n_hits] = <int32_t>(kind.apart[p] - first)
        n_hits += score <= threshold and score + factor * kind.shares[kind.apart[p]] > least
        p += 1
    return n_hits


cdef int64_t take_listed(
    Pointers lists, int64_t first, int64_t size, Scratch scratch, int64_t m, int64_t n,
    float limit, bint positive
) noexcept nogil:
    """Note the rows of a block that may be above a limit, where few outside of the lists are.

    Terms [0, m) are lists; their rows come in the order in which they pass a threshold.
    """
    cdef int64_t c, h, p, n_hits = 0, n_left = 0
    cdef int32_t row
    cdef Term* terms = scratch.terms
    cdef const uint8_t* shares
    cdef float factor, threshold = max(0, nextafterf(limit, -INFINITY))
    # `scan` comes here only if the rest of the terms lifts no row of a usual share from zero to the
    # limit. So a row has to be in a list, above the threshold, or apart.
    if m < n:
        limit, factor = limit - <float>(ROUNDING * n), <float>(terms[m].bound / UNIT)
        threshold = limit - <float>(terms[m].bound * terms[m].kind.most)
        threshold = max(0, nextafterf(threshold, -INFINITY))
    if positive:
        for c in range(m):
            n_hits = add_list_above(
                &terms[c], lists, first, <uint32_t>size, threshold, scratch.scores, scratch.hits,
                n_hits
            )
    else:
        add_terms(lists, first, size, scratch, m)
        rows_above(scratch.scores, size, threshold, scratch.hits, &n_hits)
    if m < n:
        # The threshold was that of the largest usual share; each row has its own.
        n_hits = add_apart(&terms[m], first, size, scratch, threshold, limit, n_hits)
        shares = terms[m].kind.shares + first
        for h in range(n_hits):
            row = scratch.hits[h]
            scratch.hits[n_left], scratch.found[n_left] = row, scratch.scores[row]
            n_left += scratch.scores[row] + factor * shares[row] > limit
    else:
        for h in range(n_hits):
            scratch.found[h] = scratch.scores[scratch.hits[h]]
        n_left = n_hits
    # Only rows that were touched are cleared: a block of few entries costs no pass over all.
    for c in range(m):
        for p in range(terms[c].begin, terms[c].place):
            scratch.scores[lists.rows[p] - first] = 0
    return n_left


cdef int64_t complete(
    const Term* terms, int64_t m, int64_t n, int64_t first, float limit, int32_t* hits,
    float* found, int64_t n_hits,
) noexcept nogil:
    """Add what terms [m, n) give to some rows; returns how many may be above a limit."""
    cdef int64_t c, h, n_left
    cdef const uint8_t* shares
    cdef float value, least, factor, score
    # Term by term, so that after each the rows leave that the rest cannot lift to the limit. Terms
    # have falling bounds: most rows leave after the first ones. Without a branch, since which rows
    # stay cannot be foreseen and columns are far apart in memory.
    for c in range(m, n):
        value, n_left = terms[c].value, 0
        # After the last term the score is complete, and compared as it is: a factor of zero.
        least, factor, shares = limit, 0, terms[c].kind.shares + first
        if c + 1 < n:
            least, factor = limit - <float>(ROUNDING * n), <float>(terms[c + 1].bound / UNIT)
            shares = terms[c + 1].kind.shares + first
        for h in range(n_hits):
            score = found[h] + value * looked_up(&terms[c], first + hits[h])
            hits[n_left], found[n_left] = hits[h], score
            n_left += score + factor * shares[hits[h]] > least
        n_hits = n_left
    return n_hits


cdef void scan(
    Pointers lists, int32_t base, float floor, Scratch scratch, int64_t sure, int64_t n,
    int64_t first_column, bint positive, float* top, int32_t* ids, int64_t k,
) noexcept nogil:
    """Offer all rows above `floor` to the heap; terms from `sure` on can be looked up."""
    cdef int64_t block, first, size, h, n_hits, m, n_entries = 0
    cdef bint ordered, dense
    cdef int32_t row
    cdef float limit, score
    cdef Term* terms = scratch.terms
    for m in range(sure):
        n_entries += terms[m].stop - terms[m].place
    # Looking at all rows of a block is quick: it pays from so many entries a row on.
    dense = n_entries > DENSE * lists.n_rows
    for block in range((lists.n_rows + BLOCK - 1) // BLOCK):
        first = block * BLOCK
        size = min(<int64_t>BLOCK, lists.n_rows - first)
        limit = max(floor, top[0])
        # Terms [0, m) are read, others looked up for the rows that are left: from where the usual
        # row cannot reach the limit any more. A column, which is added to all rows, is looked up
        # already when few rows can.
        m = sure
        while m < n and not terms[m].bound * terms[m].kind.most + ROUNDING * n < limit and (
            terms[m].column == NULL or not terms[m].bound * terms[m].kind.usual < limit
        ):
            m += 1
        # Where the limit is zero, a row of zero is none of the best any more.
        ordered = dense or m > first_column or limit < 0 or (
            m < n and not terms[m].bound * terms[m].kind.most + ROUNDING * n < limit
        )
        if ordered:
            add_terms(lists, first, size, scratch, m)
            n_hits = take_rows(first, size, scratch, m, n, limit)
        else:
            # Rows come as they pass the threshold, not by number. Where scores are equal the
            # smaller number stays: equal ones get as far as the heap, which compares both.
            n_hits = take_listed(lists, first, size, scratch, m, n, limit, positive)
            limit = max(floor, nextafterf(top[0], -INFINITY))
        n_hits = complete(terms, m, n, first, limit, scratch.hits, scratch.found, n_hits)
        # In order, a row that equals the worst of the best comes after it, and stays out.
        for h in range(n_hits):
            row, score = base + <int32_t>(first + scratch.hits[h]), scratch.found[h]
            if score > limit and better(score, row, top[0], ids[0]):
                sift(top, ids, k, score, row)


cdef int64_t sample(Pointers lists, Scratch scratch, int64_t n) noexcept nogil:
    """Read some entries of the query's lists into `hits` and `found`; returns how many rows."""
    cdef int64_t c, block, first, size, h, room = SAMPLE, n_read = 0, n_hits = 0
    cdef bint is_long
    cdef Term* terms = scratch.terms
    # Short lists first: rows that share a rare feature are the likeliest among the nearest. At most
    # SAMPLE entries, hence as many rows, which is within the buffers. `stop` keeps how far a list
    # was read, and open_terms sets it back.
    for is_long in range(2):
        for c in range(n):
            if terms[c].column == NULL and (terms[c].bits != NULL) == is_long:
                terms[c].stop = min(terms[c].stop, terms[c].place + room)
                room -= terms[c].stop - terms[c].place
    for block in range((lists.n_rows + BLOCK - 1) // BLOCK):
        first = block * BLOCK
        size = min(<int64_t>BLOCK, lists.n_rows - first)
        n_read = n_hits
        for c in range(n):
            if terms[c].column == NULL:
                add_list(&terms[c], lists, first, <uint32_t>size, scratch.scores)
        for c in range(n):
            if terms[c].column == NULL:
                n_hits = take_list(
                    &terms[c], lists, first, 0, scratch.scores, scratch.hits, scratch.found, n_hits
                )
        for h in range(n_read, n_hits):
            scratch.hits[h] += <int32_t>first
    return n_hits


cdef int64_t least_bin(Scratch scratch, int64_t n_hits, int64_t k) noexcept nogil:
    """The highest bin that at least k of the found rows reach; minus one where there are fewer."""
    cdef int64_t h, place = BINS, n = 0
    # A histogram instead of a selection: only a bound is needed, and bins are counted in one pass.
    memset(scratch.histogram, 0, (BINS + 1) * sizeof(int32_t))
    for h in range(n_hits):
        if scratch.found[h] >= 1:
            scratch.histogram[BINS] += 1
        elif scratch.found[h] > 0:  # a mapped file may hold anything
            scratch.histogram[<int64_t>(scratch.found[h] * BINS)] += 1
    while place >= 0:
        n += scratch.histogram[place]
        if n >= k:
            return place
        place -= 1
    return -1


cdef float floor_of(Pointers lists, Scratch scratch, int64_t n, int64_t k) noexcept nogil:
    """A score that at least k rows exceed, where nothing is below zero; minus infinity for none."""
    cdef int64_t c, h, n_left = 0, n_hits = sample(lists, scratch, n)
    cdef int64_t least = least_bin(scratch, n_hits, k)
    cdef Term* terms = scratch.terms
    if least < 0:
        return -INFINITY
    # A partial sum of what is not below zero is a lower bound. The rows of the best bins, at least
    # k, are completed by what can be looked up, and the k-th of these bounds is the floor.
    for h in range(n_hits):
        scratch.hits[n_left], scratch.found[n_left] = scratch.hits[h], scratch.found[h]
        n_left += scratch.found[h] * BINS >= least
    for c in range(n):
        # A list without bits cannot be looked up; one of which a part was read is in the sums.
        if terms[c].column == NULL and (
            terms[c].bits == NULL or terms[c].place > terms[c].values - lists.values
        ):
            continue
        for h in range(n_left):
            scratch.found[h] += terms[c].value * looked_up(&terms[c], scratch.hits[h])
    least = least_bin(scratch, n_left, k)
    # Below the lower end of the bin by what sums in another order may differ.
    return <float>(<double>least / BINS * max(0, 1 - EDGE * (n + 1))) if least > 0 else -INFINITY


cdef void search(
    Row query, Pointers lists, int32_t base, Scratch scratch, float* top, int32_t* ids, int64_t k,
) noexcept nogil:
    cdef int64_t n = open_terms(query, lists, scratch.terms)
    cdef int64_t sure = order_terms(scratch.terms, n, &lists), first_column = 0
    cdef float floor = -INFINITY
    cdef bint positive = not lists.signed and all_positive(scratch.terms, 0, n)
    # From the first column on a pass over all rows of a block is due anyway.
    while first_column < n and scratch.terms[first_column].column == NULL:
        first_column += 1
    if positive and lists.kinds[0].shares != NULL:
        floor = floor_of(lists, scratch, n, k)
        open_terms(query, lists, scratch.terms)  # the lists from their beginning
        order_terms(scratch.terms, n, &lists)
    scan(lists, base, floor, scratch, sure, n, first_column, positive, top, ids, k)


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
    top_scores, top_ids : IN/OUT (n_queries, k), heaps (see `mips/_search.empty`)
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
    # Python allocates terms by WORDS, which nothing else ties to the size of a term.
    if sizeof(Term) > 8 * WORDS:
        raise ValueError("terms take more room than they are given")
    if n_queries == 0 or k == 0 or lists.n_rows == 0:
        return
    pointers = lists.pointers()
    queries = pointers_to_rows(indptr, indices, data, False)
    with nogil, parallel(num_threads=n_threads):
        number = threadid()
        mine = scratch_of(&scores[number, 0], &counts[number, 0], &terms[number, 0, 0])
        # Each query alone decides the order of its sums: any thread, the same bits.
        for i in prange(n_queries, schedule="dynamic", chunksize=CHUNK):
            search(
                row_at(queries, i), pointers, base, mine, &top_scores[i, 0], &top_ids[i, 0], k
            )


cdef int64_t match(
    Row query, Pointers lists, int32_t* ids, float* scores, int64_t room, int32_t* places,
    Term* terms,
) noexcept nogil:
    """The rows that share a feature with the query, each once, in the order of the lists.

    Returns their number. ``places`` holds one more than the place of each row among them, and
    zeros for other rows.
    """
    # Texts of labels have two to five words, and a sample meets few of them: no blocks, no bounds,
    # a sum for each row met.
    cdef int64_t c, p, n_found = 0, n = open_terms(query, lists, terms)
    cdef int32_t row
    for c in range(n):
        if terms[c].column != NULL:
            continue
        for p in range(terms[c].place, terms[c].stop):
            row = lists.rows[p]
            if row < 0 or row >= lists.n_rows:
                continue
            # Room was counted from the lists themselves; a file in which a row stands twice in a
            # list still fits, as it takes one place.
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
            # Zeros for the next query, at the rows of this one only.
            for e in range(starts[i], starts[i] + counts[i]):
                scratch[mine, ids[e]] = 0

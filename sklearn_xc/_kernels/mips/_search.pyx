"""Search for the rows of largest inner product with each query.

For a query q and rows w_i: exact scores <q, w_i> of given candidates i, the k best of scored rows,
and two structures that name candidates, lists of clusters and binary codes.

Rows are dense, row i at `data[starts[i]]` with all features, or sparse, its entries at
`starts[i], ..., starts[i] + lengths[i] - 1` of `indices` and `data`; the entries of rows may lie in
any order and leave gaps, so that a row can be replaced without moving the others.

Invariants. Every score that an index returns comes from `score`, whatever found the row: so a row
has the same score, to the last bit, in each of them. Order is by score, ties to the smaller id: so
the k best depend neither on the order in which rows are offered nor on threads.
"""

from cython.parallel cimport parallel, prange, threadid
from libc.math cimport INFINITY
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint16_t, uint64_t
from libc.string cimport memset

from sklearn_xc._kernels.common._common cimport dispatched
from sklearn_xc._kernels.common._heap cimport better, sift, sort_heap
from sklearn_xc._kernels.common._rows cimport Row, Rows, pointers_to_rows, row_at
from sklearn_xc._kernels.common._vector_ops cimport inner_product

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define XC_POPCOUNT(word) __builtin_popcountll(word)
    #else
    static int XC_POPCOUNT(unsigned long long word) {
        int n = 0;
        for (; word; word &= word - 1) n++;
        return n;
    }
    #endif
    """
    int popcount "XC_POPCOUNT" (uint64_t word) noexcept nogil

cdef enum:
    BLOCK = 64  # scores compared with the worst of the best at once
    CHUNK = 8  # queries that a thread takes at a time
    CODED = 4  # ... where each is compared with all codes

# The arrays of a `Store` as addresses, to be one argument of the functions without the GIL.
cdef struct Pointers:
    const int64_t* starts
    const int64_t* lengths
    const int32_t* features
    const float* values
    bint dense


cdef inline float gather(
    const int32_t* features, const float* values, int64_t n, const float* x
) noexcept nogil:
    # Four sums, since in one every addition waits for the one before. Their order is written down,
    # so that the bits are the same whatever the compiler makes of the loop.
    cdef float a = 0, b = 0, c = 0, d = 0
    cdef int64_t e
    for e in range(0, n - 3, 4):
        a += values[e] * x[features[e]]
        b += values[e + 1] * x[features[e + 1]]
        c += values[e + 2] * x[features[e + 2]]
        d += values[e + 3] * x[features[e + 3]]
    for e in range(n - n % 4, n):
        a += values[e] * x[features[e]]
    return (a + b) + (c + d)


cdef void score_query(
    Row query, Pointers store, const int32_t* candidates, int64_t n, float* scores, float* scratch
) noexcept nogil:
    """The scores of one query; `scratch` is zero in each feature before and after."""
    cdef const float* x = query.values
    cdef int64_t e, j
    cdef int32_t i
    cdef float value
    if not store.dense and not query.dense:
        # The query laid out feature by feature: a row then costs its own entries, where a merge of
        # two lists would cost the query's again for each row.
        for e in range(query.n):
            scratch[query.features[e]] = query.values[e]
        x = scratch
    for j in range(n):
        i = candidates[j]
        if i < 0:
            value = -INFINITY
        elif not store.dense:
            value = gather(
                store.features + store.starts[i], store.values + store.starts[i],
                store.lengths[i], x,
            )
        # Rows are dense from here on, and a dense query has as many numbers.
        elif query.dense:
            inner_product(x, store.values + store.starts[i], query.n, &value)
        else:
            value = gather(query.features, x, query.n, store.values + store.starts[i])
        scores[j] = value
    if not store.dense and not query.dense:
        # Only what was set: clearing all of the scratch would cost the number of features.
        for e in range(query.n):
            scratch[query.features[e]] = 0


cdef class Store:
    """The rows that queries are scored with (see `mips/_row_store.RowStore`), read only.

    Parameters
    ----------
    starts, lengths, indices, data, dense : as in the module
    """

    cdef const int64_t[::1] starts
    cdef const int64_t[::1] lengths
    cdef const int32_t[::1] indices
    cdef const float[::1] data
    cdef bint dense

    def __init__(
        self, const int64_t[::1] starts, const int64_t[::1] lengths, const int32_t[::1] indices,
        const float[::1] data, bint dense,
    ):
        self.starts = starts
        self.lengths = lengths
        self.indices = indices
        self.data = data
        self.dense = dense

    cdef Pointers pointers(self) noexcept:
        # NULL for an empty array, whose first element would be out of bounds.
        cdef Pointers store
        store.starts = &self.starts[0] if self.starts.shape[0] else NULL
        store.lengths = &self.lengths[0] if self.lengths.shape[0] else NULL
        store.features = &self.indices[0] if self.indices.shape[0] else NULL
        store.values = &self.data[0] if self.data.shape[0] else NULL
        store.dense = self.dense
        return store


def score(
    Store store,
    const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data, bint dense,
    const int32_t[:, ::1] candidates, float[:, ::1] scores, float[:, ::1] scratch, int n_threads,
):
    """OUT scores[i, j]: inner product of query i with row candidates[i, j].

    Parameters
    ----------
    store : IN, the rows
    indptr, indices, data, dense : IN, the queries (see `utils/_rows.Rows`)
    candidates : IN (n_queries, n), or (1, n) when all queries have the same; -1 scores -infinity
    scores : OUT (n_queries, n)
    scratch : IN/OUT (n_threads, n_features), zero before and after; used where both are sparse
    """
    cdef Py_ssize_t i, n_queries = scores.shape[0]
    cdef int64_t n = scores.shape[1]
    cdef bint shared = candidates.shape[0] == 1
    cdef Pointers rows
    cdef Rows queries
    cdef float* mine = NULL
    # With both above 0 the addresses of first elements, below, are inside the arrays.
    if n_queries == 0 or n == 0:
        return
    rows = store.pointers()
    queries = pointers_to_rows(indptr, indices, data, dense)
    with nogil, parallel(num_threads=n_threads):
        mine = &scratch[threadid(), 0] if scratch.shape[1] else NULL
        # Dynamic, since sparse queries differ in length. Each i writes its own line of scores.
        for i in prange(n_queries, schedule="dynamic", chunksize=CHUNK):
            score_query(
                row_at(queries, i), rows, &candidates[0 if shared else i, 0], n, &scores[i, 0], mine
            )


# ------------------------------------------------------------------------------ the best of them


cdef dispatched offer_row(
    const float* scores, const int32_t* ids, int64_t n, float* top, int32_t* labels, int64_t k
) noexcept nogil:
    """Offer n scored rows to a heap; negative ids are none."""
    cdef int64_t block, start, j
    cdef int32_t hits
    cdef float worst
    for block in range(n // BLOCK):
        start = block * BLOCK
        worst = top[0]
        hits = 0
        # Most blocks hold nothing that is good enough: comparisons in vectors, without a branch,
        # pass them over at once. An equal score counts, for it may have the smaller id.
        for j in range(BLOCK):
            hits |= scores[start + j] >= worst
        if hits:
            # top[0], not `worst`: it has risen if the block has put something into the heap.
            for j in range(start, start + BLOCK):
                if scores[j] >= top[0] and ids[j] >= 0:
                    if better(scores[j], ids[j], top[0], labels[0]):
                        sift(top, labels, k, scores[j], ids[j])
    for j in range(n - n % BLOCK, n):
        if ids[j] >= 0 and better(scores[j], ids[j], top[0], labels[0]):
            sift(top, labels, k, scores[j], ids[j])


def empty(float[:, ::1] top_scores, int32_t[:, ::1] top_ids):
    """OUT: heaps without a row in them, to be offered to and then sorted."""
    # Worse than any scored row by `better`, so that the first k rows replace them all.
    top_scores[:, :] = -INFINITY
    top_ids[:, :] = INT32_MAX


def offer(
    const float[:, ::1] scores, const int32_t[:, ::1] ids, const int32_t[::1] into,
    float[:, ::1] top_scores, int32_t[:, ::1] top_ids, int n_threads,
):
    """Offer scored rows to the heaps of their queries.

    Parameters
    ----------
    scores : IN (n, m)
    ids : IN (n, m), or (1, m) when all have the same; -1 for none
    into : IN (n,), the heap of each line of scores; distinct
    top_scores, top_ids : IN/OUT (n_queries, k)
    """
    cdef Py_ssize_t i, n = scores.shape[0]
    cdef int64_t m = scores.shape[1], k = top_scores.shape[1]
    cdef bint shared = ids.shape[0] == 1
    if m == 0 or k == 0:
        return
    # Threads share no heap, since `into` names each of them once.
    for i in prange(n, nogil=True, schedule="dynamic", chunksize=CHUNK, num_threads=n_threads):
        offer_row(
            &scores[i, 0], &ids[0 if shared else i, 0], m,
            &top_scores[into[i], 0], &top_ids[into[i], 0], k,
        )


def sort(float[:, ::1] top_scores, int32_t[:, ::1] top_ids):
    """IN/OUT: heaps put into order, best first; places never filled get the id -1."""
    cdef Py_ssize_t i, j, k = top_scores.shape[1]
    if k == 0:
        return
    with nogil:
        for i in range(top_scores.shape[0]):
            sort_heap(&top_scores[i, 0], &top_ids[i, 0], k)
            # Places never filled are worse than any row, and so come last.
            j = k - 1
            while j >= 0 and top_ids[i, j] == INT32_MAX:
                top_ids[i, j] = -1
                j -= 1


# ---------------------------------------------------------------------------- inverted lists


cdef void search_row(
    const float* query, const float* matrix, int64_t width, const int32_t* members,
    const int64_t* starts, const int64_t* probes, int64_t n_probes, float* top, int32_t* labels,
    int64_t k
) noexcept nogil:
    cdef int64_t p, e
    cdef float score
    for p in range(n_probes):
        # A row is in one list, and the lists of a query are distinct: no row is offered twice.
        for e in range(starts[probes[p]], starts[probes[p] + 1]):
            inner_product(query, matrix + members[e] * width, width, &score)
            if better(score, members[e], top[0], labels[0]):
                sift(top, labels, k, score, members[e])


def search_lists(
    const float[:, ::1] queries, const float[:, ::1] matrix, const int32_t[::1] members,
    const int64_t[::1] starts, const int64_t[:, ::1] probes,
    float[:, ::1] top_scores, int32_t[:, ::1] top_ids, int n_threads,
):
    """Offer the rows of some lists to the heap of each query.

    Parameters
    ----------
    queries : IN (n_queries, d)
    matrix : IN (n_rows, d)
    members, starts : IN, list c has the rows members[starts[c]] to members[starts[c + 1] - 1]
    probes : IN (n_queries, n_probes), the lists that each query reads
    top_scores, top_ids : IN/OUT (n_queries, k)
    """
    cdef Py_ssize_t i
    cdef int64_t k = top_scores.shape[1]
    if queries.shape[0] == 0 or members.shape[0] == 0 or k == 0:
        return
    for i in prange(
        queries.shape[0], nogil=True, schedule="dynamic", num_threads=n_threads
    ):
        search_row(
            &queries[i, 0], &matrix[0, 0], matrix.shape[1], &members[0], &starts[0],
            &probes[i, 0], probes.shape[1], &top_scores[i, 0], &top_ids[i, 0], k,
        )


# ------------------------------------------------------------------------------ binary codes


def pack_signs(const float[:, ::1] projections, uint64_t[:, ::1] codes):
    """OUT codes (n, n_words): bit b of word w says whether projections[:, 64 w + b] > 0."""
    cdef Py_ssize_t i, w, b
    cdef uint64_t word
    # Projections have 64 columns a word. A projection of 0, as of a zero vector, gives the bit 0.
    with nogil:
        for i in range(codes.shape[0]):
            for w in range(codes.shape[1]):
                word = 0
                for b in range(64):
                    word |= <uint64_t>(projections[i, 64 * w + b] > 0) << b
                codes[i, w] = word


cdef dispatched distances_of(
    const uint64_t* query, const uint64_t* codes, int64_t n, int64_t n_words, uint16_t* out
) noexcept nogil:
    # A distance is at most the number of bits, 1024, and fits into 16 of them.
    cdef int64_t i, w
    cdef int32_t total
    if n_words == 1:  # the usual case, without an inner loop
        for i in range(n):
            out[i] = <uint16_t>popcount(query[0] ^ codes[i])
        return
    for i in range(n):
        total = 0
        for w in range(n_words):
            total += popcount(query[w] ^ codes[i * n_words + w])
        out[i] = <uint16_t>total


cdef void select(
    const uint16_t* distances, int64_t n, int64_t* histogram, int64_t n_bits,
    int32_t* ids, int64_t wanted
) noexcept nogil:
    """The `wanted` smallest distances in order of distance, ties to the smaller id."""
    # A counting sort: n + n_bits steps, and stable, so that ties are in the order of ids.
    cdef int64_t i, d, place = 0, count, last = 0
    memset(histogram, 0, (n_bits + 1) * sizeof(int64_t))
    for i in range(n):
        histogram[distances[i]] += 1
    for d in range(n_bits + 1):  # counts become the places where each distance begins
        count = histogram[d]
        histogram[d] = place
        place += count
        last = d
        if place >= wanted:
            break
    for i in range(n):
        d = distances[i]
        # Beyond `last` the histogram still holds counts, and no place is left.
        if d <= last:
            # Of codes at the distance `last` more may be there than places.
            if histogram[d] < wanted:
                ids[histogram[d]] = <int32_t>i
            histogram[d] += 1


def nearest(
    const uint64_t[:, ::1] queries, const uint64_t[:, ::1] codes, int32_t[:, ::1] ids,
    uint16_t[:, ::1] distances, int64_t[:, ::1] histograms, int n_threads,
):
    """The codes nearest to each query, nearest first, ties to the smaller id.

    Parameters
    ----------
    queries : IN (n_queries, n_words)
    codes : IN (n, n_words)
    ids : OUT (n_queries, wanted), wanted at most n
    distances : scratch (n_threads, n)
    histograms : scratch (n_threads, 64 n_words + 1)
    """
    cdef Py_ssize_t i
    cdef int64_t n = codes.shape[0], n_words = codes.shape[1]
    cdef uint16_t* mine = NULL
    cdef int64_t* histogram = NULL
    # With a place there is a code: `wanted` is at most n.
    if ids.shape[0] == 0 or ids.shape[1] == 0:
        return
    with nogil, parallel(num_threads=n_threads):
        mine = &distances[threadid(), 0]
        histogram = &histograms[threadid(), 0]
        for i in prange(queries.shape[0], schedule="dynamic", chunksize=CODED):
            distances_of(&queries[i, 0], &codes[0, 0], n, n_words, mine)
            select(mine, n, histogram, 64 * n_words, &ids[i, 0], ids.shape[1])

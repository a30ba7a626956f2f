"""Inverted lists of rows, one set of lists for each chunk of their columns: layout and search.

A query names, in each chunk, the n rows of largest inner product among those in the lists of the
n_probes centroids of largest inner product: step 1 of Algorithm 2 of the LDGS paper with its
spherical clustering (section 4), the best n in place of all beyond a threshold.

The rows of a list lie in blocks of LANES, column by column: the values of all its rows in the
first column of the chunk, then in the second, and so on. So a query scores LANES rows at once,
and nothing is summed across a vector. The last block of a list is filled up with rows of id -1
and value 0. Centroids lie in blocks in the same way.

Values of rows are rounded to bytes, times a number of the block: reading the lists is what a search
takes time for, and rows that it names are scored again from the weights.

The search guesses a threshold from a sample of the scores, and sorts only what lies above it. If
that is fewer than n it takes all, so that the guess costs time at worst.
"""

from cython.parallel cimport parallel, prange, threadid
from libc.math cimport INFINITY, fabsf, rintf, sqrt
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memset

from sklearn_xc._kernels.ldgs._int8_rows cimport LARGEST
from sklearn_xc._kernels.ldgs._score_keys cimport id_of, key_of, select
from sklearn_xc._kernels.common._common cimport dispatched, prefetch_far
from sklearn_xc._kernels.common._heap cimport sift
from sklearn_xc._kernels.common._vector_ops cimport LANES, divides, lowest_bit, mask_above

cdef enum:
    BYTES = 4  # columns of the values of a row in one word
    AHEAD = 4  # blocks to prefetch
    SAMPLE = 128  # scores that a threshold is guessed from

cdef extern from *:
    # Compilers turn the plain loop into vectors along the columns, with many permutations; hence
    # the vectors in words, as in _simd.h.
    """
    #include "_simd.h"

    #if defined(__GNUC__) || defined(__clang__)
    static inline __attribute__((always_inline)) void xc_score_block(
        const float *query, const float *values, long long width, float *scores) {
        xc_floats total = xc_zeros();
        for (long long c = 0; c < width; c++)
            total = xc_plus_multiple(total, query[c], xc_load(values + 16 * c));
        xc_store(scores, total);
    }
    #else
    static inline void xc_score_block(const float *query, const float *values, long long width,
                                      float *scores) {
        float total[16] = {0};
        for (long long c = 0; c < width; c++)
            for (int k = 0; k < 16; k++) total[k] += query[c] * values[16 * c + k];
        for (int k = 0; k < 16; k++) scores[k] = total[k];
    }
    #endif
    """
    void score_block "xc_score_block"(
        const float* query, const float* values, int64_t width, float* scores
    ) noexcept nogil

cdef extern from *:
    # In words, as in _simd.h.
    """
    #if defined(__GNUC__) || defined(__clang__)
    static inline __attribute__((always_inline)) void xc_keep_best(
        const float *scores, int block, float *highest, int *at) {
        for (int k = 0; k < 16; k += 8) {
            xc_half s, h;
            xc_half_bits s_bits, h_bits, a, larger;
            __builtin_memcpy(&s, scores + k, sizeof s);
            __builtin_memcpy(&h, highest + k, sizeof h);
            __builtin_memcpy(&a, at + k, sizeof a);
            larger = s > h;
            s_bits = (xc_half_bits)s;
            h_bits = (xc_half_bits)h;
            h_bits = (s_bits & larger) | (h_bits & ~larger);
            a = (block & larger) | (a & ~larger);
            __builtin_memcpy(highest + k, &h_bits, sizeof h);
            __builtin_memcpy(at + k, &a, sizeof a);
        }
    }
    #else
    static inline void xc_keep_best(const float *scores, int block, float *highest, int *at) {
        for (int k = 0; k < 16; k++)
            if (scores[k] > highest[k]) highest[k] = scores[k], at[k] = block;
    }
    #endif
    """
    void keep_best "xc_keep_best"(
        const float* scores, int32_t block, float* highest, int32_t* at
    ) noexcept nogil

cdef extern from "ldgs/_ivf_scores.h":
    void score_bytes "xc_score_bytes"(
        const float* query, const int32_t* values, float scale, int64_t width, float* scores
    ) noexcept nogil
    bint has_compress_store "XC_HAS_COMPRESS_STORE"() noexcept nogil
    int64_t keys_above_at_once "xc_keys_above"(
        float threshold, const float* scores, const int32_t* ids, int64_t n_blocks, uint64_t* keys
    ) noexcept nogil


# ------------------------------------------------------------------------------------- layout


cdef inline int64_t words_of(int64_t width) noexcept nogil:
    """The size of a block of this many columns."""
    return (width + BYTES - 1) // BYTES * LANES


def lanes():
    """The number of rows in a block."""
    return LANES


def bytes_of_word():
    """The number of columns whose values stand in one word."""
    return BYTES


cdef dispatched best_of_blocks(
    const float* x, const float* values, int64_t n_rows, int64_t width, int32_t* best
) noexcept nogil:
    """OUT the row with the largest inner product, ties to the first; 0 if none is a number."""
    cdef float total[LANES]
    cdef float highest[LANES]
    cdef int32_t at[LANES]
    cdef int32_t b, lane, n_blocks = <int32_t>((n_rows + LANES - 1) // LANES)
    cdef float top = <float>-INFINITY
    for lane in range(LANES):
        highest[lane] = <float>-INFINITY
        at[lane] = 0
    # A lane keeps the first of its best rows, as `>` does in keep_best; lanes are compared last.
    for b in range(n_blocks):
        score_block(x, values + b * width * LANES, width, total)
        # What fills up the last block has value 0, which may be the largest product.
        if b == n_blocks - 1:
            for lane in range(<int32_t>(n_rows - b * LANES), LANES):
                total[lane] = <float>-INFINITY
        keep_best(total, b, highest, at)
    best[0] = 0
    for lane in range(LANES):
        b = at[lane] * LANES + lane
        # Ties between lanes go to the smaller number, so that the result is that of a plain loop.
        if highest[lane] > top or (highest[lane] == top > -INFINITY and b < best[0]):
            top, best[0] = highest[lane], b


def assign(
    const float[:, ::1] rows, int64_t start, const float[:, :, ::1] centroids, int64_t n_clusters,
    int32_t[::1] assigned, int n_threads,
):
    """OUT assigned: the centroid of largest inner product with each row, ties to the first.

    Parameters
    ----------
    rows : IN (n_rows, n_columns)
    start : IN, the first column of the chunk
    centroids : IN (n_blocks, width, LANES), the first `n_clusters` of them, at least 1
    assigned : OUT (n_rows,)
    """
    cdef int64_t i, width = centroids.shape[1]
    for i in prange(
        rows.shape[0], nogil=True, schedule="dynamic", chunksize=256, num_threads=n_threads
    ):
        best_of_blocks(&rows[i, start], &centroids[0, 0, 0], n_clusters, width, &assigned[i])


cdef void lay_out_block(
    const float[:, ::1] rows, int64_t start, int64_t width, const int32_t* ids, int32_t* values,
    float* scale
) noexcept nogil:
    cdef int64_t lane, c
    cdef float value, most = 0
    cdef uint32_t byte
    for lane in range(LANES):
        for c in range(width):
            # One scale for the block, not for each row: all lanes are multiplied at once.
            value = fabsf(rows[ids[lane], start + c]) if ids[lane] >= 0 else 0
            most = most if value <= most else value  # NaN stays
    scale[0] = most / LARGEST
    memset(values, 0, words_of(width) * sizeof(int32_t))
    # Zeros then; a scale of NaN or infinity makes the scores of the block NaN.
    if not divides(scale[0]):
        return
    for lane in range(LANES):
        for c in range(width if ids[lane] >= 0 else 0):
            byte = <uint32_t><int32_t>rintf(rows[ids[lane], start + c] / scale[0]) & 255
            # Column c is byte c % 4 of its word; words of the lanes are side by side.
            values[c // BYTES * LANES + lane] |= <int32_t>(byte << (8 * (c % BYTES)))


def lay_out(
    const float[:, ::1] rows, int64_t start, int64_t width, const int32_t[:, ::1] ids,
    int32_t[::1] values, float[::1] scales, int n_threads,
):
    """OUT values (n_blocks, width / 4, LANES), flat, and the numbers they are multiples of.

    Parameters
    ----------
    rows : IN (n_rows, n_columns), of which those from `start` on are laid out
    ids : IN (n_blocks, LANES), which rows, -1 for zeros
    """
    cdef int64_t b
    # &values[0] would lie outside: chunks of no column have no words.
    if width == 0:
        return
    for b in prange(ids.shape[0], nogil=True, schedule="static", num_threads=n_threads):
        lay_out_block(
            rows, start, width, &ids[b, 0], &values[b * words_of(width)], &scales[b]
        )


# -------------------------------------------------------------------------------------- scores


cdef dispatched score_blocks(
    const float* query, const float* values, int64_t n_blocks, int64_t width, float* scores
) noexcept nogil:
    """OUT scores (n_blocks, LANES)."""
    cdef int64_t b
    for b in range(n_blocks):
        score_block(query, values + b * width * LANES, width, scores + b * LANES)


# The lists of a chunk are mostly larger than the caches, and a query reads a block once.
cdef inline void fetch(const int32_t* values, int64_t n_words) noexcept nogil:
    """Ask for a block, which may lie beyond the end."""
    cdef int64_t word
    for word in range(n_words // LANES):
        prefetch_far(values + word * LANES)


cdef dispatched score_list(
    const float* query, const int32_t* values, const float* scales, const int32_t* ids,
    int64_t n_blocks, int64_t width, float* scores
) noexcept nogil:
    """The same of rounded values, which lie in memory mostly, as do the ids needed soon."""
    cdef int64_t b, n_words = words_of(width)
    for b in range(n_blocks):
        # Addresses beyond the end of the list are prefetched, never read.
        fetch(values + (b + AHEAD) * n_words, n_words)
        prefetch_far(ids + b * LANES)
        score_bytes(query, values + b * n_words, scales[b], width, scores + b * LANES)


# ---------------------------------------------------------------------------------- the search

cdef struct Chunk:
    const float* query  # the part of it that the chunk sees
    const float* centroids
    const int32_t* values
    const float* scales
    const int32_t* ids
    const int64_t* starts
    int64_t width

cdef struct Search:
    const int32_t* bounds
    const float* centroids
    const int64_t* starts
    const int32_t* values
    const float* scales
    const int64_t* offsets
    const int32_t* ids
    int64_t n_chunks
    int64_t n_clusters
    int64_t n_blocks  # of the centroids of a chunk
    int64_t n_probes
    int64_t n  # wanted
    int64_t n_first

cdef struct Lists:  # one of them
    const int32_t* values
    const float* scales
    const int32_t* ids
    int64_t n_blocks
    int64_t n

cdef struct Found:
    float* scores  # room for those of all centroids, or of all rows that are read, in blocks
    uint64_t* keys
    float* top
    int32_t* probes


cdef dispatched to_keys(
    const float* scores, const int32_t* ids, int64_t n, uint64_t* keys
) noexcept nogil:
    cdef int64_t e
    for e in range(n):
        keys[e] = key_of(scores[e], ids[e])


cdef dispatched best_of_scores(
    const float* scores, int64_t n, float* top, int32_t* at, int64_t k
) noexcept nogil:
    """IN / OUT a heap: the k largest of n scores and where they are, ties to the first."""
    cdef float least[LANES]
    cdef int64_t first, e
    cdef int32_t c
    cdef unsigned int mask
    # A vector of scores is compared with the least of the heap at once; few lanes get past it.
    for first in range(n // LANES):
        for c in range(LANES):
            least[c] = top[0]
        mask = mask_above(scores + first * LANES, least)
        while mask:
            e = first * LANES + lowest_bit(mask)
            mask &= mask - 1
            # The least has risen since the mask was made.
            if scores[e] > top[0]:
                sift(top, at, k, scores[e], <int32_t>e)


cdef void choose_probes(Chunk chunk, Search search, Found found) noexcept nogil:
    """OUT found.probes, the clusters to read; where too few have a score the last without."""
    cdef int64_t c, last = search.n_clusters
    for c in range(search.n_probes):
        found.top[c], found.probes[c] = <float>-INFINITY, <int32_t>c
    # All lists are read; scores of centroids would choose nothing.
    if search.n_probes == search.n_clusters:
        return
    score_blocks(chunk.query, chunk.centroids, search.n_blocks, chunk.width, found.scores)
    # Lanes that fill up the last block score 0: they are no clusters.
    for c in range(search.n_clusters, search.n_blocks * LANES):
        found.scores[c] = <float>-INFINITY
    best_of_scores(
        found.scores, search.n_blocks * LANES, found.top, found.probes, search.n_probes
    )
    # Where centroids score NaN the heap keeps places of its start. These are replaced by distinct
    # clusters that have no score: a list read twice would name its rows twice, and the scratch
    # holds the n_probes longest lists once each.
    for c in range(search.n_probes):
        if found.top[c] == <float>-INFINITY:
            last -= 1
            while found.scores[last] > <float>-INFINITY:
                last -= 1
            found.probes[c] = <int32_t>last


cdef inline Lists list_of(Chunk chunk, int32_t cluster) noexcept nogil:
    cdef Lists lists
    cdef int64_t first = chunk.starts[cluster]
    lists.n_blocks = chunk.starts[cluster + 1] - first
    lists.ids = chunk.ids + first * LANES
    lists.scales = chunk.scales + first
    lists.values = chunk.values + first * words_of(chunk.width)
    lists.n = lists.n_blocks * LANES
    # Rows that fill up stand last in the last block.
    while lists.n > 0 and lists.ids[lists.n - 1] < 0:
        lists.n -= 1
    return lists


cdef int64_t read_lists(Chunk chunk, Search search, Found found) noexcept nogil:
    """OUT found.scores of the rows in the lists to read, in blocks; returns how many numbers."""
    cdef int64_t p, b, e, at = 0, n_words = words_of(chunk.width)
    cdef Lists lists, coming
    for p in range(search.n_probes):
        lists = list_of(chunk, found.probes[p])
        # The first blocks of the next list are on their way while this one is scored.
        if p + 1 < search.n_probes:
            coming = list_of(chunk, found.probes[p + 1])
            for b in range(AHEAD):
                fetch(coming.values + b * n_words, n_words)
        score_list(
            chunk.query, lists.values, lists.scales, lists.ids, lists.n_blocks, chunk.width,
            found.scores + at,
        )
        # Rows that fill up never exceed a threshold.
        for e in range(lists.n, lists.n_blocks * LANES):
            found.scores[at + e] = <float>-INFINITY
        at += lists.n_blocks * LANES
    return at


cdef float likely_threshold(const float* scores, int64_t n, int64_t wanted) noexcept nogil:
    """Threshold that somewhat more rows than wanted exceed, estimated from a sample."""
    cdef uint64_t sample[SAMPLE]
    cdef int32_t places[SAMPLE]
    cdef float values[SAMPLE]
    cdef int64_t e, rank
    cdef double expected = <double>SAMPLE * wanted / n
    # At equal distances over all lists, whose scores differ: no list is left out.
    for e in range(SAMPLE):
        places[e] = <int32_t>e
        values[e] = scores[e * n // SAMPLE]
    # About `expected` of the sample belong to the rows wanted; three standard deviations of a
    # Poisson count more make it unlikely that fewer than wanted lie above.
    rank = <int64_t>(expected + 3 * sqrt(expected) + 2)
    # Most rows are wanted: sort all.
    if rank >= SAMPLE:
        return <float>-INFINITY
    to_keys(values, places, SAMPLE, sample)
    select(sample, SAMPLE, rank)
    rank -= 1
    # `select` leaves the first `rank` in any order.
    for e in range(rank):  # the least of the first
        if sample[e] < sample[rank]:
            rank = e
    return values[id_of(sample[rank])]


cdef int64_t keys_above(
    float threshold, const float* scores, const int32_t* ids, int64_t n_blocks, uint64_t* keys
) noexcept nogil:
    """OUT the keys of scores above a threshold, and scratch up to as many as there are scores."""
    cdef float least[LANES]
    cdef int64_t b, e, n = 0
    cdef int32_t c
    cdef unsigned int mask
    # AVX-512 writes the lanes of a mask side by side; up to sixteen keys beyond n are overwritten,
    # for which `keys` has room since the blocks hold as many.
    if has_compress_store():
        return keys_above_at_once(threshold, scores, ids, n_blocks, keys)
    for c in range(LANES):
        least[c] = threshold
    for b in range(n_blocks):
        mask = mask_above(scores + b * LANES, least)
        while mask:
            e = b * LANES + lowest_bit(mask)
            mask &= mask - 1
            keys[n] = key_of(scores[e], ids[e])
            n += 1
    return n


cdef int64_t list_keys(Chunk chunk, Search search, Found found, int64_t n_scores) noexcept nogil:
    """OUT found.keys of the best rows, more than wanted, or of all; returns how many there are."""
    cdef int64_t p, at = 0, n = 0
    cdef float threshold = <float>-INFINITY
    cdef Lists lists
    if n_scores > SAMPLE:
        threshold = likely_threshold(found.scores, n_scores, search.n)
    if threshold > <float>-INFINITY:
        for p in range(search.n_probes):
            lists = list_of(chunk, found.probes[p])
            n += keys_above(
                threshold, found.scores + at, lists.ids, lists.n_blocks, found.keys + n
            )
            at += lists.n_blocks * LANES
        # The guess was too high otherwise, and all keys are taken below.
        if n >= search.n:
            return n
    at, n = 0, 0
    for p in range(search.n_probes):
        lists = list_of(chunk, found.probes[p])
        # Without those that fill up, whose id is -1.
        to_keys(found.scores + at, lists.ids, lists.n, found.keys + n)
        n += lists.n
        at += lists.n_blocks * LANES
    return n


cdef void search_chunk(Chunk chunk, Search search, Found found, int32_t* retrieved) noexcept nogil:
    cdef int64_t n, cut, e
    choose_probes(chunk, search, found)
    n = read_lists(chunk, search, found)
    n = list_keys(chunk, search, found, n)
    select(found.keys, n, search.n)
    # n_first, 2 n_first, 4 n_first, ...: each cut is selected within the larger one, so that the
    # whole costs about twice the first selection.
    cut = search.n_first
    while cut < search.n:
        cut *= 2
    while cut > search.n_first:
        cut //= 2
        select(found.keys, min(n, search.n, 2 * cut), cut)
    for e in range(min(n, search.n)):
        retrieved[e] = id_of(found.keys[e])
    # The lists that were read have fewer rows.
    for e in range(n, search.n):
        retrieved[e] = -1


cdef void search_chunks(
    const float* query, Search search, Found found, int32_t* retrieved
) noexcept nogil:
    """OUT retrieved (n_chunks, n)."""
    cdef int64_t j, first_block = 0
    cdef Chunk chunk
    for j in range(search.n_chunks):
        chunk.query = query + search.bounds[j]
        chunk.width = search.bounds[j + 1] - search.bounds[j]
        chunk.centroids = search.centroids + search.n_blocks * LANES * search.bounds[j]
        chunk.values = search.values + search.offsets[j]
        chunk.ids = search.ids + first_block * LANES
        chunk.scales = search.scales + first_block
        chunk.starts = search.starts + j * (search.n_clusters + 1)
        search_chunk(chunk, search, found, retrieved + j * search.n)
        first_block += chunk.starts[search.n_clusters]


cdef inline Found memory(
    float* scores, uint64_t* keys, float* top, int32_t* probes
) noexcept nogil:
    cdef Found found
    found.scores, found.keys, found.top, found.probes = scores, keys, top, probes
    return found


cdef class InvertedFile:
    """The lists of all chunks.

    Parameters
    ----------
    bounds : (n_chunks + 1,): chunk j has columns bounds[j] to bounds[j + 1] - 1
    centroids : those of each chunk, (n_blocks, width, LANES), chunk after chunk
    starts : (n_chunks, n_clusters + 1): the blocks of list c of chunk j are starts[j, c] to
        starts[j, c + 1] - 1, counted from the first of the chunk
    values, offsets : the blocks of chunk j are (n_blocks, width / 4, LANES) from offsets[j] on
    scales : (n_blocks of all chunks,), what the values of a block are to be multiplied by
    ids : (n_blocks of all chunks, LANES), the rows in each block
    """

    # Set once: a search of a mini-batch copies them, with no memoryview for each query.
    cdef Search pointers
    cdef object arrays  # that the pointers point into

    def __init__(
        self, const int32_t[::1] bounds, const float[::1] centroids, const int64_t[:, ::1] starts,
        const int32_t[::1] values, const float[::1] scales, const int64_t[::1] offsets,
        const int32_t[:, ::1] ids,
    ):
        # The pointers do not keep the arrays alive.
        self.arrays = bounds, centroids, starts, values, scales, offsets, ids
        self.pointers.bounds, self.pointers.starts = &bounds[0], &starts[0, 0]
        self.pointers.offsets, self.pointers.scales = &offsets[0], &scales[0]
        self.pointers.centroids, self.pointers.values = &centroids[0], &values[0]
        self.pointers.ids = &ids[0, 0]
        self.pointers.n_chunks, self.pointers.n_clusters = starts.shape[0], starts.shape[1] - 1
        self.pointers.n_blocks = (self.pointers.n_clusters + LANES - 1) // LANES


cdef class Scratch:
    """Memory of each thread.

    Parameters
    ----------
    scores, keys : (n_threads, the most rows, counted with those that fill up blocks, that a query
        reads in a chunk, and at least the number of centroids in blocks)
    top, probes : (n_threads, n_probes)
    """

    cdef float[:, ::1] scores, top
    cdef uint64_t[:, ::1] keys
    cdef int32_t[:, ::1] probes

    def __init__(self, scores, keys, top, probes):
        self.scores, self.keys, self.top, self.probes = scores, keys, top, probes


def search(
    const float[:, ::1] H, InvertedFile lists, int64_t n_probes, int64_t n_first,
    int32_t[:, :, ::1] retrieved, Scratch memory_of, int n_threads,
):
    """The rows that score best in each chunk, among those in some of its lists.

    Parameters
    ----------
    H : IN (n_queries, n_columns)
    lists : IN
    n_probes : IN, lists to read in each chunk
    n_first : IN: the first `n_first` of the rows retrieved are the best of them, the first twice as
        many again, and so on; in any order otherwise
    retrieved : OUT (n_queries, n_chunks, n), -1 where the lists have fewer rows
    memory_of : SCRATCH
    """
    cdef int64_t i
    cdef int thread = 0
    cdef Search how
    cdef float[:, ::1] scores = memory_of.scores, top = memory_of.top
    cdef uint64_t[:, ::1] keys = memory_of.keys
    cdef int32_t[:, ::1] probes = memory_of.probes
    if H.shape[0] == 0 or retrieved.shape[2] == 0:
        return
    how = lists.pointers
    how.n_probes, how.n, how.n_first = n_probes, retrieved.shape[2], n_first
    with nogil, parallel(num_threads=n_threads):
        thread = threadid()
        # Lists differ in length, hence dynamic. Each query writes to its own row of `retrieved`.
        for i in prange(H.shape[0], schedule="dynamic"):
            search_chunks(
                &H[i, 0], how,
                memory(&scores[thread, 0], &keys[thread, 0], &top[thread, 0], &probes[thread, 0]),
                &retrieved[i, 0, 0],
            )

"""Binary codes in words of 64 bits: from signs, and the nearest of them by Hamming distance."""

from cython.parallel cimport parallel, prange, threadid
from libc.stdint cimport int32_t, int64_t, uint16_t, uint64_t
from libc.string cimport memset

from sklearn_xc._kernels.common._common cimport dispatched

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
    CHUNK = 4  # queries that a thread takes at a time


def pack_signs(const float[:, ::1] projections, uint64_t[:, ::1] codes):
    """OUT codes (n, n_words): bit b of word w says whether projections[:, 64 w + b] > 0."""
    cdef Py_ssize_t i, w, b
    cdef uint64_t word
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
        if d <= last:
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
    if ids.shape[0] == 0 or ids.shape[1] == 0:
        return
    with nogil, parallel(num_threads=n_threads):
        mine = &distances[threadid(), 0]
        histogram = &histograms[threadid(), 0]
        for i in prange(queries.shape[0], schedule="dynamic", chunksize=CHUNK):
            distances_of(&queries[i, 0], &codes[0, 0], n, n_words, mine)
            select(mine, n, histogram, 64 * n_words, &ids[i, 0], ids.shape[1])

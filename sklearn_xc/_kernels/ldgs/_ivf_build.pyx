"""Inverted lists of rows, one set of lists for each chunk of their columns.

The rows of a list lie in blocks of LANES, column by column: the values of all its rows in the
first column of the chunk, then in the second, and so on. So a query scores LANES rows at once,
and nothing is summed across a vector. The last block of a list is filled up with rows of id -1
and value 0. Centroids lie in blocks in the same way.

Values of rows are rounded to bytes, times a number of the block: what is read of the lists is what
a search (`_ivf_search`) takes time for, and what it finds is scored again.
"""

from cython.parallel cimport prange
from libc.math cimport INFINITY, fabsf, rintf
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport memset

from sklearn_xc._kernels.ldgs._int8_rows cimport LARGEST, divides
from sklearn_xc._kernels.common._common cimport dispatched

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
    for b in range(n_blocks):
        score_block(x, values + b * width * LANES, width, total)
        if b == n_blocks - 1:
            for lane in range(<int32_t>(n_rows - b * LANES), LANES):
                total[lane] = <float>-INFINITY
        keep_best(total, b, highest, at)
    best[0] = 0
    for lane in range(LANES):
        b = at[lane] * LANES + lane
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
            value = fabsf(rows[ids[lane], start + c]) if ids[lane] >= 0 else 0
            most = most if value <= most else value  # NaN stays
    scale[0] = most / LARGEST
    memset(values, 0, words_of(width) * sizeof(int32_t))
    if not divides(scale[0]):
        return
    for lane in range(LANES):
        for c in range(width if ids[lane] >= 0 else 0):
            byte = <uint32_t><int32_t>rintf(rows[ids[lane], start + c] / scale[0]) & 255
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
    if width == 0:
        return
    for b in prange(ids.shape[0], nogil=True, schedule="static", num_threads=n_threads):
        lay_out_block(
            rows, start, width, &ids[b, 0], &values[b * words_of(width)], &scales[b]
        )

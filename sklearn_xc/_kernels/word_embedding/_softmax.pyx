"""The softmax over contexts in skip-gram, for words by themselves and for blocks of similar words.

With p(y|x) = exp <v_y, u_x> / Z_x the gradients of eq. 9 of the LDGS paper are

    sum_y (p(y|x) - q(y|x)) v_y         in u_x, divided by q(x), and
    sum_x q(x) (p(y|x) - q(y|x)) u_x    in v_y.

Of blocks, Z_x is the sum over the contexts that `_block_layout` describes, those drawn with their
importance weights: a matrix product for the shared ones, inner products for a word's own. Rows z
of shared contexts hold exp(score - top) and are multiplied by `factor`, exp(top) / Z_x, when they
have been added up.

A block belongs to one thread, and so does a range of contexts when sums of blocks are added, block
after block: results do not depend on the number of threads. Matrix products are those of BLAS, to
be limited to one thread.
"""

from cython.parallel cimport parallel, prange, threadid
from libc.math cimport INFINITY, exp
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

import numpy as np

from sklearn_xc._kernels.common._blas cimport matmul
from sklearn_xc._kernels.common._common cimport dispatched, prefetch
from sklearn_xc._kernels.common._math cimport exp_below
from sklearn_xc._kernels.common._vector_ops cimport (
    LANES, add_multiple, dot, first_from, largest,
)
from sklearn_xc._kernels.word_embedding._block_layout cimport ALL, INCLUDED, FEW, Blocks

cdef enum:
    AHEAD = 8  # rows to prefetch
    RANGES = 32  # of contexts, whatever the threads
    RUN = 256  # exponentials that are added up in float32

# A total of exp(score - top) over contexts that are not included: less is rounding.
cdef double LEAST_EXPECTED = 1e-20


# --------------------------------------------------------------------------- softmax of a row


cdef dispatched add_weights(float* z, const float* weight, int64_t n, float* top) noexcept nogil:
    """z += weight; IN / OUT the largest so far."""
    cdef float part[LANES]
    cdef int64_t e
    cdef int32_t c
    # One maximum a lane, so that the loop over a row is of vectors.
    for c in range(LANES):
        part[c] = top[0]
    for e in range(n // LANES):
        for c in range(LANES):
            z[e * LANES + c] += weight[e * LANES + c]
            part[c] = z[e * LANES + c] if z[e * LANES + c] > part[c] else part[c]
    for e in range(n - n % LANES, n):
        z[e] += weight[e]
        part[0] = z[e] if z[e] > part[0] else part[0]
    for c in range(LANES):
        top[0] = part[c] if part[c] > top[0] else top[0]


cdef dispatched exponentials(float* z, int64_t n, float top, double* total) noexcept nogil:
    """z = exp(z - top); their sum is added to the total."""
    cdef float part[LANES]
    cdef int64_t run, first, e
    cdef int32_t c
    # Sums in float32 of RUN / LANES numbers a lane, added up in double.
    for run in range((n + RUN - 1) // RUN):  # a sum in float32 is of few numbers
        first = run * RUN
        for c in range(LANES):
            part[c] = 0
        for e in range(min(RUN, n - first) // LANES):
            for c in range(LANES):
                z[first + e * LANES + c] = exp_below(z[first + e * LANES + c] - top)
                part[c] += z[first + e * LANES + c]
        for c in range(LANES):
            total[0] += part[c]
    # Less than a vector is left at the end of the last run.
    for e in range(n - n % LANES, n):
        z[e] = exp_below(z[e] - top)
        total[0] += z[e]


cdef dispatched multiply(float* z, float factor, int64_t n) noexcept nogil:
    cdef int64_t c
    for c in range(n):
        z[c] *= factor


def exact_differences(
    float[:, ::1] z, const int64_t[::1] indptr, const int32_t[::1] ids, const float[::1] share
):
    """p(y|x) - q(y|x) of words x, of all contexts.

    Parameters
    ----------
    z : IN / OUT (n, n_words), the scores, at least one; then differences
    indptr, ids, share : IN (n + 1,), (n_pairs,), (n_pairs,): contexts and q(y|x), row by row
    """
    cdef int64_t i, e, n = z.shape[1]
    cdef float top
    cdef double total
    with nogil:
        for i in range(z.shape[0]):
            top, total = <float>-INFINITY, 0
            # No exponential overflows, and at least one is 1: the total is not 0.
            largest(&z[i, 0], n, &top)
            exponentials(&z[i, 0], n, top, &total)
            multiply(&z[i, 0], <float>(1 / total), n)
            # p - q: q(y|x) is zero but at the contexts of the word.
            for e in range(indptr[i], indptr[i + 1]):
                z[i, ids[e]] -= share[e]


# ------------------------------------------------------------------------------ visiting blocks


cdef struct Block:
    int64_t first  # of its words
    int64_t n_rows
    const int32_t* shared
    const float* weight
    int64_t n_included
    int64_t n  # of the shared contexts that count

cdef struct Entries:
    const int64_t* starts
    const int64_t* n_own
    const int32_t* ids
    const float* share
    const int32_t* drawn
    float* values  # of own contexts: p(y|x) - q(y|x)

cdef struct Scratch:
    float* vectors  # (capacity, dim)
    float* z  # (most rows of a block, capacity)
    float* factor  # of each row of z
    float* drawn_part  # the part in p(.|x) of contexts that are neither included nor own


cdef inline void fetch(const float* row, int64_t n) noexcept nogil:
    cdef int64_t line
    # A vector v_y lies anywhere in a table larger than the caches.
    for line in range((n + LANES - 1) // LANES):
        prefetch(row + line * LANES)


cdef dispatched score_own(
    const float* u, const float* V, const int32_t* ids, int64_t n, int64_t dim, float* out,
    float* top
) noexcept nogil:
    """OUT the scores of some contexts; IN / OUT the largest so far."""
    cdef int64_t e
    # The maximum in a register: compilers cannot know that `out` is not `top`.
    cdef float most = top[0]
    for e in range(n):
        if e + AHEAD < n:
            fetch(V + ids[e + AHEAD] * dim, dim)
        out[e] = dot(u, V + ids[e] * dim, dim)
        most = out[e] if out[e] > most else most
    top[0] = most


cdef dispatched add_own(
    float* out, const float* V, const int32_t* ids, const float* values, int64_t n, int64_t dim
) noexcept nogil:
    """out += the sum of values times vectors of contexts."""
    cdef int64_t e, c
    for e in range(n):
        if e + AHEAD < n:
            fetch(V + ids[e + AHEAD] * dim, dim)
        for c in range(dim):
            out[c] += values[e] * V[ids[e] * dim + c]


cdef dispatched set_multiple(float* out, const float* x, float factor, int64_t n) noexcept nogil:
    cdef int64_t c
    for c in range(n):
        out[c] = factor * x[c]


cdef void softmax_row(
    const float* u, const float* V, int64_t dim, Block block, Entries entries, int64_t i,
    Scratch scratch,
) noexcept nogil:
    """Row i of z from scores to p(y|x) - q(y|x), but for the factor; and so the own contexts."""
    cdef int64_t e, row = block.first + i, start = entries.starts[row]
    cdef int64_t n_own = entries.n_own[row], end = start + n_own
    cdef float* z = scratch.z + i * block.n
    cdef float top = <float>-INFINITY, factor
    cdef double of_included = 0, of_drawn = 0, total = 0
    # A context of the word that was drawn as well is scored exactly, as the word's own: as a draw
    # it does not count. Beyond block.n lie draws that this sum does not use.
    for e in range(start, end):
        if 0 <= entries.drawn[e] < block.n:
            z[entries.drawn[e]] = <float>-INFINITY
    score_own(u, V, entries.ids + start, n_own, dim, entries.values + start, &top)
    add_weights(z, block.weight, block.n, &top)
    # Apart, since the part that drawn contexts stand for is needed by itself.
    exponentials(z, block.n_included, top, &of_included)
    exponentials(z + block.n_included, block.n - block.n_included, top, &of_drawn)
    exponentials(entries.values + start, n_own, top, &total)
    total += of_included + of_drawn
    factor = <float>(1 / total)
    scratch.factor[i], scratch.drawn_part[i] = factor, <float>(of_drawn / total)
    # z is p(y|x) Z_x here: q(y|x) times Z_x is taken off, and `factor` brings both to size.
    for e in range(end, entries.starts[row + 1]):
        z[entries.ids[e]] -= entries.share[e] * <float>total
    for e in range(start, end):
        entries.values[e] = entries.values[e] * factor - entries.share[e]


cdef void softmax_block(
    const float* u, const float* V, int dim, Block block, Entries entries, Scratch scratch
) noexcept nogil:
    """OUT the vectors of the shared contexts, z and the rest of the scratch, the own contexts."""
    cdef int64_t i, p
    cdef int n = <int>block.n, n_rows = <int>block.n_rows
    # Vectors of the shared contexts side by side, for the products with all words of the block.
    for p in range(n):
        if p + AHEAD < n:
            fetch(V + block.shared[p + AHEAD] * <int64_t>dim, dim)
        memcpy(
            scratch.vectors + p * dim, V + block.shared[p] * <int64_t>dim, dim * sizeof(float)
        )
    # Scores (n_rows, n) = u V_shared^T.
    matmul(b"N", b"T", n_rows, n, dim, 1, u, dim, scratch.vectors, dim, 0, scratch.z, n)
    for i in range(n_rows):
        softmax_row(u + i * dim, V, dim, block, entries, i, scratch)


cdef void gradient_block(
    const float* u, const float* V, int dim, Block block, Entries entries, Scratch scratch,
    float* gradient
) noexcept nogil:
    cdef int64_t i, start
    cdef int n = <int>block.n, n_rows = <int>block.n_rows
    softmax_block(u, V, dim, block, entries, scratch)
    # sum_y over the shared contexts, then times 1 / Z_x, then the own ones, whose values have it.
    matmul(b"N", b"N", n_rows, dim, n, 1, scratch.z, n, scratch.vectors, dim, 0, gradient, dim)
    for i in range(n_rows):
        start = entries.starts[block.first + i]
        multiply(gradient + i * dim, scratch.factor[i], dim)
        add_own(
            gradient + i * dim, V, entries.ids + start, entries.values + start,
            entries.n_own[block.first + i], dim,
        )


cdef void expect(Block block, int64_t n_words, float* expected) noexcept nogil:
    """From scores of the mean to h(y): their softmax over contexts that are not included; or 0."""
    cdef int64_t p
    cdef float top = <float>-INFINITY
    cdef double total = 0
    # h(y): the softmax of the scores of the block's mean vector over contexts not included.
    largest(expected, n_words, &top)
    # exp(-inf) = 0, so that these have no part in the total.
    for p in range(block.n_included):
        expected[block.shared[p]] = <float>-INFINITY
    exponentials(expected, n_words, top, &total)
    # Where included contexts have all of the mass nothing is left to be expected, and the quotient
    # would be noise.
    multiply(expected, <float>(1 / total if total > LEAST_EXPECTED else 0), n_words)


cdef void sums_block(
    const float* u, const float* share, const float* V, int dim, Block block, Entries entries,
    Scratch scratch, const float* expected, float* weighted, float* of_shared, float* sum_expected
) noexcept nogil:
    cdef int64_t i, p, e, row
    cdef int n = <int>block.n, n_rows = <int>block.n_rows
    cdef int32_t at
    cdef float stood_for
    cdef float* scaled = scratch.vectors  # done with, and as large where it matters
    softmax_block(u, V, dim, block, entries, scratch)
    # sum_x q(x) r(x) u_x, with r(x) = drawn_part: the factor of h(y) in the gradient of v_y.
    for p in range(dim):
        sum_expected[p] = 0
    for i in range(n_rows):
        set_multiple(weighted + i * dim, u + i * dim, share[i], dim)
        add_multiple(sum_expected, weighted + i * dim, scratch.drawn_part[i], dim)
        # q(x) u_x / Z_x: z has not been divided.
        set_multiple(scaled + i * dim, weighted + i * dim, scratch.factor[i], dim)
    # sum_x q(x) (p(y|x) - q(y|x)) u_x of the shared contexts y.
    matmul(b"T", b"N", n, dim, n_rows, 1, scratch.z, n, scaled, dim, 0, of_shared, dim)
    for p in range(block.n_included, n):
        # A control variate: a draw stands for exp(weight) times itself, so that r(x) h(y) is
        # estimated by the draws too. That estimate is taken off here, and the exact sum over all y
        # is added by `add_range`, as one matrix product.
        stood_for = expected[block.shared[p]] * <float>exp(block.weight[p])
        add_multiple(of_shared + p * dim, sum_expected, -stood_for, dim)
    for i in range(n_rows):
        row = block.first + i
        for e in range(entries.starts[row], entries.starts[row] + entries.n_own[row]):
            at = entries.drawn[e]
            # The word's own context is exact: r(x) h(y) is taken off once, as `add_range` adds it
            # for every y that is not included.
            stood_for = -expected[entries.ids[e]]
            if at >= 0:
                # As a draw of the block it had r(x) h(y) exp(weight) taken off above, for this word
                # as well: given back, since z is 0 there.
                stood_for += expected[entries.ids[e]] * <float>exp(block.weight[at])
            entries.values[e] += scratch.drawn_part[i] * stood_for


cdef inline Block block_of(Blocks blocks, int64_t b, int n, bint of_few) noexcept nogil:
    cdef Block block
    block.first = blocks.row_starts[b]
    block.n_rows = blocks.row_starts[b + 1] - block.first
    block.shared = &blocks.shared[b, 0]
    block.weight = &blocks.few_weight[b, 0] if of_few else &blocks.weight[b, 0]
    block.n_included, block.n = blocks.sizes[b, INCLUDED], blocks.sizes[b, n]
    return block


cdef inline Entries entries_of(Blocks blocks, float[::1] values) noexcept nogil:
    cdef Entries entries
    entries.starts, entries.n_own = &blocks.entry_starts[0], &blocks.n_own[0]
    entries.ids, entries.share = &blocks.entry_ids[0], &blocks.entry_share[0]
    entries.drawn, entries.values = &blocks.entry_drawn[0], &values[0]
    return entries


cdef class Memory:
    """Of each thread: capacity is as large as the most rows of a block, too."""

    cdef float[:, :, ::1] vectors, z, of_rows

    def __init__(self, n_threads, n_rows, capacity, dim):
        # sums_block keeps scaled vectors of words in the place of those of contexts: room for
        # either.
        self.vectors = np.empty((n_threads, max(capacity, n_rows), dim), dtype=np.float32)
        self.z = np.empty((n_threads, n_rows, capacity), dtype=np.float32)
        self.of_rows = np.empty((n_threads, 2, n_rows), dtype=np.float32)

    cdef Scratch of_thread(self, int thread) noexcept nogil:
        cdef Scratch scratch
        scratch.vectors, scratch.z = &self.vectors[thread, 0, 0], &self.z[thread, 0, 0]
        scratch.factor = &self.of_rows[thread, 0, 0]
        scratch.drawn_part = &self.of_rows[thread, 1, 0]
        return scratch


cdef class Sums:
    """Accumulators of `add_up`: sums of q(x) (p(y|x) - q(y|x)) u_x.

    With h(y) the softmax of the mean's scores over contexts that are not included, and r(x) the
    part that these have in p(.|x) by what was drawn, p(y|x) is r(x) h(y) and a difference; and
    only the differences are estimated from what was drawn.

    Parameters
    ----------
    values : (n_entries,), p(y|x) - r(x) h(y) - q(y|x) of own contexts
    weighted : (n_rows, dim), q(x) u_x
    of_shared : (n_blocks, capacity, dim), sums of q(x) (p(y|x) - r(x) h(y) - q(y|x)) u_x
    expected : (n_blocks, n_words), h(y), 0 for contexts that are included; sums to 1, or is 0
    sum_expected : (n_blocks, dim), the sums of q(x) r(x) u_x
    """

    cdef float[::1] values
    cdef float[:, ::1] weighted, expected, sum_expected
    cdef float[:, :, ::1] of_shared

    def __init__(self, values, weighted, of_shared, expected, sum_expected):
        self.values, self.weighted, self.of_shared = values, weighted, of_shared
        self.expected, self.sum_expected = expected, sum_expected


def gradients(
    const float[:, ::1] u, const float[:, ::1] V, Blocks blocks, float[::1] values,
    float[:, ::1] gradient, Memory memory, int n_threads,
):
    """OUT the sums of (p(y|x) - q(y|x)) v_y, with few of the contexts drawn.

    Parameters
    ----------
    u, V : IN (n_rows, dim), (n_words, dim)
    blocks : IN, from `_block_layout.lay_out`
    values : SCRATCH (n_entries,)
    gradient : OUT (n_rows, dim)
    memory : SCRATCH
    """
    cdef int64_t b
    cdef int thread = 0
    cdef int dim = <int>u.shape[1]
    cdef Entries entries = entries_of(blocks, values)
    with nogil, parallel(num_threads=n_threads):
        thread = threadid()
        for b in prange(blocks.row_starts.shape[0] - 1, schedule="dynamic", chunksize=1):
            gradient_block(
                &u[blocks.row_starts[b], 0], &V[0, 0], dim, block_of(blocks, b, FEW, True), entries,
                memory.of_thread(thread), &gradient[blocks.row_starts[b], 0],
            )


cdef void expect_and_sum(
    int64_t b, const float[:, ::1] u, const float[::1] share, const float[:, ::1] V, Block block,
    Entries entries, Scratch scratch, Sums out,
) noexcept nogil:
    expect(block, V.shape[0], &out.expected[b, 0])
    sums_block(
        &u[block.first, 0], &share[block.first], &V[0, 0], <int>V.shape[1], block, entries,
        scratch, &out.expected[b, 0], &out.weighted[block.first, 0], &out.of_shared[b, 0, 0],
        &out.sum_expected[b, 0],
    )


def sums(
    const float[:, ::1] u, const float[::1] share, const float[:, ::1] means,
    const float[:, ::1] V, Blocks blocks, Sums out, Memory memory, int n_threads,
):
    """Fill what `add_up` adds up.

    Parameters
    ----------
    u, share : IN (n_rows, dim), (n_rows,), q(x)
    means : IN (n_blocks, dim)
    V : IN (n_words, dim)
    blocks : IN, from `_block_layout.lay_out`
    out : OUT
    memory : SCRATCH
    """
    cdef int64_t b, part, first, last, n_words = V.shape[0]
    cdef int thread = 0, n_blocks = <int>means.shape[0], dim = <int>V.shape[1]
    cdef Entries entries = entries_of(blocks, out.values)
    # Scores of the means by ranges of contexts; the number of ranges is fixed, so that BLAS sees
    # the same shapes with any number of threads.
    for part in prange(RANGES, nogil=True, schedule="static", num_threads=n_threads):
        first, last = part * n_words // RANGES, (part + 1) * n_words // RANGES
        if last > first:
            matmul(
                b"N", b"T", n_blocks, <int>(last - first), dim, 1, &means[0, 0], dim, &V[first, 0],
                dim, 0, &out.expected[0, first], <int>n_words,
            )
    with nogil, parallel(num_threads=n_threads):
        thread = threadid()
        # Blocks with more pairs come first, and threads take the next as they are free.
        for b in prange(n_blocks, schedule="dynamic", chunksize=1):
            expect_and_sum(
                b, u, share, V, block_of(blocks, b, ALL, False), entries,
                memory.of_thread(thread), out,
            )


# ------------------------------------------------------------------------------------ adding up


cdef void add_range(
    int64_t first, int64_t last, Blocks blocks, Entries entries, Sums found, float[:, ::1] out
) noexcept nogil:
    cdef int64_t b, run, p, i, e, start, end, dim = out.shape[1]
    for b in range(blocks.sizes.shape[0]):
        # A thread adds what falls into its range of contexts, block after block: the order of sums
        # is fixed. The four parts of `shared` ascend each, so that the range is found by bisection.
        for run in range(blocks.sizes.shape[1]):  # in each, contexts ascend
            start = first_from(
                &blocks.shared[b, 0], blocks.sizes[b, run - 1] if run else 0, blocks.sizes[b, run],
                first,
            )
            end = first_from(&blocks.shared[b, 0], start, blocks.sizes[b, run], last)
            for p in range(start, end):
                add_multiple(&out[blocks.shared[b, p], 0], &found.of_shared[b, p, 0], 1, dim)
        for i in range(blocks.row_starts[b], blocks.row_starts[b + 1]):
            # Own contexts ascend as well, and stand first.
            end = entries.starts[i] + entries.n_own[i]
            start = first_from(entries.ids, entries.starts[i], end, first)
            end = first_from(entries.ids, start, end, last)
            for e in range(start, end):
                add_multiple(
                    &out[entries.ids[e], 0], &found.weighted[i, 0], entries.values[e], dim
                )
    # out += h^T (sum_x q(x) r(x) u_x): the expected part, of all blocks at once.
    if last > first:
        matmul(
            b"T", b"N", <int>(last - first), <int>dim, <int>blocks.sizes.shape[0], 1,
            &found.expected[0, first], <int>out.shape[0], &found.sum_expected[0, 0], <int>dim, 1,
            &out[first, 0], <int>dim,
        )


def add_up(Blocks blocks, Sums found, float[:, ::1] out, int n_threads):
    """OUT out (n_words, dim) += what `_block_layout.lay_out` and `sums` describe, by context."""
    cdef int64_t part, n_words = out.shape[0]
    cdef Entries entries = entries_of(blocks, found.values)
    for part in prange(
        RANGES, nogil=True, schedule="dynamic", chunksize=1, num_threads=n_threads
    ):
        add_range(
            part * n_words // RANGES, (part + 1) * n_words // RANGES, blocks, entries, found, out
        )

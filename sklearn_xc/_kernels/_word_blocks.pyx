"""The softmax of skip-gram for blocks of words that are scored together, and sums over it.

What all words of a block are scored with are its shared contexts: some certain, then some drawn,
each of which stands for several. A context of a word that is not certain is scored for that word
alone: the word's own.

A block belongs to one thread, and so does a range of contexts when what blocks found is added up,
block after block. Results do not depend on the number of threads. Matrix products are those of
BLAS, to be limited to one thread.
"""

from cython.parallel cimport parallel, prange, threadid
from libc.math cimport INFINITY, exp, log
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from sklearn_xc._kernels._blas cimport matmul
from sklearn_xc._kernels._common cimport dispatched, prefetch
from sklearn_xc._kernels._dot cimport dot
from sklearn_xc._kernels._math cimport exp_below

cdef enum:
    LANES = 16
    AHEAD = 8  # rows asked for before they are needed
    RUN = 256  # exponentials that are added up in float32
    RANGES = 32  # of contexts, whatever the threads

cdef double LEAST_EXPECTED = 1e-20  # of the softmax, beside its largest term, not in certain ones


cdef enum:  # columns of `sizes`
    FREQUENT
    CERTAIN  # shared contexts that are certain
    FEW  # and those drawn that the steps of words use
    ALL


# ------------------------------------------------------------------------------------- softmax


cdef dispatched largest(const float* z, int64_t n, float* top) noexcept nogil:
    """IN / OUT the largest so far."""
    cdef float part[LANES]
    cdef int64_t e
    cdef int32_t c
    for c in range(LANES):
        part[c] = top[0]
    for e in range(n // LANES):
        for c in range(LANES):
            part[c] = z[e * LANES + c] if z[e * LANES + c] > part[c] else part[c]
    for e in range(n - n % LANES, n):
        part[0] = z[e] if z[e] > part[0] else part[0]
    for c in range(LANES):
        top[0] = part[c] if part[c] > top[0] else top[0]


cdef dispatched add_weights(float* z, const float* weight, int64_t n, float* top) noexcept nogil:
    """z += weight; IN / OUT the largest so far."""
    cdef float part[LANES]
    cdef int64_t e
    cdef int32_t c
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
            largest(&z[i, 0], n, &top)
            exponentials(&z[i, 0], n, top, &total)
            multiply(&z[i, 0], <float>(1 / total), n)
            for e in range(indptr[i], indptr[i + 1]):
                z[i, ids[e]] -= share[e]


# --------------------------------------------------------------------------------- laying blocks


cdef struct Draws:
    const int32_t* others
    const double* ends
    int64_t n_others
    int64_t n_few
    int64_t n
    int32_t* few  # how many draws of few fall on the contexts up to each
    int32_t* more  # and of the rest


cdef dispatched count_points(
    const double* ends, int64_t n_ends, int64_t n, double offset, int32_t* count
) noexcept nogil:
    """OUT how many of the points (j + offset) / n, j < n, of the last end lie below each end."""
    cdef double factor = n / ends[n_ends - 1], below
    cdef int64_t k
    cdef int32_t whole
    for k in range(n_ends):
        below = ends[k] * factor - offset
        below = below if below > 0 else 0
        whole = <int32_t>below
        count[k] = whole + 1 if below > whole else whole
    count[n_ends - 1] = <int32_t>n
    for k in range(n_ends):
        count[k] = count[k] if count[k] < n else <int32_t>n


cdef int64_t add_drawn(
    Draws draws, const int32_t* place, bint of_few, int64_t at,
    int32_t* shared, float* weight, float* few_weight,
) noexcept nogil:
    """OUT the contexts drawn from `at` on, of few or only of more; returns where they end.

    Those that are certain anyway stand for nothing else.
    """
    cdef int64_t k
    cdef int32_t times, more
    cdef double total, chance
    for k in range(draws.n_others):
        times = draws.few[k] - (draws.few[k - 1] if k else 0)
        more = draws.more[k] - (draws.more[k - 1] if k else 0)
        if times + more == 0 or (times > 0) != of_few or place[draws.others[k]] >= 0:
            continue
        total = draws.ends[draws.n_others - 1]
        chance = (draws.ends[k] - (draws.ends[k - 1] if k else 0)) / total
        shared[at] = draws.others[k]
        weight[at] = <float>log((times + more) / (draws.n * chance))
        if of_few:
            few_weight[at] = <float>log(times / (draws.n_few * chance))
        at += 1
    return at


cdef void split_row(
    const int32_t* ids, const float* share, int64_t n, const int32_t* place, int64_t n_certain,
    int64_t* n_own, int32_t* entry_ids, float* entry_share, int32_t* entry_drawn,
) noexcept nogil:
    """OUT entries: the word's own contexts from the first on, the places of certain ones behind."""
    cdef int64_t e, first = 0, last = n
    cdef int32_t at
    for e in range(n):
        at = place[ids[e]]
        if 0 <= at < n_certain:
            last -= 1
            entry_ids[last], entry_share[last], entry_drawn[last] = at, share[e], -1
        else:
            entry_ids[first], entry_share[first], entry_drawn[first] = ids[e], share[e], at
            first += 1
    n_own[0] = first


cdef void lay_out_block(
    int64_t b, const int64_t[::1] rows, const int64_t[::1] row_starts, const int64_t[::1] indptr,
    const int32_t[::1] ids, const float[::1] share, const int32_t[::1] frequent,
    const int32_t* named, int64_t n_named, Draws draws, int64_t[:, ::1] sizes,
    int32_t[:, ::1] shared, float[:, ::1] weight, float[:, ::1] few_weight,
    const int64_t[::1] entry_starts, int64_t[::1] n_own, int32_t[::1] entry_ids,
    float[::1] entry_share, int32_t[::1] entry_drawn, int32_t* place, const double* offsets,
) noexcept nogil:
    cdef int64_t p, i, first, at, n = frequent.shape[0]
    if draws.n_others:
        count_points(draws.ends, draws.n_others, draws.n_few, offsets[0], draws.few)
        count_points(draws.ends, draws.n_others, draws.n - draws.n_few, offsets[1], draws.more)
    sizes[b, FREQUENT] = n
    for p in range(n):
        shared[b, p] = frequent[p]
    for p in range(n_named):
        shared[b, n + p] = named[p]
    n += n_named
    for p in range(n):
        weight[b, p] = few_weight[b, p] = 0
        place[shared[b, p]] = <int32_t>p
    sizes[b, CERTAIN] = n
    n = add_drawn(draws, place, True, n, &shared[b, 0], &weight[b, 0], &few_weight[b, 0])
    sizes[b, FEW] = n
    n = add_drawn(draws, place, False, n, &shared[b, 0], &weight[b, 0], &few_weight[b, 0])
    sizes[b, ALL] = n
    for p in range(sizes[b, CERTAIN], n):
        place[shared[b, p]] = <int32_t>p
    for i in range(row_starts[b], row_starts[b + 1]):
        first, at = indptr[rows[i]], entry_starts[i]
        if indptr[rows[i] + 1] > first:
            split_row(
                &ids[first], &share[first], indptr[rows[i] + 1] - first, place, sizes[b, CERTAIN],
                &n_own[i], &entry_ids[at], &entry_share[at], &entry_drawn[at],
            )
        else:
            n_own[i] = 0
    for p in range(n):
        place[shared[b, p]] = -1


def lay_out(
    const int64_t[::1] rows, const int64_t[::1] row_starts, const int64_t[::1] indptr,
    const int32_t[::1] ids, const float[::1] share, const int32_t[::1] frequent,
    const int32_t[::1] named, const int64_t[::1] named_starts, const int32_t[::1] others,
    const double[::1] ends, int64_t n_few, int64_t n_drawn, const double[:, ::1] offsets,
    int64_t[:, ::1] sizes, int32_t[:, ::1] shared, float[:, ::1] weight, float[:, ::1] few_weight,
    const int64_t[::1] entry_starts, int64_t[::1] n_own, int32_t[::1] entry_ids,
    float[::1] entry_share, int32_t[::1] entry_drawn, int32_t[:, ::1] place,
    int32_t[:, :, ::1] counts, int n_threads,
):
    """The shared contexts of blocks, and their words' own.

    Drawn are contexts at equal distances along the sum of all chances (systematic sampling): where
    frequencies rise or fall with the numbers of contexts, so do they in what is drawn.

    Parameters
    ----------
    rows, row_starts : IN (n_rows,), (n_blocks + 1,), the words, block after block
    indptr, ids, share : IN, the contexts of all words, ascending, and q(y|x), word by word
    frequent : IN, contexts certain in all blocks, ascending
    named, named_starts : IN, (n_blocks + 1,), those certain in one, ascending, block after block
    others, ends : IN, contexts to draw from, ascending, and the sums of their chances
    n_few, n_drawn : IN, draws for the steps of words, and draws in all
    offsets : IN (n_blocks, 2), from [0, 1): where the draws of few and of the rest begin
    sizes : OUT (n_blocks, 4), how many shared contexts are frequent, are certain, are certain or of
        few, are there
    shared : OUT (n_blocks, room), the frequent, the named, those of few, the rest
    weight, few_weight : OUT (n_blocks, room), logarithms of how many contexts each stands for, if
        all count and if only those certain or of few do
    entry_starts : IN (n_rows + 1,), the places of the entries of each word, one for each pair
    n_own : OUT (n_rows,), how many entries are own contexts; they stand first, ascending
    entry_ids : OUT (n_entries,), own contexts, and places of others in `shared`
    entry_share : OUT (n_entries,), q(y|x)
    entry_drawn : OUT (n_entries,), the place of an own context in `shared`, where it then does not
        count for the word; or -1
    place : SCRATCH (n_threads, n_words), -1 before and after
    counts : SCRATCH (n_threads, 2, n_words)
    """
    cdef int64_t b
    cdef int thread = 0
    cdef const int32_t* first_named = &named[0] if named.shape[0] else NULL
    cdef Draws draws
    draws.n_others, draws.n_few, draws.n = others.shape[0], n_few, n_drawn
    draws.others = &others[0] if draws.n_others else NULL
    draws.ends = &ends[0] if draws.n_others else NULL
    with nogil, parallel(num_threads=n_threads):
        thread = threadid()
        for b in prange(row_starts.shape[0] - 1, schedule="dynamic", chunksize=1):
            lay_out_block(
                b, rows, row_starts, indptr, ids, share, frequent, first_named + named_starts[b],
                named_starts[b + 1] - named_starts[b],
                with_counts(draws, &counts[thread, 0, 0], &counts[thread, 1, 0]), sizes, shared,
                weight, few_weight, entry_starts, n_own, entry_ids, entry_share, entry_drawn,
                &place[thread, 0], &offsets[b, 0],
            )


cdef inline Draws with_counts(Draws draws, int32_t* few, int32_t* more) noexcept nogil:
    draws.few, draws.more = few, more
    return draws


# ------------------------------------------------------------------------------ visiting blocks


cdef struct Block:
    int64_t first  # of its words
    int64_t n_rows
    const int32_t* shared
    const float* weight
    int64_t n_certain
    int64_t n  # of the shared contexts that count

cdef struct Entries:
    const int64_t* starts
    const int64_t* n_own
    const int32_t* ids
    const float* share
    const int32_t* drawn
    float* values  # of own contexts: p(y|x) - q(y|x)

cdef struct Scratch:
    float* vectors  # (room, dim)
    float* z  # (most rows of a block, room)
    float* factor  # of each row of z
    float* drawn_part  # the part in p(.|x) of contexts that are neither certain nor own


cdef inline void fetch(const float* row, int64_t n) noexcept nogil:
    cdef int64_t line
    for line in range((n + LANES - 1) // LANES):
        prefetch(row + line * LANES)


cdef dispatched score_own(
    const float* u, const float* V, const int32_t* ids, int64_t n, int64_t dim, float* out,
    float* top
) noexcept nogil:
    """OUT the scores of some contexts; IN / OUT the largest so far."""
    cdef int64_t e
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


cdef dispatched add_multiple(float* out, const float* x, float factor, int64_t n) noexcept nogil:
    cdef int64_t c
    for c in range(n):
        out[c] += factor * x[c]


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
    cdef double of_certain = 0, of_drawn = 0, total = 0
    for e in range(start, end):
        if 0 <= entries.drawn[e] < block.n:
            z[entries.drawn[e]] = <float>-INFINITY
    score_own(u, V, entries.ids + start, n_own, dim, entries.values + start, &top)
    add_weights(z, block.weight, block.n, &top)
    exponentials(z, block.n_certain, top, &of_certain)
    exponentials(z + block.n_certain, block.n - block.n_certain, top, &of_drawn)
    exponentials(entries.values + start, n_own, top, &total)
    total += of_certain + of_drawn
    factor = <float>(1 / total)
    scratch.factor[i], scratch.drawn_part[i] = factor, <float>(of_drawn / total)
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
    for p in range(n):
        if p + AHEAD < n:
            fetch(V + block.shared[p + AHEAD] * <int64_t>dim, dim)
        memcpy(
            scratch.vectors + p * dim, V + block.shared[p] * <int64_t>dim, dim * sizeof(float)
        )
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
    matmul(b"N", b"N", n_rows, dim, n, 1, scratch.z, n, scratch.vectors, dim, 0, gradient, dim)
    for i in range(n_rows):
        start = entries.starts[block.first + i]
        multiply(gradient + i * dim, scratch.factor[i], dim)
        add_own(
            gradient + i * dim, V, entries.ids + start, entries.values + start,
            entries.n_own[block.first + i], dim,
        )


cdef void expect(Block block, int64_t n_words, float* expected) noexcept nogil:
    """From scores of the mean to h(y): their softmax over contexts that are not certain; or 0."""
    cdef int64_t p
    cdef float top = <float>-INFINITY
    cdef double total = 0
    largest(expected, n_words, &top)
    for p in range(block.n_certain):
        expected[block.shared[p]] = <float>-INFINITY
    exponentials(expected, n_words, top, &total)
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
    for p in range(dim):
        sum_expected[p] = 0
    for i in range(n_rows):
        set_multiple(weighted + i * dim, u + i * dim, share[i], dim)
        add_multiple(sum_expected, weighted + i * dim, scratch.drawn_part[i], dim)
        set_multiple(scaled + i * dim, weighted + i * dim, scratch.factor[i], dim)
    matmul(b"T", b"N", n, dim, n_rows, 1, scratch.z, n, scaled, dim, 0, of_shared, dim)
    for p in range(block.n_certain, n):
        stood_for = expected[block.shared[p]] * <float>exp(block.weight[p])
        add_multiple(of_shared + p * dim, sum_expected, -stood_for, dim)
    for i in range(n_rows):
        row = block.first + i
        for e in range(entries.starts[row], entries.starts[row] + entries.n_own[row]):
            at = entries.drawn[e]
            stood_for = -expected[entries.ids[e]]
            if at >= 0:
                stood_for += expected[entries.ids[e]] * <float>exp(block.weight[at])
            entries.values[e] += scratch.drawn_part[i] * stood_for


cdef inline Block block_of(
    int64_t b, const int64_t[::1] row_starts, const int64_t[:, ::1] sizes, int n,
    const int32_t[:, ::1] shared, const float[:, ::1] weight,
) noexcept nogil:
    cdef Block block
    block.first, block.n_rows = row_starts[b], row_starts[b + 1] - row_starts[b]
    block.shared, block.weight = &shared[b, 0], &weight[b, 0]
    block.n_certain, block.n = sizes[b, CERTAIN], sizes[b, n]
    return block


cdef inline Scratch scratch_of(
    int thread, float[:, :, ::1] vectors, float[:, :, ::1] z, float[:, :, ::1] of_rows
) noexcept nogil:
    cdef Scratch scratch
    scratch.vectors, scratch.z = &vectors[thread, 0, 0], &z[thread, 0, 0]
    scratch.factor, scratch.drawn_part = &of_rows[thread, 0, 0], &of_rows[thread, 1, 0]
    return scratch


def gradients(
    const float[:, ::1] u, const float[:, ::1] V, const int64_t[::1] row_starts,
    const int64_t[:, ::1] sizes, const int32_t[:, ::1] shared, const float[:, ::1] few_weight,
    const int64_t[::1] entry_starts, const int64_t[::1] n_own, const int32_t[::1] entry_ids,
    const float[::1] entry_share, const int32_t[::1] entry_drawn, float[::1] values,
    float[:, ::1] gradient, float[:, :, ::1] vectors, float[:, :, ::1] z, float[:, :, ::1] of_rows,
    int n_threads,
):
    """OUT the sums of (p(y|x) - q(y|x)) v_y, with few of the contexts drawn.

    Parameters
    ----------
    u, V : IN (n_rows, dim), (n_words, dim)
    row_starts ... entry_drawn : IN, from `lay_out`
    values : SCRATCH (n_entries,)
    gradient : OUT (n_rows, dim)
    vectors, z, of_rows : SCRATCH (n_threads, room, dim), (n_threads, most rows of a block, room)
        and (n_threads, 2, most rows of a block); room is as large as the most rows, too
    """
    cdef int64_t b
    cdef int thread = 0
    cdef int dim = <int>u.shape[1]
    cdef Entries entries
    entries.starts, entries.n_own, entries.ids = &entry_starts[0], &n_own[0], &entry_ids[0]
    entries.share, entries.drawn, entries.values = &entry_share[0], &entry_drawn[0], &values[0]
    with nogil, parallel(num_threads=n_threads):
        thread = threadid()
        for b in prange(row_starts.shape[0] - 1, schedule="dynamic", chunksize=1):
            gradient_block(
                &u[row_starts[b], 0], &V[0, 0], dim,
                block_of(b, row_starts, sizes, FEW, shared, few_weight), entries,
                scratch_of(thread, vectors, z, of_rows), &gradient[row_starts[b], 0],
            )


cdef void expect_and_sum(
    int64_t b, const float[:, ::1] u, const float[::1] share, const float[:, ::1] V, Block block,
    Entries entries, Scratch scratch, float[:, ::1] expected, float[:, ::1] weighted,
    float[:, :, ::1] of_shared, float[:, ::1] sum_expected,
) noexcept nogil:
    expect(block, V.shape[0], &expected[b, 0])
    sums_block(
        &u[block.first, 0], &share[block.first], &V[0, 0], <int>V.shape[1], block, entries,
        scratch, &expected[b, 0], &weighted[block.first, 0], &of_shared[b, 0, 0],
        &sum_expected[b, 0],
    )


def sums(
    const float[:, ::1] u, const float[::1] share, const float[:, ::1] means,
    const float[:, ::1] V, const int64_t[::1] row_starts, const int64_t[:, ::1] sizes,
    const int32_t[:, ::1] shared, const float[:, ::1] weight, const int64_t[::1] entry_starts,
    const int64_t[::1] n_own, const int32_t[::1] entry_ids, const float[::1] entry_share,
    const int32_t[::1] entry_drawn, float[::1] values, float[:, ::1] weighted,
    float[:, :, ::1] of_shared, float[:, ::1] expected, float[:, ::1] sum_expected,
    float[:, :, ::1] vectors, float[:, :, ::1] z, float[:, :, ::1] of_rows, int n_threads,
):
    """What `add_up` adds up: sums of q(x) (p(y|x) - q(y|x)) u_x.

    With h(y) the softmax of the mean's scores over contexts that are not certain, and r(x) the
    part that these have in p(.|x) by what was drawn, p(y|x) is r(x) h(y) and a difference; and
    only the differences are estimated from what was drawn.

    Parameters
    ----------
    u, share : IN (n_rows, dim), (n_rows,), q(x)
    means : IN (n_blocks, dim)
    V : IN (n_words, dim)
    row_starts ... entry_drawn : IN, from `lay_out`
    values : OUT (n_entries,), p(y|x) - r(x) h(y) - q(y|x) of own contexts
    weighted : OUT (n_rows, dim), q(x) u_x
    of_shared : OUT (n_blocks, room, dim), sums of q(x) (p(y|x) - r(x) h(y) - q(y|x)) u_x
    expected : OUT (n_blocks, n_words), h(y), 0 for contexts that are certain; sums to 1, or is 0
    sum_expected : OUT (n_blocks, dim), the sums of q(x) r(x) u_x
    vectors, z, of_rows : SCRATCH, as in `gradients`
    """
    cdef int64_t b, part, first, last, n_words = V.shape[0]
    cdef int thread = 0, n_blocks = <int>means.shape[0], dim = <int>V.shape[1]
    cdef Entries entries
    entries.starts, entries.n_own, entries.ids = &entry_starts[0], &n_own[0], &entry_ids[0]
    entries.share, entries.drawn, entries.values = &entry_share[0], &entry_drawn[0], &values[0]
    for part in prange(RANGES, nogil=True, schedule="static", num_threads=n_threads):
        first, last = part * n_words // RANGES, (part + 1) * n_words // RANGES
        if last > first:
            matmul(
                b"N", b"T", n_blocks, <int>(last - first), dim, 1, &means[0, 0], dim, &V[first, 0],
                dim, 0, &expected[0, first], <int>n_words,
            )
    with nogil, parallel(num_threads=n_threads):
        thread = threadid()
        for b in prange(n_blocks, schedule="dynamic", chunksize=1):
            expect_and_sum(
                b, u, share, V, block_of(b, row_starts, sizes, ALL, shared, weight),
                entries, scratch_of(thread, vectors, z, of_rows), expected, weighted, of_shared,
                sum_expected,
            )


# ------------------------------------------------------------------------------------ adding up


cdef inline int64_t first_from(const int32_t* ids, int64_t a, int64_t b, int64_t id) noexcept nogil:
    """The first place from a to b - 1 whose id, ascending, is not below `id`; or b."""
    cdef int64_t middle
    while a < b:
        middle = (a + b) // 2
        if ids[middle] < id:
            a = middle + 1
        else:
            b = middle
    return a


cdef void add_range(
    int64_t first, int64_t last, const int64_t[::1] row_starts, const int64_t[:, ::1] sizes,
    const int32_t[:, ::1] shared, Entries entries,
    const float[:, ::1] weighted, const float[:, :, ::1] of_shared, const float[:, ::1] expected,
    const float[:, ::1] sum_expected, float[:, ::1] out,
) noexcept nogil:
    cdef int64_t b, run, p, i, e, start, end, dim = out.shape[1]
    for b in range(sizes.shape[0]):
        for run in range(sizes.shape[1]):  # in each, contexts ascend
            start = first_from(
                &shared[b, 0], sizes[b, run - 1] if run else 0, sizes[b, run], first
            )
            end = first_from(&shared[b, 0], start, sizes[b, run], last)
            for p in range(start, end):
                add_multiple(&out[shared[b, p], 0], &of_shared[b, p, 0], 1, dim)
        for i in range(row_starts[b], row_starts[b + 1]):
            end = entries.starts[i] + entries.n_own[i]
            start = first_from(entries.ids, entries.starts[i], end, first)
            end = first_from(entries.ids, start, end, last)
            for e in range(start, end):
                add_multiple(&out[entries.ids[e], 0], &weighted[i, 0], entries.values[e], dim)
    if last > first:
        matmul(
            b"T", b"N", <int>(last - first), <int>dim, <int>sizes.shape[0], 1,
            &expected[0, first], <int>out.shape[0], &sum_expected[0, 0], <int>dim, 1,
            &out[first, 0], <int>dim,
        )


def add_up(
    const int64_t[::1] row_starts, const int64_t[:, ::1] sizes, const int32_t[:, ::1] shared,
    const int64_t[::1] entry_starts, const int64_t[::1] n_own,
    const int32_t[::1] entry_ids, float[::1] values, const float[:, ::1] weighted,
    const float[:, :, ::1] of_shared, const float[:, ::1] expected,
    const float[:, ::1] sum_expected, float[:, ::1] out, int n_threads,
):
    """OUT out += what `lay_out` and `sums` describe, for each context: (n_words, dim)."""
    cdef int64_t part, n_words = out.shape[0]
    cdef Entries entries
    entries.starts, entries.n_own, entries.ids = &entry_starts[0], &n_own[0], &entry_ids[0]
    entries.values = &values[0]
    for part in prange(
        RANGES, nogil=True, schedule="dynamic", chunksize=1, num_threads=n_threads
    ):
        add_range(
            part * n_words // RANGES, (part + 1) * n_words // RANGES, row_starts, sizes, shared,
            entries, weighted, of_shared, expected, sum_expected, out,
        )

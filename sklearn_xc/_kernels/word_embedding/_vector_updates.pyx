"""Updates of word vectors: steps of negative sampling, sums by context, steps of Adagrad.

Negative sampling (Mikolov et al., 2013) takes, for each pair (x, y) of a word and a context and for
noise contexts y' drawn in place of y, gradient steps on ``log s(<u_x, v_y>)`` and on
``log s(-<u_x, v_y'>)``, s being the logistic function. Here pairs come with their counts.

Words and contexts are cut into the same number of parts. Cells of the count matrix with the word in
part a and the context in part b make a block; blocks (0, r), (1, r + 1), ... touch different rows
of either matrix, so that they can be visited at the same time without one seeing the other, and
noise is drawn from part b alone. Invariant: the result does not depend on the number of threads.
"""

from cython.parallel cimport prange
from libc.math cimport sqrtf
from libc.stdint cimport int32_t, int64_t, uint64_t

from sklearn_xc._kernels.common._common cimport (
    dispatched, random_below, random_unit, seed_for,
)
from sklearn_xc._kernels.common._vector_ops cimport LANES, add_multiple, dot, prefetch_floats
from sklearn_xc._kernels.common._math cimport fast_exp

cdef enum:
    AHEAD = 8  # rows to prefetch
    MAX_WEIGHT = 8  # of one step: a cell that counts more is visited several times

cdef float TINY = 1e-8  # added to the root of the sum of squared gradients

# -------------------------------------------------------------------------- negative sampling


cdef struct Block:
    const int32_t* words
    const int32_t* contexts
    const float* counts
    int64_t n_cells
    const int32_t* noise_words  # of the contexts' part ...
    const double* threshold  # ... and their alias table
    const int32_t* alias
    int32_t n_noise


cdef dispatched inner(const float* a, const float* b, int64_t n, float* out) noexcept nogil:
    out[0] = dot(a, b, n)


cdef dispatched step_pair(
    const float* u, float* v, float* change, float factor, int64_t n
) noexcept nogil:
    """change += factor v with the old v; v += factor u."""
    cdef int64_t e
    # u stays as it is until all contexts of a visit have stepped, as in word2vec; what it moves by
    # is gathered in `change`.
    for e in range(n):
        change[e] += factor * v[e]
        v[e] += factor * u[e]


cdef dispatched apply_change(float* u, float* change, int64_t n) noexcept nogil:
    cdef int64_t e
    for e in range(n):
        u[e] += change[e]
        change[e] = 0


cdef inline float miss(float score, float label) noexcept nogil:
    """label - sigmoid(score)."""
    # The derivative of log s(z) is 1 - s(z), that of log s(-z) is 0 - s(z).
    return label - <float>1 / (<float>1 + fast_exp(-score))


cdef void visit(
    Block block, float* U, float* V, int64_t dim, int32_t n_negatives,
    double first_rate, double last_rate, uint64_t state, float* change,
) noexcept nogil:
    """Steps on all cells of a block in their order, the rate falling from first to last."""
    cdef int64_t i, visits, _t, _n, e
    cdef int32_t y, j, drawn
    cdef double rate, weight
    cdef float score
    cdef float* u
    cdef float* v
    for e in range(dim):
        change[e] = 0
    for i in range(block.n_cells):
        # A step for a large count would overshoot: equal shares, each with noise of its own.
        visits = <int64_t>(block.counts[i] / MAX_WEIGHT) + 1
        weight = block.counts[i] / visits
        # Linear, from one round to the next.
        rate = first_rate + (last_rate - first_rate) * i / block.n_cells
        y = block.contexts[i]
        u = U + <int64_t>block.words[i] * dim
        for _t in range(visits):
            v = V + <int64_t>y * dim
            inner(u, v, dim, &score)
            step_pair(u, v, change, <float>(rate * weight) * miss(score, 1), dim)
            for _n in range(n_negatives):
                # Walker's alias method: a column at random, then one of the two contexts that share
                # it. All are below n_noise.
                j = <int32_t>random_below(&state, block.n_noise)
                if random_unit(&state) >= block.threshold[j]:
                    j = block.alias[j]
                drawn = block.noise_words[j]
                # The pair itself is no noise.
                if drawn == y:
                    continue
                v = V + <int64_t>drawn * dim
                inner(u, v, dim, &score)
                step_pair(u, v, change, <float>(rate * weight) * miss(score, 0), dim)
            apply_change(u, change, dim)


cdef class Cells:
    """The cells of a count matrix, block by block, each in the order of its steps.

    Parameters
    ----------
    words, contexts, counts : (n_cells,)
    starts : (n_parts ** 2 + 1,)
        Where the cells of block (a, b) begin, at a * n_parts + b.
    """

    cdef const int32_t[::1] words, contexts
    cdef const float[::1] counts
    cdef const int64_t[::1] starts

    def __init__(self, words, contexts, counts, starts):
        self.words, self.contexts, self.counts, self.starts = words, contexts, counts, starts


cdef class Noise:
    """The contexts of each part and how likely they are drawn.

    Parameters
    ----------
    words, starts : (n_words,), (n_parts + 1,)
    threshold, alias : (n_words,)
        Their alias tables, part by part, with places counted inside the part.
    """

    cdef const int32_t[::1] words, alias
    cdef const int64_t[::1] starts
    cdef const double[::1] threshold

    def __init__(self, words, starts, threshold, alias):
        self.words, self.starts, self.threshold, self.alias = words, starts, threshold, alias


def negative_sampling(
    Cells cells, Noise noise, int32_t round_number, float[:, ::1] U, float[:, ::1] V,
    int32_t n_negatives, double first_rate, double last_rate, uint64_t seed,
    float[:, ::1] change, int n_threads,
):
    """Visit the blocks (a, a + round_number) of all parts a.

    Parameters
    ----------
    cells, noise : IN
    U, V : IN / OUT (n_words, dim)
    change : scratch (n_parts, dim)
    """
    cdef int32_t a, b, n_parts = <int32_t>(noise.starts.shape[0] - 1)
    cdef int64_t start, at, block_number, dim = U.shape[1]
    # a and b both take each part once in a round: rows of U, V and `change` are of one block.
    for a in prange(n_parts, nogil=True, schedule="dynamic", num_threads=n_threads):
        b = (a + round_number) % n_parts
        block_number = <int64_t>a * n_parts + b
        start = cells.starts[block_number]
        at = noise.starts[b]
        # Empty blocks have no first cell to point to, parts without words no noise.
        if cells.starts[block_number + 1] > start and noise.starts[b + 1] > at:
            # Each block has a random stream of its own, whichever thread visits it.
            visit(
                Block(
                    &cells.words[0] + start, &cells.contexts[0] + start, &cells.counts[0] + start,
                    cells.starts[block_number + 1] - start,
                    &noise.words[0] + at, &noise.threshold[0] + at, &noise.alias[0] + at,
                    <int32_t>(noise.starts[b + 1] - at),
                ),
                &U[0, 0], &V[0, 0], dim, n_negatives, first_rate, last_rate,
                seed_for(seed, block_number), &change[a, 0],
            )


# ---------------------------------------------------------------------------- sums and Adagrad


def mark_found(
    const int32_t[:, ::1] ids, const int64_t[::1] counts, const int32_t[::1] place,
    float[:, ::1] weights, float absent,
):
    """OUT weights[i, place[k]] = absent for each word k of set i that has a place.

    Parameters
    ----------
    ids, counts : IN (n_rows, capacity), (n_rows,)
    place : IN (n_words,), -1 for none
    weights : IN / OUT (n_rows, n_places)
    """
    cdef Py_ssize_t i
    cdef int64_t p
    cdef int32_t at
    with nogil:
        for i in range(ids.shape[0]):
            for p in range(counts[i]):
                at = place[ids[i, p]]
                # A word may be in the set and drawn as well: it counts once, in the set.
                if at >= 0:
                    weights[i, at] = absent


cdef void add_columns(
    const int32_t* ids, const float* values, const int32_t* rows, int64_t n_entries,
    const float* table, float* out, int64_t width, int64_t dim,
) noexcept nogil:
    cdef int64_t e
    for e in range(n_entries):
        # Entries go by row, so that contexts jump about in `out`.
        if e + AHEAD < n_entries:
            prefetch_floats(out + ids[e + AHEAD] * dim, width)
        add_multiple(out + ids[e] * dim, table + rows[e] * dim, values[e], width)


def add_rows(
    const int32_t[::1] ids, const float[::1] values, const int32_t[::1] rows,
    const float[:, ::1] table, float[:, ::1] out, int n_threads,
):
    """OUT out[ids[e]] += values[e] * table[rows[e]] for all entries in their order.

    Each thread has columns of its own, so that sums are taken in the same order by any number.

    Parameters
    ----------
    ids, values, rows : IN (n_entries,), below n_out and below n_rows
    table : IN (n_rows, dim)
    out : IN / OUT (n_out, dim)
    """
    cdef int64_t dim = out.shape[1], n_entries = ids.shape[0], first, last
    # Columns, not entries, are shared among threads: every entry adds to any row, so that threads
    # with entries of their own would have to wait for each other, and sums would change their
    # order. A thread has at least one vector of columns.
    cdef int32_t part, n_parts = <int32_t>max(1, min(n_threads, dim // LANES))
    if n_entries == 0:
        return
    for part in prange(n_parts, nogil=True, schedule="static", num_threads=n_threads):
        first, last = part * dim // n_parts, (part + 1) * dim // n_parts
        add_columns(
            &ids[0], &values[0], &rows[0], n_entries, &table[0, 0] + first, &out[0, 0] + first,
            last - first, dim,
        )


cdef dispatched step_row(
    float* row, float* squares, const float* gradient, float factor, int64_t n, float rate
) noexcept nogil:
    cdef int64_t c
    cdef float g
    for c in range(n):
        # w -= rate g / (sqrt(sum g^2) + TINY), coordinate by coordinate; TINY makes 0 / 0 a step of
        # 0.
        g = factor * gradient[c]
        squares[c] += g * g
        row[c] -= rate * g / (sqrtf(squares[c]) + TINY)


def adagrad_step(
    float[:, ::1] table, float[:, ::1] squares, const float[:, ::1] gradient,
    const int64_t[::1] rows, const float[::1] factor, float rate, int n_threads,
):
    """One step of some rows against multiples of their gradients, or of all.

    Parameters
    ----------
    table, squares : IN/OUT (n_rows, n_columns), squares: the sums of squared gradients
    gradient : IN (n, n_columns)
    rows : IN (n,), distinct, or None for all in their order
    factor : IN (n,)
    rate : IN
    """
    cdef int64_t i, k
    cdef bint every = rows is None
    if table.shape[1] == 0:
        return
    for i in prange(gradient.shape[0], nogil=True, schedule="static", num_threads=n_threads):
        # Rows are distinct, so that no two threads write to the same one.
        k = i if every else rows[i]
        step_row(&table[k, 0], &squares[k, 0], &gradient[i, 0], factor[i], table.shape[1], rate)

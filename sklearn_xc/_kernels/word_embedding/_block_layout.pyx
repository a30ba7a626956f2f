"""Contexts that blocks of words are scored with in skip-gram.

The gradient of the collapsed objective (eq. 9 of the LDGS paper) in the vector u_x of a word is
``sum_y (p(y|x) - q(y|x)) v_y``, p being the softmax of <v_y, u_x> over all contexts y. A block of
similar words takes that sum over

* shared contexts, scored for all its words: the most frequent and those retrieved ("included"
  below), then some drawn, each with an importance weight;
* for each word those of its own contexts that are not included.

Invariant of a row of `shared`: [0, FREQUENT) are frequent, [FREQUENT, INCLUDED) retrieved,
[INCLUDED, FEW) drawn for the steps of words, [FEW, ALL) drawn for those of contexts only. Each
context stands there once, and each of the four parts ascends. A block belongs to one thread.
"""

from cython.parallel cimport parallel, prange, threadid
from libc.math cimport log
from libc.stdint cimport int32_t, int64_t

from sklearn_xc._kernels.common._common cimport dispatched


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
    # Point j lies at (j + offset) / n of the last end; below ends[k] lie ceil(ends[k] n / last -
    # offset) of them.
    cdef double factor = n / ends[n_ends - 1], below
    cdef int64_t k
    cdef int32_t whole
    for k in range(n_ends):
        below = ends[k] * factor - offset
        below = below if below > 0 else 0
        whole = <int32_t>below
        count[k] = whole + 1 if below > whole else whole
    # All points lie below the last end, whatever rounding says.
    count[n_ends - 1] = <int32_t>n
    # Rounding may put one point more below an end; counts stay ascending.
    for k in range(n_ends):
        count[k] = count[k] if count[k] < n else <int32_t>n


cdef int64_t add_drawn(
    Draws draws, const int32_t* place, bint of_few, int64_t at,
    int32_t* shared, float* weight, float* few_weight,
) noexcept nogil:
    """OUT the contexts drawn from `at` on, of few or only of more; returns where they end."""
    cdef int64_t k
    cdef int32_t times, more
    cdef double total, chance
    for k in range(draws.n_others):
        # Counts up to each context become draws that fall on it.
        times = draws.few[k] - (draws.few[k - 1] if k else 0)
        more = draws.more[k] - (draws.more[k - 1] if k else 0)
        # Included contexts are scored anyway, with importance weight 1: a draw that falls on one
        # does not count.
        if times + more == 0 or (times > 0) != of_few or place[draws.others[k]] >= 0:
            continue
        total = draws.ends[draws.n_others - 1]
        # A sum over all contexts is estimated by one over the draws, each weighted by 1 / (n
        # chance): here the logarithm, to be added to a score, for `times + more` draws of one
        # context.
        chance = (draws.ends[k] - (draws.ends[k - 1] if k else 0)) / total
        shared[at] = draws.others[k]
        weight[at] = <float>log((times + more) / (draws.n * chance))
        if of_few:
            # Steps of words see the draws of few alone, n_few of them.
            few_weight[at] = <float>log(times / (draws.n_few * chance))
        at += 1
    return at


cdef void split_row(
    const int32_t* ids, const float* share, int64_t n, const int32_t* place, int64_t n_included,
    int64_t* n_own, int32_t* entry_ids, float* entry_share, int32_t* entry_drawn,
) noexcept nogil:
    """OUT entries: the word's own contexts from the first on, places of included ones behind."""
    cdef int64_t e, first = 0, last = n
    cdef int32_t at
    # From both ends: own contexts ascend from the first on, which `first_from` needs;
    # of those included the order does not matter.
    for e in range(n):
        at = place[ids[e]]
        if 0 <= at < n_included:
            last -= 1
            entry_ids[last], entry_share[last], entry_drawn[last] = at, share[e], -1
        else:
            # A context that was drawn is the word's own all the same: it is scored exactly for this
            # word, and its place among the draws is noted, where it then must not count.
            entry_ids[first], entry_share[first], entry_drawn[first] = ids[e], share[e], at
            first += 1
    n_own[0] = first


cdef class Blocks:
    """Blocks of words and what they are scored with: what `lay_out` fills.

    Parameters
    ----------
    row_starts : (n_blocks + 1,), of the words of each block
    sizes : (n_blocks, 4), how many shared contexts are frequent, are included, are included or of
        few, are there
    shared : (n_blocks, capacity), the frequent, the retrieved, those of few, the rest
    weight, few_weight : (n_blocks, capacity), logarithms of importance weights, if
        all count and if only those included or of few do
    entry_starts : (n_rows + 1,), the places of the entries of each word, one for each pair
    n_own : (n_rows,), how many entries are own contexts; they stand first, ascending
    entry_ids : (n_entries,), own contexts, and places of others in `shared`
    entry_share : (n_entries,), q(y|x)
    entry_drawn : (n_entries,), the place of an own context in `shared`, where it then does not
        count for the word; or -1
    """

    def __init__(
        self, row_starts, sizes, shared, weight, few_weight, entry_starts, n_own, entry_ids,
        entry_share, entry_drawn,
    ):
        self.row_starts, self.sizes, self.shared = row_starts, sizes, shared
        self.weight, self.few_weight = weight, few_weight
        self.entry_starts, self.n_own = entry_starts, n_own
        self.entry_ids, self.entry_share, self.entry_drawn = entry_ids, entry_share, entry_drawn


cdef class Contexts:
    """The contexts of all words, and which are scored for how many of them.

    Parameters
    ----------
    indptr, ids, share : the contexts of all words, ascending, and q(y|x), word by word
    frequent : contexts included in all blocks, ascending
    others, ends : contexts to draw from, ascending, and the sums of their chances
    """

    cdef const int64_t[::1] indptr
    cdef const int32_t[::1] ids, frequent, others
    cdef const float[::1] share
    cdef const double[::1] ends

    def __init__(self, indptr, ids, share, frequent, others, ends):
        self.indptr, self.ids, self.share = indptr, ids, share
        self.frequent, self.others, self.ends = frequent, others, ends


cdef void lay_out_block(
    int64_t b, const int64_t[::1] rows, Contexts contexts, const int32_t* retrieved,
    int64_t n_retrieved, Draws draws, Blocks blocks, int32_t* place, const double* offsets,
) noexcept nogil:
    cdef int64_t p, i, first, last, at, n = contexts.frequent.shape[0]
    # Two systematic samples of their own, so that one is unbiased without the other.
    if draws.n_others:
        count_points(draws.ends, draws.n_others, draws.n_few, offsets[0], draws.few)
        count_points(draws.ends, draws.n_others, draws.n - draws.n_few, offsets[1], draws.more)
    blocks.sizes[b, FREQUENT] = n
    for p in range(n):
        blocks.shared[b, p] = contexts.frequent[p]
    for p in range(n_retrieved):
        blocks.shared[b, n + p] = retrieved[p]
    n += n_retrieved
    for p in range(n):
        # Logarithms of 1.
        blocks.weight[b, p] = blocks.few_weight[b, p] = 0
        place[blocks.shared[b, p]] = <int32_t>p
    blocks.sizes[b, INCLUDED] = n
    n = add_drawn(
        draws, place, True, n, &blocks.shared[b, 0], &blocks.weight[b, 0], &blocks.few_weight[b, 0]
    )
    blocks.sizes[b, FEW] = n
    n = add_drawn(
        draws, place, False, n, &blocks.shared[b, 0], &blocks.weight[b, 0], &blocks.few_weight[b, 0]
    )
    blocks.sizes[b, ALL] = n
    # After both draws: add_drawn takes each context with a place for an included one.
    for p in range(blocks.sizes[b, INCLUDED], n):
        place[blocks.shared[b, p]] = <int32_t>p
    for i in range(blocks.row_starts[b], blocks.row_starts[b + 1]):
        first, last = contexts.indptr[rows[i]], contexts.indptr[rows[i] + 1]
        at = blocks.entry_starts[i]
        # &contexts.ids[first] would lie outside for the last words, if they have no contexts.
        if last > first:
            split_row(
                &contexts.ids[first], &contexts.share[first], last - first, place,
                blocks.sizes[b, INCLUDED],
                &blocks.n_own[i], &blocks.entry_ids[at], &blocks.entry_share[at],
                &blocks.entry_drawn[at],
            )
        else:
            blocks.n_own[i] = 0
    # -1 everywhere again, as the next block of the thread expects.
    for p in range(n):
        place[blocks.shared[b, p]] = -1


def lay_out(
    const int64_t[::1] rows, Contexts contexts, const int32_t[::1] retrieved,
    const int64_t[::1] retrieved_starts, int64_t n_few, int64_t n_drawn,
    const double[:, ::1] offsets, Blocks blocks, int32_t[:, ::1] place,
    int32_t[:, :, ::1] counts, int n_threads,
):
    """The shared contexts of blocks, and their words' own.

    Drawn are contexts at equal distances along the sum of all chances (systematic sampling): where
    frequencies rise or fall with the numbers of contexts, so do they in what is drawn.

    Parameters
    ----------
    rows : IN (n_rows,), the words, block after block
    contexts : IN
    retrieved, retrieved_starts : IN, (n_blocks + 1,), those retrieved for one, ascending, block
        after block
    n_few, n_drawn : IN, draws for the steps of words, and draws in all
    offsets : IN (n_blocks, 2), from [0, 1): where the draws of few and of the rest begin
    blocks : OUT, but for their row_starts and entry_starts
    place : SCRATCH (n_threads, n_words), -1 before and after
    counts : SCRATCH (n_threads, 2, n_words)
    """
    cdef int64_t b
    cdef int thread = 0
    cdef const int32_t* first_retrieved = &retrieved[0] if retrieved.shape[0] else NULL
    cdef Draws draws
    draws.n_others, draws.n_few, draws.n = contexts.others.shape[0], n_few, n_drawn
    draws.others = &contexts.others[0] if draws.n_others else NULL
    draws.ends = &contexts.ends[0] if draws.n_others else NULL
    with nogil, parallel(num_threads=n_threads):
        thread = threadid()
        for b in prange(blocks.row_starts.shape[0] - 1, schedule="dynamic", chunksize=1):
            lay_out_block(
                b, rows, contexts, first_retrieved + retrieved_starts[b],
                retrieved_starts[b + 1] - retrieved_starts[b],
                with_counts(draws, &counts[thread, 0, 0], &counts[thread, 1, 0]), blocks,
                &place[thread, 0], &offsets[b, 0],
            )


cdef inline Draws with_counts(Draws draws, int32_t* few, int32_t* more) noexcept nogil:
    draws.few, draws.more = few, more
    return draws

"""The search for the violators of one class that reads only columns which can hold any.

Take an intercept b' = -1 - T below that of the descent.  At (w, b') a negative has a loss only if
<w, x_i> > T > 0, so only features that can lift a score matter: those of positive weight, and those
of negative weight where x is negative.  A set S of them lifts a row by at most

    U(S) = min(sum_S max_i w_j x_ij, ||w_S|| max_i ||x_i||),

so a row whose lifting products over the other, essential features sum up to T - U(S) or less is no
violator (the bound of MaxScore, as in text retrieval).  The few rows above are scored exactly.  The
primal at (w, b') is then known exactly, and the duality gap is a true one, without a term for the
rows that were never looked at.
"""

from libc.math cimport fabs, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from sklearn_xc._kernels.common._common cimport dispatched, prefetch
from sklearn_xc._kernels.common._rows cimport Row, Rows, prefetch_row, row_at
from sklearn_xc._kernels.ppdsparse._class_state cimport (
    OUTSIDE, ROWS_AT_ONCE, ClassState, Keyed, Lifting, loss_of_members,
)
from sklearn_xc._kernels.ppdsparse._losses cimport value
from sklearn_xc._kernels.ppdsparse._problem cimport Columns, Problem, weight_of
from sklearn_xc._kernels.ppdsparse._sorting cimport sort_by_key
from sklearn_xc._kernels.ppdsparse._types cimport Settings, soft_threshold
from sklearn_xc._kernels.ppdsparse._violator_search cimport best_of

cdef enum:
    AHEAD = 8  # hits whose rows are prefetched
    FEW = 4  # entries of a column that are added with one look whether they end the stretch
    TOGETHER = 16  # sums that are compared with the limit before one is looked at
    GROUPS = 1024  # of this many in a stretch of ROWS_AT_ONCE
    # A search through more entries than a fourth of the rows reads the sums of all rows in a line,
    # instead of those of its entries once more.
    ENTRIES_PER_ROW = 4
    PART = 256  # entries of a row that are looked through at once
    # What a row that is scored costs beside its entries, in entries: it is read from anywhere in X,
    # and that comes from a cache or from memory.
    SCORED = 12
    SCORED_FROM_MEMORY = 30
    IN_CACHES = 1 << 21  # entries of X, 16 MB

cdef double ROUNDING = 6e-8  # relative error of a float32 operation, 2^-24

cdef int publish_weights(
    ClassState state, const Settings *settings, Problem problem
) except -1 nogil:
    """w = S(v) / l2 where a search reads it, its norms, and the features that can lift a row."""
    cdef Py_ssize_t q, n = state.features.size(), n_weights = 0
    cdef int32_t j
    cdef float w
    state.searched.resize(n)
    state.weighted.resize(n)
    cdef float *searched = state.searched.data()
    cdef int32_t *weighted = state.weighted.data()
    for q in range(n):
        w = soft_threshold(state.v[q], settings.l1) / settings.l2
        searched[q] = w
        weighted[n_weights] = <int32_t>q  # no branch, as in `hits_among_entries`
        n_weights += w != 0
    state.weighted.resize(n_weights)
    state.lifting.clear()
    state.l1_norm = state.squares = 0
    for q in range(n_weights):
        j = state.features[weighted[q]]
        w = searched[weighted[q]]
        weighted[q] = j
        state.weights[j] = w
        state.has_weight[j >> 6] |= <uint64_t>1 << (j & 63)
        state.l1_norm += fabs(w)
        state.squares += <double>w * w
        add_lifting(state, problem, j, w)
    return 0


cdef int add_lifting(ClassState state, Problem problem, int32_t j, float w) except -1 nogil:
    """The parts of a feature's column, if they can lift a row.

    A part is left out for its length, the longer by what it can lift the sooner.  The large entries
    come after all others, which are at least nine times as many and lift less.
    """
    cdef Columns columns = problem.X.columns
    cdef double most = <double>w * (problem.highest[j] if w > 0 else problem.lowest[j])
    cdef Lifting one
    if most <= 0:
        return 0
    one.feature = j
    one.weight = w
    one.most = most
    one.square = <double>w * w
    one.first = columns.middle[j]
    one.end = columns.indptr[j + 1]
    if one.first < one.end:
        one.most = min(most, fabs(w) * <double>columns.rest[j])
        one.key = (one.first - one.end) / one.most
        state.lifting.push_back(one)
        one.most = most - one.most
        one.square = 0
    one.end = one.first
    one.first = columns.indptr[j]
    one.key = (one.first - one.end) / most
    state.lifting.push_back(one)
    return 0


cdef void withdraw_weights(ClassState state) noexcept nogil:
    cdef Py_ssize_t q
    for q in range(<Py_ssize_t>state.weighted.size()):
        state.weights[state.weighted[q]] = 0
        state.has_weight[state.weighted[q] >> 6] = 0


cdef int sort_features(ClassState state) except -1 nogil:
    """The parts of columns of smallest key first."""
    cdef Py_ssize_t q, n = state.lifting.size()
    cdef Keyed *keyed
    state.keyed.resize(n)  # far smaller than what they stand for
    state.unsorted.swap(state.lifting)
    state.lifting.resize(n)
    keyed = state.keyed.data()
    for q in range(n):
        keyed[q].key = state.unsorted[q].key
        keyed[q].feature = state.unsorted[q].feature
        keyed[q].place = <int32_t>q
    sort_by_key(keyed, n)
    for q in range(n):
        state.lifting[q] = state.unsorted[keyed[q].place]
    return 0


cdef Py_ssize_t split(ClassState state, double slack, double *bound) except -1 nogil:
    """Put parts of columns that are long for what they lift in front, up to U(S) <= slack.

    Returns
    -------
    first : number of these non-essential parts; U of them is in `bound`
    """
    cdef Py_ssize_t first
    cdef double squares = 0, total = 0, highest
    cdef Lifting *one
    sort_features(state)
    bound[0] = 0
    for first in range(<Py_ssize_t>state.lifting.size()):
        one = &state.lifting[first]
        squares += one.square
        total += one.most
        highest = min(sqrt(squares) * state.largest_norm, total)
        if highest > slack:
            return first
        bound[0] = highest
    return state.lifting.size()


cdef double cost_from(ClassState state, Py_ssize_t first) noexcept nogil:
    """Entries of the parts of columns from `first` on."""
    cdef Py_ssize_t q
    cdef double cost = 0
    for q in range(first, <Py_ssize_t>state.lifting.size()):
        cost += state.lifting[q].end - state.lifting[q].first
    return cost


cdef void accumulate(
    ClassState state, Problem problem, Py_ssize_t first, double limit
) noexcept nogil:
    """Rows outside the active set whose lifting products from `first` on exceed `limit` in all.

    No such row is missed, whatever the rounding; their sums are in `hit_scores`.
    """
    cdef Columns columns = problem.X.columns
    cdef Py_ssize_t q, n = state.lifting.size(), chunk, low, high
    cdef int64_t n_entries
    # A sum of n products that are not negative is off by at most so much of itself.
    cdef float least = <float>(limit * (1 - ROUNDING * (n - first + 4)))
    state.n_hits = 0
    for q in range(first, n):
        state.lifting[q].at = state.lifting[q].first
    for chunk in range((problem.X.n_rows + ROWS_AT_ONCE - 1) // ROWS_AT_ONCE):
        low = chunk * ROWS_AT_ONCE
        high = min(low + ROWS_AT_ONCE, problem.X.n_rows)
        n_entries = add_up(state, columns, first, low, high)
        if n_entries * ENTRIES_PER_ROW > high - low:
            hits_among_all(state, low, high - low, least)
            memset(&state.sums[0], 0, (high - low) * sizeof(float))
        else:
            hits_among_entries(state, columns, first, low, least)
        state.n_entries += n_entries
        state.cost_of_searches += n_entries


cdef inline float lift_of(float product) noexcept nogil:
    cdef float zero = 0
    return product if product > zero else zero


cdef int64_t add_up(
    ClassState state, Columns columns, Py_ssize_t first, Py_ssize_t low, Py_ssize_t high
) noexcept nogil:
    """Lifting products of the rows [low, high) into `sums`; returns how many entries were read."""
    cdef Py_ssize_t q, n = state.lifting.size()
    cdef int64_t at, end, n_entries = 0
    cdef int e
    cdef float w
    cdef Lifting *one
    cdef float *sums = &state.sums[0]
    cdef const int32_t *rows = columns.rows
    cdef const float *values = columns.values
    for q in range(first, n):
        one = &state.lifting[q]
        if q + 1 < n:
            at = state.lifting[q + 1].at
            prefetch(rows + at)
            prefetch(values + at)
        w = one.weight
        at = one.begin = one.at
        end = one.end
        while at + FEW <= end and rows[at + FEW - 1] < high:
            for e in range(FEW):
                sums[rows[at + e] - low] += lift_of(w * values[at + e])
            at += FEW
        while at < end and rows[at] < high:
            sums[rows[at] - low] += lift_of(w * values[at])
            at += 1
        one.at = at
        n_entries += at - one.begin
    return n_entries


cdef void hits_among_entries(
    ClassState state, Columns columns, Py_ssize_t first, Py_ssize_t low, float least
) noexcept nogil:
    """Visit the rows of the entries once more; the first visit takes the sum and clears it."""
    cdef Py_ssize_t q, n = state.n_hits
    cdef int64_t e
    cdef int32_t i
    cdef float s
    cdef float *sums = &state.sums[0]
    cdef int32_t *hits = &state.hits[0]
    cdef float *scores = &state.hit_scores[0]
    cdef const uint8_t *mark = &state.mark[0]
    for q in range(first, <Py_ssize_t>state.lifting.size()):
        for e in range(state.lifting[q].begin, state.lifting[q].at):
            i = columns.rows[e]
            s = sums[i - low]
            sums[i - low] = 0
            # written in any case, counted if it is one: a branch would often be guessed wrongly
            hits[n] = i
            scores[n] = s
            n += (s > least) & (mark[i] == OUTSIDE)
    state.n_hits = n


cdef void hits_among_all(
    ClassState state, Py_ssize_t low, Py_ssize_t n_rows, float least
) noexcept nogil:
    cdef Py_ssize_t at, i, n = state.n_hits
    cdef uint8_t any_hit[GROUPS]
    cdef const float *sums = &state.sums[0]
    cdef int32_t *hits = &state.hits[0]
    cdef float *scores = &state.hit_scores[0]
    cdef const uint8_t *mark = &state.mark[low]
    compare_sums(sums, n_rows, least, any_hit)
    for at in range((n_rows + TOGETHER - 1) // TOGETHER):
        if not any_hit[at]:
            continue
        for i in range(at * TOGETHER, min(at * TOGETHER + TOGETHER, n_rows)):
            # as above
            hits[n] = <int32_t>(low + i)
            scores[n] = sums[i]
            n += (sums[i] > least) & (mark[i] == OUTSIDE)
    state.n_hits = n


cdef dispatched compare_sums(
    const float *sums, Py_ssize_t n, float least, uint8_t *any_hit
) noexcept nogil:
    """Whether any of TOGETHER sums is above the limit; the last group may be shorter."""
    cdef Py_ssize_t at, i
    cdef int found
    for at in range(n // TOGETHER):
        found = 0
        for i in range(TOGETHER):
            found |= sums[at * TOGETHER + i] > least
        any_hit[at] = found
    if n % TOGETHER:
        any_hit[n // TOGETHER] = 1


cdef inline double score_of(
    Row row, const float *weights, const uint64_t *has_weight
) noexcept nogil:
    """The exact score, of which only the entries with a weight are read: mostly a few."""
    cdef int32_t found[PART]
    cdef int64_t e, f, n, start = 0
    cdef uint32_t j
    cdef double z = 0
    while start < row.n:
        n = 0
        for e in range(start, min(start + PART, row.n)):
            j = <uint32_t>row.features[e]
            found[n] = <int32_t>(e - start)  # no branch, as in `hits_among_entries`
            n += (has_weight[j >> 6] >> (j & 63)) & 1
        for f in range(n):
            e = start + found[f]
            z += <double>weights[row.features[e]] * row.values[e]
        start += PART
    return z


cdef void score_hits(
    ClassState state, const Settings *settings, Problem problem, double threshold
) noexcept nogil:
    """Exact scores of the hits; those above the threshold stay, and their losses are summed."""
    cdef Py_ssize_t h, n = state.n_hits, kept = 0
    cdef Py_ssize_t scored = SCORED if problem.X.n_entries <= IN_CACHES else SCORED_FROM_MEMORY
    cdef double z
    cdef Rows X = problem.X.rows
    cdef Row row
    cdef int32_t *hits = &state.hits[0]
    state.loss = 0
    state.cost_of_searches += n * scored
    for h in range(n):
        if h + 2 * AHEAD < n:  # where the row begins, which its own prefetch reads
            prefetch(X.indptr + hits[h + 2 * AHEAD])
        if h + AHEAD < n:
            prefetch_row(X, hits[h + AHEAD])
        row = row_at(X, hits[h])
        z = score_of(row, &state.weights[0], &state.has_weight[0])
        state.n_entries += row.n
        state.cost_of_searches += row.n
        if z > threshold:
            state.loss += weight_of(problem, hits[h]) * value(&settings.loss, z - threshold)
            hits[kept] = hits[h]
            state.hit_scores[kept] = <float>z
            kept += 1
    state.loss *= state.negative_weight
    state.n_hits = kept


cdef void certified_search(
    ClassState state,
    const Settings *settings,
    Problem problem,
    Py_ssize_t first,
    double threshold,
    double bound,
) noexcept nogil:
    """All violators at the intercept -1 - threshold, and the primal there."""
    cdef double intercept = -1 - threshold
    accumulate(state, problem, first, threshold - bound)
    score_hits(state, settings, problem, threshold)
    state.loss += loss_of_members(state, settings, intercept)
    state.n_violators = state.n_hits + state.members.size()
    state.primal = (
        settings.l1 * state.l1_norm
        + 0.5 * <double>settings.l2 * (state.squares + intercept * intercept)
        + state.loss
    )


cdef void quick_search(
    ClassState state,
    const Settings *settings,
    Problem problem,
    Py_ssize_t first,
    double threshold,
    Py_ssize_t keep,
) noexcept nogil:
    """Violators among the rows that the features from `first` on lift most; certifies nothing."""
    accumulate(state, problem, first, 0.5 * threshold)
    keep_best(state, keep)
    score_hits(state, settings, problem, threshold)


cdef void keep_best(ClassState state, Py_ssize_t keep) noexcept nogil:
    """The hits of highest score; ties go to the earlier."""
    state.n_hits = best_of(&state.hits[0], &state.hit_scores[0], state.n_hits, keep)

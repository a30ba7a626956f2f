"""PPDSparse for small classes: one class at a time, by searches that read few columns.

A class whose searches would read more than its share of a search in lanes is handed to these
(`_solver`), with its active set.
"""

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t

from sklearn_xc._kernels.common._common cimport dispatched, interrupted, random_below, seed_for
from sklearn_xc._kernels.ppdsparse._class_state cimport (
    OUTSIDE, POSITIVE, ClassState, Lifting, Member, add_members, drop_idle_negatives, dual_value,
    refresh_v,
)
from sklearn_xc._kernels.ppdsparse._coordinate_step cimport (
    Pass, begin_pass, move_anchor, shuffle, step,
)
from sklearn_xc._kernels.ppdsparse._held_intercept cimport hold_of, visits_of_positive
from sklearn_xc._kernels.ppdsparse._losses cimport is_smooth, most_of
from sklearn_xc._kernels.ppdsparse._problem cimport Problem
from sklearn_xc._kernels.ppdsparse._pruned_search cimport (
    accumulate, certified_search, cost_from, keep_best, publish_weights, quick_search,
    sort_features, split, withdraw_weights,
)
from sklearn_xc._kernels.ppdsparse._types cimport (
    LANES, DualsOf, Settings, add_entries, limit_of_visits, thresholded_dot,
)

# Dual coordinate descent on the copied rows of one class (PPDSparse, Algorithm 2).

cdef struct Descent:  # pointers into the copied rows
    Member *members
    int32_t *order
    const int32_t *places
    const float *values
    float *v
    Py_ssize_t n_left  # the first of `order`; others sit at zero and wait to leave


cdef dispatched visit_members(Descent *d, const Settings *settings, Pass *at) noexcept nogil:
    cdef Pass p = at[0]  # in registers
    cdef float l1 = settings.l1, change
    cdef Py_ssize_t a
    cdef Member *m
    cdef const int32_t *places
    cdef const float *x
    for a in range(d.n_left):
        m = &d.members[d.order[a]]
        places = d.places + m.start
        x = d.values + m.start
        change = step(
            &m.alpha, m.y, m.most, m.inverse_weight, m.inverse_curvature,
            thresholded_dot(places, x, m.length, d.v, l1), d.order, a, &p,
        )
        if change != 0:
            add_entries(places, x, m.length, change, d.v)
    at[0] = p


cdef int descend(
    ClassState state, const Settings *settings, int n_passes, double precision, float tiny
) except -1 nogil:
    """Passes, each in a fresh random order, until the squared gradients are small.

    The dual is concave by `inverse` of the loss: the gap that members of the active set leave is
    half the sum of their squared gradients over it (for C_i = 1) and of what the intercept b has
    against them, (s_0 - l2 b)^2 / l2; the objective is at least half the sum of the dual variables.
    """
    cdef Py_ssize_t n = state.members.size()
    cdef double pull, left
    cdef float limit = <float>1e30
    cdef Descent d
    cdef Pass at
    order_visits(state)
    d.members = state.members.data()
    d.order = state.order.data()
    d.places = state.places.data()
    d.values = state.values.data()
    d.v = state.v.data()
    d.n_left = state.order.size()
    for _ in range(n_passes):
        state.n_entries += state.places.size() * (<double>d.n_left / max(n, 1))
        at = begin_pass(state.bias, state.anchor, state.hold, limit, tiny, settings)
        shuffle(d.order, d.n_left, &state.rng)
        visit_members(&d, settings, &at)
        d.n_left = at.n_kept
        state.bias += at.sum
        pull = move_anchor(&state.anchor, state.bias, state.hold, settings)
        left = at.squares * settings.loss.steepness + pull
        if left <= precision * settings.tol * total_of(state):
            break
        limit = limit_of_visits(at.worst)
    return 0


cdef int order_visits(ClassState state) except -1 nogil:
    """The members of the active set, positives as often as a pass visits them."""
    cdef Py_ssize_t a, _, n = state.members.size(), n_positives = 0, n_visits = 0, times
    for a in range(n):
        n_positives += state.members[a].y > 0
    times = visits_of_positive(n_positives, n)
    state.order.resize(n + n_positives * (times - 1))
    for a in range(n):
        for _ in range(times if state.members[a].y > 0 else 1):
            state.order[n_visits] = <int32_t>a
            n_visits += 1
    return 0


cdef double total_of(ClassState state) noexcept nogil:
    """The sum of the dual variables."""
    cdef Py_ssize_t a
    cdef double total = 0
    for a in range(<Py_ssize_t>state.members.size()):
        total += state.members[a].alpha
    return total


cdef enum:
    PASSES = 10  # of descent between two searches
    FEW = 50  # random negatives at the start, at least
    FEW_OF_POSITIVE = 10  # or so many, and once more, where these are fewer
    PER_POSITIVE = 5  # random negatives, where that is more
    # These come from a stretch of the rows, which are shuffled, so that it stays in the caches.
    POOL = 8192
    # Entries of the rarest columns of the positives that are read for the first negatives, and how
    # many of these there are, by the number of entries in them.
    RARE_ENTRIES = 3000
    FIRST_ENTRIES = 1500
    FIRST_LEAST = 50
    FIRST_MOST = 150
    FIRST_OF_POSITIVE = 30  # and one more time so many, at most
    # The rows that a class starts with are read by several passes: a class for which they are
    # more than this part of a search in lanes would gain little. One of very few positives needs
    # few passes, and gains until they are as much as that search.
    STARTS = 3
    VERY_FEW = 8
    SELECTED = 100  # violators that join the active set after a search, at least
    SEARCHES_IN_LANES = 4  # of a class

cdef double SLACK = 0.3  # share of the threshold that non-essential features may reach
cdef double QUICK = 0.05  # entries that a quick search reads, as a share of the samples
# Of the intercept below that of the descent: where few rows violate anything, larger shifts leave
# objectives that are higher by up to 0.7 %.
cdef double LARGEST_SHIFT = 0.0125
# Of the gap allowed, what the shift of the intercept may take, and how far a descent goes; both
# shrink as the gap gets near.
cdef double SHIFT_SHARE = 0.2
cdef double PRECISION = 1


cdef struct Round:  # what changes from round to round
    double share
    double precision
    float tiny
    bint first


cdef bint worth_pruning(const Settings *settings, Problem problem) noexcept nogil:
    """Whether the problem is one of those that pruned searches are for.

    The certificate needs an intercept to move, and the bound of what a move costs a smooth loss.
    Rows that are approximated, and small data, are for the lanes.
    """
    return (
        problem.X.has_columns
        and settings.intercept
        and is_smooth(&settings.loss)
        and not settings.sparsify
        and problem.coarse is problem.X
        and problem.X.n_entries > LANES * RARE_ENTRIES
    )


cdef int start(
    ClassState state, const Settings *settings, Problem problem, int32_t label, DualsOf known
) except -1 nogil:
    """The active set starts with the positives, and known or similar and random negatives."""
    cdef Py_ssize_t e, n_positives, n_negatives, n_rows = problem.X.n_rows
    state.label = label
    state.negative_weight = problem.class_weight[label, 0]
    state.positive_weight = problem.class_weight[label, 1]
    state.rng = seed_for(settings.seed, label)
    state.bias = 0
    state.anchor = -1
    state.hold = hold_of(state.negative_weight * problem.total_weight / problem.X.n_rows)
    state.n_iter = 0
    state.primal = 1
    state.n_violators = FEW
    e = problem.positive_indptr[label]
    add_members(
        state, settings, problem, &problem.positive_rows[e],
        &problem.positive_grades[e] if problem.graded else NULL,
        problem.positive_indptr[label + 1] - e, True,
    )
    n_positives = state.members.size()
    resume(state, settings, problem, known)
    n_negatives = state.members.size() - n_positives
    if n_negatives:  # what comes with them needs no others
        return 0
    find_similar(state, problem)
    admit_hits(state, settings, problem)
    n_negatives = n_random(problem, n_positives)
    return add_random_negatives(
        state, settings, problem, n_negatives,
        min(n_rows, max(<Py_ssize_t>POOL, 8 * n_negatives)),
    )


cdef int resume(
    ClassState state, const Settings *settings, Problem problem, DualsOf known
) except -1 nogil:
    """Take the dual variables of an earlier fit, clipped to the box of this one."""
    cdef Py_ssize_t d, a, n_positives = state.members.size()
    cdef int32_t i
    for d in range(known.n):
        i = known.rows[d]
        if state.mark[i] == POSITIVE:
            a = place_of_positive(state.members.data(), n_positives, i)
        elif state.mark[i] == OUTSIDE:
            add_members(state, settings, problem, &i, NULL, 1, False)
            a = state.members.size() - 1
        else:
            continue
        state.members[a].alpha = min(
            known.values[d], most_of(&settings.loss, state.members[a].weight)
        )
    if known.n:
        dual_value(state, settings)
        refresh_v(state)
    if <Py_ssize_t>state.members.size() > n_positives:
        state.anchor = state.bias / settings.l2
    return 0


cdef Py_ssize_t place_of_positive(
    const Member *members, Py_ssize_t n_positives, int32_t wanted
) noexcept nogil:
    """Where a positive stands among them, which begin the active set, ascending."""
    cdef Py_ssize_t low = 0, middle, high = n_positives - 1
    while low < high:
        middle = (low + high) // 2
        if members[middle].row < wanted:
            low = middle + 1
        else:
            high = middle
    return low


cdef inline Py_ssize_t n_similar(Problem problem, Py_ssize_t n_positives) noexcept nogil:
    cdef Py_ssize_t row_length = max(1, problem.X.n_entries // problem.X.n_rows)
    cdef Py_ssize_t most = min(<Py_ssize_t>FIRST_MOST, FIRST_OF_POSITIVE * (n_positives + 1))
    return max(min(max(FIRST_ENTRIES // row_length, FIRST_LEAST), most), 2 * n_positives)


cdef inline Py_ssize_t n_random(Problem problem, Py_ssize_t n_positives) noexcept nogil:
    cdef Py_ssize_t few = min(<Py_ssize_t>FEW, FEW_OF_POSITIVE * (n_positives + 1))
    return min(problem.X.n_rows // 2, max(few, PER_POSITIVE * n_positives))


cdef double entries_to_start(Problem problem, int32_t label, DualsOf known) noexcept nogil:
    """Of the rows that a class starts with, as often as they count."""
    cdef Py_ssize_t n = problem.positive_indptr[label + 1] - problem.positive_indptr[label]
    cdef Py_ssize_t n_others = known.n if known.n else n_similar(problem, n) + n_random(problem, n)
    cdef Py_ssize_t n_rows = n + n_others
    cdef double row_length = <double>problem.X.n_entries / problem.X.n_rows
    return (1 if n <= VERY_FEW else STARTS) * n_rows * row_length


cdef int find_similar(ClassState state, Problem problem) except -1 nogil:
    """Hits: the rows that share most with the sum of the positives, by its rarest features."""
    cdef Py_ssize_t q, e, n = state.features.size(), n_positives = state.members.size()
    cdef double left = RARE_ENTRIES
    cdef Lifting one
    cdef int64_t begin
    state.searched.assign(n, 0)
    for e in range(<Py_ssize_t>state.places.size()):
        state.searched[state.places[e]] += state.values[e]
    state.lifting.clear()
    for q in range(n):
        one.feature = state.features[q]
        one.weight = state.searched[q]
        begin = problem.X.columns.indptr[one.feature]
        one.end = problem.X.columns.indptr[one.feature + 1]
        one.first = problem.X.columns.middle[one.feature]
        one.key = one.end - begin  # shortest first
        if one.first < one.end:
            state.lifting.push_back(one)
            one.key += 0.5  # both parts, always in this order
        one.end = one.first
        one.first = begin
        state.lifting.push_back(one)
    sort_features(state)
    for q in range(<Py_ssize_t>state.lifting.size()):
        left -= state.lifting[q].end - state.lifting[q].first
        if left < 0:
            state.lifting.resize(q)
            break
    accumulate(state, problem, 0, 0)
    keep_best(state, n_similar(problem, n_positives))
    return 0


cdef int admit_hits(
    ClassState state, const Settings *settings, Problem problem
) except -1 nogil:
    """Algorithm 1, step 2: violators join the active set."""
    return add_members(state, settings, problem, &state.hits[0], NULL, state.n_hits, False)


cdef int add_random_negatives(
    ClassState state, const Settings *settings, Problem problem, Py_ssize_t n, Py_ssize_t pool
) except -1 nogil:
    """Of the first `pool` rows; they take the place of the hits."""
    cdef Py_ssize_t q
    state.n_hits = min(n, problem.X.n_rows)
    for q in range(state.n_hits):
        state.hits[q] = random_below(&state.rng, <unsigned int>pool)
    return admit_hits(state, settings, problem)


cdef double choose_threshold(
    ClassState state, const Settings *settings, double share
) noexcept nogil:
    """T = -1 - b' for an intercept b' a little below -1 and below that of the descent.

    Near the optimum the primal does not change with the intercept to first order: a shift by delta
    costs delta^2 / 2 times its second derivative, which is l2 and at most the sum of the weights of
    the rows that have a loss over `inverse`.  delta is such that this is `share` of the gap that is
    allowed.
    """
    cdef double weight = max(state.positive_weight, state.negative_weight)
    cdef double curvature = (
        settings.l2 + weight * state.n_violators * settings.loss.steepness
    )
    cdef double delta = min(
        sqrt(2 * share * settings.tol * max(state.primal, <double>1) / curvature), LARGEST_SHIFT
    )
    cdef double b = state.anchor
    state.intercept_sum = <float>((min(b, <double>-1) - delta) * settings.l2)
    state.intercept = state.intercept_sum / settings.l2
    return -1 - <double>state.intercept


cdef Py_ssize_t quick_start(ClassState state, Problem problem, Py_ssize_t first) noexcept nogil:
    """From which feature on a quick search reads: the cheap end of the essential ones."""
    cdef double left = QUICK * problem.X.n_rows
    cdef Py_ssize_t q = state.lifting.size()
    while q > first and left >= state.lifting[q - 1].end - state.lifting[q - 1].first:
        q -= 1
        left -= state.lifting[q].end - state.lifting[q].first
    return q


cdef bint is_done(ClassState state, const Settings *settings, Round *now) except -1 nogil:
    """The duality gap after a certified search; and how the next round goes if it is too large."""
    cdef double gap
    state.dual = dual_value(state, settings)
    gap = (state.primal - state.dual) / state.primal
    if gap <= settings.tol or state.n_iter == settings.max_iter:
        return True
    refresh_v(state)
    if gap <= 5 * settings.tol:
        now.precision *= 0.5
        now.share *= 0.7
    if state.n_hits == 0:  # the gap is made of many small violations
        now.precision *= 0.5
        now.tiny *= <float>0.3
    return False


cdef int admit_violators(
    ClassState state, const Settings *settings, Problem problem, bint quick
) except -1 nogil:
    cdef Py_ssize_t n_members = state.members.size(), keep = settings.n_select
    cdef bint few = state.n_hits < n_members // 4 + 1
    if keep == 0:
        keep = max(<Py_ssize_t>SELECTED, (1 if quick else 2) * n_members)
    keep_best(state, keep)
    admit_hits(state, settings, problem)
    if few and not quick and state.anchor > -1:
        # with an intercept above -1 the loss is that of all rows: more of them share it
        add_random_negatives(state, settings, problem, 2 * n_members, problem.X.n_rows)
    return 0


cdef inline double search_in_lanes(Problem problem) noexcept nogil:
    """Entries that a search in lanes reads for one of its sixteen classes."""
    return problem.X.n_entries / <double>LANES


cdef double saved_by(ClassState state, Problem problem, bint solved) noexcept nogil:
    """What pruned searches of a class have cost less than lanes, in entries; negative if more.

    A class that is not solved by them is still to be searched for in lanes.
    """
    cdef double saved = SEARCHES_IN_LANES * search_in_lanes(problem) if solved else 0
    return saved - state.cost_of_searches


cdef bint solve_class(
    ClassState state,
    const Settings *settings,
    Problem problem,
    int32_t label,
    DualsOf known,
    const int32_t[::1] stop,
    double *operations,
) except -1 nogil:
    """Fit a class; False where searches in lanes would be cheaper."""
    cdef double in_lanes = search_in_lanes(problem)
    cdef double threshold, bound = 0, cost, counted = 0
    cdef Py_ssize_t first, n_members
    cdef bint quick
    cdef Round now
    if entries_to_start(problem, label, known) > in_lanes:
        return False
    now.share = SHIFT_SHARE
    now.precision = PRECISION
    now.tiny = <float>(0.01 * settings.tol)
    now.first = known.n == 0
    start(state, settings, problem, label, known)
    while True:
        descend(state, settings, PASSES, now.precision, now.tiny)
        drop_idle_negatives(state)
        threshold = choose_threshold(state, settings, now.share)
        publish_weights(state, settings, problem)
        first = split(state, SLACK * threshold, &bound)
        cost = cost_from(state, first)
        state.n_iter += 1
        quick = now.first and cost > 1.5 * QUICK * problem.X.n_rows and settings.max_iter > 1
        now.first = False
        if quick:
            n_members = state.members.size()
            quick_search(
                state, settings, problem, quick_start(state, problem, first), threshold,
                2 * max(<Py_ssize_t>SELECTED, n_members),
            )
        elif cost <= in_lanes:
            certified_search(state, settings, problem, first, threshold, bound)
        withdraw_weights(state)
        operations[0] += state.n_entries - counted
        counted = state.n_entries
        interrupted(stop, operations)
        if not quick and cost > in_lanes:
            return False
        if not quick and is_done(state, settings, &now):
            return True
        admit_violators(state, settings, problem, quick)

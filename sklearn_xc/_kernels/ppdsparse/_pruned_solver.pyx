"""PPDSparse for small classes: one class at a time, by searches that read few columns.

A class whose searches would read more than its share of a search in lanes is handed to these
(`_solver`), with its active set.
"""

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t

from sklearn_xc._kernels.common._common cimport interrupted
from sklearn_xc._kernels.ppdsparse._active_set cimport (
    Workspace, add_members, draw_negatives, drop_idle_negatives, dual_value, refresh_v, start_class,
    warm_start,
)
from sklearn_xc._kernels.ppdsparse._dual_descent cimport descend
from sklearn_xc._kernels.ppdsparse._losses cimport is_smooth
from sklearn_xc._kernels.ppdsparse._problem cimport Problem
from sklearn_xc._kernels.ppdsparse._pruned_search cimport (
    ColumnScratch, Lifting, accumulate, certified_search, copy_rows, cost_from, keep_best,
    publish_weights, quick_search, sort_features, split, withdraw_weights,
)
from sklearn_xc._kernels.ppdsparse._types cimport LANES, DualsOf, Lane, Settings

cdef enum:
    PASSES_ALONE = 10  # of descent between two searches
    RANDOM_LEAST = 50  # negatives at the start
    RANDOM_OF_POSITIVE = 10  # or so many, and once more, where these are fewer
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
    double share  # of the gap allowed, which the shift of the intercept may take
    double precision  # and the descent may leave
    bint first


cdef bint worth_pruning(const Settings *settings, Problem problem) noexcept nogil:
    """Return whether the problem is one of those that pruned searches are for.

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
    Workspace work, ColumnScratch scratch, const Settings *settings, Problem problem, int32_t label,
    DualsOf known,
) except -1 nogil:
    """Start the active set with the positives, and known or similar and random negatives."""
    cdef Lane *lane = &work.lanes[0]
    cdef Py_ssize_t n_positives, n_negatives
    start_class(work, 0, label, known, settings, problem)
    lane.compact = True
    # Until a search gives one: of the size that `choose_threshold` takes at least.
    lane.primal = 1
    scratch.n_violators = RANDOM_LEAST
    work.places.clear()  # whatever a descent of lanes has left there
    work.values.clear()
    copy_rows(work, scratch, problem, 0)
    if known.n:
        warm_start(work, 0, settings, problem)
        scratch.n_entries += work.places.size()
    if not lane.fresh:  # what comes with known negatives needs no others
        return 0
    # Step 0 of Algorithm 1 ends here; negatives below spare the search that would find them.
    n_positives = work.members[0].size()
    # Rows like the positives are what the first search would find; here they cost few entries.
    find_similar(work, scratch, problem)
    admit_hits(work, scratch, settings, problem)
    n_negatives = n_random(problem, n_positives)
    # Random ones stand for all others, whose weight holds the intercept down.
    return admit_random(
        work, scratch, settings, problem, n_negatives,
        min(problem.X.n_rows, max(<Py_ssize_t>POOL, 8 * n_negatives)),
    )


cdef inline Py_ssize_t n_similar(Problem problem, Py_ssize_t n_positives) noexcept nogil:
    cdef Py_ssize_t row_length = max(1, problem.X.n_entries // problem.X.n_rows)
    cdef Py_ssize_t most = min(<Py_ssize_t>FIRST_MOST, FIRST_OF_POSITIVE * (n_positives + 1))
    return max(min(max(FIRST_ENTRIES // row_length, FIRST_LEAST), most), 2 * n_positives)


cdef inline Py_ssize_t n_random(Problem problem, Py_ssize_t n_positives) noexcept nogil:
    cdef Py_ssize_t few = min(<Py_ssize_t>RANDOM_LEAST, RANDOM_OF_POSITIVE * (n_positives + 1))
    return min(problem.X.n_rows // 2, max(few, PER_POSITIVE * n_positives))


cdef double entries_to_start(Problem problem, int32_t label, DualsOf known) noexcept nogil:
    """Count entries of the rows that a class starts with, as often as they count."""
    cdef Py_ssize_t n = problem.positive_indptr[label + 1] - problem.positive_indptr[label]
    cdef Py_ssize_t n_others = known.n if known.n else n_similar(problem, n) + n_random(problem, n)
    cdef Py_ssize_t n_rows = n + n_others
    cdef double row_length = <double>problem.X.n_entries / problem.X.n_rows
    # Passes over these rows are the cost of a class before it has searched at all.
    return (1 if n <= VERY_FEW else STARTS) * n_rows * row_length


cdef int find_similar(
    Workspace work, ColumnScratch scratch, Problem problem
) except -1 nogil:
    """Find the rows that share most with the sum of the positives, by its rarest features."""
    cdef Py_ssize_t q, e, n = work.lanes[0].n_touched, n_positives = work.members[0].size()
    cdef double left = RARE_ENTRIES
    cdef Lifting one
    cdef int64_t begin
    cdef float *sums = &work.packed[0]
    for q in range(n):
        sums[q] = 0
    for e in range(<Py_ssize_t>work.places.size()):
        sums[work.places[e]] += work.values[e]
    scratch.lifting.clear()
    for q in range(n):
        one.feature = work.touched[0, q]
        # The sum of the positives is v while their dual variables are equal (equation 10).
        one.weight = sums[q]
        begin = problem.X.columns.indptr[one.feature]
        one.end = problem.X.columns.indptr[one.feature + 1]
        one.first = problem.X.columns.middle[one.feature]
        one.key = one.end - begin  # shortest first
        if one.first < one.end:
            scratch.lifting.push_back(one)
            one.key += 0.5  # both parts, always in this order
        one.end = one.first
        one.first = begin
        scratch.lifting.push_back(one)
    sort_features(scratch)
    for q in range(<Py_ssize_t>scratch.lifting.size()):
        left -= scratch.lifting[q].end - scratch.lifting[q].first
        # Parts from here on are no shorter: the columns of frequent features.
        if left < 0:
            scratch.lifting.resize(q)
            break
    # All rows with a product above zero; members are left out.
    accumulate(work, scratch, problem, 0, 0)
    keep_best(work, n_similar(problem, n_positives))
    return 0


cdef int admit_hits(
    Workspace work, ColumnScratch scratch, const Settings *settings, Problem problem
) except -1 nogil:
    """Let violators join the active set (Algorithm 1, step 2)."""
    cdef Py_ssize_t first = work.members[0].size()
    add_members(
        work, 0, settings, problem, &work.candidates[0, 0], NULL, work.lanes[0].n_candidates, False
    )
    return copy_rows(work, scratch, problem, first)


cdef int admit_random(
    Workspace work, ColumnScratch scratch, const Settings *settings, Problem problem, Py_ssize_t n,
    Py_ssize_t pool,
) except -1 nogil:
    """Let random negatives of the first `pool` rows join; they take the place of the hits."""
    cdef Py_ssize_t first = work.members[0].size()
    draw_negatives(work, 0, settings, problem, min(n, problem.X.n_rows), pool)
    return copy_rows(work, scratch, problem, first)


cdef double choose_threshold(
    Workspace work, ColumnScratch scratch, const Settings *settings, double share
) noexcept nogil:
    """Return T = -1 - b' for an intercept b' a little below -1 and below that of the descent."""
    cdef Lane *lane = &work.lanes[0]
    cdef double weight = max(lane.positive_weight, lane.negative_weight)
    # Near the optimum the primal does not change with the intercept to first order: a shift by
    # delta costs delta^2 / 2 times its second derivative, which is l2 and at most the sum of the
    # weights of the rows that have a loss over `inverse`. delta is such that this is `share` of the
    # gap that is allowed.
    cdef double curvature = (
        settings.l2 + weight * scratch.n_violators * settings.loss.steepness
    )
    cdef double delta = min(
        sqrt(2 * share * settings.tol * max(lane.primal, <double>1) / curvature), LARGEST_SHIFT
    )
    cdef double b = lane.anchor
    # In float32, as the model keeps it, and T from just that number.
    lane.intercept = <float>((min(b, <double>-1) - delta) * settings.l2) / settings.l2
    return -1 - <double>lane.intercept


cdef Py_ssize_t quick_start(
    ColumnScratch scratch, Problem problem, Py_ssize_t first
) noexcept nogil:
    """Return from which feature on a quick search reads: the cheap end of the essential ones."""
    cdef double left = QUICK * problem.X.n_rows
    cdef Py_ssize_t q = scratch.lifting.size()
    # The last ones lift most for their length.
    while q > first and left >= scratch.lifting[q - 1].end - scratch.lifting[q - 1].first:
        q -= 1
        left -= scratch.lifting[q].end - scratch.lifting[q].first
    return q


cdef bint is_done(
    Workspace work, ColumnScratch scratch, const Settings *settings, Problem problem, Round *now
) noexcept nogil:
    """Take the gap after a certified search; where it is too large, say how the next round goes."""
    cdef Lane *lane = &work.lanes[0]
    # Of the same dual variables that the weights of the search are of.
    lane.dual = dual_value(work, 0, settings, problem)
    scratch.n_entries += work.places.size()
    lane.gap = (lane.primal - lane.dual) / lane.primal
    if lane.gap <= settings.tol or lane.n_iter == settings.max_iter:
        return True
    # The next descent begins with v in float64, rounded once.
    refresh_v(work, 0, settings)
    # Near the end both terms have to shrink with the gap that is left.
    if lane.gap <= 5 * settings.tol:
        now.precision *= 0.5
        now.share *= 0.7
    if lane.n_candidates == 0:  # the gap is made of many small violations
        now.precision *= 0.5
        lane.precision *= <float>0.3
    return False


cdef int admit_violators(
    Workspace work, ColumnScratch scratch, const Settings *settings, Problem problem, bint quick
) except -1 nogil:
    cdef Py_ssize_t n_members = work.members[0].size(), keep = settings.n_select
    cdef bint few = work.lanes[0].n_candidates < n_members // 4 + 1
    if keep == 0:
        # kappa follows the active set; a quick search finds the worst violators, which are enough.
        keep = max(<Py_ssize_t>SELECTED, (1 if quick else 2) * n_members)
    keep_best(work, keep)
    admit_hits(work, scratch, settings, problem)
    if few and not quick and work.lanes[0].anchor > -1:
        # with an intercept above -1 the loss is that of all rows: more of them share it
        admit_random(work, scratch, settings, problem, 2 * n_members, problem.X.n_rows)
    return 0


cdef int descend_on_copies(
    Workspace work, ColumnScratch scratch, const Settings *settings, Problem problem, double share
) except -1 nogil:
    """Descend (Algorithm 1, step 3), and count what that reads."""
    cdef Lane *lane = &work.lanes[0]
    cdef double before = lane.n_visits
    descend(work, 0, settings, problem, PASSES_ALONE, share)
    # A visit counts as a copied row of mean length.
    scratch.n_entries += (
        work.places.size() * (lane.n_visits - before)
        / max(<Py_ssize_t>1, <Py_ssize_t>work.members[0].size())
    )
    drop_idle_negatives(work, 0)
    return 0


cdef inline double search_in_lanes(Problem problem) noexcept nogil:
    """Return how many entries a search in lanes reads for one of its sixteen classes."""
    return problem.X.n_entries / <double>LANES


cdef double saved_by(ColumnScratch scratch, Problem problem, bint solved) noexcept nogil:
    """Return the entries that pruned searches of a class have saved, compared to lanes.

    A class that is not solved by them is still to be searched for in lanes.
    """
    # Whether later classes are worth it is decided by what was read, never by a clock.
    cdef double saved = SEARCHES_IN_LANES * search_in_lanes(problem) if solved else 0
    return saved - scratch.cost_of_searches


cdef bint solve_class(
    Workspace work, ColumnScratch scratch, const Settings *settings, Problem problem, int32_t label,
    DualsOf known, const int32_t[::1] stop, double *operations,
) except -1 nogil:
    """Fit a class in the first lane; False where searches in lanes would be cheaper."""
    cdef Lane *lane = &work.lanes[0]
    cdef double in_lanes = search_in_lanes(problem)
    cdef double threshold, bound = 0, cost, counted = 0
    cdef Py_ssize_t first, n_members
    cdef bint quick
    cdef Round now
    # Without a trace in the workspace, so that lanes begin the class themselves.
    if entries_to_start(problem, label, known) > in_lanes:
        return False
    now.share = SHIFT_SHARE
    now.precision = PRECISION
    now.first = known.n == 0
    start(work, scratch, settings, problem, label, known)
    while True:
        # Algorithm 1 from its step 3 on: descent, search, violators join.
        descend_on_copies(work, scratch, settings, problem, now.precision)
        threshold = choose_threshold(work, scratch, settings, now.share)
        publish_weights(work, scratch, settings, problem)
        # U(S) <= SLACK T: the larger S, the fewer columns are read, but the more rows are hits.
        first = split(scratch, SLACK * threshold, &bound)
        cost = cost_from(scratch, first)
        lane.n_iter += 1
        # A first search only has to find violators: a cheap one that certifies nothing.
        quick = now.first and cost > 1.5 * QUICK * problem.X.n_rows and settings.max_iter > 1
        now.first = False
        if quick:
            n_members = work.members[0].size()
            quick_search(
                work, scratch, settings, problem, quick_start(scratch, problem, first), threshold,
                2 * max(<Py_ssize_t>SELECTED, n_members),
            )
        # A search dearer than a class's share of one in lanes is not made: the class goes there.
        elif cost <= in_lanes:
            certified_search(work, scratch, settings, problem, first, threshold, bound)
        withdraw_weights(scratch)
        operations[0] += scratch.n_entries - counted
        counted = scratch.n_entries
        interrupted(stop, operations)
        # With its members: lanes take over dual variables and negatives (`Duals.append`).
        if not quick and cost > in_lanes:
            return False
        if not quick and is_done(work, scratch, settings, problem, &now):
            # In rows of mean length, as lanes count.
            lane.n_visits = scratch.n_entries * problem.X.n_rows / problem.X.n_entries
            lane.n_candidates = 0
            return True
        admit_violators(work, scratch, settings, problem, quick)

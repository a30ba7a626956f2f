"""A round of the classes that are in work (PPDSparse, Algorithm 1).

Every one of them descends on its active set (`_dual_descent`).  Then all samples are searched for
violators of any of them (`_violator_search`, `_byte_search`), which gives the duality gap as well.
"""

from libc.stdint cimport int32_t

from sklearn_xc._kernels.common._common cimport interrupted
from sklearn_xc._kernels.ppdsparse._active_set cimport (
    Workspace, activate, clear_lane, draw_negatives, drop_idle_negatives, dual_value, load_v,
    publish_weights, refresh_v, resume_class, start_class, store_v,
)
from sklearn_xc._kernels.ppdsparse._byte_search cimport MANY_ROWS, is_early, search_bytes
from sklearn_xc._kernels.ppdsparse._certificate cimport keep_lowest, return_to_lowest
from sklearn_xc._kernels.ppdsparse._dual_descent cimport descend
from sklearn_xc._kernels.ppdsparse._duals cimport Duals
from sklearn_xc._kernels.ppdsparse._problem cimport Problem
from sklearn_xc._kernels.ppdsparse._pruning cimport prune_weights
from sklearn_xc._kernels.ppdsparse._results cimport Results, keep_class
from sklearn_xc._kernels.ppdsparse._types cimport IDLE, LANES, DualsOf, Lane, Settings
from sklearn_xc._kernels.ppdsparse._violator_search cimport search, search_sample

cdef enum:
    PASSES = 5  # of descent between two searches
    START_PASSES = 2  # over the positives and random negatives of a new class
    FIRST_PASSES = 2  # before its first search of all samples, which has to find the region only


cdef int descend_lane(
    Workspace work, Py_ssize_t c, const Settings *settings, int n_passes, Problem problem
) except -1 nogil:
    """Algorithm 1, steps 3 and 4."""
    load_v(work, c)
    descend(work, c, settings, n_passes, problem)
    store_v(work, c)
    drop_idle_negatives(work, c)
    work.lanes[c].dual_known = False
    return 0


cdef bint sum_dual(
    Workspace work, Py_ssize_t c, const Settings *settings, Problem problem
) noexcept nogil:
    """The dual objective; says whether it was not known, so that `refresh_v` may follow."""
    cdef Lane *lane = &work.lanes[c]
    if lane.dual_known:
        return False
    lane.dual = dual_value(work, c, settings, problem)
    lane.dual_known = True
    return True


cdef inline double relative_gap(double primal, double dual) noexcept nogil:
    return (primal - dual) / max(primal, <double>1e-30)


cdef void admit_candidates(Workspace work, Py_ssize_t c) noexcept nogil:
    """Algorithm 1, step 2: the samples of largest negative gradient join the active set.

    Where none is left and the gap is still open, it is made of many small violations.
    """
    cdef Lane *lane = &work.lanes[c]
    cdef Py_ssize_t q
    for q in range(lane.n_candidates):
        activate(work, c, work.candidates[c, q], False, 0)
    if lane.n_candidates == 0:
        lane.precision *= <float>0.3


cdef int start_lane(
    Workspace work,
    Py_ssize_t c,
    const Settings *settings,
    Problem problem,
    Duals duals,
    Py_ssize_t q,
) except -1 nogil:
    """The next class in an idle lane."""
    cdef DualsOf known = duals.of_class(q)
    start_class(work, c, duals.labels[q], settings, problem)
    if known.n:
        resume_class(work, c, settings, problem, known.n, known.rows, known.values)
    if work.lanes[c].fresh:
        draw_negatives(work, c, problem)
        descend_lane(work, c, settings, START_PASSES, problem)
        publish_weights(work, c, settings, False)
    return 0


cdef int warm_up(
    Workspace work,
    const Settings *settings,
    Problem problem,
    const int32_t[::1] stop,
    double *operations,
) except -1 nogil:
    """The first violators of classes that are new in their lanes, among a part of the samples."""
    cdef Py_ssize_t c
    cdef bint any_new = False
    for c in range(LANES):
        any_new = any_new or is_new(&work.lanes[c])
    if not any_new:
        return 0
    if by_bytes(settings, problem):
        search_bytes(work, settings, problem, True, stop, operations)
    else:
        search_sample(work, settings, problem, stop, operations)
    for c in range(LANES):
        if is_new(&work.lanes[c]):
            admit_candidates(work, c)
    return 0


cdef inline bint by_bytes(const Settings *settings, Problem problem) noexcept nogil:
    return (
        problem.X.rounded is not None and problem.coarse is problem.X and not settings.sparsify
    )


cdef inline bint is_new(const Lane *lane) noexcept nogil:
    return lane.label != IDLE and lane.n_iter == 0 and lane.fresh


cdef int descend_lanes(
    Workspace work,
    const Settings *settings,
    Problem problem,
    bint first,  # of the classes that have begun in this round, else of the others
    Results results,
    bint keep_dual,
    const int32_t[::1] stop,
    double *operations,
) except -1 nogil:
    """A descent in each lane, with which a class may be done."""
    cdef double entries_per_row = problem.X.n_entries / max(1, problem.X.n_rows)
    cdef Py_ssize_t c
    cdef Lane *lane
    for c in range(LANES):
        lane = &work.lanes[c]
        if lane.label == IDLE or lane.waits or (lane.n_iter == 0) != first:
            continue
        operations[0] += PASSES * lane.n_active * (10 + entries_per_row)
        descend_lane(work, c, settings, FIRST_PASSES if is_new(lane) else PASSES, problem)
        lane.n_iter += 1
        if by_bytes(settings, problem) and not is_early(lane, settings):
            sum_dual(work, c, settings, problem)
            refresh_v(work, c, settings)
            if lane.kept:
                lane.gap = relative_gap(lane.lowest_primal, lane.dual)
                if lane.gap <= settings.tol:
                    finish_class(work, c, settings, problem, results, keep_dual)
        interrupted(stop, operations)
    return 0


cdef int finish_class(
    Workspace work,
    Py_ssize_t c,
    const Settings *settings,
    Problem problem,
    Results results,
    bint keep_dual,
) except -1 nogil:
    if work.lanes[c].kept:
        return_to_lowest(work, c)
    prune_weights(work, c, settings, problem)
    keep_class(results, work, c, settings, keep_dual)
    clear_lane(work, c)
    return 0


cdef void let_others_wait(
    Workspace work, const Settings *settings, Problem problem
) noexcept nogil:
    """Where early searches need a part of the rows only, the classes that need all of them wait.

    Classes start together and most of them end together.  For the others one search of all rows
    serves when the new ones need it too.
    """
    cdef Py_ssize_t c, n_early = 0, n_others = 0
    cdef bint early[LANES]
    if not by_bytes(settings, problem):
        return
    if problem.X.n_rows < MANY_ROWS:
        return
    for c in range(LANES):
        early[c] = is_early(&work.lanes[c], settings)
        if work.lanes[c].label != IDLE:
            n_early += early[c]
            n_others += not early[c]
    if n_early < n_others:
        return
    for c in range(LANES):
        work.lanes[c].waits = work.lanes[c].label != IDLE and not early[c]


cdef int search_lanes(
    Workspace work,
    const Settings *settings,
    Problem problem,
    bint exact,
    const int32_t[::1] stop,
    double *operations,
) except -1 nogil:
    cdef Py_ssize_t c
    for c in range(LANES):
        if work.lanes[c].label != IDLE and not work.lanes[c].waits:
            publish_weights(work, c, settings, settings.sparsify and not exact)
    if by_bytes(settings, problem):
        search_bytes(work, settings, problem, False, stop, operations)
    elif exact:
        search(work, settings, problem, problem.X, stop, operations)
    else:
        search(work, settings, problem, problem.coarse, stop, operations)
    return 0


cdef int finish_or_go_on(
    Workspace work,
    Py_ssize_t c,
    const Settings *settings,
    Problem problem,
    bint exact,  # whether the search has read all entries
    Results results,
    bint keep_dual,
) except -1 nogil:
    """Keep a class that is done; otherwise its violators join, and 1 says that it is close."""
    cdef Lane *lane = &work.lanes[c]
    cdef bint summed
    if not lane.whole:
        admit_candidates(work, c)
        return 0
    summed = sum_dual(work, c, settings, problem)
    lane.gap = relative_gap(lane.primal, lane.dual)
    # of a lane that was not sparsified, a search over all entries is exact
    if exact and not lane.sparsified:
        if by_bytes(settings, problem):
            keep_lowest(work, c)
            lane.gap = relative_gap(lane.lowest_primal, lane.dual)
        if lane.gap <= settings.tol or lane.n_iter == settings.max_iter:
            finish_class(work, c, settings, problem, results, keep_dual)
            return 0
    if summed:
        refresh_v(work, c, settings)
    admit_candidates(work, c)
    return lane.gap <= settings.tol

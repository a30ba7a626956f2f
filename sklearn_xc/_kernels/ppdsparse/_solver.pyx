"""PPDSparse: the greedy active-set method (Algorithm 1) on blocks of classes.

Small classes are solved one by one, by searches that read few columns (`_pruned_solver`).  Of the
others sixteen are in work at a time, in rounds.  A class that is done leaves its lane to
the next of the block.
"""

from libc.stdint cimport int32_t

import numpy as np

from sklearn_xc._kernels.common._common cimport interrupted
from sklearn_xc._kernels.ppdsparse._active_set cimport (
    Duals, Workspace, add_members, clear_lane, draw_negatives, drop_idle_negatives, dual_value,
    publish_weights, refresh_v, start_class, warm_start,
)
from sklearn_xc._kernels.ppdsparse._byte_search cimport MANY_ROWS, is_early, search_bytes
from sklearn_xc._kernels.ppdsparse._dual_descent cimport descend
from sklearn_xc._kernels.ppdsparse._listed_rows cimport keep_lowest, return_to_lowest
from sklearn_xc._kernels.ppdsparse._problem cimport Problem
from sklearn_xc._kernels.ppdsparse._pruned_search cimport ColumnScratch, forget_rows
from sklearn_xc._kernels.ppdsparse._pruned_solver cimport saved_by, solve_class, worth_pruning
from sklearn_xc._kernels.ppdsparse._results cimport Results, keep_class, prune_weights
from sklearn_xc._kernels.ppdsparse._types cimport IDLE, LANES, DualsOf, Lane, Settings
from sklearn_xc._kernels.ppdsparse._violator_search cimport dense_scores, search, search_sample

# A round of the classes that are in work (PPDSparse, Algorithm 1).
#
# Every one of them descends on its active set (`_dual_descent`).  Then all samples are searched for
# violators of any of them (`_violator_search`, `_byte_search`), which gives the duality gap as
# well.

cdef enum:
    PASSES = 5  # of descent between two searches
    START_PASSES = 2  # over the positives and random negatives of a new class
    FIRST_PASSES = 2  # before its first search of all samples, which has to find the region only
    # Random negatives of a new class: as many as its positives ask for, or a few
    PER_POSITIVE = 5
    FEW = 100

# Of the tolerance, what a descent may leave of the gap on the active set: a search widens it.
cdef double OF_TOLERANCE = 0.3


cdef int descend_lane(
    Workspace work, Py_ssize_t c, const Settings *settings, int n_passes, Problem problem
) except -1 nogil:
    """Descend, and drop negatives that do not count (Algorithm 1, steps 3 and 4)."""
    descend(work, c, settings, problem, n_passes, OF_TOLERANCE)
    drop_idle_negatives(work, c)
    work.lanes[c].dual_known = False
    return 0


cdef bint sum_dual(
    Workspace work, Py_ssize_t c, const Settings *settings, Problem problem
) noexcept nogil:
    """Sum the dual objective unless it is known; says so, since `refresh_v` may follow."""
    cdef Lane *lane = &work.lanes[c]
    if lane.dual_known:
        return False
    # A pass over all members' rows: once a descent, not once a search.
    lane.dual = dual_value(work, c, settings, problem)
    lane.dual_known = True
    return True


cdef inline double relative_gap(double primal, double dual) noexcept nogil:
    # P is zero only where no row has a loss and no feature a weight.
    return (primal - dual) / max(primal, <double>1e-30)


cdef int admit_candidates(
    Workspace work, Py_ssize_t c, const Settings *settings, Problem problem
) except -1 nogil:
    """Let the samples of largest negative gradient join the active set (Algorithm 1, step 2).

    Where none is left and the gap is still open, it is made of many small violations.
    """
    cdef Lane *lane = &work.lanes[c]
    add_members(
        work, c, settings, problem, &work.candidates[c, 0], NULL, lane.n_candidates, False
    )
    if lane.n_candidates == 0:
        # So the next descent goes on where the last one saw nothing worth a step.
        lane.precision *= <float>0.3
    return 0


cdef int start_lane(
    Workspace work, Py_ssize_t c, const Settings *settings, Problem problem, Duals duals,
    Py_ssize_t q,
) except -1 nogil:
    """Put the next class in an idle lane."""
    cdef Lane *lane = &work.lanes[c]
    cdef DualsOf known = duals.of_class(q)
    start_class(work, c, duals.labels[q], known, settings, problem)
    if known.n:
        warm_start(work, c, settings, problem)
    # Algorithm 1 starts with the positives alone. Two passes over these and some random negatives,
    # then a search of a part of the rows, cost less than the round that they save.
    if lane.fresh:
        draw_negatives(
            work, c, settings, problem, n_random(work, c, problem.X.n_rows), problem.X.n_rows
        )
        descend_lane(work, c, settings, START_PASSES, problem)
        # For the search over a sample, which `warm_up` makes for all new classes together.
        publish_weights(work, c, settings, False)
    return 0


cdef inline Py_ssize_t n_random(Workspace work, Py_ssize_t c, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t n_positives = work.members[c].size()
    return min(n // 2, max(<Py_ssize_t>FEW, PER_POSITIVE * n_positives))


cdef int warm_up(
    Workspace work, const Settings *settings, Problem problem, const int32_t[::1] stop,
    double *operations,
) except -1 nogil:
    """Find the first violators of classes that are new in their lanes, among some samples."""
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
            admit_candidates(work, c, settings, problem)
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
    """Descend in each lane, with which a class may be done."""
    cdef double entries_per_row = problem.X.n_entries / max(1, problem.X.n_rows)
    cdef Py_ssize_t c
    cdef Lane *lane
    for c in range(LANES):
        lane = &work.lanes[c]
        # Classes that were in work descend first: one that ends makes room for a new one.
        if lane.label == IDLE or lane.waits or (lane.n_iter == 0) != first:
            continue
        # Ten for a visit beside its entries.
        operations[0] += PASSES * work.members[c].size() * (10 + entries_per_row)
        descend_lane(work, c, settings, FIRST_PASSES if is_new(lane) else PASSES, problem)
        lane.n_iter += 1
        if by_bytes(settings, problem) and not is_early(lane, settings):
            # Rows in bytes: a higher D may end the class at the P of an earlier search, before
            # another one.
            sum_dual(work, c, settings, problem)
            refresh_v(work, c, settings)
            if lane.kept:
                lane.gap = relative_gap(lane.lowest_primal, lane.dual)
                if lane.gap <= settings.tol:
                    finish_class(work, c, settings, problem, results, keep_dual)
        interrupted(stop, operations)
    return 0


cdef int finish_class(
    Workspace work, Py_ssize_t c, const Settings *settings, Problem problem, Results results,
    bint keep_dual,
) except -1 nogil:
    # The weights that certify the gap are those of the lowest objective, not the last ones.
    if work.lanes[c].kept:
        return_to_lowest(work, c)
    prune_weights(work, c, settings, problem)
    keep_class(results, work, c, settings, keep_dual)
    clear_lane(work, c)
    return 0


cdef void let_others_wait(
    Workspace work, const Settings *settings, Problem problem
) noexcept nogil:
    """Let classes that need a search of all rows wait while early searches need a part only.

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
    # Where most need all rows anyway, the new ones get them too.
    if n_early < n_others:
        return
    for c in range(LANES):
        work.lanes[c].waits = work.lanes[c].label != IDLE and not early[c]


cdef int search_lanes(
    Workspace work, const Settings *settings, Problem problem, bint exact, const int32_t[::1] stop,
    double *operations,
) except -1 nogil:
    cdef Py_ssize_t c
    for c in range(LANES):
        if work.lanes[c].label != IDLE and not work.lanes[c].waits:
            # Step 1 of Algorithm 1, by Algorithm 3 where that is asked for and the search may miss
            # rows.
            publish_weights(work, c, settings, settings.sparsify and not exact)
    if by_bytes(settings, problem):
        search_bytes(work, settings, problem, False, stop, operations)
    elif exact:
        search(work, settings, problem, problem.X, stop, operations)
    else:
        # Section 5.3: entries of X above a magnitude only; without that `coarse` is X.
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
    # A search for violators only: no objective, so no gap.
    if not lane.whole:
        admit_candidates(work, c, settings, problem)
        return 0
    summed = sum_dual(work, c, settings, problem)
    lane.gap = relative_gap(lane.primal, lane.dual)
    # of a lane that was not sparsified, a search over all entries is exact
    if exact and not lane.sparsified:
        if by_bytes(settings, problem):
            # The weights of the search, which `refresh_v` would change.
            keep_lowest(work, c)
            lane.gap = relative_gap(lane.lowest_primal, lane.dual)
        if lane.gap <= settings.tol or lane.n_iter == settings.max_iter:
            finish_class(work, c, settings, problem, results, keep_dual)
            return 0
    if summed:
        refresh_v(work, c, settings)
    admit_candidates(work, c, settings, problem)
    # Small by an approximate search: the next one is exact and decides.
    return lane.gap <= settings.tol


cdef enum:
    # Where searches are approximate, one in four is exact: only that one sees every violator and
    # gives a true gap.
    EXACT_EVERY = 4
    TRIED = 6  # classes of a block by pruned searches, at least

N_LANES = LANES  # for Python


cdef class Spare:
    """Scratch memory that a block leaves to the next one of the same fit; other processes have own.

    To make it anew for each block takes as long as some ten small classes: all of it is memory that
    the system hands out page by page.
    """

    cdef list _free

    def __init__(self):
        self._free = []

    def __reduce__(self):
        return Spare, ()

    cdef tuple take(self):
        """Return a clean workspace and scratch memory of columns, either perhaps None."""
        try:
            return self._free.pop()
        except IndexError:  # all are in use
            return None, None

    cdef int give_back(self, Workspace work, ColumnScratch scratch) except -1:
        self._free.append((work, scratch))
        return 0


cdef int solve_small_classes(
    Workspace work,
    const Settings *settings,
    Problem problem,
    Duals given,
    Results results,
    bint keep_dual,
    Duals duals,  # OUT: those of the classes that are left
    ColumnScratch scratch,
    const int32_t[::1] stop,
    double *operations,
) except -1 nogil:
    """Fit the classes for which pruned searches are cheaper than searches in lanes.

    Classes of a block are of about the same size: what the first of them save decides for others.
    """
    cdef Py_ssize_t q
    cdef DualsOf known
    cdef bint solved
    cdef double saved = 0
    for q in range(<Py_ssize_t>given.labels.size()):
        known = given.of_class(q)
        solved = False
        # A loss so far says that lanes are cheaper for the rest, which are of the same size.
        if q < TRIED or saved > 0:
            solved = solve_class(
                work, scratch, settings, problem, given.labels[q], known, stop, operations
            )
            saved += saved_by(scratch, problem, solved)
        if solved:
            prune_weights(work, 0, settings, problem)
            keep_class(results, work, 0, settings, keep_dual)
        else:
            # Lanes go on from what was found, or begin with what was known.
            duals.append(given.labels[q], work.members[0], known)
        # The first lane serves each class in turn, and the lanes afterwards.
        clear_lane(work, 0)
        forget_rows(work, scratch)
    return 0


def solve_classes(
    Settings settings, Problem problem, const int32_t[::1] labels, tuple dual, bint keep_dual,
    const int32_t[::1] stop, Spare spare,
):
    """Fit the classes `labels`, one after the other in sixteen lanes.

    Parameters
    ----------
    settings : dict with the members of `Settings`
    problem : Problem
    labels : the classes to fit; each has a positive of weight above zero
    dual : () or CSR arrays (indptr, rows, data) of earlier dual variables of all classes
    keep_dual : whether to return the dual variables
    stop : (1,), not 0 asks all threads to give up
    spare : Spare, of the same problem

    Returns
    -------
    tuple of arrays: in the order in which the classes were finished their numbers, and for each
    its number of weights, intercept, rounds, relative gap, size of the active set; the features
    and values of the weights; with `keep_dual` the number, samples and values of its dual
    variables; the rows of X read for it, in which a search counts for a sixteenth.
    """
    cdef Workspace work
    cdef ColumnScratch scratch
    cdef Results results = Results(labels.shape[0])
    cdef Duals given = Duals(labels, dual), left = given
    cdef double operations = 0
    work, scratch = spare.take()
    if work is None:
        work = Workspace(problem)
    if worth_pruning(&settings, problem):
        # Classes that are not solved alone, with the active sets that they have by then.
        left = Duals()
        if scratch is None:
            scratch = ColumnScratch(problem)
        with nogil:
            solve_small_classes(
                work, &settings, problem, given, results, keep_dual, left, scratch, stop,
                &operations,
            )
    with nogil:
        solve_in_lanes(work, &settings, problem, left, results, keep_dual, stop, &operations)
    # Not after an exception: a workspace that was left in the middle of a class is not clean.
    spare.give_back(work, scratch)
    return results.as_tuple()


cdef int solve_in_lanes(
    Workspace work, const Settings *settings, Problem problem, Duals duals, Results results,
    bint keep_dual, const int32_t[::1] stop, double *operations,
) except -1 nogil:
    """Fit sixteen classes at a time, until all of the block are done."""
    cdef bint whole = problem.coarse is problem.X
    cdef bint approximate = settings.sparsify or not whole
    cdef bint exact, close = False
    cdef Py_ssize_t n_close
    cdef Py_ssize_t c, n_started = 0, n_rounds = 0, n = duals.labels.size()
    cdef Lane *lane
    while results.n_done < results.labels.shape[0]:
        # Algorithm 1 for all lanes in step, so that one search serves sixteen classes.
        descend_lanes(work, settings, problem, False, results, keep_dual, stop, operations)
        if results.n_done == results.labels.shape[0]:
            break
        for c in range(LANES):
            lane = &work.lanes[c]
            lane.waits = False
            if lane.label == IDLE and n_started < n:
                start_lane(work, c, settings, problem, duals, n_started)
                n_started += 1
        warm_up(work, settings, problem, stop, operations)
        let_others_wait(work, settings, problem)
        descend_lanes(work, settings, problem, True, results, keep_dual, stop, operations)
        n_rounds += 1
        # Approximate searches (Algorithm 3, section 5.3) miss rows: no gap of theirs is true.
        exact = not approximate or close or n_rounds % EXACT_EVERY == 0
        for c in range(LANES):
            lane = &work.lanes[c]
            if lane.label != IDLE and lane.n_iter == settings.max_iter:
                exact = True  # the gap that is reported must be true
        search_lanes(work, settings, problem, exact, stop, operations)
        n_close = 0
        for c in range(LANES):
            if not work.lanes[c].searched:
                continue
            # With all entries of X (`whole`) a lane without a sparse copy was searched exactly.
            n_close += finish_or_go_on(
                work, c, settings, problem, exact or whole, results, keep_dual
            )
        close = n_close > 0
    return 0


def scores_in_lanes(const float[:, ::1] X, const float[:, ::1] weights, const float[::1] bias):
    """Return scores of dense rows for sixteen classes as a search has them, for tests and timing.

    Parameters
    ----------
    X : (n, d)
    weights : (d, 16)
    bias : (16,)

    Returns
    -------
    scores : ndarray of float32 (n, 16)
    """
    cdef float[:, ::1] scores = np.empty((X.shape[0], LANES), dtype=np.float32)
    with nogil:
        dense_scores(
            &X[0, 0], X.shape[0], X.shape[1], &weights[0, 0], &bias[0], &scores[0, 0]
        )
    return np.asarray(scores)

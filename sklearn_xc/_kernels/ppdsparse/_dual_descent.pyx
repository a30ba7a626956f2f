"""Randomised dual coordinate descent on the active set of one class (PPDSparse, Algorithm 2).

An entry of `active` is a sample's number i for a negative and ~i for a positive.  Sparse rows are
copied side by side, since they are visited several times in a random order.
"""

from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memcpy

from sklearn_xc._kernels.common._common cimport dispatched, prefetch
from sklearn_xc._kernels.common._rows cimport Row, Rows, row_at
from sklearn_xc._kernels.ppdsparse._active_set cimport Workspace, grade_of, reserve
from sklearn_xc._kernels.ppdsparse._coordinate_step cimport (
    Pass, begin_pass, inverse_curvature_of, move_anchor, shuffle, step,
)
from sklearn_xc._kernels.ppdsparse._held_intercept cimport visits_of_positive
from sklearn_xc._kernels.ppdsparse._losses cimport inverse_of, is_smooth, most_of
from sklearn_xc._kernels.ppdsparse._problem cimport Problem
from sklearn_xc._kernels.ppdsparse._types cimport (
    Lane, Settings, add_entries, limit_of_visits, padded, thresholded_dot,
)

cdef extern from "ppdsparse/_dense_step.h" nogil:
    # v += change * x; returns <S(v), following>, while `ahead` is fetched
    float dense_step "xc_dense_step" (
        float *v, const float *x, float change, float level,
        const float *following, const float *ahead, Py_ssize_t n
    )

cdef enum:
    AHEAD = 3  # how many samples ahead sparse rows are fetched into the cache to be copied
    ROWS_AHEAD = 2  # and dense rows for their visits
    # Rows with more entries than this in all stay where they are: copies would not be in a cache.
    MOST_COPIED = 1 << 19

cdef struct Visited:  # an active sample
    const int32_t *features
    const float *values
    int32_t n  # entries, with those of value zero that a copy is filled up with
    int32_t n_given
    float y
    float alpha
    float most  # upper end of the box of alpha
    float inverse_weight  # the loss's part of the curvature
    float inverse_curvature
    bint seen  # whether its features are among the touched ones


cdef struct Descent:  # the class that descends, and what a pass has met
    Visited *members
    int32_t *order
    int32_t *touched
    float *v
    uint8_t *seen
    bint dense
    Py_ssize_t n_left  # the first of `order`; others sit at zero and wait to leave
    float limit  # a negative at zero with a larger gradient is set aside
    float tiny  # smaller projected gradients are not worth a step
    float worst  # largest projected gradient met
    double squares  # sum of the squares of the projected gradients


cdef inline void add_to_v(Descent *d, Lane *lane, Visited *m, float change) noexcept nogil:
    cdef Py_ssize_t e, n_touched
    cdef int32_t j
    cdef const int32_t *features = m.features
    cdef int32_t *touched = d.touched
    cdef uint8_t *seen = d.seen
    if not m.seen:
        m.seen = True
        n_touched = lane.n_touched
        for e in range(m.n_given):  # without a branch, which would often be guessed wrongly
            j = features[e]
            touched[n_touched] = j
            n_touched += not seen[j]
            seen[j] = 1
        lane.n_touched = n_touched
    add_entries(features, m.values, m.n, change, d.v)


cdef void touch_all(Workspace work, Py_ssize_t c, Py_ssize_t n_features) noexcept nogil:
    """Dense rows touch all features at once."""
    cdef Lane *lane = &work.lanes[c]
    cdef Py_ssize_t j
    for j in range(n_features):
        if not work.seen[j]:
            work.seen[j] = 1
            work.touched[c, lane.n_touched] = <int32_t>j
            lane.n_touched += 1


cdef inline Pass begun(const Descent *d, const Lane *lane, const Settings *settings) noexcept nogil:
    return begin_pass(lane.bias, lane.anchor, lane.hold, d.limit, d.tiny, settings)


cdef inline void finish(Descent *d, Lane *lane, const Pass *at) noexcept nogil:
    d.n_left = at.n_kept
    d.worst = at.worst
    d.squares = at.squares
    lane.bias += <float>at.sum


cdef inline float step_of(Descent *d, Py_ssize_t a, float product, Pass *at) noexcept nogil:
    """Step the a-th of the order."""
    cdef Visited *m = &d.members[d.order[a]]
    return step(
        &m.alpha, m.y, m.most, m.inverse_weight, m.inverse_curvature, product, d.order, a, at
    )


cdef dispatched visit_sparse(Descent *d, Lane *lane, const Settings *settings) noexcept nogil:
    cdef Pass at = begun(d, lane, settings)
    cdef Py_ssize_t a
    cdef Visited *m
    cdef Visited *following
    cdef float product, change
    for a in range(d.n_left):
        m = &d.members[d.order[a]]
        if a + 1 < d.n_left:  # a processor sees by itself how the rest of both follows
            following = &d.members[d.order[a + 1]]
            prefetch(following.features)
            prefetch(following.values)
        product = thresholded_dot(m.features, m.values, m.n, d.v, settings.l1)
        change = step_of(d, a, product, &at)
        if change != 0:
            add_to_v(d, lane, m, change)
    finish(d, lane, &at)


cdef dispatched visit_dense(Descent *d, Lane *lane, const Settings *settings) noexcept nogil:
    """Visits of one sample or more: the loop that brings v the change by one has the product of the
    next.
    """
    cdef Pass at = begun(d, lane, settings)
    cdef Py_ssize_t a, n_features = d.members[0].n, last = d.n_left - 1
    cdef const float *x = d.members[d.order[0]].values
    cdef const float *following
    cdef const float *ahead
    cdef float product, change = 0
    for a in range(d.n_left):
        prefetch(&d.members[d.order[min(a + 2 * ROWS_AHEAD, last)]])
        ahead = d.members[d.order[min(a + ROWS_AHEAD, last)]].values
        following = d.members[d.order[a]].values
        product = dense_step(d.v, x, change, settings.l1, following, ahead, n_features)
        change = step_of(d, a, product, &at)
        x = following
    dense_step(d.v, x, change, settings.l1, x, x, n_features)
    finish(d, lane, &at)


cdef void one_pass(Descent *d, Lane *lane, const Settings *settings) noexcept nogil:
    """Visit the samples that are left once, in a fresh random order."""
    shuffle(d.order, d.n_left, &lane.rng)
    if d.dense and d.n_left:
        visit_dense(d, lane, settings)
    else:
        visit_sparse(d, lane, settings)


cdef inline Py_ssize_t sample_of(int32_t entry) noexcept nogil:
    return entry if entry >= 0 else ~entry


cdef char *copy_row(Visited *m, char *at) noexcept nogil:
    """Features and values side by side, filled up to whole vectors; returns where they end."""
    cdef int32_t *features = <int32_t *>at
    cdef float *values
    cdef Py_ssize_t e
    m.n = <int32_t>padded(m.n_given)
    values = <float *>(features + m.n)
    memcpy(features, m.features, m.n_given * sizeof(int32_t))
    memcpy(values, m.values, m.n_given * sizeof(float))
    for e in range(m.n_given, m.n):
        features[e] = features[0]
        values[e] = 0
    m.features = features
    m.values = values
    return <char *>(values + m.n)


cdef int load_members(
    Descent *d, Workspace work, Py_ssize_t c, const Settings *settings, Problem problem
) except -1 nogil:
    """The active samples as the passes visit them, in the scratch memory of the workspace."""
    cdef Lane *lane = &work.lanes[c]
    cdef Rows X = problem.X.rows
    cdef Row row
    cdef Visited *m
    cdef char *at
    cdef Py_ssize_t a, i, n = lane.n_active, size = 0, times = times_of_positives(work, c)
    cdef float weight
    cdef int _
    cdef int32_t *active = &work.active[c, 0]
    for a in range(n):
        i = sample_of(active[a])
        size += padded(X.indptr[i + 1] - X.indptr[i])
    if X.dense or size > MOST_COPIED:
        size = 0
    reserve(work, n * (sizeof(Visited) + times * sizeof(int32_t)) + size * 2 * sizeof(float))
    d.members = <Visited *>work.scratch
    at = <char *>(d.members + n)
    d.order = <int32_t *>(at + size * 2 * sizeof(float))
    d.n_left = 0
    for a in range(n):
        if size and a + AHEAD < n:
            row = row_at(X, sample_of(active[a + AHEAD]))
            prefetch(row.features)
            prefetch(row.values)
        i = sample_of(active[a])
        row = row_at(X, i)
        m = &d.members[a]
        m.features = row.features
        m.values = row.values
        m.n = m.n_given = <int32_t>row.n
        if size:
            at = copy_row(m, at)
        m.seen = False
        m.y = -1 if active[a] >= 0 else 1
        m.alpha = work.alpha[c, a]
        weight = problem.sample_weight[i] * (
            lane.negative_weight if m.y < 0 else lane.positive_weight
        )
        weight *= grade_of(work, c, a)
        m.inverse_weight = inverse_of(&settings.loss, weight)
        m.most = most_of(&settings.loss, weight)
        m.inverse_curvature = inverse_curvature_of(
            weight, problem.squared_norms[i], lane.hold, settings
        )
        for _ in range(times if m.y > 0 else 1):
            d.order[d.n_left] = <int32_t>a
            d.n_left += 1
    return 0


cdef Py_ssize_t times_of_positives(Workspace work, Py_ssize_t c) noexcept nogil:
    """How often a pass visits each of them."""
    cdef Py_ssize_t a, n_positives = 0
    for a in range(work.lanes[c].n_active):
        n_positives += work.active[c, a] < 0
    return visits_of_positive(n_positives, work.lanes[c].n_active)


cdef double total_of(const Descent *d, Py_ssize_t n) noexcept nogil:
    """The sum of the dual variables."""
    cdef Py_ssize_t a
    cdef double total = 0
    for a in range(n):
        total += d.members[a].alpha
    return total


cdef int descend(
    Workspace work, Py_ssize_t c, const Settings *settings, int n_passes, Problem problem
) except -1 nogil:
    """Passes over the active set until the projected gradient is small against the tolerance."""
    cdef Lane *lane = &work.lanes[c]
    cdef float enough = lane.precision
    cdef Descent d
    cdef Py_ssize_t a
    cdef double pull
    cdef int _
    load_members(&d, work, c, settings, problem)
    d.touched = &work.touched[c, 0]
    d.v = &work.v[0]
    d.seen = &work.seen[0]
    d.limit = 1e30
    d.tiny = <float>(0.1 * enough)
    d.dense = problem.X.rows.dense
    if d.dense:
        touch_all(work, c, problem.X.n_columns)
    for _ in range(n_passes):
        lane.n_visits += d.n_left
        one_pass(&d, lane, settings)
        pull = move_anchor(&lane.anchor, lane.bias, lane.hold, settings)
        if d.worst <= enough and pull <= enough * enough:
            break
        # The dual is concave by `inverse`: the gap that the active set leaves is half the sum of
        # the squares over it (for C_i = 1), and the objective at least half the sum of the dual
        # variables.
        if is_smooth(&settings.loss) and (
            d.squares * settings.loss.steepness + pull
            <= 0.3 * settings.tol * total_of(&d, lane.n_active)
        ):
            break
        d.limit = limit_of_visits(d.worst)
    for a in range(lane.n_active):
        work.alpha[c, a] = d.members[a].alpha
    return 0

"""Randomised dual coordinate descent on the active set of one class (PPDSparse, Algorithm 2).

An entry of `active` is a sample's number i for a negative and ~i for a positive.
"""

from libc.stdint cimport int32_t, uint8_t

from sklearn_xc._kernels.common._common cimport dispatched, prefetch, random_below
from sklearn_xc._kernels.common._rows cimport Row, Rows, row_at
from sklearn_xc._kernels.common._vector_ops cimport dot
from sklearn_xc._kernels.ppdsparse._active_set cimport Workspace
from sklearn_xc._kernels.ppdsparse._problem cimport Problem
from sklearn_xc._kernels.ppdsparse._types cimport Lane, Settings, soft_threshold

cdef enum:
    AHEAD = 3  # how many samples ahead their rows are fetched into the cache


cdef struct Descent:  # pointers into the arrays of a class in work, and what a pass has met
    Rows X
    Py_ssize_t n_entries
    const float *squared_norms
    const float *sample_weight
    int32_t *active
    float *alpha
    int32_t *touched
    float *v
    float *shrunk  # S(v), kept for dense rows
    uint8_t *seen
    Py_ssize_t n_left  # entries beyond it sit at zero and wait to leave
    float limit  # a negative at zero with a larger gradient is set aside
    float tiny  # smaller projected gradients are not worth a step
    float worst  # largest projected gradient met
    double squares  # sum of the squares of the projected gradients
    double total  # sum of the dual variables


cdef inline void swap_entries(Descent *d, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    cdef int32_t entry = d.active[a]
    cdef float alpha = d.alpha[a]
    d.active[a] = d.active[b]
    d.alpha[a] = d.alpha[b]
    d.active[b] = entry
    d.alpha[b] = alpha


cdef inline void fetch_ahead(const Descent *d, int32_t entry) noexcept nogil:
    """Ask for the start of a row that is about to be visited."""
    cdef Py_ssize_t start = d.X.indptr[entry if entry >= 0 else ~entry]
    if start < d.n_entries:  # a last, empty row starts beyond the data
        prefetch(d.X.values + start)
        if not d.X.dense:
            prefetch(d.X.features + start)


cdef inline float score_with(Row row, const float *v, float l1, float bias) noexcept nogil:
    """b l2 + <S(v), x>, in two sums, since one would wait for itself."""
    cdef float z = bias, z1 = 0
    cdef Py_ssize_t e
    for e in range(0, row.n - 1, 2):
        z += soft_threshold(v[row.features[e]], l1) * row.values[e]
        z1 += soft_threshold(v[row.features[e + 1]], l1) * row.values[e + 1]
    if row.n & 1:
        e = row.n - 1
        z += soft_threshold(v[row.features[e]], l1) * row.values[e]
    return z + z1


cdef inline float step_to(
    float old, float g, float curvature, float weight, bint hinge
) noexcept nogil:
    """The dual variable that minimises along its coordinate, inside its box."""
    cdef float new = old - g / curvature if curvature > 0 else (weight if g < 0 else 0)
    if new < 0:
        new = 0
    if hinge and new > weight:
        new = weight
    return new


cdef inline void add_to_v(Descent *d, Lane *lane, Row row, float change) noexcept nogil:
    cdef Py_ssize_t e
    cdef int32_t j
    cdef float *v = d.v
    cdef uint8_t *seen = d.seen
    for e in range(row.n):
        j = row.features[e]
        v[j] += change * row.values[e]
        if not seen[j]:
            seen[j] = 1
            d.touched[lane.n_touched] = j
            lane.n_touched += 1


cdef inline void add_dense(Descent *d, Row row, float change, float l1) noexcept nogil:
    cdef Py_ssize_t j
    cdef float u
    cdef float *v = d.v
    cdef float *shrunk = d.shrunk
    for j in range(row.n):
        u = v[j] + change * row.values[j]
        v[j] = u
        shrunk[j] = soft_threshold(u, l1)


cdef dispatched one_pass(Descent *d, Lane *lane, const Settings *settings) noexcept nogil:
    """Visit the first `n_left` active samples once, in a fresh random order."""
    cdef Py_ssize_t a, i
    cdef float y, g, score, projected, old, new, weight, inverse_weight, curvature
    cdef float l1 = settings.l1, inverse_l2 = 1 / settings.l2
    cdef bint hinge = settings.hinge
    cdef Row row
    d.worst = 0
    d.squares = d.total = 0
    for a in range(d.n_left - 1, 0, -1):
        swap_entries(d, a, random_below(&lane.rng, <int>(a + 1)))
    a = 0
    while a < d.n_left:
        if a + AHEAD < d.n_left:
            fetch_ahead(d, d.active[a + AHEAD])
        i = d.active[a] if d.active[a] >= 0 else ~d.active[a]
        y = -1 if d.active[a] >= 0 else 1
        row = row_at(d.X, i)
        weight = d.sample_weight[i] * (lane.negative_weight if y < 0 else lane.positive_weight)
        old = d.alpha[a]
        if row.dense:
            score = lane.bias + dot(d.shrunk, row.values, row.n)
        else:
            score = score_with(row, d.v, l1, lane.bias)
        g = y * (score * inverse_l2) - 1
        curvature = d.squared_norms[i] * inverse_l2
        if not hinge:
            inverse_weight = 1 / weight
            g += old * inverse_weight
            curvature += inverse_weight
        projected = g
        if old == 0 and g >= 0:
            if g > d.limit and y < 0:
                d.n_left -= 1
                swap_entries(d, a, d.n_left)
                continue
            projected = 0
        elif hinge and old == weight and g <= 0:
            projected = 0
        projected = projected if projected >= 0 else -projected
        d.worst = max(d.worst, projected)
        d.squares += projected * projected
        d.total += old
        if projected > d.tiny:
            new = step_to(old, g, curvature, weight, hinge)
            d.alpha[a] = new
            if settings.intercept:
                lane.bias += (new - old) * y
            if row.dense:
                add_dense(d, row, (new - old) * y, l1)
            else:
                add_to_v(d, lane, row, (new - old) * y)
        a += 1


cdef void begin_dense(
    Workspace work, Py_ssize_t c, Py_ssize_t n_features, float l1
) noexcept nogil:
    """Dense rows touch all features at once, and keep S(v) beside v."""
    cdef Lane *lane = &work.lanes[c]
    cdef Py_ssize_t j
    for j in range(n_features):
        work.shrunk[j] = soft_threshold(work.v[j], l1)
        if not work.seen[j]:
            work.seen[j] = 1
            work.touched[c, lane.n_touched] = <int32_t>j
            lane.n_touched += 1


cdef void descend(
    Workspace work, Py_ssize_t c, const Settings *settings, int n_passes, Problem problem
) noexcept nogil:
    """Passes over the active set until the projected gradient is small against the tolerance."""
    cdef Lane *lane = &work.lanes[c]
    cdef float enough = lane.precision
    cdef Descent d
    cdef int _
    d.X = problem.X.rows
    d.n_entries = problem.X.n_entries
    d.squared_norms = &problem.squared_norms[0]
    d.sample_weight = &problem.sample_weight[0]
    d.active = &work.active[c, 0]
    d.alpha = &work.alpha[c, 0]
    d.touched = &work.touched[c, 0]
    d.v = &work.v[0]
    d.seen = &work.seen[0]
    d.n_left = lane.n_active
    d.limit = 1e30
    d.tiny = <float>(0.1 * enough)
    d.shrunk = NULL
    if d.X.dense:
        begin_dense(work, c, problem.X.n_columns, settings.l1)
        d.shrunk = &work.shrunk[0]
    for _ in range(n_passes):
        lane.n_visits += d.n_left
        one_pass(&d, lane, settings)
        if d.worst <= enough:
            return
        # The gap of the squared hinge is half the sum of the squares (for C_i = 1), and the
        # objective at least half the sum of the dual variables.
        if not settings.hinge and d.squares <= 0.3 * settings.tol * d.total:
            return
        d.limit = d.worst

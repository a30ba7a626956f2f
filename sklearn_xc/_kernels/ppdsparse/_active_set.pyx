"""One class between searches: its active set, dual variables, weights and objective values."""

from libc.math cimport ceil, fabs
from libc.stdint cimport int32_t, uint16_t, uint64_t
from libc.stdlib cimport free, malloc

import numpy as np

from sklearn_xc._kernels.common._common cimport dispatched, random_below, random_unit, seed_for
from sklearn_xc._kernels.common._rows cimport Row, Rows, row_at
from sklearn_xc._kernels.ppdsparse._byte_rows cimport BLOCK
from sklearn_xc._kernels.ppdsparse._held_intercept cimport hold_of
from sklearn_xc._kernels.ppdsparse._losses cimport conjugate, most_of
from sklearn_xc._kernels.ppdsparse._problem cimport Problem
from sklearn_xc._kernels.ppdsparse._types cimport CHUNK, IDLE, LANES, Lane, Settings, soft_threshold

cdef enum:
    FEW = 100  # random negatives at the start, at least
    PER_POSITIVE = 5  # random negatives, where that is more
    BATCH = 4  # dense rows that are added up at once


cdef class Workspace:
    """Scratch memory of one thread: O(D * LANES) dense, the lists as long as they are used."""

    def __init__(self, Py_ssize_t n, Py_ssize_t d, bint dense=False, bint graded=False):
        # np.empty maps memory that stays unused until a list grows into it
        self.active = np.empty((LANES, n), dtype=np.int32)
        self.alpha = np.empty((LANES, n), dtype=np.float32)
        self.grade = np.empty((LANES, n if graded else 0), dtype=np.float32)
        self.graded = graded
        self.candidates = np.empty((LANES, n), dtype=np.int32)
        self.candidate_scores = np.empty((LANES, n), dtype=np.float32)
        self.touched = np.empty((LANES, d + 1), dtype=np.int32)  # one is written ahead
        self.saved = np.empty((LANES, d), dtype=np.float32)
        self.weights = np.zeros((d + 1, LANES), dtype=np.float32)
        self.scores = np.empty((CHUNK, LANES), dtype=np.float32)
        self.ordered = np.empty((d if dense else 0, LANES), dtype=np.float32)
        self.byte_weights = np.empty((d + BLOCK if dense else 0) * LANES, dtype=np.int8)
        self.fine_weights = np.empty(d + BLOCK if dense else 0, dtype=np.int16)
        self.lowest_v = np.empty((LANES, d if dense else 0), dtype=np.float32)
        self.margins = np.empty(n if dense else 0, dtype=np.float32)
        self.costs = np.empty(n if dense else 0, dtype=np.float32)
        self.v = np.zeros(d, dtype=np.float32)
        self.lane_weights = np.empty(d if dense else 0, dtype=np.float32)
        self.packed = np.empty(d, dtype=np.float32)
        self.sparse = np.empty(d, dtype=np.float32)
        self.exact_v = np.zeros(d)
        self.cumulative = np.empty(d)
        self.seen = np.zeros(d, dtype=np.uint8)
        self.slot = np.zeros(d, dtype=np.int32)
        self.support = np.empty(d, dtype=np.int32)
        self.cursor = np.empty((d, 2), dtype=np.int64)
        self.positive_cursor = np.empty(LANES, dtype=np.int64)
        self.member = np.zeros(n, dtype=np.uint16)
        self.shift = np.zeros(n, dtype=np.float32)
        self.n_support = 0
        cdef Py_ssize_t c
        for c in range(LANES):
            self.lanes[c].label = IDLE

    def __dealloc__(self):
        free(self.scratch)


cdef int reserve(Workspace work, size_t size) except -1 nogil:
    """Scratch memory of so many bytes, whose content is not kept."""
    if size > work.scratch_size:
        free(work.scratch)
        work.scratch_size = 0
        work.scratch = malloc(size + size // 4)
        if work.scratch == NULL:
            raise MemoryError(f"no memory for {size} bytes of the active samples of a class")
        work.scratch_size = size + size // 4
    return 0


cdef void start_class(
    Workspace work, Py_ssize_t c, int32_t label, const Settings *settings, Problem problem
) noexcept nogil:
    """The active set starts with the positives, all their dual variables zero."""
    cdef Lane *lane = &work.lanes[c]
    cdef Py_ssize_t e, i
    lane.label = label
    lane.negative_weight = problem.class_weight[label, 0]
    lane.positive_weight = problem.class_weight[label, 1]
    lane.n_active = lane.n_touched = lane.n_candidates = 0
    lane.bias = 0
    lane.anchor = -1 if settings.intercept else 0
    lane.hold = hold_of(lane.negative_weight * problem.total_weight / problem.X.n_rows)
    lane.n_iter = 0
    lane.n_visits = 0
    lane.kept = lane.dual_known = lane.waits = False
    lane.fresh = True
    lane.precision = <float>(0.1 * settings.tol)
    lane.rng = seed_for(settings.seed, label)
    for e in range(problem.positive_indptr[label], problem.positive_indptr[label + 1]):
        i = problem.positive_rows[e]
        if problem.sample_weight[i] > 0:
            activate(work, c, i, True, 0)
            if work.graded:
                work.grade[c, lane.n_active - 1] = problem.positive_grades[e]


cdef void draw_negatives(Workspace work, Py_ssize_t c, Problem problem) noexcept nogil:
    """A few random negatives join the positives of a class that is new.

    Without them every sample would violate the margin at first, and choosing among them would cost
    more than everything else.
    """
    cdef Lane *lane = &work.lanes[c]
    cdef Py_ssize_t _, i, n = problem.X.n_rows
    for _ in range(min(n // 2, max(<Py_ssize_t>FEW, PER_POSITIVE * lane.n_active))):
        i = random_below(&lane.rng, <unsigned int>n)
        # a positive of weight zero is no member, and no negative either: it is drawn here only
        # with weight zero, which keeps it out
        if not (work.member[i] >> c) & 1 and problem.sample_weight[i] > 0:
            activate(work, c, i, False, 0)


cdef Py_ssize_t place_of_positive(
    const int32_t[:, ::1] active, Py_ssize_t c, Py_ssize_t n_positives, int32_t wanted
) noexcept nogil:
    """Where a positive stands in a fresh active set, which begins with them, ascending; or -1."""
    cdef Py_ssize_t low = 0, middle, high = n_positives
    while low < high:
        middle = (low + high) // 2
        if ~active[c, middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low if low < n_positives and ~active[c, low] == wanted else -1


cdef void resume_class(
    Workspace work,
    Py_ssize_t c,
    const Settings *settings,
    Problem problem,
    Py_ssize_t n_duals,
    const int32_t *dual_rows,
    const float *dual_data,
) noexcept nogil:
    """Warm start: take the dual variables of an earlier fit, clipped to the box of this one.

    A class whose negatives come with them needs no random ones, and its first search is a whole
    one, which along a path of penalties often is the last.
    """
    cdef Lane *lane = &work.lanes[c]
    cdef Py_ssize_t a, d, e, i, n_positives = lane.n_active
    cdef int32_t j
    cdef float y, value, weight
    cdef Rows X = problem.X.rows
    cdef Row row
    for d in range(n_duals):
        i = dual_rows[d]
        value = dual_data[d]
        if (work.member[i] >> c) & 1:
            a = place_of_positive(work.active, c, n_positives, <int32_t>i)
            if a < 0:  # a negative that is there twice
                continue
            y = 1
            weight = lane.positive_weight * grade_of(work, c, a)
        elif problem.sample_weight[i] > 0:
            a = lane.n_active
            activate(work, c, i, False, 0)
            y = -1
            weight = lane.negative_weight
        else:
            continue
        value = min(value, most_of(&settings.loss, weight * problem.sample_weight[i]))
        work.alpha[c, a] = value
        if value == 0:
            continue
        if settings.intercept:
            lane.bias += value * y
        row = row_at(X, i)
        for e in range(row.n):
            j = row.features[e]
            if not work.seen[j]:
                work.seen[j] = 1
                work.touched[c, lane.n_touched] = j
                lane.n_touched += 1
            work.v[j] += value * y * row.values[e]
    store_v(work, c)
    if settings.intercept and lane.n_active > n_positives:
        lane.anchor = lane.bias / settings.l2
    lane.n_visits += lane.n_active
    lane.fresh = lane.n_active == n_positives


cdef void load_v(Workspace work, Py_ssize_t c) noexcept nogil:
    cdef Py_ssize_t q
    for q in range(work.lanes[c].n_touched):
        work.v[work.touched[c, q]] = work.saved[c, q]
        work.seen[work.touched[c, q]] = 1


cdef void store_v(Workspace work, Py_ssize_t c) noexcept nogil:
    cdef Py_ssize_t q
    cdef int32_t j
    for q in range(work.lanes[c].n_touched):
        j = work.touched[c, q]
        work.saved[c, q] = work.v[j]
        work.v[j] = 0
        work.seen[j] = 0


cdef void drop_idle_negatives(Workspace work, Py_ssize_t c) noexcept nogil:
    """Algorithm 1, step 4: negatives whose dual variable is zero leave, positives never do."""
    cdef Lane *lane = &work.lanes[c]
    cdef Py_ssize_t a, kept = 0
    cdef int32_t entry
    for a in range(lane.n_active):
        entry = work.active[c, a]
        if work.alpha[c, a] == 0 and entry >= 0:
            work.member[entry] &= <uint16_t>~(1 << c)
        else:
            work.active[c, kept] = entry
            work.alpha[c, kept] = work.alpha[c, a]
            if work.graded:
                work.grade[c, kept] = work.grade[c, a]
            kept += 1
    lane.n_active = kept


cdef void publish_weights(
    Workspace work, Py_ssize_t c, const Settings *settings, bint sparsify
) noexcept nogil:
    """w = soft_threshold(v, l1) / l2 into the class's column of the block, for the search."""
    cdef Lane *lane = &work.lanes[c]
    cdef Py_ssize_t q, k, draws, n_weights = 0
    cdef int32_t j
    cdef float w
    cdef double l1_norm = 0
    lane.sparsified = False
    for q in range(lane.n_touched):
        w = soft_threshold(work.saved[c, q], settings.l1) / settings.l2
        work.packed[q] = w
        l1_norm += fabs(w)
        n_weights += w != 0
    if sparsify and n_weights:
        draws = n_draws(l1_norm, settings.delta)
        if draws < n_weights:
            lane.sparsified = True
            sparsify_weights(
                &work.packed[0], lane.n_touched, draws, &lane.rng, &work.cumulative[0],
                &work.sparse[0],
            )
            for q in range(lane.n_touched):
                work.packed[q] = work.sparse[q]
    for q in range(lane.n_touched):
        j = work.touched[c, q]
        if work.packed[q] == 0:
            continue
        if work.slot[j] == 0:
            work.support[work.n_support] = j
            work.n_support += 1
            work.slot[j] = <int32_t>work.n_support
            for k in range(LANES):
                work.weights[work.n_support, k] = 0
        work.weights[work.slot[j], c] = work.packed[q]


cdef dispatched add_in_float64(
    double *out, const float **x, const double *factors, Py_ssize_t d
) noexcept nogil:
    """out += sum_r factors[r] x[r] over BATCH rows, one after the other, in one pass."""
    cdef Py_ssize_t j
    cdef const float *x0 = x[0]
    cdef const float *x1 = x[1]
    cdef const float *x2 = x[2]
    cdef const float *x3 = x[3]
    cdef double f0 = factors[0], f1 = factors[1], f2 = factors[2], f3 = factors[3]
    for j in range(d):
        out[j] = (((out[j] + f0 * x0[j]) + f1 * x1[j]) + f2 * x2[j]) + f3 * x3[j]


cdef void add_dense_rows(Workspace work, Py_ssize_t c, Problem problem) noexcept nogil:
    """sum_i a_i y_i x_i over dense rows."""
    cdef Lane *lane = &work.lanes[c]
    cdef const float *x[BATCH]
    cdef double factors[BATCH]
    cdef Py_ssize_t a, n = 0
    cdef int32_t i
    for a in range(lane.n_active):
        i = work.active[c, a]
        if work.alpha[c, a] != 0:
            x[n] = row_at(problem.X.rows, i if i >= 0 else ~i).values
            factors[n] = -work.alpha[c, a] if i >= 0 else work.alpha[c, a]
            n += 1
        if n == BATCH or (n and a == lane.n_active - 1):
            while n < BATCH:
                x[n] = x[0]
                factors[n] = 0
                n += 1
            add_in_float64(&work.exact_v[0], x, factors, problem.X.n_columns)
            n = 0


cdef double dual_value(
    Workspace work, Py_ssize_t c, const Settings *settings, Problem problem
) noexcept nogil:
    """sum a_i - ||s||^2 / (2 l2), less what the loss takes from each.

    v is summed afresh in float64; `refresh_v` can put it in the place of the float32 sum that the
    descent keeps, which small steps let drift away from the dual variables.
    """
    cdef Lane *lane = &work.lanes[c]
    cdef Py_ssize_t a, e, i, q
    cdef int32_t j
    cdef double alpha, y, bias = 0, total = 0, squares = 0, s
    cdef float weight
    cdef Rows X = problem.X.rows
    cdef Row row
    for a in range(lane.n_active):
        alpha = work.alpha[c, a]
        if alpha == 0:
            continue
        i = work.active[c, a]
        y = -1
        weight = lane.negative_weight
        if i < 0:
            i = ~i
            y = 1
            weight = lane.positive_weight * grade_of(work, c, a)
        total += alpha
        squares += conjugate(&settings.loss, alpha, <double>weight * problem.sample_weight[i])
        bias += alpha * y
        if X.dense:
            continue
        row = row_at(X, i)
        for e in range(row.n):
            work.exact_v[row.features[e]] += alpha * y * row.values[e]
    if X.dense:
        add_dense_rows(work, c, problem)
    lane.n_visits += lane.n_active
    if settings.intercept:
        lane.fresh_bias = <float>bias
        squares += bias * bias / (2 * settings.l2)
    for q in range(lane.n_touched):
        j = work.touched[c, q]
        work.packed[q] = <float>work.exact_v[j]
        s = fabs(work.exact_v[j]) - settings.l1
        if s > 0:
            squares += s * s / (2 * settings.l2)
        work.exact_v[j] = 0
    return total - squares


cdef void refresh_v(Workspace work, Py_ssize_t c, const Settings *settings) noexcept nogil:
    """Take over the v that `dual_value` has just summed for this lane."""
    cdef Py_ssize_t q
    if settings.intercept:
        work.lanes[c].bias = work.lanes[c].fresh_bias
    for q in range(work.lanes[c].n_touched):
        work.saved[c, q] = work.packed[q]


cdef double primal_value(
    Workspace work, Py_ssize_t c, double intercept, double loss, const Settings *settings
) noexcept nogil:
    """The objective at the weights of the last search, with their loss at an intercept."""
    cdef Lane *lane = &work.lanes[c]
    cdef Py_ssize_t q
    cdef double w, l1_norm = 0, squares = intercept * intercept
    for q in range(lane.n_touched):
        w = soft_threshold(work.saved[c, q], settings.l1) / settings.l2
        l1_norm += fabs(w)
        squares += w * w
    return settings.l1 * l1_norm + 0.5 * settings.l2 * squares + loss


cdef void clear_lane(Workspace work, Py_ssize_t c) noexcept nogil:
    cdef Lane *lane = &work.lanes[c]
    cdef Py_ssize_t a
    cdef int32_t entry
    for a in range(lane.n_active):
        entry = work.active[c, a]
        work.member[entry if entry >= 0 else ~entry] &= <uint16_t>~(1 << c)
    lane.label = IDLE


# Random sparsification of a weight vector (PPDSparse, Algorithm 3).

cdef Py_ssize_t n_draws(double l1_norm, double delta) noexcept nogil:
    """R = ceil(2 ||w||_1^2 / delta^2) of Theorem 4.1, capped where it stops being a saving."""
    cdef double draws = ceil(2.0 * (l1_norm / delta) * (l1_norm / delta))
    return <Py_ssize_t>draws if draws < 2.0**31 else <Py_ssize_t>1 << 31


cdef void sparsify_weights(
    const float *weights,  # IN (n,)
    Py_ssize_t n,
    Py_ssize_t draws,
    uint64_t *rng,  # IN / OUT
    double *cumulative,  # scratch (n,)
    float *out,  # OUT (n,)
) noexcept nogil:
    """E[out] = weights and at most `draws` of its entries are not zero."""
    cdef double total = 0.0, target
    cdef Py_ssize_t j, low, high, middle, _
    for j in range(n):
        total += fabs(weights[j])
        cumulative[j] = total
        out[j] = 0.0
    if total == 0.0:
        return
    cdef float step = <float>(total / draws)
    for _ in range(draws):
        target = random_unit(rng) * total
        low, high = 0, n - 1
        while low < high:  # the first j whose cumulative sum exceeds the target
            middle = (low + high) // 2
            if cumulative[middle] > target:
                high = middle
            else:
                low = middle + 1
        out[low] += step if weights[low] > 0 else -step


def sparsify(const float[::1] weights, double delta, uint64_t seed):
    """Algorithm 3 on one vector; returns the sparsified copy and the number of draws R."""
    cdef double[::1] cumulative = np.empty(weights.shape[0])
    out = np.zeros(weights.shape[0], dtype=np.float32)
    cdef float[::1] out_view = out
    cdef uint64_t rng = seed_for(seed, 0)
    cdef double l1_norm = 0.0
    cdef Py_ssize_t j, draws
    for j in range(weights.shape[0]):
        l1_norm += fabs(weights[j])
    draws = n_draws(l1_norm, delta)
    if draws > 0:
        with nogil:
            sparsify_weights(
                &weights[0], weights.shape[0], draws, &rng, &cumulative[0], &out_view[0]
            )
    return out, draws

"""One class between searches: its active set, dual variables, weights and objective values.

With S the soft threshold at l1, the primal variables follow from the dual ones (PPDSparse,
equation 10): v = sum_i a_i y_i x_i and w = S(v) / l2; the intercept is the weight of a constant
feature that S passes by.  Between two descents v of a lane is that of its dual variables, up to
rounding, and every sample that is not in its active set has a dual variable of zero.  The start of
a class, its active set and its dual objective are these, whichever search finds violators.
"""

from libc.math cimport ceil, fabs
from libc.stdint cimport int32_t, int64_t, uint16_t, uint64_t

import numpy as np

from sklearn_xc._kernels.common._common cimport dispatched, random_below, random_unit, seed_for
from sklearn_xc._kernels.common._rows cimport Row, Rows, row_at
from sklearn_xc._kernels.ppdsparse._losses cimport conjugate, inverse_of, most_of
from sklearn_xc._kernels.ppdsparse._problem cimport BLOCK, Problem, weight_of
from sklearn_xc._kernels.ppdsparse._types cimport (
    CHUNK, IDLE, LANES, DualsOf, Lane, Settings, soft_threshold,
)

cdef enum:
    BATCH = 4  # dense rows that are added up at once
    EVERY_LANE = 0xffff  # bits of `Workspace.member`


cdef class Workspace:
    """Scratch memory of one thread: O(D * LANES) dense, the lists as long as they are used."""

    def __init__(self, Problem problem):
        n, d, dense = problem.X.n_rows, problem.X.n_columns, problem.X.rows.dense
        self.members.resize(LANES)
        # np.empty maps memory that stays unused until a list grows into it; where there is one
        # more, an entry is written before it is known whether it stays
        self.candidates = np.empty((LANES, n + 1), dtype=np.int32)
        self.candidate_scores = np.empty((LANES, n + 1), dtype=np.float32)
        self.touched = np.empty((LANES, d + 1), dtype=np.int32)
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
        self.member = np.where(np.asarray(problem.sample_weight) > 0, 0, EVERY_LANE).astype("u2")
        self.shift = np.zeros(n, dtype=np.float32)
        self.n_support = 0
        cdef Py_ssize_t c
        for c in range(LANES):
            self.lanes[c].label = IDLE


cdef inline double hold_of(double weight) noexcept nogil:
    """Return how strongly passes hold the intercept, from the weight of the loss of a negative."""
    # Half of what one negative with a loss adds to the curvature of P in b: next to nothing beside
    # that of all rows with a loss, and far above a small l2.
    return 0.5 * weight


cdef inline float inverse_curvature_of(
    float weight, float squared_norm, double hold, const Settings *settings
) noexcept nogil:
    """Return 1 / H of a sample (see `_dual_descent`); very large where nothing curves."""
    # H_ii of Algorithm 2 for any l2, and what the loss adds: ||x_i||^2 / l2 + inverse / C_i.
    cdef float curvature = squared_norm / settings.l2 + inverse_of(&settings.loss, weight)
    if settings.intercept:
        # x_{i,0} = 1, whose weight is held and so less free than by l2 alone.
        curvature += <float>(1 / (settings.l2 + hold))
    # a row without any entry moves to the end of its box
    return 1 / curvature if curvature > 0 else <float>3e38


cdef int add_members(
    Workspace work,
    Py_ssize_t c,
    const Settings *settings,
    Problem problem,
    const int32_t *rows,
    const float *grades,  # factors on their losses, or NULL
    Py_ssize_t n,
    bint positive,
) except -1 nogil:
    """Let n samples join the active set, their dual variables zero.

    Left out are samples that are there already, that weigh nothing, or that are here twice.
    """
    cdef Lane *lane = &work.lanes[c]
    cdef Py_ssize_t a, n_members = work.members[c].size()
    cdef float weight = lane.positive_weight if positive else lane.negative_weight
    cdef uint16_t bit = <uint16_t>(1 << c)
    cdef int32_t i
    cdef Member *member
    # grown before, so that there is a plain pointer to write to
    work.members[c].resize(n_members + n)
    member = work.members[c].data() + n_members
    for a in range(n):
        i = rows[a]
        # A sample of weight zero has all bits, so it looks like a member to every class.
        if work.member[i] & bit:
            continue
        work.member[i] |= bit
        member.row = i
        member.alpha = 0
        member.y = 1 if positive else -1
        member.weight = weight * weight_of(problem, i) * (1 if grades == NULL else grades[a])
        # The box of equation 10, times C_i: no end where the loss has no largest slope.
        member.most = most_of(&settings.loss, member.weight)
        member.inverse_weight = inverse_of(&settings.loss, member.weight)
        member.inverse_curvature = inverse_curvature_of(
            member.weight, problem.squared_norms[i], lane.hold, settings
        )
        member += 1
        n_members += 1
    work.members[c].resize(n_members)
    return 0


cdef Py_ssize_t place_of_positive(
    const Member *members, Py_ssize_t n_positives, int32_t wanted
) noexcept nogil:
    """Find a positive among those that begin a fresh active set, ascending; -1 without it."""
    # Nothing has left yet, and `positive_rows` ascend: bisection.
    cdef Py_ssize_t low = 0, middle, high = n_positives
    while low < high:
        middle = (low + high) // 2
        if members[middle].row < wanted:
            low = middle + 1
        else:
            high = middle
    return low if low < n_positives and members[low].row == wanted else -1


cdef int start_class(
    Workspace work, Py_ssize_t c, int32_t label, DualsOf known, const Settings *settings,
    Problem problem,
) except -1 nogil:
    """Start the active set with the positives and with what is known from an earlier fit.

    Known dual variables are clipped to the box of this fit.
    """
    cdef Lane *lane = &work.lanes[c]
    cdef Py_ssize_t d, a, n_positives, e = problem.positive_indptr[label]
    cdef Member *member
    lane.label = label
    lane.negative_weight = problem.class_weight[label, 0]
    lane.positive_weight = problem.class_weight[label, 1]
    lane.n_touched = lane.n_candidates = 0
    lane.bias = 0
    # The trivial solution of Theorem 3.2, w_0 = -1, at which no negative has a loss.
    lane.anchor = -1 if settings.intercept else 0
    lane.hold = hold_of(lane.negative_weight * problem.total_weight / problem.X.n_rows)
    lane.n_iter = 0
    lane.n_visits = 0
    lane.compact = lane.kept = lane.dual_known = lane.waits = False
    # So small a violation keeps no gap open by itself; where many do, rounds make it smaller.
    lane.precision = <float>(0.1 * settings.tol)
    lane.rng = seed_for(settings.seed, label)
    add_members(
        work, c, settings, problem, &problem.positive_rows[e],
        &problem.positive_grades[e] if problem.graded else NULL,
        problem.positive_indptr[label + 1] - e, True,
    )
    n_positives = work.members[c].size()
    # The positives are in; any other row was a negative of the earlier fit.
    for d in range(known.n):
        a = place_of_positive(work.members[c].data(), n_positives, known.rows[d])
        if a < 0:
            a = work.members[c].size()
            add_members(work, c, settings, problem, &known.rows[d], NULL, 1, False)
            if a == <Py_ssize_t>work.members[c].size():
                continue  # left out
        member = &work.members[c][a]
        # Weights may be smaller than they were, and the box with them.
        member.alpha = min(known.values[d], member.most)
    # A class whose negatives came along needs no random ones, and its first search is a whole one,
    # which along a path of penalties often is the last.
    lane.fresh = n_positives == <Py_ssize_t>work.members[c].size()
    return 0


cdef void touch_members(Workspace work, Py_ssize_t c, Problem problem) noexcept nogil:
    """Note the features of all members whose dual variable is not zero."""
    cdef Lane *lane = &work.lanes[c]
    cdef Py_ssize_t a, e, q
    cdef int32_t j
    cdef Row row
    for a in range(<Py_ssize_t>work.members[c].size()):
        if work.members[c][a].alpha == 0:
            continue
        row = row_at(problem.X.rows, work.members[c][a].row)
        for e in range(row.n):
            j = row.features[e]
            # Written in any case and counted if new; `touched` has one place more than features.
            work.touched[c, lane.n_touched] = j
            lane.n_touched += not work.seen[j]
            work.seen[j] = 1
    for q in range(lane.n_touched):
        work.seen[work.touched[c, q]] = 0


cdef void warm_start(
    Workspace work, Py_ssize_t c, const Settings *settings, Problem problem
) noexcept nogil:
    """Sum v of known dual variables; the intercept is theirs where they have negatives."""
    cdef Lane *lane = &work.lanes[c]
    if not lane.compact:
        touch_members(work, c, problem)
    # Sums v in `exact_v` over the touched features and clears it again.
    dual_value(work, c, settings, problem)
    refresh_v(work, c, settings)
    if settings.intercept and not lane.fresh:
        # w_0 = v_0 / l2. Of positives alone it would be far too high.
        lane.anchor = lane.bias / settings.l2


cdef int draw_negatives(
    Workspace work, Py_ssize_t c, const Settings *settings, Problem problem, Py_ssize_t n,
    Py_ssize_t pool,
) except -1 nogil:
    """Let n random negatives of the first `pool` rows join; they take the place of candidates."""
    cdef Lane *lane = &work.lanes[c]
    cdef Py_ssize_t q
    # At alpha = 0 every gradient is -1 (equation 12), so that step 2 of Algorithm 1 would have no
    # reason to prefer a sample. Without a few negatives every sample would violate the margin in
    # the first search, and to choose among them would cost more than everything else. Positives and
    # repeats among the draws are left out as members.
    for q in range(n):
        work.candidates[c, q] = random_below(&lane.rng, <unsigned int>pool)
    return add_members(work, c, settings, problem, &work.candidates[c, 0], NULL, n, False)


cdef void drop_idle_negatives(Workspace work, Py_ssize_t c) noexcept nogil:
    """Drop negatives whose dual variable is zero, but never positives (Algorithm 1, step 4).

    The copied rows of a compact lane move together.
    """
    cdef Lane *lane = &work.lanes[c]
    cdef Py_ssize_t a, e, kept = 0, at = 0
    cdef uint16_t others = <uint16_t>~(1 << c)
    cdef Member *members = work.members[c].data()
    cdef Member *member
    cdef int32_t *places = work.places.data()
    cdef float *values = work.values.data()
    for a in range(<Py_ssize_t>work.members[c].size()):
        member = &members[a]
        if member.alpha == 0 and member.y < 0:
            work.member[member.row] &= others
            continue
        if lane.compact:
            # Copies lie in the order of members, so `at` is never behind `start`: what is
            # overwritten has been read or has left.
            if member.start != at:
                for e in range(member.length):
                    places[at + e] = places[member.start + e]
                    values[at + e] = values[member.start + e]
                member.start = at
            at += member.length
        members[kept] = member[0]
        kept += 1
    work.members[c].resize(kept)
    if lane.compact:
        work.places.resize(at)
        work.values.resize(at)


cdef void publish_weights(
    Workspace work, Py_ssize_t c, const Settings *settings, bint sparsify
) noexcept nogil:
    """Write w = S(v) / l2 into the column of weights that the class has in a search of lanes."""
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
    # Only w_j, j > 0: the intercept stays exact. R draws, no fewer than weights, save nothing.
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
        # The first lane with a weight on j opens a row for it. Row 0 stays zero, for all features
        # without a weight in any lane.
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
    """Add sum_r factors[r] x[r] to `out` over BATCH rows, one after the other, in one pass."""
    cdef Py_ssize_t j
    cdef const float *x0 = x[0]
    cdef const float *x1 = x[1]
    cdef const float *x2 = x[2]
    cdef const float *x3 = x[3]
    cdef double f0 = factors[0], f1 = factors[1], f2 = factors[2], f3 = factors[3]
    # In these brackets the rows are added one after the other: the same bits as four passes.
    for j in range(d):
        out[j] = (((out[j] + f0 * x0[j]) + f1 * x1[j]) + f2 * x2[j]) + f3 * x3[j]


cdef void add_dense_rows(Workspace work, Py_ssize_t c, Problem problem) noexcept nogil:
    """Add sum_i a_i y_i x_i of dense rows to `exact_v`."""
    cdef const float *x[BATCH]
    cdef double factors[BATCH]
    cdef Py_ssize_t a, n = 0, n_members = work.members[c].size()
    cdef const Member *member
    for a in range(n_members):
        member = &work.members[c][a]
        if member.alpha != 0:
            x[n] = row_at(problem.X.rows, member.row).values
            factors[n] = member.alpha * member.y
            n += 1
        if n == BATCH or (n and a == n_members - 1):
            # The last batch is filled with a row that is there, by factors of zero.
            while n < BATCH:
                x[n] = x[0]
                factors[n] = 0
                n += 1
            add_in_float64(&work.exact_v[0], x, factors, problem.X.n_columns)
            n = 0


cdef double dual_value(
    Workspace work, Py_ssize_t c, const Settings *settings, Problem problem
) noexcept nogil:
    """Return sum_i a_i - |S(v)|^2 / (2 l2), less what the loss takes from each (equation 10).

    v is summed afresh in float64; `refresh_v` can put it in the place of the float32 sum that the
    descent keeps, which small steps let drift away from the dual variables.
    """
    cdef Lane *lane = &work.lanes[c]
    cdef Py_ssize_t a, e, q, n_members = work.members[c].size()
    cdef int32_t j
    cdef double bias = 0, total = 0, squares = 0, step, s
    cdef double *exact = &work.exact_v[0]
    cdef Rows X = problem.X.rows
    cdef Row row
    cdef const Member *members = work.members[c].data()
    cdef const Member *member
    for a in range(n_members):
        member = &members[a]
        if member.alpha == 0:
            continue
        # -G(alpha) of equation 10, term by term; what the loss takes is 0 in the paper's.
        step = <double>member.alpha * member.y
        total += member.alpha
        squares += conjugate(&settings.loss, member.alpha, member.weight)
        bias += step
        if X.dense:
            continue
        row = row_of(work, lane, X, member)
        for e in range(row.n):
            exact[row.features[e]] += step * row.values[e]
    if X.dense:
        add_dense_rows(work, c, problem)
    lane.n_visits += n_members
    lane.fresh_bias = bias
    if settings.intercept:
        # w_0 = v_0 / l2: the prox leaves the constant feature alone.
        squares += bias * bias / (2 * settings.l2)
    for q in range(lane.n_touched):
        j = <int32_t>q if lane.compact else work.touched[c, q]
        # For `refresh_v`; the objective is that of v in float64.
        work.packed[q] = <float>exact[j]
        s = fabs(exact[j]) - settings.l1
        if s > 0:
            squares += s * s / (2 * settings.l2)
        exact[j] = 0
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
    """Return the objective at the weights of the last search, with their loss at an intercept."""
    cdef Lane *lane = &work.lanes[c]
    cdef Py_ssize_t q
    cdef double w, l1_norm = 0, squares = intercept * intercept
    for q in range(lane.n_touched):
        w = soft_threshold(work.saved[c, q], settings.l1) / settings.l2
        l1_norm += fabs(w)
        squares += w * w
    # F(w) of equation 9, with l2 in the place of 1 and w_0 among the squares.
    return settings.l1 * l1_norm + 0.5 * settings.l2 * squares + loss


cdef void clear_lane(Workspace work, Py_ssize_t c) noexcept nogil:
    """Forget a class, with work in proportion to its active set."""
    cdef Py_ssize_t a
    # `member` is as long as there are samples: only the bits that were set are cleared.
    for a in range(<Py_ssize_t>work.members[c].size()):
        work.member[work.members[c][a].row] &= <uint16_t>~(1 << c)
    work.members[c].clear()
    work.lanes[c].label = IDLE


# Dual variables from which classes start: of an earlier fit, or as a pruned solver leaves them.

cdef class Duals:
    """Classes to solve, and for each the dual variables from which it starts, perhaps none."""

    def __init__(self, const int32_t[::1] labels=None, tuple dual=()):
        cdef const int64_t[::1] indptr
        cdef const int32_t[::1] rows
        cdef const float[::1] data
        cdef Py_ssize_t q, e
        # Entries of class q are indptr[q], ..., indptr[q + 1] - 1, as in CSR.
        self.indptr.push_back(0)
        if dual:
            indptr, rows, data = dual
        for q in range(0 if labels is None else labels.shape[0]):
            self.labels.push_back(labels[q])
            if dual:
                for e in range(indptr[labels[q]], indptr[labels[q] + 1]):
                    self.rows.push_back(rows[e])
                    self.data.push_back(data[e])
            self.indptr.push_back(self.rows.size())

    cdef DualsOf of_class(self, Py_ssize_t q) noexcept nogil:
        cdef DualsOf found
        found.n = self.indptr[q + 1] - self.indptr[q]
        found.rows = self.rows.data() + self.indptr[q]
        found.values = self.data.data() + self.indptr[q]
        return found

    cdef int append(
        self, int32_t label, const vector[Member] &members, DualsOf known
    ) except -1 nogil:
        """Add a class as a search of columns leaves it, or with what was known before any."""
        cdef Py_ssize_t a
        self.labels.push_back(label)
        for a in range(<Py_ssize_t>members.size()):
            self.rows.push_back(members[a].row)
            self.data.push_back(members[a].alpha)
        # A class that no search of columns has begun has no members yet.
        for a in range(0 if members.size() else known.n):
            self.rows.push_back(known.rows[a])
            self.data.push_back(known.values[a])
        self.indptr.push_back(self.rows.size())
        return 0


# Random sparsification of a weight vector (PPDSparse, Algorithm 3).

cdef Py_ssize_t n_draws(double l1_norm, double delta) noexcept nogil:
    """Return R = ceil(2 |w|_1^2 / delta^2) of Theorem 4.1, or less where it is no saving."""
    # In float64, since the cast of a number beyond an integer's range is undefined.
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
    """Draw `out` with E[out] = weights, of which at most `draws` entries are not zero."""
    cdef double total = 0.0, target
    cdef Py_ssize_t j, low, high, middle, _
    # Step 1 draws j with probability |w_j| / ||w||_1, by the inverse of these sums.
    for j in range(n):
        total += fabs(weights[j])
        cumulative[j] = total
        out[j] = 0.0
    if total == 0.0:
        return
    cdef float step = <float>(total / draws)
    for _ in range(draws):
        target = random_unit(rng) * total
        # n - 1 where rounding has put the target at the very end, so that `low` is an entry.
        low, high = 0, n - 1
        while low < high:  # the first j whose cumulative sum exceeds the target
            middle = (low + high) // 2
            if cumulative[middle] > target:
                high = middle
            else:
                low = middle + 1
        # The output of Algorithm 3, ||w||_1 / R times the signed counts, summed as it is drawn.
        out[low] += step if weights[low] > 0 else -step


def sparsify(const float[::1] weights, double delta, uint64_t seed):
    """Run Algorithm 3 on one vector; returns the sparsified copy and the number of draws R."""
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

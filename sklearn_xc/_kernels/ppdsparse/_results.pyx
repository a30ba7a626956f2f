"""Results of the classes that are solved."""

from libc.math cimport fabs, sqrt
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

import numpy as np

from sklearn_xc._kernels.ppdsparse._active_set cimport Member, Workspace
from sklearn_xc._kernels.ppdsparse._losses cimport Loss, is_bounded, is_smooth
from sklearn_xc._kernels.ppdsparse._problem cimport Columns, Problem, weight_of
from sklearn_xc._kernels.ppdsparse._sorting cimport sort_by_key
from sklearn_xc._kernels.ppdsparse._types cimport Lane, Settings, soft_threshold

# Weights of a finished class that change next to nothing are dropped (`pruning`).
#
# Two things hold for what is left: no score of a training row has moved by more than `prune`, and
# the objective is certified to lie within `tol` of its optimum.  Neither follows from the size of
# single weights, since thousands of small ones add up.

# Entries that pruning may read, as a share of those of X that the fit of the class has read.
# An entry costs more here than there: it is written, scattered, and cleared again.
cdef double SHARE = 1.0 / 64


cdef struct Candidate:
    float key  # |w_j| times the norm of the feature's column
    float w
    float pull  # w_j times v_j of the dual variables
    int32_t feature
    int32_t place  # among the features that the lane touches


cdef struct Rise:  # what dropping has done to the objective
    double factor  # largest weight of the loss by class
    double squares  # sum_i C_i shift_i^2, for a smooth loss
    double shifts  # sum_i C_i shift_i, for one of bounded slope
    double gained  # of the l1 penalty, which gets smaller
    double ridge  # sum of l2 w_j^2 / 2
    double pull  # sum of v_j w_j


cdef double gap_with(const Rise *rise, double gap, const Loss *loss) noexcept nogil:
    """Return an upper bound of P(w') - D, w' being w without what was dropped.

    A loss of bounded slope changes by at most ceiling C_i shift_i for each row.  One L of curvature
    c = 1 / inverse: with d = w - w', L(w') - L(w) <= -<grad L(w), d> + c sum_i C_i <x_i, d>^2 / 2,
    and -<grad L(w), d> is <v, d> up to sum_i r_i y_i <x_i, d> for the residuals
    r_i = C_i slope(m_i) - a_i, which the gap bounds: sum_i r_i^2 / (2 c C_i) <= P(w) - D.  Where v
    has these weights, dropped features have v_j w_j = l1 |w_j| + l2 w_j^2, so that of the penalties
    only l2 w_j^2 / 2 is left.
    """
    cdef double root, bound = 1e300
    if is_smooth(loss):
        # By Cauchy and Schwarz the residuals add 2 sqrt(gap) sqrt(q) at most, q the quadratic term:
        # with the gap and q this is the square of a sum of roots.
        root = sqrt(max(<double>0, gap))
        root += sqrt(0.5 * rise.factor * rise.squares * loss.steepness)
        # A gap below zero, from rounding, stays one.
        bound = root * root + min(gap, <double>0) + rise.pull - rise.gained - rise.ridge
    if is_bounded(loss):
        bound = min(
            bound,
            # Each row's loss rises by at most ceiling C_i |<x_i, d>|; the penalties only fall.
            gap + max(
                <double>0, loss.ceiling * rise.factor * rise.shifts - rise.gained - rise.ridge
            ),
        )
    return bound


cdef double relative(double gap, double dual) noexcept nogil:
    return gap / max(gap + dual, <double>1e-30)


cdef bint drop_in_rows(
    const Candidate *one,
    Problem problem,
    float prune,
    float[::1] shift,  # IN / OUT (n_samples,): sum of |w_j x_ij| over dropped features
    Rise *rise,
) noexcept nogil:
    """Drop a weight as far as the rows are concerned; says whether all of them allow it."""
    cdef Columns columns = problem.X.columns
    cdef int64_t e
    cdef int32_t i
    cdef float old, new, weight, highest = 0
    cdef double squares = 0, shifts = 0
    for e in range(columns.indptr[one.feature], columns.indptr[one.feature + 1]):
        i = columns.rows[e]
        old = shift[i]
        # Sums of magnitudes: signs of later features cannot make a row worse than that.
        new = old + <float>fabs(one.w * columns.values[e])
        shift[i] = new
        highest = max(highest, new)
        weight = weight_of(problem, i)
        # By the change of the square, so that the sum over all rows is never made again.
        squares += weight * (<double>new * new - <double>old * old)
        shifts += weight * <double>(new - old)
    rise.squares += squares
    rise.shifts += shifts
    return highest <= prune


cdef void take_back_in_rows(const Candidate *one, Columns columns, float[::1] shift) noexcept nogil:
    cdef int64_t e
    for e in range(columns.indptr[one.feature], columns.indptr[one.feature + 1]):
        shift[columns.rows[e]] -= <float>fabs(one.w * columns.values[e])


cdef int collect(
    Workspace work, Py_ssize_t c, const Settings *settings, Problem problem,
    vector[Candidate] &candidates,
) except -1 nogil:
    """Write the weights of the lane into `packed`, and list the ones small enough to go alone."""
    cdef Lane *lane = &work.lanes[c]
    cdef const float *v = &work.saved[c, 0]
    cdef Py_ssize_t q
    cdef int32_t j
    cdef float w
    cdef Candidate one
    # The weights of the search of lowest objective, which are those that are kept.
    if lane.kept:
        v = &work.lowest_v[c, 0]
    for q in range(lane.n_touched):
        j = work.touched[c, q]
        w = soft_threshold(v[q], settings.l1) / settings.l2
        work.packed[q] = w
        if w != 0 and fabs(w) * problem.feature_maxima[j] <= settings.prune:
            one.key = <float>fabs(w) * problem.feature_norms[j]
            one.w = w
            # v of the dual variables as they are, in which the gap was taken.
            one.pull = work.saved[c, q] * w
            one.feature = j
            one.place = <int32_t>q
            candidates.push_back(one)
    return 0


cdef int prune_weights(
    Workspace work, Py_ssize_t c, const Settings *settings, Problem problem
) except -1 nogil:
    """Write the weights of a lane that stay into `packed`, 0 for others, and take their gap."""
    cdef Lane *lane = &work.lanes[c]
    cdef Columns columns = problem.X.columns
    cdef bint has_columns = problem.X.has_columns
    cdef Rise rise, before
    cdef double gap = lane.gap * lane.primal, dual = lane.primal - gap, total = 0, norms = 0
    cdef double left = (
        SHARE * lane.n_visits * problem.X.n_entries / max(1, problem.X.n_rows)
    )
    cdef Py_ssize_t u, length, kept = 0
    cdef bint fits
    cdef Candidate *one
    cdef vector[Candidate] candidates
    rise.factor = max(lane.positive_weight, lane.negative_weight)
    rise.squares = rise.shifts = rise.gained = rise.ridge = rise.pull = 0
    collect(work, c, settings, problem, candidates)
    if relative(gap, dual) > settings.tol:
        candidates.clear()  # nothing to spare
    # The smallest first, in the norm of what they do to all rows: most go before a row is full.
    sort_by_key(candidates.data(), <Py_ssize_t>candidates.size())
    for u in range(<Py_ssize_t>candidates.size()):
        one = &candidates[u]
        before = rise
        rise.gained += settings.l1 * fabs(one.w)
        rise.ridge += 0.5 * settings.l2 * <double>one.w * one.w
        rise.pull += one.pull
        # With columns the sum of |w_j x_ij| over dropped features is kept for each row, within the
        # reading that `SHARE` allows; otherwise the sum of |w_j| max_i |x_ij| stands for every row,
        # and that of |w_j| ||x_j|| for the root of the sum of the squares.
        if has_columns:
            length = columns.indptr[one.feature + 1] - columns.indptr[one.feature]
            # Cheaper features may follow.
            if length > left:
                rise = before
                continue
            left -= length
            fits = drop_in_rows(one, problem, settings.prune, work.shift, &rise)
        else:
            total += fabs(one.w) * problem.feature_maxima[one.feature]
            norms += one.key
            fits = total <= settings.prune
            # Without columns: ||sum_j |w_j| |x_j| || <= sum_j |w_j| ||x_j||.
            rise.squares = norms * norms
            rise.shifts += one.key * sqrt(problem.total_weight)
        # Both promises of pruning, after this weight as well.
        if fits and relative(gap_with(&rise, gap, &settings.loss), dual) <= settings.tol:
            work.packed[one.place] = 0
            candidates[kept] = one[0]
            kept += 1
            continue
        rise = before
        if not has_columns:
            break  # whatever follows is larger
        take_back_in_rows(one, columns, work.shift)
    if has_columns:
        for u in range(kept):
            clear_rows(candidates[u].feature, columns, work.shift)
    if kept:
        lane.gap = relative(gap_with(&rise, gap, &settings.loss), dual)
    return 0


cdef void clear_rows(int32_t feature, Columns columns, float[::1] shift) noexcept nogil:
    cdef int64_t e
    for e in range(columns.indptr[feature], columns.indptr[feature + 1]):
        shift[columns.rows[e]] = 0


cdef int append(SparseOutput *out, int32_t index, float value) except -1 nogil:
    cdef void *grown
    cdef Py_ssize_t capacity
    if out.size == out.capacity:
        # Doubling: entries are moved a constant number of times each.
        capacity = max(1024, 2 * out.capacity)
        grown = realloc(out.indices, capacity * sizeof(int32_t))
        if grown == NULL:
            raise MemoryError(f"no memory for {capacity} weights of a block of classes")
        out.indices = <int32_t *>grown
        grown = realloc(out.data, capacity * sizeof(float))
        if grown == NULL:
            raise MemoryError(f"no memory for {capacity} weights of a block of classes")
        out.data = <float *>grown
        out.capacity = capacity
    out.indices[out.size] = index
    out.data[out.size] = value
    out.size += 1
    return 0


cdef tuple as_arrays(SparseOutput *out):
    indices = np.empty(out.size, dtype=np.int32)
    data = np.empty(out.size, dtype=np.float32)
    cdef int32_t[::1] to_indices = indices
    cdef float[::1] to_data = data
    if out.size:
        memcpy(&to_indices[0], out.indices, out.size * sizeof(int32_t))
        memcpy(&to_data[0], out.data, out.size * sizeof(float))
    return indices, data


cdef class Results:
    """Weights and reports of the solved classes, in the order in which they were finished."""

    def __init__(self, Py_ssize_t n):
        self.labels = np.empty(n, dtype=np.int32)
        self.n_iter = np.zeros(n, dtype=np.int32)
        self.n_weights = np.zeros(n, dtype=np.int64)
        self.n_duals = np.zeros(n, dtype=np.int64)
        self.n_active = np.zeros(n, dtype=np.int64)
        self.intercept = np.zeros(n, dtype=np.float32)
        self.gap = np.zeros(n)
        self.n_visits = np.zeros(n)

    def __dealloc__(self):
        free(self.weights.indices)
        free(self.weights.data)
        free(self.duals.indices)
        free(self.duals.data)

    def as_tuple(self):
        return (
            np.asarray(self.labels), np.asarray(self.n_weights), np.asarray(self.intercept),
            np.asarray(self.n_iter), np.asarray(self.gap), np.asarray(self.n_active),
            as_arrays(&self.weights), np.asarray(self.n_duals), as_arrays(&self.duals),
            np.asarray(self.n_visits),
        )


cdef int keep_class(
    Results results, Workspace work, Py_ssize_t c, const Settings *settings, bint keep_dual
) except -1 nogil:
    """Store a class that is done, with the weights that its pruning has left in `packed`."""
    cdef Lane *lane = &work.lanes[c]
    cdef Py_ssize_t n = results.n_done, q, before = results.weights.size
    cdef bint done = lane.gap <= settings.tol
    cdef const Member *member
    results.labels[n] = lane.label
    results.n_iter[n] = lane.n_iter
    results.gap[n] = lane.gap
    results.n_visits[n] = lane.n_visits
    results.n_active[n] = work.members[c].size()
    results.intercept[n] = lane.intercept
    for q in range(lane.n_touched):
        # `packed` is as `prune_weights` has left it; positions of the fit's order, named at the
        # end.
        if work.packed[q] != 0:
            append(&results.weights, work.touched[c, q], work.packed[q])
    results.n_weights[n] = results.weights.size - before
    if keep_dual:
        before = results.duals.size
        for q in range(<Py_ssize_t>work.members[c].size()):
            member = &work.members[c][q]
            if member.alpha > 0:
                append(&results.duals, member.row, member.alpha)
        if not done:  # the violators just found are where the next fit goes on
            for q in range(lane.n_candidates):
                append(&results.duals, work.candidates[c, q], 0)
        results.n_duals[n] = results.duals.size - before
    results.n_done += 1
    return 0


# Sparse entries of solved classes under the caller's numbers, in ascending order.

def name_entries(
    const int64_t[::1] counts, int32_t[::1] positions, float[::1] values, const int32_t[::1] names
):
    """Put names in the place of positions and sort the entries of each class by them.

    Done where a block of classes is solved, so that threads share the work.

    Parameters
    ----------
    counts : (n_classes,), how many of the entries each class has
    positions : (n_entries,), no position twice in a class; changed in place
    values : (n_entries,), changed in place
    names : the number that each position stands for
    """
    cdef Py_ssize_t k, e, begin = 0, n
    cdef uint32_t bits
    cdef vector[uint64_t] keys  # the name, and the bits of the value with it
    with nogil:
        for k in range(counts.shape[0]):
            n = counts[k]
            keys.resize(n)
            for e in range(n):
                memcpy(&bits, &values[begin + e], sizeof(float))
                # Names differ within a class, so the sort never looks at the bits of a value.
                keys[e] = (<uint64_t>names[positions[begin + e]] << 32) | bits
            sort(keys.begin(), keys.end())
            for e in range(n):
                bits = <uint32_t>keys[e]
                positions[begin + e] = <int32_t>(keys[e] >> 32)
                memcpy(&values[begin + e], &bits, sizeof(float))
            begin += n

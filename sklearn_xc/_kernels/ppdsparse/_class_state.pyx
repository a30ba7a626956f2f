"""One class of the pruned solver between its searches: its active set and dual objective."""

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t

import numpy as np

from sklearn_xc._kernels.common._rows cimport Row, prefetch_row, row_at
from sklearn_xc._kernels.ppdsparse._coordinate_step cimport inverse_curvature_of
from sklearn_xc._kernels.ppdsparse._losses cimport conjugate, inverse_of, most_of, value
from sklearn_xc._kernels.ppdsparse._problem cimport Problem, weight_of
from sklearn_xc._kernels.ppdsparse._types cimport DualsOf, Settings, padded

cdef enum:
    AHEAD = 8  # rows that are prefetched before they are copied


cdef class ClassState:
    """Scratch memory of one thread: O(N + D), and the copied rows of one class."""

    def __init__(self, Problem problem):
        n, d = problem.X.n_rows, problem.X.n_columns
        self.place = np.full(d, -1, dtype=np.int32)
        self.weights = np.zeros(d, dtype=np.float32)
        self.has_weight = np.zeros(d // 64 + 1, dtype=np.uint64)
        self.mark = np.where(np.asarray(problem.sample_weight) > 0, OUTSIDE, ABSENT).astype("u1")
        self.sums = np.zeros(min(n, ROWS_AT_ONCE), dtype=np.float32)
        # one more, since a row is written before it is known whether it stays
        self.hits = np.empty(n + 1, dtype=np.int32)
        self.hit_scores = np.empty(n + 1, dtype=np.float32)
        # with room for the rounding of the norms
        self.largest_norm = (1 + 1e-6) * np.sqrt(np.max(problem.squared_norms, initial=0))


cdef int add_members(
    ClassState state,
    const Settings *settings,
    Problem problem,
    const int32_t *rows,
    const float *grades,
    Py_ssize_t n,
    bint positive,
) except -1 nogil:
    """Those of n samples that are outside join the active set, their dual variables zero.

    Their rows are copied.  Vectors are grown before, so that there are plain pointers to write to.
    """
    cdef Py_ssize_t a, at = state.places.size(), n_features = state.features.size()
    cdef Py_ssize_t n_members = state.members.size(), n_entries = 0
    cdef float weight = state.positive_weight if positive else state.negative_weight
    cdef Member *member
    cdef Row row
    for a in range(n):
        n_entries += padded(row_at(problem.X.rows, rows[a]).n)
    state.places.resize(at + n_entries)
    state.values.resize(at + n_entries)
    state.features.resize(n_features + n_entries)
    state.members.resize(n_members + n)
    for a in range(n):
        if a + AHEAD < n:
            prefetch_row(problem.X.rows, rows[a + AHEAD])
        if state.mark[rows[a]] != OUTSIDE:  # there already, of weight zero, or here twice
            continue
        state.mark[rows[a]] = POSITIVE if positive else NEGATIVE
        row = row_at(problem.X.rows, rows[a])
        member = &state.members[n_members]
        member.row = rows[a]
        member.alpha = 0
        member.y = 1 if positive else -1
        member.weight = weight * weight_of(problem, rows[a]) * (
            1 if grades == NULL else grades[a]
        )
        member.most = most_of(&settings.loss, member.weight)
        member.inverse_weight = inverse_of(&settings.loss, member.weight)
        member.inverse_curvature = inverse_curvature_of(
            member.weight, problem.squared_norms[rows[a]], state.hold, settings
        )
        member.start = at
        n_features = copy_row(
            row, &state.place[0], state.features.data(), n_features, state.places.data() + at,
            state.values.data() + at,
        )
        member.length = padded(row.n)
        at += member.length
        state.n_entries += row.n
        n_members += 1
    state.places.resize(at)
    state.values.resize(at)
    state.features.resize(n_features)
    state.v.resize(n_features)
    state.members.resize(n_members)
    return 0


cdef inline Py_ssize_t copy_row(
    Row row,
    int32_t *place_of,  # IN / OUT: the number of each feature, or -1
    int32_t *features,  # OUT: of each number
    Py_ssize_t n_features,
    int32_t *places,
    float *values,
) noexcept nogil:
    """Copy a row, filled up to whole vectors; returns how many features have a number then."""
    cdef Py_ssize_t e
    cdef int32_t j, place
    for e in range(row.n):
        j = row.features[e]
        place = place_of[j]
        # No branch, since about every second feature is new.
        place = place if place >= 0 else <int32_t>n_features
        place_of[j] = place
        features[n_features] = j
        n_features += place == n_features
        places[e] = place
        values[e] = row.values[e]
    for e in range(row.n, padded(row.n)):
        places[e] = places[0]
        values[e] = 0
    return n_features


cdef void drop_idle_negatives(ClassState state) noexcept nogil:
    """Algorithm 1, step 4; the copied rows of those that stay move together."""
    cdef Py_ssize_t a, e, kept = 0, at = 0
    cdef Member *member
    for a in range(<Py_ssize_t>state.members.size()):
        member = &state.members[a]
        if member.alpha == 0 and member.y < 0:
            state.mark[member.row] = OUTSIDE
            continue
        if member.start != at:
            for e in range(member.length):
                state.places[at + e] = state.places[member.start + e]
                state.values[at + e] = state.values[member.start + e]
            member.start = at
        at += member.length
        state.members[kept] = member[0]
        kept += 1
    state.members.resize(kept)
    state.places.resize(at)
    state.values.resize(at)


cdef double loss_of_members(
    ClassState state, const Settings *settings, double intercept
) noexcept nogil:
    """The losses of the active set at the weights of the last search and an intercept."""
    cdef Py_ssize_t a, e
    cdef double z, margin, loss = 0
    cdef Member *member
    for a in range(<Py_ssize_t>state.members.size()):
        member = &state.members[a]
        z = intercept
        for e in range(member.start, member.start + member.length):
            z += <double>state.searched[state.places[e]] * state.values[e]
        margin = max(<double>0, 1 - member.y * z)
        loss += member.weight * value(&settings.loss, margin)
        state.n_entries += member.length
    return loss


cdef double dual_value(ClassState state, const Settings *settings) except -1e308 nogil:
    """sum a_i - ||s||^2 / (2 l2), less what the loss takes from each; v, s summed in float64."""
    cdef Py_ssize_t a, e, j
    cdef double total = 0, squares = 0, bias = 0, s, step
    cdef Member *member
    state.exact_v.assign(state.features.size(), 0)
    for a in range(<Py_ssize_t>state.members.size()):
        member = &state.members[a]
        if member.alpha == 0:
            continue
        step = <double>member.alpha * member.y
        total += member.alpha
        squares += conjugate(&settings.loss, member.alpha, member.weight)
        bias += step
        for e in range(member.start, member.start + member.length):
            state.exact_v[state.places[e]] += step * state.values[e]
        state.n_entries += member.length
    for j in range(<Py_ssize_t>state.features.size()):
        s = fabs(state.exact_v[j]) - settings.l1
        if s > 0:
            squares += s * s / (2 * <double>settings.l2)
    state.exact_bias = bias
    return total - squares - bias * bias / (2 * <double>settings.l2)


cdef void refresh_v(ClassState state) noexcept nogil:
    """Take over the v that `dual_value` has just summed.

    Small steps let the float32 sums of the descent drift away from the dual variables.
    """
    cdef Py_ssize_t j
    state.bias = state.exact_bias
    for j in range(<Py_ssize_t>state.features.size()):
        state.v[j] = <float>state.exact_v[j]


cdef void clear(ClassState state) noexcept nogil:
    """Forget the class, with work in proportion to what it has touched."""
    cdef Py_ssize_t a, q
    state.n_entries = state.cost_of_searches = 0
    for a in range(<Py_ssize_t>state.members.size()):
        state.mark[state.members[a].row] = OUTSIDE
    for q in range(<Py_ssize_t>state.features.size()):
        state.place[state.features[q]] = -1
    state.features.clear()
    state.v.clear()
    state.places.clear()
    state.values.clear()
    state.members.clear()


# Dual variables from which classes start: of an earlier fit, or as a pruned solver leaves them.

cdef class Duals:
    """Classes for the lanes, and for each the dual variables from which it starts, perhaps none."""

    def __init__(self, const int32_t[::1] labels=None, tuple dual=()):
        cdef const int64_t[::1] indptr
        cdef const int32_t[::1] rows
        cdef const float[::1] data
        cdef Py_ssize_t q, e
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

    cdef int append(self, int32_t label, ClassState state, DualsOf known) except -1 nogil:
        """A class as a pruned solver leaves it, or with what was known where it did not begin."""
        cdef Py_ssize_t a
        self.labels.push_back(label)
        for a in range(<Py_ssize_t>state.members.size()):
            self.rows.push_back(state.members[a].row)
            self.data.push_back(state.members[a].alpha)
        for a in range(0 if state.members.size() else known.n):
            self.rows.push_back(known.rows[a])
            self.data.push_back(known.values[a])
        self.indptr.push_back(self.rows.size())
        return 0

"""The state of sixteen classes in work and what is done to one of them between searches."""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t
from libcpp.vector cimport vector

from sklearn_xc._kernels.common._rows cimport Row, Rows, row_at
from sklearn_xc._kernels.ppdsparse._problem cimport Problem
from sklearn_xc._kernels.ppdsparse._types cimport LANES, DualsOf, Lane, Settings


cdef struct Member:  # a sample of the active set of a class
    int32_t row
    float alpha  # in the box [0, most]
    float y
    float weight  # of its loss, C_i
    float most
    float inverse_weight  # what the loss adds to the curvature of the dual in alpha
    float inverse_curvature
    int32_t length  # entries of its row as a descent reads it, in `Workspace.places` or in X
    Py_ssize_t start  # of them
    bint seen  # whether its features are among the touched ones


cdef class Workspace:
    cdef Lane lanes[LANES]
    cdef vector[vector[Member]] members  # of each lane; positives first, by row
    # (LANES, n_samples + 1) and (LANES, n_features + 1) lists, as long as the lane says.
    # saved is v of the features touched; a compact lane calls them by their number in that list.
    cdef int32_t[:, ::1] candidates, touched
    cdef float[:, ::1] candidate_scores, saved
    # A descent goes through these: the members in the order of visits, and entries of copied rows
    cdef vector[int32_t] order, places
    cdef vector[float] values
    # v of the class that is descending, and which features it touches; all zero in between
    cdef float[::1] v
    cdef float[::1] lane_weights  # of one lane by feature, for dense rows one by one; else empty
    cdef double[::1] exact_v
    cdef uint8_t[::1] seen
    # The weights for a search, packed so that they stay in the caches: feature j has those of row
    # slot[j], row 0 is zero, for features without any, and support[s - 1] is the feature of row s
    cdef float[:, ::1] weights
    cdef float[:, ::1] ordered  # for dense rows: those of feature j in row j; else empty
    cdef int8_t[::1] byte_weights  # and rounded to bytes
    cdef int16_t[::1] fine_weights  # (n_features,) of one class, in 16 bits
    # For dense rows (LANES, n_features): v of the search of lowest objective, see `_listed_rows`,
    # and (n_samples,) each of the rows that may have a loss in the last one
    cdef float[:, ::1] lowest_v
    cdef float[::1] margins, costs
    cdef int32_t[::1] slot, support
    cdef Py_ssize_t n_support
    # (n_samples,): bit c says that the sample is in the active set of lane c, or never can be
    # since it weighs nothing: such a sample has all bits
    cdef uint16_t[::1] member
    # (n_samples,) what the pruning has moved the score of each row by; all zero in between
    cdef float[::1] shift
    # scratch of the search (CHUNK, LANES), (n_features, 2), (LANES,) and of the sparsification
    cdef float[:, ::1] scores
    cdef int64_t[:, ::1] cursor
    cdef int64_t[::1] positive_cursor
    cdef float[::1] packed, sparse
    cdef double[::1] cumulative


cdef inline Row row_of(
    Workspace work, const Lane *lane, Rows X, const Member *member
) noexcept nogil:
    """Return the entries of a member, their features as v of the lane has them."""
    cdef Row row
    if not lane.compact:
        return row_at(X, member.row)
    # Places stand for features: v of a compact lane, `saved`, has one entry a number.
    row.features = work.places.data() + member.start
    row.values = work.values.data() + member.start
    row.n = member.length
    row.dense = False
    return row


cdef int start_class(
    Workspace work, Py_ssize_t c, int32_t label, DualsOf known, const Settings *settings,
    Problem problem,
) except -1 nogil

cdef void warm_start(
    Workspace work, Py_ssize_t c, const Settings *settings, Problem problem
) noexcept nogil

cdef int add_members(
    Workspace work, Py_ssize_t c, const Settings *settings, Problem problem, const int32_t *rows,
    const float *grades, Py_ssize_t n, bint positive,
) except -1 nogil

cdef int draw_negatives(
    Workspace work, Py_ssize_t c, const Settings *settings, Problem problem, Py_ssize_t n,
    Py_ssize_t pool,
) except -1 nogil

cdef void drop_idle_negatives(Workspace work, Py_ssize_t c) noexcept nogil

cdef double dual_value(
    Workspace work, Py_ssize_t c, const Settings *settings, Problem problem
) noexcept nogil

cdef void refresh_v(Workspace work, Py_ssize_t c, const Settings *settings) noexcept nogil

cdef void publish_weights(
    Workspace work, Py_ssize_t c, const Settings *settings, bint sparsify
) noexcept nogil

cdef double primal_value(
    Workspace work, Py_ssize_t c, double intercept, double loss, const Settings *settings
) noexcept nogil

cdef void clear_lane(Workspace work, Py_ssize_t c) noexcept nogil


cdef class Duals:
    cdef vector[int32_t] labels, rows
    cdef vector[int64_t] indptr
    cdef vector[float] data

    cdef DualsOf of_class(self, Py_ssize_t q) noexcept nogil

    cdef int append(
        self, int32_t label, const vector[Member] &members, DualsOf known
    ) except -1 nogil

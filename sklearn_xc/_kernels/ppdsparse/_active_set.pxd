"""The state of sixteen classes in work and what is done to one of them between searches."""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t

from sklearn_xc._kernels.ppdsparse._problem cimport Problem
from sklearn_xc._kernels.ppdsparse._types cimport LANES, Lane, Settings


cdef class Workspace:
    cdef Lane lanes[LANES]
    # (LANES, n_samples) and (LANES, n_features) lists, as long as the lane says
    cdef int32_t[:, ::1] active, candidates, touched
    cdef float[:, ::1] alpha, candidate_scores, saved
    # (LANES, n_samples) factors on the losses of active samples; not there without grades
    cdef float[:, ::1] grade
    cdef bint graded
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
    # (n_samples,): bit c says that the sample is in the active set of lane c
    cdef uint16_t[::1] member
    # (n_samples,) what the pruning has moved the score of each row by; all zero in between
    cdef float[::1] shift
    # scratch of the search (CHUNK, LANES), (n_features, 2), (LANES,) and of the sparsification
    cdef float[:, ::1] scores
    cdef int64_t[:, ::1] cursor
    cdef int64_t[::1] positive_cursor
    cdef float[::1] packed, sparse
    cdef double[::1] cumulative
    # what a descent copies; it grows
    cdef void *scratch
    cdef size_t scratch_size


cdef inline void activate(
    Workspace work, Py_ssize_t c, Py_ssize_t i, bint positive, float alpha
) noexcept nogil:
    """Sample i joins the active set of lane c; positives are stored as ~i."""
    cdef Lane *lane = &work.lanes[c]
    work.active[c, lane.n_active] = <int32_t>(~i if positive else i)
    work.alpha[c, lane.n_active] = alpha
    if work.graded:
        work.grade[c, lane.n_active] = 1
    work.member[i] |= <uint16_t>(1 << c)
    lane.n_active += 1


cdef inline float grade_of(Workspace work, Py_ssize_t c, Py_ssize_t a) noexcept nogil:
    """Factor on the loss of an active sample."""
    return work.grade[c, a] if work.graded else 1


cdef int reserve(Workspace work, size_t size) except -1 nogil

cdef void start_class(
    Workspace work, Py_ssize_t c, int32_t label, const Settings *settings, Problem problem
) noexcept nogil

cdef void draw_negatives(Workspace work, Py_ssize_t c, Problem problem) noexcept nogil

cdef void resume_class(
    Workspace work,
    Py_ssize_t c,
    const Settings *settings,
    Problem problem,
    Py_ssize_t n_duals,
    const int32_t *dual_rows,
    const float *dual_data,
) noexcept nogil

cdef void load_v(Workspace work, Py_ssize_t c) noexcept nogil

cdef void store_v(Workspace work, Py_ssize_t c) noexcept nogil

cdef void drop_idle_negatives(Workspace work, Py_ssize_t c) noexcept nogil

cdef void publish_weights(
    Workspace work, Py_ssize_t c, const Settings *settings, bint sparsify
) noexcept nogil

cdef double dual_value(
    Workspace work, Py_ssize_t c, const Settings *settings, Problem problem
) noexcept nogil

cdef double primal_value(
    Workspace work, Py_ssize_t c, double intercept, double loss, const Settings *settings
) noexcept nogil

cdef void clear_lane(Workspace work, Py_ssize_t c) noexcept nogil

cdef void refresh_v(Workspace work, Py_ssize_t c, const Settings *settings) noexcept nogil

from libc.stdint cimport int32_t, int64_t

from sklearn_xc._kernels.ppdsparse._active_set cimport Workspace
from sklearn_xc._kernels.ppdsparse._problem cimport Matrix, Problem
from sklearn_xc._kernels.ppdsparse._types cimport Lane, Settings

cdef enum:
    STRETCH = 512  # rows between which thresholds rise; of them a search for new classes reads
    ONE_IN = 8  # one stretch in eight


cdef Py_ssize_t best_of(
    int32_t *rows, float *scores, Py_ssize_t n, Py_ssize_t keep
) noexcept nogil


cdef extern from "ppdsparse/_dense_scores.h" nogil:
    void dense_scores "xc_dense_scores" (
        const float *x, int64_t n, int64_t width, const float *weights, const float *bias,
        float *scores
    )


cdef void keep_best(
    Lane *lane, Py_ssize_t c, int32_t[:, ::1] candidates, float[:, ::1] scores
) noexcept nogil

cdef void add_candidate(
    Lane *lane, Py_ssize_t c, int32_t i, float score, int32_t[:, ::1] candidates,
    float[:, ::1] scores,
) noexcept nogil

cdef void prepare_search(
    Workspace work, const Settings *settings, Problem problem, Py_ssize_t n_rows, bint warm_up
) noexcept nogil

cdef void finish_search(Workspace work) noexcept nogil

cdef int search(
    Workspace work, const Settings *settings, Problem problem, Matrix X, const int32_t[::1] stop,
    double *operations,
) except -1 nogil

cdef int search_sample(
    Workspace work, const Settings *settings, Problem problem, const int32_t[::1] stop,
    double *operations,
) except -1 nogil

from libc.stdint cimport int32_t, int64_t

from sklearn_xc._kernels.ppdsparse._active_set cimport Workspace
from sklearn_xc._kernels.ppdsparse._matrix cimport Matrix
from sklearn_xc._kernels.ppdsparse._problem cimport Problem
from sklearn_xc._kernels.ppdsparse._types cimport Settings

cdef extern from "ppdsparse/_dense_scores.h" nogil:
    void dense_scores "xc_dense_scores" (
        const float *x, int64_t n, int64_t width, const float *weights, const float *bias,
        float *scores
    )


cdef int search(
    Workspace work,
    const Settings *settings,
    Problem problem,
    Matrix X,
    const int32_t[::1] stop,
    double *operations,
) except -1 nogil

cdef int search_sample(
    Workspace work,
    const Settings *settings,
    Problem problem,
    const int32_t[::1] stop,
    double *operations,
) except -1 nogil

from libc.stdint cimport int32_t, int64_t

from sklearn_xc._kernels.ppdsparse._active_set cimport Workspace
from sklearn_xc._kernels.ppdsparse._problem cimport Problem
from sklearn_xc._kernels.ppdsparse._types cimport Settings


cdef int prune_weights(
    Workspace work, Py_ssize_t c, const Settings *settings, Problem problem
) except -1 nogil


cdef struct SparseOutput:  # grows as classes finish
    int32_t *indices
    float *data
    Py_ssize_t size
    Py_ssize_t capacity


cdef class Results:
    cdef int32_t[::1] labels, n_iter
    cdef int64_t[::1] n_weights, n_duals, n_active
    cdef float[::1] intercept
    cdef double[::1] gap, n_visits
    cdef SparseOutput weights, duals
    cdef Py_ssize_t n_done


cdef int keep_class(
    Results results, Workspace work, Py_ssize_t c, const Settings *settings, bint keep_dual
) except -1 nogil

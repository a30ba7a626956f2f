"""A round of the classes that are in work."""

from libc.stdint cimport int32_t

from sklearn_xc._kernels.ppdsparse._active_set cimport Workspace
from sklearn_xc._kernels.ppdsparse._duals cimport Duals
from sklearn_xc._kernels.ppdsparse._problem cimport Problem
from sklearn_xc._kernels.ppdsparse._results cimport Results
from sklearn_xc._kernels.ppdsparse._types cimport Settings


cdef int start_lane(
    Workspace work,
    Py_ssize_t c,
    const Settings *settings,
    Problem problem,
    Duals duals,
    Py_ssize_t q,
) except -1 nogil

cdef int warm_up(
    Workspace work,
    const Settings *settings,
    Problem problem,
    const int32_t[::1] stop,
    double *operations,
) except -1 nogil

cdef int descend_lanes(
    Workspace work,
    const Settings *settings,
    Problem problem,
    bint first,
    Results results,
    bint keep_dual,
    const int32_t[::1] stop,
    double *operations,
) except -1 nogil

cdef void let_others_wait(
    Workspace work, const Settings *settings, Problem problem
) noexcept nogil

cdef int search_lanes(
    Workspace work,
    const Settings *settings,
    Problem problem,
    bint exact,
    const int32_t[::1] stop,
    double *operations,
) except -1 nogil

cdef int finish_or_go_on(
    Workspace work,
    Py_ssize_t c,
    const Settings *settings,
    Problem problem,
    bint exact,
    Results results,
    bint keep_dual,
) except -1 nogil

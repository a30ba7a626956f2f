from libc.stdint cimport int32_t

from sklearn_xc._kernels.ppdsparse._active_set cimport Workspace
from sklearn_xc._kernels.ppdsparse._problem cimport Problem
from sklearn_xc._kernels.ppdsparse._types cimport Settings


cdef int search_index(
    Workspace work,
    const Settings *settings,
    Problem problem,
    bint warm_up,
    const int32_t[::1] stop,
    double *operations,
) except -1 nogil

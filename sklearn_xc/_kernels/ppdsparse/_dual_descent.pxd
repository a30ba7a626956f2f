from sklearn_xc._kernels.ppdsparse._active_set cimport Workspace
from sklearn_xc._kernels.ppdsparse._problem cimport Problem
from sklearn_xc._kernels.ppdsparse._types cimport Settings


cdef int descend(
    Workspace work, Py_ssize_t c, const Settings *settings, Problem problem, int n_passes,
    double share,
) except -1 nogil

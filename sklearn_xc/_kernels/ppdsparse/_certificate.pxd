"""The lowest objective that searches of a class have found, and where."""

from sklearn_xc._kernels.ppdsparse._active_set cimport Workspace
from sklearn_xc._kernels.ppdsparse._types cimport Settings


cdef float best_drop(
    Workspace work, Py_ssize_t c, Py_ssize_t n, float least, const Settings *settings
) noexcept nogil

cdef double primal_with(
    Workspace work, Py_ssize_t c, Py_ssize_t n, float drop, const Settings *settings
) noexcept nogil

cdef void keep_lowest(Workspace work, Py_ssize_t c) noexcept nogil

cdef void return_to_lowest(Workspace work, Py_ssize_t c) noexcept nogil

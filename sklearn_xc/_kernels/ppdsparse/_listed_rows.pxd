from libc.stdint cimport int32_t

from sklearn_xc._kernels.ppdsparse._active_set cimport Workspace
from sklearn_xc._kernels.ppdsparse._problem cimport BytePointers, ByteWeights, Problem
from sklearn_xc._kernels.ppdsparse._types cimport Lane, Settings


cdef void keep_lowest(Workspace work, Py_ssize_t c) noexcept nogil

cdef void return_to_lowest(Workspace work, Py_ssize_t c) noexcept nogil


cdef inline float error_of(
    float of_error, float of_length, const BytePointers *rows, int32_t i
) noexcept nogil:
    """Return the most that rounding can have taken from a score."""
    return of_error * rows.error[i] + of_length * rows.length[i]


cdef Py_ssize_t longest_list(
    const Lane *lane, const Settings *settings, Py_ssize_t most, Py_ssize_t n
) noexcept nogil

cdef void find_primal(
    Workspace work, Py_ssize_t c, const Settings *settings, Problem problem,
    const ByteWeights *rounded, float lowest,
) noexcept nogil

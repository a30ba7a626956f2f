from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector

from sklearn_xc._kernels.ppdsparse._class_state cimport ClassState
from sklearn_xc._kernels.ppdsparse._types cimport DualsOf


cdef class Duals:
    cdef vector[int32_t] labels, rows
    cdef vector[int64_t] indptr
    cdef vector[float] data

    cdef DualsOf of_class(self, Py_ssize_t q) noexcept nogil

    cdef int append(self, int32_t label, ClassState state, DualsOf known) except -1 nogil

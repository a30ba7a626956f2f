from libc.stdint cimport int32_t, int64_t

from sklearn_xc._kernels.ppdsparse._matrix cimport Matrix


cdef class Problem:
    cdef readonly Matrix X, coarse
    cdef const float[::1] squared_norms, sample_weight
    cdef const float[:, ::1] class_weight
    cdef const float[::1] highest, lowest, feature_maxima, feature_norms
    cdef const int64_t[::1] positive_indptr
    cdef const int32_t[::1] positive_rows
    cdef const float[::1] positive_grades
    cdef readonly bint graded
    cdef readonly double total_weight

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
    cdef Py_ssize_t weight_step  # 0 where all samples weigh the same: one weight stays in a cache


cdef inline float weight_of(Problem problem, Py_ssize_t i) noexcept nogil:
    return problem.sample_weight[i * problem.weight_step]

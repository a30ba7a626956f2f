from libc.stdint cimport int32_t, int64_t

from sklearn_xc._kernels.common._rows cimport Rows
from sklearn_xc._kernels.ppdsparse._byte_rows cimport ByteRows


cdef struct Columns:
    const int64_t* indptr
    # Where the entries of smaller magnitude of a column begin, and how large these are at most
    const int64_t* middle
    const float* rest
    const int32_t* rows  # ascending in both parts
    const float* values


cdef class Matrix:
    cdef readonly Py_ssize_t n_rows, n_columns, n_entries
    cdef readonly bint has_columns
    cdef Rows rows
    cdef Columns columns
    cdef ByteRows rounded  # the same rows, or None
    cdef dict _arrays  # that the pointers point into, by name


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
    cdef dict _arrays  # by name, but for those of X and coarse
    cdef Py_ssize_t weight_step  # 0 where all samples weigh the same: one weight stays in a cache


cdef inline float weight_of(Problem problem, Py_ssize_t i) noexcept nogil:
    return problem.sample_weight[i * problem.weight_step]

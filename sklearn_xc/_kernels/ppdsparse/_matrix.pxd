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
    cdef object _arrays  # that the pointers point into

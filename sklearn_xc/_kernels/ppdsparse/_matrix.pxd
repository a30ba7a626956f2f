from libc.stdint cimport int32_t, int64_t


cdef class Matrix:
    cdef readonly Py_ssize_t n_rows, n_columns
    cdef readonly bint dense
    cdef const int64_t[::1] indptr
    cdef const int32_t[::1] indices
    cdef const float[::1] data
    cdef readonly bint has_columns
    cdef const int64_t[::1] column_indptr
    cdef const int32_t[::1] column_rows
    cdef const float[::1] column_data

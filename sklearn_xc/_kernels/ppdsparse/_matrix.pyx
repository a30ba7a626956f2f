"""A read-only view on the samples, by rows and by columns, for kernels that need both."""

from libc.stdint cimport int32_t, int64_t


cdef class Matrix:
    """Rows in CSR form, or dense with one list of indices for all rows, and perhaps columns.

    Entry e of row i has the feature ``indices[(0 if dense else indptr[i]) + e]`` and the value
    ``data[indptr[i] + e]``.
    """

    def __init__(
        self,
        const int64_t[::1] indptr,
        const int32_t[::1] indices,
        const float[::1] data,
        bint dense,
        Py_ssize_t n_columns,
        const int64_t[::1] column_indptr=None,
        const int32_t[::1] column_rows=None,
        const float[::1] column_data=None,
    ):
        self.indptr = indptr
        self.indices = indices
        self.data = data
        self.dense = dense
        self.n_rows = indptr.shape[0] - 1
        self.n_columns = n_columns
        self.has_columns = column_indptr is not None
        if self.has_columns:
            self.column_indptr = column_indptr
            self.column_rows = column_rows
            self.column_data = column_data

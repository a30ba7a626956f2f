"""A read-only view on the samples, by rows and by columns, for kernels that need both."""

from libc.stdint cimport int32_t, int64_t

import numpy as np

from sklearn_xc._kernels.common._rows cimport pointers_to_rows
from sklearn_xc._kernels.ppdsparse._byte_rows cimport ByteRows


cdef class Matrix:
    """Rows in CSR form, or dense with one list of indices for all; perhaps columns, bytes.

    Entry e of row i has the feature ``indices[(0 if dense else indptr[i]) + e]`` and the value
    ``data[indptr[i] + e]``.  Columns may be in two parts, as `_column_parts` makes them.
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
        const int64_t[::1] column_middle=None,
        const float[::1] column_rest=None,
        ByteRows rounded=None,
    ):
        self.rows = pointers_to_rows(indptr, indices, data, dense)
        self.n_rows = indptr.shape[0] - 1
        self.n_columns = n_columns
        self.n_entries = data.shape[0]
        self.has_columns = column_indptr is not None
        if self.has_columns:
            if column_middle is None:  # columns of one part
                column_middle = column_indptr[1:]
                column_rest = np.zeros(n_columns, dtype=np.float32)
            self.columns.indptr = &column_indptr[0]
            self.columns.middle = &column_middle[0] if n_columns else NULL
            self.columns.rest = &column_rest[0] if n_columns else NULL
            self.columns.rows = &column_rows[0] if column_rows.shape[0] else NULL
            self.columns.values = &column_data[0] if column_data.shape[0] else NULL
        self.rounded = rounded
        self._arrays = (
            indptr, indices, data,
            column_indptr, column_rows, column_data, column_middle, column_rest,
        )

"""Rows of X at the kernel: sparse or dense, behind the same pointers (see `utils/_matrix.Rows`)."""

from libc.stdint cimport int32_t, int64_t

from sklearn_xc._kernels.common._common cimport prefetch


cdef struct Rows:
    const int64_t* indptr
    const int32_t* features
    const float* values
    bint dense  # then all rows have the same features


cdef struct Row:
    const int32_t* features
    const float* values
    int64_t n
    bint dense


cdef inline Rows pointers_to_rows(
    const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data, bint dense
) noexcept:
    cdef Rows rows
    rows.indptr = &indptr[0]
    rows.features = &indices[0] if indices.shape[0] else NULL
    rows.values = &data[0] if data.shape[0] else NULL
    rows.dense = dense
    return rows


cdef inline Row row_at(Rows rows, int64_t i) noexcept nogil:
    cdef Row row
    row.features = rows.features if rows.dense else rows.features + rows.indptr[i]
    row.values = rows.values + rows.indptr[i]
    row.n = rows.indptr[i + 1] - rows.indptr[i]
    row.dense = rows.dense
    return row


cdef inline void prefetch_row(Rows rows, int64_t i) noexcept nogil:
    """Both ends of a row; short ones have no more, long ones the processor goes on to fetch."""
    cdef Row row = row_at(rows, i)
    if row.n:
        prefetch(row.features)
        prefetch(row.features + row.n - 1)
        prefetch(row.values)
        prefetch(row.values + row.n - 1)

"""Rows of X at the kernel: sparse or dense, behind the same pointers (see `utils/_matrix.Rows`)."""

from libc.stdint cimport int32_t, int64_t

from sklearn_xc._kernels.common._common cimport prefetch


cdef enum:
    PER_LINE = 16  # entries of a cache line
    LONG = 512  # entries of a row, from where on the processor follows by itself


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
    """Every cache line of a row; of a long one those from where the processor goes on itself."""
    cdef Row row = row_at(rows, i)
    cdef int64_t line, n = row.n if row.n < LONG else LONG
    if row.n:
        for line in range((n - 1) // PER_LINE + 1):
            prefetch(row.features + line * PER_LINE)
            prefetch(row.values + line * PER_LINE)
        prefetch(row.features + row.n - 1)
        prefetch(row.values + row.n - 1)

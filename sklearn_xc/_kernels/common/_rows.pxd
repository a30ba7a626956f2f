"""Rows of X at the kernel: sparse or dense, behind the same pointers (see `utils/_rows.Rows`).

Invariant: ``indptr`` does not fall and ends within ``values``, and every feature is below the
number of features. `utils/_matrix.py` checks it once, before any kernel; so no loop over a row has
a check of its own.
"""

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
    # indptr has one entry at least; others may be empty, and have no first one to point to
    rows.indptr = &indptr[0]
    rows.features = &indices[0] if indices.shape[0] else NULL
    rows.values = &data[0] if data.shape[0] else NULL
    rows.dense = dense
    return rows


cdef inline Row row_at(Rows rows, int64_t i) noexcept nogil:
    """Return row i."""
    cdef Row row
    # in dense rows indptr counts n_features a row, so that values are found as in sparse ones
    row.features = rows.features if rows.dense else rows.features + rows.indptr[i]
    row.values = rows.values + rows.indptr[i]
    row.n = rows.indptr[i + 1] - rows.indptr[i]
    row.dense = rows.dense
    return row


cdef inline void prefetch_row(Rows rows, int64_t i) noexcept nogil:
    """Ask for every cache line of a row, of a long one for the first ones."""
    # After LONG entries in order the processor fetches the next lines by itself.
    cdef Row row = row_at(rows, i)
    cdef int64_t line, n = row.n if row.n < LONG else LONG
    if row.n:
        for line in range((n - 1) // PER_LINE + 1):
            prefetch(row.features + line * PER_LINE)
            prefetch(row.values + line * PER_LINE)
        # a row that begins inside of a line ends in one more than its length fills
        prefetch(row.features + row.n - 1)
        prefetch(row.values + row.n - 1)

from libc.stdint cimport int32_t, int64_t, uint16_t

from sklearn_xc._kernels._matrix cimport Matrix
from sklearn_xc._kernels._ppdsparse cimport Lane, Settings

cdef enum:
    CHUNK = 4096  # rows whose scores of sixteen classes (256 KiB) stay in the second-level cache


cdef void keep_best(
    Py_ssize_t c,
    Py_ssize_t n,
    Py_ssize_t keep,
    int32_t[:, ::1] candidates,
    float[:, ::1] scores,
) noexcept nogil

cdef void search_chunk(
    Lane *lanes,
    const Settings *settings,
    Py_ssize_t low,
    Py_ssize_t high,
    bint by_columns,
    Matrix X,
    const float[::1] sample_weight,
    const int64_t[::1] positive_indptr,
    const int32_t[::1] positive_rows,
    const float[:, ::1] weights,
    const int32_t[::1] support,
    Py_ssize_t n_support,
    int64_t[::1] cursor,
    int64_t[::1] positive_cursor,
    const uint16_t[::1] member,
    float[:, ::1] scores,
    int32_t[:, ::1] candidates,
    float[:, ::1] candidate_scores,
) noexcept nogil

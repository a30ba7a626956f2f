"""The labels of the rows of a split, as both kernels see them; see `_folds.pyx`."""

from libc.stdint cimport int32_t, int64_t, uint8_t


cdef struct Pattern:
    const int64_t* indptr
    const int32_t* indices
    const int32_t* frequency
    const uint8_t* needed
    const uint8_t* closed
    int32_t* counts
    int32_t n_parts


cdef class Labels:
    cdef const int64_t[::1] indptr
    cdef const int32_t[::1] indices
    cdef const int32_t[::1] frequency
    cdef const uint8_t[::1] needed
    cdef const uint8_t[::1] closed
    cdef int32_t[:, ::1] counts

    cdef Pattern pattern(self) noexcept

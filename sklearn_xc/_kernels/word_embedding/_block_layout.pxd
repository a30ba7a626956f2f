"""How many shared contexts a block of words has; see `_block_layout.pyx`."""

from libc.stdint cimport int32_t, int64_t


cdef enum:  # columns of `sizes`
    FREQUENT
    # Shared contexts that are always included: the frequent and those retrieved.
    INCLUDED
    # These and the contexts drawn that steps of words use.
    FEW
    # With those drawn for steps of contexts only. Each number includes those before.
    ALL


cdef class Blocks:
    cdef const int64_t[::1] row_starts, entry_starts
    cdef int64_t[:, ::1] sizes
    cdef int32_t[:, ::1] shared
    cdef float[:, ::1] weight, few_weight
    cdef int64_t[::1] n_own
    cdef int32_t[::1] entry_ids, entry_drawn
    cdef float[::1] entry_share

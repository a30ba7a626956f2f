from libc.stdint cimport int32_t

from sklearn_xc._kernels.ppdsparse._active_set cimport Workspace
from sklearn_xc._kernels.ppdsparse._problem cimport Problem
from sklearn_xc._kernels.ppdsparse._types cimport Lane, Settings


cdef enum:
    # The first searches of a new class find violators only. Each of them reads another part of so
    # many rows; of fewer rows it costs too little.
    FIRST_SEARCHES = 2
    MANY_ROWS = 1 << 16


cdef inline bint is_early(const Lane *lane, const Settings *settings) noexcept nogil:
    """Return whether a search is one of the first of a class that is new."""
    return lane.fresh and lane.n_iter <= FIRST_SEARCHES and lane.n_iter < settings.max_iter


cdef int search_bytes(
    Workspace work, const Settings *settings, Problem problem, bint warm_up,
    const int32_t[::1] stop, double *operations,
) except -1 nogil

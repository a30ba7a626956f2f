from libc.stdint cimport int32_t

from sklearn_xc._kernels.ppdsparse._active_set cimport Workspace
from sklearn_xc._kernels.ppdsparse._problem cimport Problem
from sklearn_xc._kernels.ppdsparse._types cimport Lane, Settings


cdef enum:
    # From which on a first search reads a part of them; of fewer classes would need another round
    MANY_ROWS = 1 << 16


cdef inline bint is_first_search(const Lane *lane, const Settings *settings) noexcept nogil:
    """Whether a search is the first of a class that is new, which is far from its end."""
    return lane.fresh and lane.n_iter <= 1 < settings.max_iter


cdef int search_bytes(
    Workspace work,
    const Settings *settings,
    Problem problem,
    bint warm_up,
    const int32_t[::1] stop,
    double *operations,
) except -1 nogil

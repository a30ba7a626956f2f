from libc.stdint cimport int32_t

from sklearn_xc._kernels.ppdsparse._active_set cimport Workspace
from sklearn_xc._kernels.ppdsparse._problem cimport Problem
from sklearn_xc._kernels.ppdsparse._pruned_search cimport ColumnScratch
from sklearn_xc._kernels.ppdsparse._types cimport DualsOf, Settings


cdef bint worth_pruning(const Settings *settings, Problem problem) noexcept nogil

cdef double saved_by(ColumnScratch scratch, Problem problem, bint solved) noexcept nogil

cdef bint solve_class(
    Workspace work, ColumnScratch scratch, const Settings *settings, Problem problem, int32_t label,
    DualsOf known, const int32_t[::1] stop, double *operations,
) except -1 nogil

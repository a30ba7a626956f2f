"""What a thread keeps for a search of columns, and its steps for the class of the first lane."""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libcpp.vector cimport vector

from sklearn_xc._kernels.ppdsparse._active_set cimport Workspace
from sklearn_xc._kernels.ppdsparse._problem cimport Problem
from sklearn_xc._kernels.ppdsparse._types cimport Settings


cdef struct Lifting:  # a part of a column whose feature's weight can raise the score of a row
    int32_t feature
    float weight
    # By how much, at most, and w_j^2; of the large entries, which are left out after the others
    # only, what they add to these
    double most
    double square
    double key
    int64_t first, end  # its entries
    int64_t begin, at  # where a stretch of rows begins in them, and where the search is


cdef struct Keyed:  # what stands for a part of a column while they are sorted
    double key
    int32_t feature
    int32_t place


cdef class ColumnScratch:
    # (n_features,): number of a feature in the copied rows, or -1; the weights, else zero
    cdef int32_t[::1] place
    cdef float[::1] weights
    cdef uint64_t[::1] has_weight  # a bit for each feature: whether its weight is not zero
    cdef float[::1] sums  # (ROWS_AT_ONCE,) of lifting products, else zero
    cdef vector[int32_t] weighted  # the features whose weights are not zero in the search
    cdef vector[Lifting] lifting, unsorted
    cdef vector[Keyed] keyed
    cdef double largest_norm
    cdef double n_entries  # of X read for the class
    cdef double cost_of_searches  # in entries; a row that is scored counts for more than its own
    cdef Py_ssize_t n_violators  # rows with a loss in the last search that certifies


cdef int copy_rows(
    Workspace work, ColumnScratch scratch, Problem problem, Py_ssize_t first
) except -1 nogil

cdef void forget_rows(Workspace work, ColumnScratch scratch) noexcept nogil

cdef int publish_weights(
    Workspace work, ColumnScratch scratch, const Settings *settings, Problem problem
) except -1 nogil

cdef void withdraw_weights(ColumnScratch scratch) noexcept nogil

cdef int sort_features(ColumnScratch scratch) except -1 nogil

cdef Py_ssize_t split(ColumnScratch scratch, double slack, double *bound) except -1 nogil

cdef double cost_from(ColumnScratch scratch, Py_ssize_t first) noexcept nogil

cdef void accumulate(
    Workspace work, ColumnScratch scratch, Problem problem, Py_ssize_t first, double limit
) noexcept nogil

cdef void certified_search(
    Workspace work, ColumnScratch scratch, const Settings *settings, Problem problem,
    Py_ssize_t first, double threshold, double bound,
) noexcept nogil

cdef void quick_search(
    Workspace work, ColumnScratch scratch, const Settings *settings, Problem problem,
    Py_ssize_t first, double threshold, Py_ssize_t keep,
) noexcept nogil

cdef void keep_best(Workspace work, Py_ssize_t keep) noexcept nogil

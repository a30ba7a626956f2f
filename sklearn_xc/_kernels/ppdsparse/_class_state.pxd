"""The state of the one class that the pruned solver has in work.

Rows of its active set are copied side by side, with features numbered as they come, so that the
passes of the descent stay in the caches however many features X has.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from sklearn_xc._kernels.ppdsparse._problem cimport Problem
from sklearn_xc._kernels.ppdsparse._types cimport DualsOf, Settings

cdef enum:
    # Rows whose sums (64 KiB) stay in the second-level cache while columns are added up. The hits
    # among them are scored in this order, so that rows which follow one another lie near.
    ROWS_AT_ONCE = 16384
    # What a row is to the class in work
    OUTSIDE = 0
    POSITIVE = 1
    NEGATIVE = 2  # a negative of the active set
    ABSENT = 3  # of weight zero


cdef struct Member:  # of the active set
    int32_t row
    float alpha
    float y
    float weight  # of its loss, C_i
    float most  # as of `step`
    float inverse_weight
    float inverse_curvature
    Py_ssize_t start  # of its entries in `places` and `values`
    Py_ssize_t length  # filled up to whole vectors


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


cdef class ClassState:
    # (n_features,): number of a feature in the copied rows, or -1; the weights, else zero
    cdef int32_t[::1] place
    cdef float[::1] weights
    cdef uint64_t[::1] has_weight  # a bit for each feature: whether its weight is not zero
    cdef uint8_t[::1] mark  # (n_samples,)
    cdef float[::1] sums  # (ROWS_AT_ONCE,) of lifting products, else zero
    # Rows whose sums exceed the limit of a search, and these sums, or their scores
    cdef int32_t[::1] hits
    cdef float[::1] hit_scores
    cdef Py_ssize_t n_hits
    # The features that copied rows have, and v = sum_i a_i y_i x_i on them
    cdef vector[int32_t] features
    cdef vector[float] v
    cdef vector[double] exact_v
    cdef vector[float] searched  # the weights of the last search, on the same features
    cdef vector[int32_t] weighted  # the features whose weights are not zero in it
    # The copied rows: numbers of features and values
    cdef vector[int32_t] places
    cdef vector[float] values
    cdef vector[Member] members
    cdef vector[int32_t] order
    cdef vector[Lifting] lifting, unsorted
    cdef vector[Keyed] keyed
    cdef int32_t label
    cdef float positive_weight, negative_weight
    cdef double bias, exact_bias  # s_0 = sum_i a_i y_i
    cdef double anchor, hold  # as of a Lane
    cdef uint64_t rng
    cdef double longest_row, largest_norm
    cdef double n_entries  # of X read for the class
    cdef double cost_of_searches  # in entries; a row that is scored counts for more than its own
    # The last search that certifies: intercept, objectives, number of rows with a loss
    cdef float intercept, intercept_sum
    cdef double l1_norm, squares, loss, primal, dual
    cdef Py_ssize_t n_violators
    cdef int n_iter


cdef int add_members(
    ClassState state,
    const Settings *settings,
    Problem problem,
    const int32_t *rows,
    const float *grades,
    Py_ssize_t n,
    bint positive,
) except -1 nogil

cdef void drop_idle_negatives(ClassState state) noexcept nogil

cdef double loss_of_members(
    ClassState state, const Settings *settings, double intercept
) noexcept nogil

cdef double dual_value(ClassState state, const Settings *settings) except -1e308 nogil

cdef void refresh_v(ClassState state) noexcept nogil

cdef void clear(ClassState state) noexcept nogil


cdef class Duals:
    cdef vector[int32_t] labels, rows
    cdef vector[int64_t] indptr
    cdef vector[float] data

    cdef DualsOf of_class(self, Py_ssize_t q) noexcept nogil

    cdef int append(self, int32_t label, ClassState state, DualsOf known) except -1 nogil

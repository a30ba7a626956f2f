from sklearn_xc._kernels.ppdsparse._class_state cimport ClassState
from sklearn_xc._kernels.ppdsparse._problem cimport Problem
from sklearn_xc._kernels.ppdsparse._types cimport Settings


cdef int publish_weights(
    ClassState state, const Settings *settings, Problem problem
) except -1 nogil

cdef void withdraw_weights(ClassState state) noexcept nogil

cdef int sort_features(ClassState state) except -1 nogil

cdef Py_ssize_t split(ClassState state, double slack, double *bound) except -1 nogil

cdef double cost_from(ClassState state, Py_ssize_t first) noexcept nogil

cdef void accumulate(
    ClassState state, Problem problem, Py_ssize_t first, double limit
) noexcept nogil

cdef void certified_search(
    ClassState state,
    const Settings *settings,
    Problem problem,
    Py_ssize_t first,
    double threshold,
    double bound,
) noexcept nogil

cdef void quick_search(
    ClassState state,
    const Settings *settings,
    Problem problem,
    Py_ssize_t first,
    double threshold,
    Py_ssize_t keep,
) noexcept nogil

cdef void keep_best(ClassState state, Py_ssize_t keep) noexcept nogil

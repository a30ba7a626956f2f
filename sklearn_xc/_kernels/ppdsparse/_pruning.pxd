"""Which weights of a finished class can go."""

from sklearn_xc._kernels.ppdsparse._active_set cimport Workspace
from sklearn_xc._kernels.ppdsparse._matrix cimport Matrix
from sklearn_xc._kernels.ppdsparse._types cimport Settings


cdef int prune_weights(
    Workspace work,
    Py_ssize_t c,
    const Settings *settings,
    Matrix X,
    const float[::1] sample_weight,
    const float[::1] feature_maxima,
    const float[::1] feature_norms,
) except -1 nogil

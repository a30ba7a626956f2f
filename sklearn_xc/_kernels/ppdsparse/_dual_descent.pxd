from libc.stdint cimport int32_t, uint8_t

from sklearn_xc._kernels.ppdsparse._matrix cimport Matrix
from sklearn_xc._kernels.ppdsparse._types cimport Lane, Settings


cdef void descend(
    Lane *lane,
    Py_ssize_t c,
    const Settings *settings,
    int n_passes,
    Matrix X,
    const float[::1] squared_norms,
    const float[::1] sample_weight,
    int32_t[:, ::1] active,
    float[:, ::1] alpha,
    int32_t[:, ::1] touched,
    float[::1] v,
    uint8_t[::1] seen,
) noexcept nogil

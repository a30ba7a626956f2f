from libc.stdint cimport int64_t

from sklearn_xc._kernels.common._common cimport dispatched

cdef dispatched add_weights(float* z, const float* weight, int64_t n, float* top) noexcept nogil
cdef dispatched exponentials(float* z, int64_t n, float top, double* total) noexcept nogil
cdef dispatched multiply(float* z, float factor, int64_t n) noexcept nogil

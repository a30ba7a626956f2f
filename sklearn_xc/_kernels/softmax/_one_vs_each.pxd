from sklearn_xc._kernels.common._common cimport dispatched

cdef dispatched finish_coefs(float* coefs, Py_ssize_t n, double weight) noexcept nogil

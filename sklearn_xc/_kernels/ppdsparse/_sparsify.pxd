from libc.stdint cimport int32_t, uint64_t


cdef Py_ssize_t n_draws(double l1_norm, double delta) noexcept nogil

cdef void sparsify_weights(
    const float *weights,
    Py_ssize_t n,
    Py_ssize_t draws,
    uint64_t *rng,
    double *cumulative,
    float *out,
) noexcept nogil

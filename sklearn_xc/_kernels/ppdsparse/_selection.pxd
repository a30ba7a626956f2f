from libc.stdint cimport int32_t


cdef Py_ssize_t best_of(
    int32_t *rows, float *scores, Py_ssize_t n, Py_ssize_t keep
) noexcept nogil

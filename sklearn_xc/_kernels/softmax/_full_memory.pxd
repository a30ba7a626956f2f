from libc.stdint cimport int32_t, int64_t

from sklearn_xc._kernels.softmax._mini_batch cimport Batch, Samples
from sklearn_xc._kernels.softmax._tiles cimport Scratch, Weights


cdef class Buffers:
    cdef float[::1] scores, spare, kept, own, mass, value, factors
    cdef double[::1] highest, total, log_normaliser
    cdef int32_t[::1] features, row_of, place_of, classes, counts
    cdef int64_t[::1] starts, streams, ends

    cdef void point(self, Batch* batch, Scratch* scratch) noexcept


cdef class FullSamples:
    cdef Samples pointers
    cdef object arrays  # that the pointers point into

    cdef int64_t longest_batch(self, const int32_t[::1] order, const int64_t[::1] cuts) noexcept


cdef class FullWeights:
    cdef Weights pointers
    cdef object arrays  # that the pointers point into

"""Losses of a set of scored classes; see `_losses.pyx`."""

from libc.stdint cimport int64_t

cdef enum:
    CROSS_ENTROPY
    MARGIN
    TRIPLET

cdef struct Loss:
    int kind
    double mu  # smoothing of MARGIN
    double rest  # this many more negatives count as scored 0 and get no gradient


cdef double loss_gradient(
    Loss loss, const float* z, const float* weight, int64_t n_positive, int64_t n,
    float* gradient, double* scratch
) noexcept nogil

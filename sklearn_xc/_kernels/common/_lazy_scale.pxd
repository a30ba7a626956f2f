"""Weights kept as scale W, so that a ridge costs one product a step and not one a weight."""

from libc.stdint cimport int64_t


cdef inline bint is_tiny(double scale) noexcept nogil:
    """Whether a scale is to be folded into the weights: beyond it float32 comes to its end.

    As `SMALLEST_SCALE` of `training/_lazy_scale.py`.
    """
    return scale < 1e-6


cdef inline void multiply_weights(
    float* w, int64_t n, int64_t stride, double scale
) noexcept nogil:
    """Fold a scale into n weights that lie `stride` apart."""
    cdef int64_t j
    for j in range(n):
        w[j * stride] = <float>(w[j * stride] * scale)

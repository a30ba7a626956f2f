"""Weights kept as scale W, so that a ridge costs one product a step and not one a weight.

The step of a ridge, w <- (1 - rate alpha) w, multiplies the scale alone; other steps add
``change / scale`` to W, so that scale W is w at any time.
"""

from libc.stdint cimport int64_t


cdef inline bint is_tiny(double scale) noexcept nogil:
    """Whether a scale is to be folded into the weights."""
    # W = w / scale: below, it could pass the range of float32. `SMALLEST_SCALE` of
    # `training/_lazy_scale.py` is the same.
    return scale < 1e-6


cdef inline void multiply_weights(
    float* w, int64_t n, int64_t stride, double scale
) noexcept nogil:
    """Fold a scale into n weights that lie `stride` apart."""
    cdef int64_t j
    for j in range(n):
        # in float64, which rounds once
        w[j * stride] = <float>(w[j * stride] * scale)

"""The coefficients by which gradients of bounds are added up, float32."""


cdef inline float as_coef(double value) noexcept nogil:
    """The coefficient, cut at a size that is finite when it is multiplied with a feature."""
    return <float>min(max(value, <double>-1e36), <double>1e36)

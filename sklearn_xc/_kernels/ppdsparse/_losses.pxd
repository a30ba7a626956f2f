"""The losses of a class against the rest: the only kernel file that knows one from another.

A sample lacks m = max(0, 1 - y z) of the margin, and its loss, for C_i = 1, is

    value(m) = max_s  s m - inverse s^2 / 2   over   0 <= s <= ceiling,

a parabola of curvature 1 / inverse up to the slope `ceiling`, and a line of that slope beyond:

    hinge            ceiling 1     inverse 0     m
    smoothed hinge   ceiling 1     inverse 1     m^2 / 2 up to m = 1, then m - 1 / 2
    squared hinge    ceiling inf   inverse 1     m^2 / 2

So the dual variable a_i = C_i s of a sample is in [0, ceiling C_i], and counts
a_i - inverse a_i^2 / (2 C_i) in the dual objective, which is the more concave the larger `inverse`.
"""


cdef struct Loss:
    float ceiling
    float inverse
    float steepness  # 1 / inverse, finite: times a margin above zero it is no less than the ceiling


cdef inline float slope(float margin, float ceiling, float steepness) noexcept nogil:
    """Return the slope at a margin of 0 or more; without a branch, for loops over vectors."""
    # The s that attains the maximum above: value'(m) = min(m / inverse, ceiling).
    margin *= steepness
    return margin if margin < ceiling else ceiling


cdef inline double value(const Loss *loss, double margin) noexcept nogil:
    """Return the loss at a margin of 0 or more."""
    # s m - inverse s^2 / 2 at that s.
    cdef double s = margin * loss.steepness
    s = s if s < loss.ceiling else loss.ceiling
    return s * (margin - 0.5 * loss.inverse * s)


cdef inline double conjugate(const Loss *loss, double alpha, double weight) noexcept nogil:
    """Return what a dual variable takes from its part of the dual objective."""
    return loss.inverse * alpha * alpha / (2 * weight)


cdef inline float inverse_of(const Loss *loss, float weight) noexcept nogil:
    """Return the curvature that the loss of a sample gives the dual."""
    return loss.inverse / weight


cdef inline float most_of(const Loss *loss, float weight) noexcept nogil:
    """Return the upper end of the box of a dual variable."""
    return loss.ceiling * weight


cdef inline bint is_smooth(const Loss *loss) noexcept nogil:
    """Return whether the slope is continuous, so that small moves have a quadratic bound."""
    return loss.inverse > 0


cdef inline bint is_bounded(const Loss *loss) noexcept nogil:
    """Return whether the slope is bounded, so that moves have a linear bound."""
    return loss.ceiling < <float>1e30


cdef enum Shape:  # for loops over vectors, one for each, since a choice within them is slow
    LINE
    PARABOLA
    PARABOLA_AND_LINE


cdef inline Shape shape_of(const Loss *loss) noexcept nogil:
    if not is_smooth(loss):
        return LINE
    return PARABOLA_AND_LINE if is_bounded(loss) else PARABOLA


cdef inline float of_negative(
    Shape shape, float corner, float weight, float score
) noexcept nogil:
    """Return the loss of a negative in units of `unit_of`; the margin at the corner is given."""
    # y = -1, so that 1 + z is missing. With s = min(m, ceiling inverse) the loss is s (2 m - s)
    # over 2 inverse, a factor that the sum of all rows takes once (`unit_of`).
    cdef float margin = max(1 + score, <float>0), s
    if shape == LINE:
        return weight * margin
    if shape == PARABOLA:
        return weight * margin * margin
    s = min(margin, corner)
    return weight * s * (2 * margin - s)


cdef inline double unit_of(const Loss *loss) noexcept nogil:
    """Return what a sum of `of_negative` is to be multiplied by."""
    return 0.5 / loss.inverse if is_smooth(loss) else loss.ceiling

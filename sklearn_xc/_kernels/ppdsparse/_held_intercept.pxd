"""Passes of a descent that hold the intercept, and how often they visit a positive.

With a small l2 the dual all but asks for sum_i a_i y_i = 0: the intercept is that sum over l2, so
that a step of any one variable throws it far, and the next steps undo this.  So a pass minimises
P(w, b) + hold (b - anchor)^2 / 2 instead, in whose dual the constant feature counts
1 / (l2 + hold), and its intercept is the anchor of the next one (a proximal point method).  The
curvature of P in b is the number of samples with a loss, far more than `hold`: anchors converge in
a few passes.
"""

cdef enum:
    MOST_VISITS = 8  # of a positive in a pass
    NEGATIVES = 4  # for each visit of a positive, at least


cdef inline double hold_of(double weight) noexcept nogil:
    """The strength, from the weight of the loss of a negative."""
    return 0.5 * weight


cdef inline double held_intercept(
    double sum_of_steps, double anchor, double hold, double l2
) noexcept nogil:
    """The b of smallest l2 b^2 / 2 + hold (b - anchor)^2 / 2 - b sum_i a_i y_i."""
    return (sum_of_steps + hold * anchor) / (l2 + hold)


cdef inline Py_ssize_t visits_of_positive(Py_ssize_t n_positives, Py_ssize_t n) noexcept nogil:
    """How often a pass over n samples visits each positive: few answer to many negatives."""
    cdef Py_ssize_t times = n // (NEGATIVES * max(<Py_ssize_t>1, n_positives))
    return max(<Py_ssize_t>1, min(<Py_ssize_t>MOST_VISITS, times))

"""What ends a class without another search: the lowest objective that one has found, and where.

A search of all rows gives the primal objective P of the weights that it was made with, a descent
raises the dual objective D.  Each P is at least the optimum, each D at most: the lowest P of all
searches and the latest D make a true gap, which is that of the weights of an earlier search.

The intercept may be chosen when the search is over.  Rows that have a loss at a lower intercept
have one at the intercept of the search too, and so are listed.  Early in a fit thousands of rows
violate the margin by little, and most of P is theirs; a lower intercept frees them at a small price
for the positives.
"""

from libc.math cimport copysignf, fabsf

from sklearn_xc._kernels.common._common cimport dispatched
from sklearn_xc._kernels.ppdsparse._active_set cimport Workspace, primal_value
from sklearn_xc._kernels.ppdsparse._losses cimport Loss, slope, steepness, value
from sklearn_xc._kernels.ppdsparse._types cimport Lane, Settings

cdef enum:
    TOGETHER = 16  # rows in a vector
    HALVINGS = 16
    DOUBLINGS = 8

cdef float FIRST_DROP = 0.25  # of the intercept


cdef inline float slope_of(
    float margin, float cost, float drop, float ceiling, float steep
) noexcept nogil:
    margin += copysignf(drop, cost)
    return cost * slope(margin if margin > 0 else 0, ceiling, steep)


cdef dispatched slope_of_losses(
    const float *margins,
    const float *costs,
    Py_ssize_t n,
    float drop,
    const Loss *loss,
    double *total,
) noexcept nogil:
    """OUT the derivative of the losses by the drop of the intercept.

    Costs of negatives are given below zero: their margins 1 + z fall with the intercept, the
    margins 1 - z of positives rise.
    """
    cdef Py_ssize_t e, k
    cdef float part[TOGETHER]
    cdef float ceiling = loss.ceiling, steep = steepness(loss)
    total[0] = 0
    for k in range(TOGETHER):
        part[k] = 0
    for e in range(n // TOGETHER):
        for k in range(TOGETHER):
            part[k] += slope_of(
                margins[e * TOGETHER + k], costs[e * TOGETHER + k], drop, ceiling, steep
            )
    for e in range(n // TOGETHER * TOGETHER, n):
        total[0] += slope_of(margins[e], costs[e], drop, ceiling, steep)
    for k in range(TOGETHER):
        total[0] += part[k]


cdef double losses(
    const float *margins, const float *costs, Py_ssize_t n, float drop, const Loss *loss
) noexcept nogil:
    cdef Py_ssize_t e
    cdef double margin, total = 0
    for e in range(n):
        margin = max(<double>0, <double>margins[e] + copysignf(drop, costs[e]))
        total += fabsf(costs[e]) * value(loss, margin)
    return total


cdef inline double slope_at(
    Workspace work, Py_ssize_t n, double intercept, float drop, const Settings *settings
) noexcept nogil:
    """The derivative of the objective by the drop of the intercept."""
    cdef double of_losses
    slope_of_losses(&work.margins[0], &work.costs[0], n, drop, &settings.loss, &of_losses)
    return of_losses - settings.l2 * (intercept - drop)


cdef float best_drop(
    Workspace work, Py_ssize_t c, Py_ssize_t n, float least, const Settings *settings
) noexcept nogil:
    """By how much the intercept of the search is to drop, `least` or more.

    The first n of `margins` and `costs` are of all rows that have a loss at the least, negatives
    with costs below zero.
    """
    cdef double intercept = work.lanes[c].intercept
    cdef float low = least, high = least + FIRST_DROP, middle
    cdef int _
    if not settings.intercept or slope_at(work, n, intercept, least, settings) >= 0:
        return least
    for _ in range(DOUBLINGS):
        if slope_at(work, n, intercept, high, settings) >= 0:
            break
        low = high
        high *= 2
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if slope_at(work, n, intercept, middle, settings) < 0:
            low = middle
        else:
            high = middle
    return low


cdef double primal_with(
    Workspace work, Py_ssize_t c, Py_ssize_t n, float drop, const Settings *settings
) noexcept nogil:
    """The objective of the weights of the search after a drop of its intercept."""
    return primal_value(
        work, c, work.lanes[c].intercept - drop,
        losses(&work.margins[0], &work.costs[0], n, drop, &settings.loss), settings,
    )


cdef void keep_lowest(Workspace work, Py_ssize_t c) noexcept nogil:
    """Keep the weights of a search of all rows, unless an earlier one had a lower objective."""
    cdef Lane *lane = &work.lanes[c]
    cdef Py_ssize_t q
    if lane.kept and lane.lowest_primal <= lane.primal:
        return
    lane.kept = True
    lane.lowest_primal = lane.primal
    lane.lowest_intercept = lane.intercept
    for q in range(work.lowest_v.shape[1]):
        work.lowest_v[c, q] = work.saved[c, q] if q < lane.n_touched else 0


cdef void return_to_lowest(Workspace work, Py_ssize_t c) noexcept nogil:
    """The objective and the intercept of the class are those of the weights that are kept."""
    cdef Lane *lane = &work.lanes[c]
    lane.primal = lane.lowest_primal
    lane.intercept = lane.lowest_intercept

"""A step of dual coordinate descent and what a pass of them has at hand (PPDSparse, Algorithm 2).

Of one dual variable a, with g = y <w, x> - 1 + a inverse / C its gradient and H the curvature of
the dual in it, the best value is a - g / H, clipped to the box [0, most].  All solvers of a class
step by this function; they differ in how they read rows.
"""

from libc.stdint cimport int32_t, uint64_t

from sklearn_xc._kernels.common._common cimport random_below
from sklearn_xc._kernels.ppdsparse._held_intercept cimport held_intercept
from sklearn_xc._kernels.ppdsparse._losses cimport inverse_of
from sklearn_xc._kernels.ppdsparse._types cimport Settings


cdef struct Pass:  # what is at hand during a pass, in registers, and what it has met
    float bias  # l2 times the intercept
    float of_bias  # by how much of a step it moves; 0 without an intercept
    float inverse_l2
    float limit  # a negative at zero with a larger gradient is set aside
    float tiny  # smaller projected gradients are not worth a step
    Py_ssize_t n_kept  # of the order of visits; others sit at zero and wait to leave
    float worst  # largest projected gradient
    double squares  # sum of the squares of the projected gradients
    double sum  # of the steps, signed


cdef inline Pass begin_pass(
    double sum_of_duals,
    double anchor,
    double hold,
    float limit,
    float tiny,
    const Settings *settings,
) noexcept nogil:
    """Return a pass in which nothing has been visited."""
    cdef Pass at
    at.bias = at.of_bias = 0
    if settings.intercept:
        at.bias = <float>(
            settings.l2 * held_intercept(sum_of_duals, anchor, hold, settings.l2)
        )
        at.of_bias = <float>(settings.l2 / (settings.l2 + hold))
    at.inverse_l2 = 1 / settings.l2
    at.limit = limit
    at.tiny = tiny
    at.n_kept = 0
    at.worst = 0
    at.squares = at.sum = 0
    return at


cdef inline float inverse_curvature_of(
    float weight, float squared_norm, double hold, const Settings *settings
) noexcept nogil:
    """Return 1 / H of a sample; very large for one that nothing curves."""
    cdef float curvature = squared_norm / settings.l2 + inverse_of(&settings.loss, weight)
    if settings.intercept:
        curvature += <float>(1 / (settings.l2 + hold))
    # a row without any entry moves to the end of its box
    return 1 / curvature if curvature > 0 else <float>3e38


cdef inline float step(
    float *alpha,  # IN / OUT
    float y,
    float most,
    float inverse_weight,
    float inverse_curvature,
    float product,
    int32_t *order,
    Py_ssize_t a,
    Pass *at,
) noexcept nogil:
    """Step the a-th of `order`, whose <S(v), x_i> is `product`; returns the change of alpha_i y_i.

    Visits wait for one another by way of v and the bias: what needs neither is ready before the
    product is, from which two operations lead to the step.  What a visit finds is no branch,
    because about every second one would be guessed wrongly.
    """
    cdef float old = alpha[0], slope = y * at.inverse_l2, of_alpha = old * inverse_weight - 1
    cdef float target = old - of_alpha * inverse_curvature, factor = slope * inverse_curvature
    cdef float z = at.bias + product, g = z * slope + of_alpha, projected, new
    cdef bint idle = (old == 0) & (g >= 0)
    order[at.n_kept] = order[a]
    at.n_kept += not (idle & (g > at.limit) & (y < 0))
    projected = g if g >= 0 else -g
    projected = 0 if idle | ((old == most) & (g <= 0)) else projected
    at.worst = max(at.worst, projected)
    at.squares += <double>projected * projected
    new = min(max(target - z * factor, <float>0), most)
    new = new if projected > at.tiny else old
    alpha[0] = new
    new = (new - old) * y
    at.bias += at.of_bias * new
    at.sum += new
    return new


cdef inline double move_anchor(
    double *anchor, double sum_of_duals, double hold, const Settings *settings
) noexcept nogil:
    """Move it to the intercept of the last pass; returns, as a square, what that has against the
    dual variables.
    """
    cdef double pull
    if not settings.intercept:
        return 0
    pull = anchor[0]
    anchor[0] = held_intercept(sum_of_duals, anchor[0], hold, settings.l2)
    pull = hold * (anchor[0] - pull)
    return pull * pull / settings.l2


cdef inline void shuffle(int32_t *order, Py_ssize_t n, uint64_t *rng) noexcept nogil:
    cdef Py_ssize_t a, b
    cdef int32_t swap
    for a in range(n - 1, 0, -1):
        b = random_below(rng, <unsigned int>(a + 1))
        swap = order[a]
        order[a] = order[b]
        order[b] = swap

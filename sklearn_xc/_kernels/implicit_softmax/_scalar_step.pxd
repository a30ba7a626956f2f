"""The step on the scores of two classes and on u, which fixes the step on their weights."""

from libc.math cimport exp, fabs, log, log1p
from libc.stdint cimport uint64_t

cdef enum:
    MAX_NEWTON = 100  # four to six are usual
    LOWEST = -100  # u beyond top's bounds, so that rounding cannot make e^-u infinite

cdef enum Method:
    IMPLICIT = 0
    UMAX = 1
    VANILLA = 2


cdef struct Settings:
    int method
    bint raman
    double intercept  # the constant feature of the intercepts; 0: none
    double rate
    double delta  # how far below its lower bound u may lie in U-max
    double lowest_u  # U-max projects u on [lowest_u, highest_u]
    double highest_u
    double radius  # and w on the ball of this radius


cdef inline double implicit_step(
    double rate, double z, double log_importance, double curvature, double* u
) noexcept nogil:
    """The g >= 0 of the implicit step, which adds g x / c_y to w_y and -g x / c_k to w_k; moves u.

    With curvature = sum over both classes of ||x||^2 / c (+ intercept^2), the step solves

        log g + curvature g + u = log(rate importance) + z,    rate (1 - e^-u) + u - u_old = g

    (appendix F.1, where a = curvature g). In t = log g the second is a concave, falling function of
    one unknown, so Newton's method comes down on its root from any point beyond it; the bounds of
    F.1 cap the first step.
    """
    cdef double old = u[0]
    # log of the right-hand side of the first equation, but for u.
    cdef double c = log(rate) + log_importance + z
    # u <= max(u_old, log(1 + importance e^z)), hence g <= rate + the rise of u
    cdef double rise = max(log_importance + z, 0) + 0.7 - old
    cdef double top = log(rate + max(rise, 0))
    cdef double cap, t, g, decay, new, step
    cdef int _iteration
    # u >= 0, hence curvature g + log(curvature g) <= c + log(curvature)
    cap = c
    if curvature > 0:
        cap += log(curvature)
        cap = (log(cap) if cap > 1 else min(cap, 0)) - log(curvature)
    top = min(top, cap)
    t = min(top, c - old)
    for _iteration in range(MAX_NEWTON):
        g = exp(t)
        # u of the first equation, put into the second: f(t) = rate (1 - e^-u) + u - u_old - e^t,
        # with du / dt = -(1 + curvature g).
        new = max(c - t - curvature * g, <double>LOWEST)
        decay = rate * exp(-new)
        step = (rate - decay + (new - old) - g) / ((decay + 1) * (1 + curvature * g) + g)
        # f is concave and falls: from beyond its root Newton's steps stay there and come down. A
        # start below the root leads beyond it once, to `top` at most.
        t = min(t + step, top)
        if fabs(step) <= 1e-12 * (1 + fabs(t)):
            break
    g = exp(t)
    # The first equation loses digits where c is huge, the second where u is small.
    u[0] = max(old + g - rate + decay if decay < 1 else c - t - curvature * g, 0)
    return g


cdef inline double log_add_exp(double a, double b) noexcept nogil:
    return max(a, b) + log1p(exp(-fabs(a - b)))


cdef inline void explicit_step(
    const Settings* settings, double rate, double own, double negative, double log_importance,
    double* u, double* gain, double* loss
) noexcept nogil:
    """Lengths along x by which w_y gains and w_k loses; `own`, `negative` are the scores."""
    cdef double base = own if settings.raman else 0
    cdef double z = negative if settings.raman else negative - own
    cdef double bound, p, q
    if settings.method == UMAX:
        bound = log_add_exp(base, z)  # below the best u whatever the other classes are
        if u[0] < bound - settings.delta:
            u[0] = bound
    # Gradients at the old point (eq. 7), times the rate.
    p = rate * exp(base - u[0])
    q = rate * exp(log_importance + z - u[0])
    gain[0] = rate - p if settings.raman else q
    loss[0] = q
    u[0] -= rate - p - q
    if settings.method == UMAX:
        u[0] = min(max(u[0], settings.lowest_u), settings.highest_u)

"""Dual coordinate descent on the copied rows of one class (PPDSparse, Algorithm 2)."""

from libc.math cimport fabsf
from libc.stdint cimport int32_t, uint64_t

from sklearn_xc._kernels.common._common cimport dispatched, random_below
from sklearn_xc._kernels.ppdsparse._class_state cimport ClassState, Member
from sklearn_xc._kernels.ppdsparse._types cimport (
    Settings, add_entries, limit_of_visits, thresholded_dot,
)


cdef struct Pass:  # pointers into the copied rows, and what a pass over them has met
    Member *members
    int32_t *order
    const int32_t *places
    const float *values
    float *v
    Py_ssize_t n_left  # the first of `order`; others sit at zero and wait to leave
    float bias
    float limit  # a negative at zero with a larger gradient is set aside
    float tiny  # smaller projected gradients are not worth a step
    float worst  # largest projected gradient met
    double squares  # sum of the squares of the projected gradients
    double total  # sum of the dual variables


cdef dispatched one_pass(Pass *p, const Settings *settings, uint64_t *rng) noexcept nogil:
    """Visit the members that are left once, in a fresh random order.

    What a visit finds is no branch, because about every second one would be guessed wrongly.
    """
    cdef float inverse_l2 = 1 / settings.l2, l1 = settings.l1
    cdef float z, g, old, new, change, slope, inverse_curvature, of_alpha, target
    cdef float bias = p.bias, worst = 0
    cdef double squares = 0, total = 0
    cdef Py_ssize_t a, b, kept = 0
    cdef int32_t swap
    cdef bint idle
    cdef Member *member
    cdef const int32_t *places
    cdef const float *x
    cdef float *v = p.v
    for a in range(p.n_left - 1, 0, -1):
        b = random_below(rng, <unsigned int>(a + 1))
        swap = p.order[a]
        p.order[a] = p.order[b]
        p.order[b] = swap
    for a in range(p.n_left):
        member = &p.members[p.order[a]]
        places = p.places + member.start
        x = p.values + member.start
        old = member.alpha
        # Visits wait for one another by way of v and the bias: what needs neither is ready before
        # the score z is, from which two operations lead to the step.
        slope = member.y * inverse_l2
        of_alpha = old / member.weight - 1
        inverse_curvature = 1 / (member.squared_norm * inverse_l2 + 1 / member.weight)
        target = old - of_alpha * inverse_curvature
        z = bias + thresholded_dot(places, x, member.length, v, l1)
        new = max(target - slope * inverse_curvature * z, <float>0)
        g = slope * z + of_alpha
        idle = (old == 0) & (g >= 0)
        p.order[kept] = p.order[a]
        kept += not (idle & (g > p.limit) & (member.y < 0))
        new = new if fabsf(g) >= p.tiny else old
        g = 0 if idle else fabsf(g)
        squares += <double>g * g
        total += old
        worst = max(worst, g)
        if new != old:
            member.alpha = new
            change = (new - old) * member.y
            bias += change
            add_entries(places, x, member.length, change, v)
    p.n_left = kept
    p.bias = bias
    p.squares = squares
    p.total = total
    p.worst = worst


cdef int descend(
    ClassState state, const Settings *settings, int n_passes, double precision, float tiny
) except -1 nogil:
    """Passes until the squared gradients are small against the dual variables.

    The gap that members of the active set leave is half the sum of their squared gradients (for
    C_i = 1), and the objective at least half the sum of the dual variables.
    """
    cdef Py_ssize_t a, n = state.members.size()
    cdef Pass p
    state.order.resize(n)
    for a in range(n):
        state.order[a] = <int32_t>a
    p.members = state.members.data()
    p.order = state.order.data()
    p.places = state.places.data()
    p.values = state.values.data()
    p.v = state.v.data()
    p.n_left = n
    p.bias = <float>state.bias
    p.limit = 1e30
    p.tiny = tiny
    for _ in range(n_passes):
        state.n_entries += state.places.size() * (<double>p.n_left / max(n, 1))
        one_pass(&p, settings, &state.rng)
        if p.squares <= precision * settings.tol * p.total:
            break
        p.limit = limit_of_visits(p.worst)
    state.bias = p.bias
    return 0

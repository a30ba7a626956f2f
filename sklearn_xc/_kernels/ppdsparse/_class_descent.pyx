"""Dual coordinate descent on the copied rows of one class (PPDSparse, Algorithm 2)."""

from libc.math cimport fabsf
from libc.stdint cimport int32_t, uint64_t

from sklearn_xc._kernels.common._common cimport dispatched, random_below
from sklearn_xc._kernels.ppdsparse._class_state cimport ClassState, Member
from sklearn_xc._kernels.ppdsparse._held_intercept cimport held_intercept, visits_of_positive
from sklearn_xc._kernels.ppdsparse._losses cimport Loss, most_of, steepness
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
    float bias  # l2 times the intercept
    float of_bias  # by how much of a step it moves
    float inverse_held  # the intercept's part of a curvature, and 1 / l2
    float inverse_l2
    double sum  # of a_i y_i
    float limit  # a negative at zero with a larger gradient is set aside
    float tiny  # smaller projected gradients are not worth a step
    float worst  # largest projected gradient met
    double squares  # sum of the squares of the projected gradients


cdef dispatched one_pass(Pass *p, const Settings *settings, uint64_t *rng) noexcept nogil:
    """Visit the members that are left once, in a fresh random order.

    What a visit finds is no branch, because about every second one would be guessed wrongly.
    """
    cdef float inverse_l2 = p.inverse_l2, l1 = settings.l1
    cdef float z, g, old, new, change, slope, inverse_curvature, of_alpha, target, most
    cdef Loss loss = settings.loss
    cdef float bias = p.bias, worst = 0
    cdef double squares = 0, sum_of_steps = 0
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
        of_alpha = loss.inverse * old / member.weight - 1
        inverse_curvature = 1 / (
            member.squared_norm * inverse_l2 + p.inverse_held
            + <double>loss.inverse / member.weight
        )
        most = most_of(&loss, member.weight)
        target = old - of_alpha * inverse_curvature
        z = bias + thresholded_dot(places, x, member.length, v, l1)
        new = min(max(target - slope * inverse_curvature * z, <float>0), most)
        g = slope * z + of_alpha
        idle = (old == 0) & (g >= 0)
        p.order[kept] = p.order[a]
        kept += not (idle & (g > p.limit) & (member.y < 0))
        new = new if fabsf(g) >= p.tiny else old
        g = 0 if idle | ((old == most) & (g <= 0)) else fabsf(g)
        squares += <double>g * g
        worst = max(worst, g)
        if new != old:
            member.alpha = new
            change = (new - old) * member.y
            bias += p.of_bias * change
            sum_of_steps += change
            add_entries(places, x, member.length, change, v)
    p.n_left = kept
    p.bias = bias
    p.squares = squares
    p.worst = worst
    p.sum += sum_of_steps


cdef int descend(
    ClassState state, const Settings *settings, int n_passes, double precision, float tiny
) except -1 nogil:
    """Passes until the squared gradients are small against the dual variables.

    The dual is concave by `inverse` of the loss: the gap that members of the active set leave is
    half the sum of their squared gradients over it (for C_i = 1) and of what the intercept b has
    against them, (s_0 - l2 b)^2 / l2; the objective is at least half the sum of the dual variables.
    """
    cdef Py_ssize_t n = state.members.size()
    cdef double intercept, pull, left
    cdef Pass p
    order_visits(state)
    p.members = state.members.data()
    p.order = state.order.data()
    p.places = state.places.data()
    p.values = state.values.data()
    p.v = state.v.data()
    p.n_left = state.order.size()
    p.sum = state.bias
    p.of_bias = <float>(settings.l2 / (settings.l2 + state.hold))
    p.inverse_held = <float>(1 / (settings.l2 + state.hold))
    p.inverse_l2 = 1 / settings.l2
    p.limit = 1e30
    p.tiny = tiny
    for _ in range(n_passes):
        state.n_entries += state.places.size() * (<double>p.n_left / max(n, 1))
        p.bias = <float>(
            settings.l2 * held_intercept(p.sum, state.anchor, state.hold, settings.l2)
        )
        one_pass(&p, settings, &state.rng)
        intercept = held_intercept(p.sum, state.anchor, state.hold, settings.l2)
        pull = state.hold * (intercept - state.anchor)
        state.anchor = intercept
        left = p.squares * steepness(&settings.loss) + pull * pull / settings.l2
        if left <= precision * settings.tol * total_of(state):
            break
        p.limit = limit_of_visits(p.worst)
    state.bias = p.sum
    return 0


cdef int order_visits(ClassState state) except -1 nogil:
    """The members of the active set, positives as often as a pass visits them."""
    cdef Py_ssize_t a, _, n = state.members.size(), n_positives = 0, n_visits = 0, times
    for a in range(n):
        n_positives += state.members[a].y > 0
    times = visits_of_positive(n_positives, n)
    state.order.resize(n + n_positives * (times - 1))
    for a in range(n):
        for _ in range(times if state.members[a].y > 0 else 1):
            state.order[n_visits] = <int32_t>a
            n_visits += 1
    return 0


cdef double total_of(ClassState state) noexcept nogil:
    """The sum of the dual variables."""
    cdef Py_ssize_t a
    cdef double total = 0
    for a in range(<Py_ssize_t>state.members.size()):
        total += state.members[a].alpha
    return total

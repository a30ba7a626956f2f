"""Dual coordinate descent on the copied rows of one class (PPDSparse, Algorithm 2)."""

from libc.math cimport fabsf
from libc.stdint cimport int32_t, uint64_t

from sklearn_xc._kernels.common._common cimport random_below
from sklearn_xc._kernels.ppdsparse._class_state cimport ClassState, Member
from sklearn_xc._kernels.ppdsparse._types cimport Settings, soft_threshold

# Negatives at zero are set aside when they are so far inside the margin, in units of its width.
cdef float FAR_INSIDE = 0.05


cdef struct Pass:  # pointers into the copied rows, and what a pass over them has met
    Member *members
    int32_t *order
    const int32_t *places
    const float *values
    float *v
    float *shrunk
    Py_ssize_t n_left  # members beyond it sit at zero and wait to leave
    float bias
    float limit  # a negative at zero with a larger gradient is set aside
    float tiny  # smaller projected gradients are not worth a step
    float worst  # largest projected gradient met
    double squares  # sum of the squares of the projected gradients
    double total  # sum of the dual variables


cdef inline float score_of(const Member *member, const Pass *p) noexcept nogil:
    """b l2 + <S(v), x>, in two sums, since one would wait for itself."""
    cdef const int32_t *places = p.places + member.start
    cdef const float *x = p.values + member.start
    cdef const float *shrunk = p.shrunk
    cdef float z = p.bias, z1 = 0
    cdef Py_ssize_t e, m = member.length
    for e in range(0, m - 1, 2):
        z += shrunk[places[e]] * x[e]
        z1 += shrunk[places[e + 1]] * x[e + 1]
    if m & 1:
        z += shrunk[places[m - 1]] * x[m - 1]
    return z + z1


cdef inline void take_step(Member *member, float change, float l1, Pass *p) noexcept nogil:
    cdef const int32_t *places = p.places + member.start
    cdef const float *x = p.values + member.start
    cdef float *v = p.v
    cdef float *shrunk = p.shrunk
    cdef float u
    cdef Py_ssize_t e
    p.bias += change
    for e in range(member.length):
        u = v[places[e]] + change * x[e]
        v[places[e]] = u
        shrunk[places[e]] = soft_threshold(u, l1)


cdef void one_pass(Pass *p, const Settings *settings, uint64_t *rng) noexcept nogil:
    """Visit the members that are left once, in a fresh random order."""
    cdef float inverse_l2 = 1 / settings.l2, g, old
    cdef Py_ssize_t a, b
    cdef int32_t swap
    cdef Member *member
    p.squares = p.total = 0
    p.worst = 0
    for a in range(p.n_left - 1, 0, -1):
        b = random_below(rng, <unsigned int>(a + 1))
        swap = p.order[a]
        p.order[a] = p.order[b]
        p.order[b] = swap
    a = 0
    while a < p.n_left:
        member = &p.members[p.order[a]]
        old = member.alpha
        g = member.y * score_of(member, p) * inverse_l2 - 1 + old / member.weight
        if old == 0 and g >= 0:
            if g > p.limit and member.y < 0:
                p.n_left -= 1
                swap = p.order[a]
                p.order[a] = p.order[p.n_left]
                p.order[p.n_left] = swap
            else:
                a += 1
            continue
        a += 1
        p.squares += <double>g * g
        p.total += old
        p.worst = max(p.worst, fabsf(g))
        if fabsf(g) >= p.tiny:
            member.alpha = max(
                old - g / (member.squared_norm * inverse_l2 + 1 / member.weight), <float>0
            )
            take_step(member, (member.alpha - old) * member.y, settings.l1, p)


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
    p.shrunk = state.shrunk.data()
    p.n_left = n
    p.bias = <float>state.bias
    p.limit = 1e30
    p.tiny = tiny
    for _ in range(n_passes):
        state.n_entries += state.places.size() * (<double>p.n_left / max(n, 1))
        one_pass(&p, settings, &state.rng)
        if p.squares <= precision * settings.tol * p.total:
            break
        p.limit = min(p.worst, FAR_INSIDE)
    state.bias = p.bias
    return 0

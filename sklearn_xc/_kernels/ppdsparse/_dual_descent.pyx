"""Randomised dual coordinate descent on the active set of one class (PPDSparse, Algorithm 2).

An entry of `active` is a sample's number i for a negative and ~i for a positive.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from sklearn_xc._kernels.common._common cimport dispatched, prefetch, random_below
from sklearn_xc._kernels.ppdsparse._matrix cimport Matrix
from sklearn_xc._kernels.ppdsparse._types cimport Lane, Settings, soft_threshold

cdef enum:
    AHEAD = 3  # how many samples ahead their rows are fetched into the cache


cdef dispatched one_pass(
    Lane *lane,
    Py_ssize_t c,
    const Settings *settings,
    Py_ssize_t *n_left,  # IN / OUT: entries beyond it sit at zero and wait to leave
    float limit,  # a negative at zero with a larger gradient is set aside
    float tiny,  # smaller projected gradients are not worth a step
    float *worst,  # OUT: largest projected gradient met
    double *squares,  # OUT: sum of the squares of the projected gradients
    double *total,  # OUT: sum of the dual variables
    const int64_t[::1] indptr,
    const int32_t[::1] indices,
    const float[::1] data,
    bint dense,
    const float[::1] squared_norms,
    const float[::1] sample_weight,
    int32_t[:, ::1] active,
    float[:, ::1] alpha,
    int32_t[:, ::1] touched,
    float[::1] v,
    uint8_t[::1] seen,
) noexcept nogil:
    """Visit the first `n_left` active samples once, in a fresh random order."""
    cdef Py_ssize_t a = 0, n = n_left[0], b, i, e, m, start, first, next_start
    cdef int32_t entry, j
    cdef float y, z, z1, g, projected, old, new, weight, inverse_weight, curvature, change, swap
    cdef float l1 = settings.l1, inverse_l2 = 1 / settings.l2
    cdef bint hinge = settings.hinge
    worst[0] = 0
    squares[0] = total[0] = 0
    for a in range(n - 1, 0, -1):
        b = random_below(&lane.rng, <int>(a + 1))
        entry = active[c, a]
        active[c, a] = active[c, b]
        active[c, b] = entry
        swap = alpha[c, a]
        alpha[c, a] = alpha[c, b]
        alpha[c, b] = swap
    a = 0
    while a < n:
        if a + AHEAD < n:
            entry = active[c, a + AHEAD]
            next_start = indptr[entry if entry >= 0 else ~entry]
            if next_start < data.shape[0]:  # a last, empty row starts beyond the data
                prefetch(&data[next_start])
                if not dense:
                    prefetch(&indices[next_start])
        entry = active[c, a]
        i = entry if entry >= 0 else ~entry
        y = -1 if entry >= 0 else 1
        start = indptr[i]
        first = 0 if dense else start
        m = indptr[i + 1] - start
        z = lane.bias
        z1 = 0
        for e in range(0, m - 1, 2):  # two sums, since one would wait for itself
            z += soft_threshold(v[indices[first + e]], l1) * data[start + e]
            z1 += soft_threshold(v[indices[first + e + 1]], l1) * data[start + e + 1]
        if m & 1:
            z += soft_threshold(v[indices[first + m - 1]], l1) * data[start + m - 1]
        z = (z + z1) * inverse_l2

        weight = sample_weight[i] * (lane.negative_weight if y < 0 else lane.positive_weight)
        old = alpha[c, a]
        g = y * z - 1
        curvature = squared_norms[i] * inverse_l2
        if not hinge:
            inverse_weight = 1 / weight
            g += old * inverse_weight
            curvature += inverse_weight
        projected = g
        if old == 0 and g >= 0:
            if g > limit and y < 0:
                n -= 1
                active[c, a] = active[c, n]
                alpha[c, a] = alpha[c, n]
                active[c, n] = entry
                alpha[c, n] = 0
                continue
            projected = 0
        elif hinge and old == weight and g <= 0:
            projected = 0
        projected = projected if projected >= 0 else -projected
        if projected > worst[0]:
            worst[0] = projected
        squares[0] += projected * projected
        total[0] += old
        if projected > tiny:
            new = old - g / curvature if curvature > 0 else (weight if g < 0 else 0)
            if new < 0:
                new = 0
            if hinge and new > weight:
                new = weight
            change = (new - old) * y
            alpha[c, a] = new
            if settings.intercept:
                lane.bias += change
            for e in range(m):
                j = indices[first + e]
                v[j] += change * data[start + e]
                if not seen[j]:
                    seen[j] = 1
                    touched[c, lane.n_touched] = j
                    lane.n_touched += 1
        a += 1
    n_left[0] = n


cdef void descend(
    Lane *lane,
    Py_ssize_t c,
    const Settings *settings,
    int n_passes,
    Matrix X,
    const float[::1] squared_norms,
    const float[::1] sample_weight,
    int32_t[:, ::1] active,
    float[:, ::1] alpha,
    int32_t[:, ::1] touched,
    float[::1] v,
    uint8_t[::1] seen,
) noexcept nogil:
    """Passes over the active set until the projected gradient is small against the tolerance."""
    cdef float enough = lane.precision, worst = 0, limit = 1e30
    cdef Py_ssize_t n_left = lane.n_active
    cdef double squares = 0, total = 0
    cdef int _
    for _ in range(n_passes):
        lane.n_visits += n_left
        one_pass(
            lane, c, settings, &n_left, limit, <float>(0.1 * enough), &worst, &squares, &total,
            X.indptr, X.indices, X.data, X.dense, squared_norms, sample_weight, active, alpha,
            touched, v, seen,
        )
        if worst <= enough:
            return
        # The gap of the squared hinge is half the sum of the squares (for C_i = 1), and the
        # objective at least half the sum of the dual variables.
        if not settings.hinge and squares <= 0.3 * settings.tol * total:
            return
        limit = worst

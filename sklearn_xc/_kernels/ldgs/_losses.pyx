"""Losses with gradients that a few classes carry, on a set of scored classes.

The positives P of a sample stand first in the set, its negatives N behind them, which all functions
rely on. z are the scores; 1_N is 1 at negatives and 0 at positives:

* cross-entropy, sum over the positives of ``w_k (log sum_j exp(z_j) - z_k)``, eqs. 2, 6 and 9 of
  the LDGS paper;
* margin, ``max <z + 1_N, a> - mu / 2 ||a||^2`` over the bi-simplex, eqs. 10 and 11: its gradient is
  the projection of ``(z + 1_N) / mu`` on ``{a_N >= 0, a_P <= 0, sum a_N = -sum a_P <= 1}``;
* triplet, ``sum_k w_k sum_j max(0, z_j - z_k + 1)``, eq. 7 with its sign put right.

A sample without positives or without negatives has no loss but for cross-entropy, which needs
positives only.
"""

from libc.math cimport INFINITY, fabs, log
from libc.stdint cimport int64_t
from libc.stdlib cimport qsort

import numpy as np

from sklearn_xc._kernels.common._common cimport dispatched
from sklearn_xc._kernels.common._math cimport fast_exp


cdef dispatched exponentials(const float* z, float top, int64_t n, float* out) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        out[i] = fast_exp(z[i] - top)


cdef double cross_entropy(
    Loss loss, const float* z, const float* weight, int64_t n_positive, int64_t n, float* gradient
) noexcept nogil:
    cdef double total = 0, of_positives = 0, value = 0, share
    # The classes that count as scored 0 take part in the maximum, so that no exponential overflows.
    cdef float top = 0 if loss.rest > 0 else <float>-INFINITY
    cdef int64_t i
    for i in range(n_positive):
        of_positives += weight[i] if weight != NULL else 1
    # The loss is a sum over positives: without weight it is 0, and so are its gradients.
    if of_positives == 0:
        for i in range(n):
            gradient[i] = 0
        return 0
    for i in range(n):
        top = max(top, z[i])
    exponentials(z, top, n, gradient)
    for i in range(n):
        total += gradient[i]
    if loss.rest > 0:
        total += loss.rest * fast_exp(-top)
    # The gradient of sum_k w_k (log sum_j exp z_j - z_k) is (sum w) softmax(z) - w.
    share = of_positives / total
    for i in range(n):
        gradient[i] = <float>(gradient[i] * share)
    for i in range(n_positive):
        value -= z[i] * (<double>weight[i] if weight != NULL else 1.0)
        gradient[i] -= weight[i] if weight != NULL else 1
    return value + of_positives * (top + log(total))


# ------------------------------------------------------------------------------------ margin

cdef struct Values:
    const double* of  # all above the highest minus 1
    int64_t n
    double rest  # one more value, this many times
    double value_of_rest


cdef double root(Values a, Values b, double target, double low, double high) noexcept nogil:
    """The t between low and high with ``sum max(a - t, 0) - sum max(b + t, 0) = target``."""
    # The left side falls with t and is linear between the points where it bends: from the piece of
    # the root Newton's step hits it. Where a step would leave the bracket, the bracket is halved.
    cdef double t = low, total, slope, new
    cdef int64_t i, _step
    # Bounded, since NaN never converges; 200 halvings exceed the bits of a double.
    for _step in range(200):
        total, slope = -target, 0
        for i in range(a.n):
            if a.of[i] > t:
                total += a.of[i] - t
                slope += 1
        if a.rest > 0 and a.value_of_rest > t:
            total += a.rest * (a.value_of_rest - t)
            slope += a.rest
        for i in range(b.n):
            if b.of[i] > -t:
                total -= b.of[i] + t
                slope += 1
        # Invariant: the root lies in [low, high].
        if total > 0:
            low = t
        else:
            high = t
        # Without slope no value takes part: the target is 0 then, and t a root.
        new = t + total / slope if slope > 0 else high
        if fabs(new - t) <= 1e-14 * (1 + fabs(t)):
            return new
        t = new if low < new < high else (low + high) / 2
    return t


cdef int64_t near_top(
    const float* z, int64_t n, double shift, double scale, double top, double* out
) noexcept nogil:
    """OUT the values ``scale (z + shift)`` above top - 1."""
    # The threshold t of a projection on a simplex of mass at most 1 is at least top - 1, since the
    # largest value alone takes top - t of the mass. Values below t become 0.
    cdef int64_t i, found = 0
    cdef double value
    for i in range(n):
        value = scale * (z[i] + shift)
        if value > top - 1:
            out[found] = value
            found += 1
    return found


cdef double margin(
    Loss loss, const float* z, int64_t n_positive, int64_t n, float* gradient, double* scratch
) noexcept nogil:
    cdef double scale = 1 / loss.mu, top_a = -INFINITY, top_b = -INFINITY, value = 0, x
    cdef double t_a, t_b
    cdef int64_t i
    cdef Values a, b, none
    for i in range(n):
        gradient[i] = 0
    # The largest over pairs of a positive and a negative: one of either is needed.
    if n_positive == 0 or (n == n_positive and loss.rest <= 0):
        return 0
    # Negatives scored 0 have the value (0 + 1) / mu.
    a.rest, a.value_of_rest = loss.rest, scale
    b.rest, b.value_of_rest = 0, 0
    none.of, none.n, none.rest, none.value_of_rest = NULL, 0, 0, 0
    if a.rest > 0:
        top_a = scale
    for i in range(n_positive):
        top_b = max(top_b, -scale * z[i])
    for i in range(n_positive, n):
        top_a = max(top_a, scale * (z[i] + 1.0))
    # No pair with z_j - z_k + 1 > 0: a = 0 is the maximum, and the loss 0.
    if top_a + top_b <= 0:
        return 0
    a.of = scratch
    a.n = near_top(z + n_positive, n - n_positive, 1, scale, top_a, scratch)
    b.of = scratch + a.n
    b.n = near_top(z, n_positive, 0, -scale, top_b, scratch + a.n)
    # First with the sums of both sides at their limit, 1: a_N = max(v - t_a, 0) with sum 1, and so
    # the positives with t_b. If t_a + t_b >= 0 this is the projection: the multiplier of the mass
    # is not negative.
    t_a, t_b = root(a, none, 1, top_a - 1, top_a), root(b, none, 1, top_b - 1, top_b)
    if t_a + t_b < 0:  # the sums stay below 1: one threshold for both, with opposite signs
        t_a = root(a, b, 0, -top_b, top_a)
        t_b = -t_a
    for i in range(n_positive):
        x = max(-scale * z[i] - t_b, 0.0)
        gradient[i] = <float>-x
        # -a_k = x: the term z_k a_k - mu / 2 a_k^2 of the objective.
        value -= x * (z[i] + loss.mu / 2 * x)
    for i in range(n_positive, n):
        x = max(scale * (z[i] + 1.0) - t_a, 0.0)
        gradient[i] = <float>x
        value += x * (z[i] + 1.0 - loss.mu / 2 * x)
    # Each counts in the loss; they have no place for a gradient.
    if a.rest > 0:
        x = max(scale - t_a, 0.0)
        value += a.rest * x * (1 - loss.mu / 2 * x)
    return value


# ----------------------------------------------------------------------------------- triplet


cdef struct Positive:
    double z
    double weight


cdef int by_score(const void* a, const void* b) noexcept nogil:
    cdef double x = (<const Positive*>a).z, y = (<const Positive*>b).z
    return (x > y) - (x < y)


cdef int64_t n_below(const Positive* ascending, int64_t n, double x) noexcept nogil:
    """How many of the positives score below x."""
    cdef int64_t low = 0, high = n, middle
    while low < high:
        middle = (low + high) // 2
        if ascending[middle].z < x:
            low = middle + 1
        else:
            high = middle
    return low


cdef double triplet(
    Loss loss, const float* z, const float* weight, int64_t n_positive, int64_t n,
    float* gradient, double* scratch
) noexcept nogil:
    # 5 n + 4 numbers: 2 n_positive for pairs of score and weight, and three times n_positive + 1.
    cdef Positive* ordered = <Positive*>scratch  # by score
    cdef double* weights = scratch + 2 * n_positive  # of the first this many of them
    cdef double* sums = weights + n_positive + 1  # of their scores times weights
    cdef double* pairs = sums + n_positive + 1  # negatives that violate just the first this many
    cdef double value = 0
    cdef int64_t i, found
    for i in range(n_positive):
        ordered[i].z = z[i]
        ordered[i].weight = weight[i] if weight != NULL else 1
        pairs[i] = 0
    pairs[n_positive] = 0
    # A negative at z_j violates all positives with z_k < z_j + 1: of sorted positives the first
    # few, whose sums of weights and scores are at hand. n log |P| in place of |N| |P| pairs.
    qsort(ordered, n_positive, sizeof(Positive), by_score)
    weights[0] = sums[0] = 0
    for i in range(n_positive):
        weights[i + 1] = weights[i] + ordered[i].weight
        sums[i + 1] = sums[i] + ordered[i].weight * ordered[i].z
    for i in range(n_positive, n):
        found = n_below(ordered, n_positive, z[i] + 1.0)
        gradient[i] = <float>weights[found]
        # sum_k w_k (z_j + 1 - z_k) over the positives below z_j + 1.
        value += weights[found] * (z[i] + 1.0) - sums[found]
        pairs[found] += 1
    if loss.rest > 0:
        found = n_below(ordered, n_positive, 1.0)
        value += loss.rest * (weights[found] - sums[found])
        pairs[found] += loss.rest
    # From negatives that violate just the first i positives to those that violate at least these.
    for i in range(n_positive - 1, -1, -1):
        pairs[i] += pairs[i + 1]
    for i in range(n_positive):
        # Positives of the same score share a place: all negatives that violate more than those
        # below.
        found = n_below(ordered, n_positive, z[i])
        gradient[i] = <float>-pairs[found + 1] * (weight[i] if weight != NULL else 1)
    return value


cdef double loss_gradient(
    Loss loss, const float* z, const float* weight, int64_t n_positive, int64_t n,
    float* gradient, double* scratch
) noexcept nogil:
    """The loss of a set; OUT its gradient (n,). `scratch` holds 5 n + 4 numbers.

    `weight` (n_positive,), or NULL for ones, is not for the margin loss.
    """
    if loss.kind == CROSS_ENTROPY:
        return cross_entropy(loss, z, weight, n_positive, n, gradient)
    if loss.kind == MARGIN:
        return margin(loss, z, n_positive, n, gradient, scratch)
    return triplet(loss, z, weight, n_positive, n, gradient, scratch)


KINDS = {"cross_entropy": CROSS_ENTROPY, "margin": MARGIN, "triplet": TRIPLET}


def of_set(
    int kind, double mu, double rest, const float[::1] z, const float[::1] weight,
    int64_t n_positive, float[::1] gradient,
):
    """The loss of one set; see `loss_gradient`.

    Parameters
    ----------
    kind : IN, one of KINDS
    mu, rest : IN
    z : IN (n,), scores, the positives' first
    weight : IN (n_positive,), or of size 0 for ones
    n_positive : IN
    gradient : OUT (n,)
    """
    cdef Loss loss
    cdef double[::1] scratch = np.empty(5 * z.shape[0] + 4)
    cdef double value
    loss.kind, loss.mu, loss.rest = kind, mu, rest
    if z.shape[0] == 0:
        return 0.0
    with nogil:
        value = loss_gradient(
            loss, &z[0], &weight[0] if weight.shape[0] else NULL, n_positive, z.shape[0],
            &gradient[0], &scratch[0],
        )
    return value

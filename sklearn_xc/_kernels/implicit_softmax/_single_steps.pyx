"""Steps on one sample and one class of the double sum: implicit, U-max and vanilla.

The term of sample i and class k of the pairwise formulation (eq. 6), with z = psi_k - psi_y, is
``u + exp(-u) + importance * exp(z - u)``; that of Raman et al. (eq. 8) is
``u - psi_y + exp(psi_y - u) + importance * exp(psi_k - u)``. `importance` is the inverse of
the probability of k, its importance weight: K - 1 where classes are drawn uniformly. Weights are
scale_k W_k, so that the ridge of a step costs no more than the non-zeros of its row.
"""

from libc.math cimport fabs, isfinite, log, sqrt
from libc.stdint cimport int32_t, int64_t, uint64_t

import numpy as np

from sklearn_xc._kernels.common._common cimport dispatched, interrupted, prefetch, random_below
from sklearn_xc._kernels.common._common cimport random_unit, seed_for
from sklearn_xc._kernels.common._lazy_scale cimport is_tiny, multiply_weights
from sklearn_xc._kernels.softmax._sampled_classes cimport Row, row_at
from sklearn_xc._kernels.common._vector_ops cimport LANES
from sklearn_xc._kernels.implicit_softmax._scalar_step cimport (
    IMPLICIT, Settings, explicit_step, implicit_step,
)

cdef enum:
    FAR = 1 << 20  # weights beyond this number are fetched ahead of their step
    STEP_COST = 100  # operations of a step beside those on its row

cdef double LARGEST = 1e30  # a longer step would overflow the float32 weights soon


cdef struct Sampler:
    int32_t n_classes
    const double* threshold  # an alias table, or NULL for uniform
    const int32_t* alias


cdef struct Weights:
    # w_k,j = scale_k W[k of_class + j of_feature]: sparse samples have their weights by feature,
    # each a cache line of its own in any layout; dense ones by class.
    float* W
    float* b
    double* scale
    double* norms  # ||w_k||^2, or NULL where no ball bounds them
    const double* ridge  # alpha beta_k / N, or NULL
    int64_t n_features
    int64_t of_class  # from the weights of a class to those of the next
    int64_t of_feature  # from a weight of a class to the next; 1 with dense samples


def solve_step(double rate, double z, double importance, double curvature, double u):
    """g and the new u of :func:`implicit_step`, for tests."""
    cdef double new = u
    cdef double g = implicit_step(rate, z, log(importance), curvature, &new)
    return g, new


# ---------------------------------------------------------------------------------- one row


cdef dispatched dense_dots(
    const float* x, const float* v, const float* w, int64_t n, double* out
) noexcept nogil:
    cdef float a[LANES]
    cdef float b[LANES]
    cdef int64_t e
    cdef int32_t c
    # Both products in one pass over x.
    for c in range(LANES):
        a[c] = b[c] = 0
    for e in range(n // LANES):
        for c in range(LANES):
            a[c] += x[LANES * e + c] * v[LANES * e + c]
            b[c] += x[LANES * e + c] * w[LANES * e + c]
    for e in range(n - n % LANES, n):
        a[0] += x[e] * v[e]
        b[0] += x[e] * w[e]
    out[0] = out[1] = 0
    for c in range(LANES):
        out[0] += a[c]
        out[1] += b[c]


cdef inline void sparse_dots(
    Row row, const float* v, const float* w, int64_t stride, double* out
) noexcept nogil:
    """Four sums, since one would wait for itself."""
    cdef float a = 0, b = 0, c = 0, d = 0
    cdef const float* x = row.values
    cdef int64_t e, i, j
    for e in range(0, row.n - 1, 2):
        i = row.features[e] * stride
        j = row.features[e + 1] * stride
        a += x[e] * v[i]
        c += x[e] * w[i]
        b += x[e + 1] * v[j]
        d += x[e + 1] * w[j]
    if row.n & 1:
        i = row.features[row.n - 1] * stride
        a += x[row.n - 1] * v[i]
        c += x[row.n - 1] * w[i]
    out[0] = a + b
    out[1] = c + d


cdef dispatched dense_update(
    const float* x, float* v, float* w, int64_t n, float gain, float loss
) noexcept nogil:
    cdef int64_t e
    for e in range(n):
        v[e] += gain * x[e]
    for e in range(n):
        w[e] -= loss * x[e]


cdef inline void sparse_update(
    Row row, float* v, float* w, int64_t stride, float gain, float loss
) noexcept nogil:
    cdef int64_t e, j
    for e in range(row.n):
        j = row.features[e] * stride
        v[j] += gain * row.values[e]
        w[j] -= loss * row.values[e]


cdef inline void fetch(Row row, const Weights* weights, int32_t k) noexcept nogil:
    cdef const float* w = weights.W + k * weights.of_class
    cdef int64_t e
    if not row.dense:  # the machine itself sees a stream coming
        for e in range(row.n):
            prefetch(w + row.features[e] * weights.of_feature)


cdef inline int32_t draw(const Sampler* sampler, int32_t own, uint64_t* rng) noexcept nogil:
    """A class other than the own one."""
    cdef int32_t k = own
    if sampler.threshold == NULL:
        # Numbers without the own class; those from it on move up by one.
        k = <int32_t>random_below(rng, sampler.n_classes - 1)
        return k + (k >= own)
    while k == own:
        k = <int32_t>random_below(rng, sampler.n_classes)
        if random_unit(rng) >= sampler.threshold[k]:
            k = sampler.alias[k]
    return k


# ---------------------------------------------------------------------------- scaled weights


cdef void fold(const Weights* weights, int32_t k) noexcept nogil:
    """Multiply a class's weights by its scale."""
    cdef float* w = weights.W + k * weights.of_class
    multiply_weights(w, weights.n_features, weights.of_feature, weights.scale[k])
    weights.scale[k] = 1


cdef inline void multiply(const Weights* weights, int32_t k, double factor) noexcept nogil:
    weights.scale[k] *= factor
    if weights.norms != NULL:
        weights.norms[k] *= factor * factor
    if is_tiny(weights.scale[k]):
        fold(weights, k)


cdef inline void lengthen(
    const Weights* weights, int32_t k, double product, double step, double square, double radius
) noexcept nogil:
    """The norm of w_k after a step of this length along x, and the projection on the ball.

    `product` was <w_k, x> before, `square` is ||x||^2.
    """
    # ||w + step x||^2 = ||w||^2 + 2 step <w, x> + step^2 ||x||^2, without a pass over the weights.
    cdef double norm = max(weights.norms[k] + step * (2 * product + step * square), 0)
    weights.norms[k] = norm
    if norm > radius * radius:
        multiply(weights, k, radius / sqrt(norm))


# ------------------------------------------------------------------------------------- steps


cdef inline bint take_step(
    const Settings* settings, const Weights* weights, Row row, double square,
    double rate, double log_importance, int32_t y, int32_t k, double* u
) noexcept nogil:
    """Step w_y, w_k, their intercepts and u; whether all went well.

    `rate` is settings.rate times the weight of the sample, `square` is ||x||^2.
    """
    cdef float* v = weights.W + y * weights.of_class
    cdef float* w = weights.W + k * weights.of_class
    cdef bint implicit = settings.method == IMPLICIT
    cdef double c_y = 1, c_k = 1, own, negative, gain, loss, product_y, product_k
    cdef double dots[2]
    cdef float up, down
    if row.dense:
        dense_dots(row.values, v, w, row.n, dots)
    else:
        sparse_dots(row, v, w, weights.of_feature, dots)
    if implicit and weights.ridge != NULL:
        # Before the step: the proximal operator of the ridge divides w by c = 1 + rate alpha beta /
        # N (errata of F.3).
        c_y += settings.rate * weights.ridge[y]
        c_k += settings.rate * weights.ridge[k]
        weights.scale[y] /= c_y
        weights.scale[k] /= c_k
    product_y = weights.scale[y] * dots[0]
    product_k = weights.scale[k] * dots[1]
    own = product_y + weights.b[y]
    negative = product_k + weights.b[k]
    if implicit:
        # z falls by curvature g: ||x||^2 / c of both classes, and twice the constant feature
        # squared.
        gain = loss = implicit_step(
            rate, negative - own, log_importance,
            square / c_y + square / c_k + 2 * settings.intercept * settings.intercept, u,
        )
    else:
        explicit_step(settings, rate, own, negative, log_importance, u, &gain, &loss)
    # false for NaN as well
    if not (fabs(gain) < LARGEST and fabs(loss) < LARGEST and isfinite(u[0])):
        return False
    if settings.intercept:
        weights.b[y] += <float>(settings.intercept * settings.intercept * gain)
        weights.b[k] -= <float>(settings.intercept * settings.intercept * loss)
    if implicit:
        if is_tiny(weights.scale[y]):
            fold(weights, y)
        if is_tiny(weights.scale[k]):
            fold(weights, k)
    elif weights.ridge != NULL:
        # Where alpha beta_k rate / N exceeds 1, w_k goes to zero and not beyond.
        c_y = max(1 - settings.rate * weights.ridge[y], 0)
        c_k = max(1 - settings.rate * weights.ridge[k], 0)
        multiply(weights, y, c_y)
        multiply(weights, k, c_k)
        product_y *= c_y
        product_k *= c_k
        c_y = c_k = 1
    # The step of an implicit step is shrunk as well: g x / c.
    gain /= c_y
    loss /= c_k
    # A step of w_k by f is one of W_k by f / scale_k.
    up = <float>(gain / weights.scale[y])
    down = <float>(loss / weights.scale[k])
    if row.dense:
        dense_update(row.values, v, w, row.n, up, down)
    else:
        sparse_update(row, v, w, weights.of_feature, up, down)
    if weights.norms != NULL:
        lengthen(weights, y, product_y, gain, square, settings.radius)
        lengthen(weights, k, product_k, -loss, square, settings.radius)
    return True


cdef class Samples:
    """Samples of all steps, read only.

    Parameters
    ----------
    indptr, indices, data, dense : the rows (see `_rows.Rows`)
    y, squares : (n_samples,), class and ||x||^2 of each
    sample_weight : (n_samples,), above zero for samples that are visited; or of size 0 for 1
    """

    cdef const int64_t[::1] indptr
    cdef const int32_t[::1] indices, y
    cdef const float[::1] data, weight
    cdef const double[::1] squares
    cdef bint dense

    def __init__(self, indptr, indices, data, bint dense, y, sample_weight, squares):
        self.indptr, self.indices, self.data, self.dense = indptr, indices, data, dense
        self.y, self.weight, self.squares = y, sample_weight, squares


cdef class Draws:
    """The probabilities of the classes drawn: an alias table of them, log q_k and log(1 - q_k).

    Without arguments all classes are as likely.
    """

    cdef const double[::1] threshold, log_probability, log_others
    cdef const int32_t[::1] alias

    def __init__(self, threshold=None, alias=None, log_probability=None, log_others=None):
        self.threshold, self.alias = threshold, alias
        self.log_probability, self.log_others = log_probability, log_others


cdef class Iterate:
    """Iterates that the steps change.

    Parameters
    ----------
    W : (n_classes, n_features); with `by_feature`, for sparse samples only, (n_features, at least
        n_classes)
    b, scale : (n_classes,); w_k = scale_k W_k
    norms : (n_classes,), ||w_k||^2; of size 0 where settings.radius is infinite
    u : (n_samples,)
    """

    cdef float[:, ::1] W
    cdef float[::1] b
    cdef double[::1] scale, norms, u
    cdef bint by_feature

    def __init__(self, W, bint by_feature, b, scale, norms, u):
        self.W, self.by_feature, self.b = W, by_feature, b
        self.scale, self.norms, self.u = scale, norms, u

    cdef Weights pointers(self, const double[::1] ridge) noexcept:
        cdef Weights weights
        cdef float[:, ::1] W = self.W
        weights.W = &W[0, 0] if W.size else NULL
        weights.b = &self.b[0]
        weights.scale = &self.scale[0]
        weights.norms = &self.norms[0] if self.norms.shape[0] else NULL
        weights.ridge = &ridge[0] if ridge.shape[0] else NULL
        weights.n_features = W.shape[0] if self.by_feature else W.shape[1]
        weights.of_class = 1 if self.by_feature else W.shape[1]
        weights.of_feature = W.shape[1] if self.by_feature else 1
        return weights


def first_draws(uint64_t seed, uint64_t epoch):
    """The state from which an epoch's random classes are drawn, uint64 (1,)."""
    return np.array([seed_for(seed, epoch)], dtype=np.uint64)


def run_steps(
    Samples samples, const int32_t[::1] order, const double[::1] ridge, Draws draws,
    Settings settings, uint64_t[::1] random, Iterate iterate, const int32_t[::1] stop,
):
    """One step for each sample of `order`, with a class drawn for it.

    Parameters
    ----------
    samples : IN
    order : IN, samples in the order in which they are visited
    ridge : IN (n_classes,), alpha beta_k / N; or of size 0
    draws : IN
    settings : IN
    random : IN/OUT, the state of the draws, see `first_draws`
    iterate : IN/OUT
    stop : IN, one number; other than zero when another thread was interrupted

    Returns
    -------
    n_steps : int
        Smaller than the number of samples if a step was not finite; that one was not taken.
    """
    cdef Py_ssize_t t, i, n_steps = order.shape[0]
    cdef int32_t k, k_next = 0
    cdef double rate, log_importance, operations = 0
    cdef uint64_t rng = random[0]
    cdef bint weighted = samples.weight.shape[0] > 0
    cdef bint far = iterate.W.shape[0] * iterate.W.shape[1] > FAR
    cdef const int64_t[::1] indptr = samples.indptr
    cdef const int32_t[::1] indices = samples.indices, y = samples.y
    cdef const float[::1] data = samples.data, sample_weight = samples.weight
    cdef bint dense = samples.dense, alias_drawn = draws.threshold is not None
    cdef const double[::1] squares = samples.squares
    cdef double[::1] u = iterate.u
    cdef const double[::1] log_probability = draws.log_probability, log_others = draws.log_others
    cdef Sampler sampler
    cdef Weights weights
    cdef Row row, next_row
    if n_steps == 0:
        return 0
    sampler.n_classes = <int32_t>iterate.b.shape[0]
    sampler.threshold = &draws.threshold[0] if alias_drawn else NULL
    sampler.alias = &draws.alias[0] if alias_drawn else NULL
    weights = iterate.pointers(ridge)
    log_importance = log(sampler.n_classes - 1)
    with nogil:
        # The class of a step is drawn one step ahead, so that its weights can be fetched in time.
        next_row = row_at(indptr, indices, data, dense, order[0])
        k_next = draw(&sampler, y[order[0]], &rng)
        for t in range(order.shape[0]):
            i = order[t]
            row = next_row
            k = k_next
            if t + 1 < order.shape[0]:
                next_row = row_at(indptr, indices, data, dense, order[t + 1])
                k_next = draw(&sampler, y[order[t + 1]], &rng)
                if far:
                    fetch(next_row, &weights, y[order[t + 1]])
                    fetch(next_row, &weights, k_next)
            if sampler.threshold != NULL:
                # 1 / (q_k / (1 - q_y)): the own class is drawn again.
                log_importance = log_others[y[i]] - log_probability[k]
            # A sample's weight multiplies its term.
            rate = settings.rate * sample_weight[i] if weighted else settings.rate
            if not take_step(
                &settings, &weights, row, squares[i], rate, log_importance, y[i], k, &u[i]
            ):
                n_steps = t
                break
            operations += 4 * row.n + STEP_COST
            interrupted(stop, &operations)
    random[0] = rng
    return n_steps

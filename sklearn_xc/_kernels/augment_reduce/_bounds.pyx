"""Augment-and-Reduce: local steps, gradients of the bounds, the bounds themselves.

With psi_k = <w_k, x> + b_k and the noise eps of the own class y as a variable of each sample, eq. 7
bounds log p(y) by

    E_q[log phi(eps) + sum over k != y of log Phi(eps + psi_y - psi_k) - log q(eps)].

For Gumbel noise, the softmax, the best q has one parameter eta and the bound is eq. 8,

    1 - log eta - (1 + sum over k != y of e^(psi_k - psi_y)) / eta.

Gaussian and logistic noise have a q of mean mu and scale log(1 + e^gamma), whose gradient is eq. 9.

A mini-batch step has three phases (see `softmax/_sampled_classes`): scores psi
(n_rows, n_sampled + 1) of the own class and of the classes drawn, coefficients of
the same shape, ascent of the weights along them.
Here is the second: coefs[i, j] = the derivative of the bound of sample batch[i] with respect to
psi[i, j], times the weight of the sample, estimated from the classes drawn. `importance`
(n_rows, n_sampled) makes a sum over the classes drawn an unbiased estimate of the sum over all
other classes; with all others in it and importance 1, gradients and bounds are exact.

Rows of a mini-batch are distinct samples. In every function `psi`, `importance` and `batch`
(n_rows,), the numbers of the samples, are IN; so is `sample_weight` (n_samples,), or of size 0 for
weights of 1.
"""

from cython.parallel cimport prange
from libc.math cimport exp, expm1, fabs, log, log1p, sqrt
from libc.stdint cimport int32_t

from sklearn_xc._kernels.augment_reduce._noise cimport (
    LOGISTIC, PROBIT, gaussian_hazard, gaussian_log_cdf, gaussian_log_density,
    gaussian_log_density_slope, logistic_hazard, logistic_log_cdf, logistic_log_density,
    logistic_log_density_slope, require_model,
)
from sklearn_xc._kernels.common._common cimport dispatched
from sklearn_xc._kernels.common._math cimport exp64, fast_exp, log1p64, log64
from sklearn_xc._kernels.common._vector_ops cimport sigmoid, weight_of
from sklearn_xc._kernels.softmax._sampled_classes cimport as_coef, finish_coefs

cdef enum:
    CHUNK = 64  # terms, or rows, that are computed at once

# Exponents of the softmax gradient are cut here: e^64 times an importance and a weight is finite in
# float32. In expectation eta is above every term, so that only a stale eta gets there.
cdef float STEEPEST = 64
cdef double LEAST = 1.6038108905486378e-28  # e^-64
cdef double DEEPEST = 600  # the same for the bound in double

# -------------------------------------------------------------------------------- softmax (eq. 8)


cdef dispatched exp_terms(
    const float* psi, const float* importance, Py_ssize_t n, float own, float shift, float* out
) noexcept nogil:
    """out = importance * exp(psi - own - shift)."""
    cdef Py_ssize_t j
    cdef float exponent
    for j in range(n):
        # The difference of the scores first: it loses no digits where both are large and close.
        exponent = (psi[j] - own) - shift
        exponent = STEEPEST if exponent > STEEPEST else exponent
        out[j] = importance[j] * fast_exp(exponent)


cdef inline float highest_above_own(const float* psi, Py_ssize_t n) noexcept nogil:
    """max(psi_s - psi_y, 0); psi begins with that of the own class."""
    cdef float highest = 0
    cdef Py_ssize_t j
    for j in range(1, n + 1):
        highest = max(highest, psi[j] - psi[0])
    return highest


cdef double sum_of_exps(
    const float* psi, const float* importance, Py_ssize_t n, double* top
) noexcept nogil:
    """The sum of importance * exp(psi_s - psi_y - top), and top = max(psi_s - psi_y, 0)."""
    cdef float terms[CHUNK]
    cdef float own = psi[0], highest = highest_above_own(psi, n)
    cdef double total = 0
    cdef Py_ssize_t part, start, size, j
    # Terms in float32 vectors, their sum in float64.
    for part in range((n + CHUNK - 1) // CHUNK):
        start = part * CHUNK
        size = min(CHUNK, n - start)
        exp_terms(psi + 1 + start, importance + start, size, own, highest, terms)
        for j in range(size):
            total += terms[j]
    top[0] = highest
    return total


cdef dispatched log_average(
    double* log_eta, const double* top, const double* total, double log_keep, double log_step
) noexcept nogil:
    """log_eta <- log(e^(log_keep + log_eta) + e^(log_step + top) (e^-top + total)), of CHUNK rows.
    """
    cdef double old, new, high
    cdef Py_ssize_t i
    for i in range(CHUNK):
        # Both summands as logarithms, and log(e^a + e^b) = max + log1p(e^(min - max)): eta itself
        # may be beyond float64.
        old = log_keep + log_eta[i]
        new = log_step + top[i] + log64(exp64(-top[i]) + total[i])
        high = new if new > old else old
        log_eta[i] = high + log1p64(exp64((old if new > old else new) - high))


cdef void local_chunk(
    const float[:, ::1] psi, const float[:, ::1] importance, const int32_t[::1] batch,
    double[::1] log_eta, double log_keep, double log_step, Py_ssize_t first
) noexcept nogil:
    cdef double eta[CHUNK]
    cdef double top[CHUNK]
    cdef double total[CHUNK]
    cdef Py_ssize_t i, size = min(CHUNK, psi.shape[0] - first)
    for i in range(CHUNK):
        # Rows beyond the mini-batch are computed with these and dropped: the loop has a fixed
        # length.
        eta[i], top[i], total[i] = 0, 0, 0
    for i in range(size):
        eta[i] = log_eta[batch[first + i]]
        total[i] = sum_of_exps(
            &psi[first + i, 0], &importance[first + i, 0], importance.shape[1], &top[i]
        )
    log_average(eta, top, total, log_keep, log_step)
    for i in range(size):
        # Samples of a mini-batch are distinct, so that no two threads write to one place.
        log_eta[batch[first + i]] = eta[i]


def local_softmax(
    const float[:, ::1] psi, const float[:, ::1] importance, const int32_t[::1] batch,
    double[::1] log_eta, double step, int n_threads,
):
    """eta <- (1 - step) eta + step (1 + sum of importance * exp(psi_s - psi_y)), in logarithms.

    Parameters
    ----------
    log_eta : IN/OUT (n_samples,)
    step : IN, from [0, 1]
    """
    cdef Py_ssize_t chunk, n_chunks = (psi.shape[0] + CHUNK - 1) // CHUNK
    # A step of 1 keeps nothing: log(0) is minus infinity, and e to it 0.
    cdef double log_keep = log1p(-step), log_step = log(step)
    for chunk in prange(n_chunks, nogil=True, schedule="static", num_threads=n_threads):
        local_chunk(psi, importance, batch, log_eta, log_keep, log_step, chunk * CHUNK)


def global_softmax(
    const float[:, ::1] psi, const float[:, ::1] importance, const int32_t[::1] batch,
    const float[::1] sample_weight, const double[::1] log_eta, float[:, ::1] coefs, int n_threads,
):
    """Gradient of eq. 8. IN log_eta (n_samples,); OUT coefs."""
    cdef Py_ssize_t i
    for i in prange(psi.shape[0], nogil=True, schedule="static", num_threads=n_threads):
        # The derivative of eq. 8 by psi_s: -importance e^(psi_s - psi_y) / eta; by psi_y minus the
        # sum of these.
        exp_terms(
            &psi[i, 1], &importance[i, 0], importance.shape[1], psi[i, 0],
            <float>log_eta[batch[i]], &coefs[i, 1],
        )
        finish_coefs(&coefs[i, 0], importance.shape[1], weight_of(sample_weight, batch[i]))


cdef dispatched rescale_from_log(
    const double* log_eta, const float* top, double keep, double step, float* shift, double* base
) noexcept nogil:
    """shift = max(top, log_eta), base = e^-shift (keep eta + step), of CHUNK rows."""
    cdef Py_ssize_t i
    cdef float eta
    for i in range(CHUNK):
        # All terms and eta are taken relative to e^shift, the larger of both: none overflows, and
        # the largest does not underflow.
        eta = <float>log_eta[i]
        shift[i] = top[i] if top[i] > eta else eta
        base[i] = keep * exp64(log_eta[i] - shift[i]) + step * exp64(-<double>shift[i])


cdef dispatched to_log(
    const float* shift, const double* sums, double* log_eta
) noexcept nogil:
    cdef Py_ssize_t i
    # The floor keeps a logarithm finite where every term has underflowed.
    for i in range(CHUNK):
        log_eta[i] = shift[i] + log64(sums[i] if sums[i] > 1e-300 else 1e-300)


cdef dispatched divide_by_others(
    float* terms, const float* importance, Py_ssize_t n, double base, double step,
    double own, double others, double total
) noexcept nogil:
    """Each term over the eta to which all but it contribute."""
    cdef Py_ssize_t j
    cdef double eta, term
    for j in range(n):
        term = terms[j]
        # What the local step makes of the classes drawn but s: terms[j] / importance[j] is e^(psi_s
        # - psi_y), which counts `own` times; the rest of the draw `others` times (see
        # `ClassSampler.left_out`).
        eta = base + step * (own * term / importance[j] + others * (total - term))
        # e^64 times an importance is finite in float32.
        terms[j] = <float>(term / (eta if eta > LEAST else LEAST))


cdef void leave_one_out_chunk(
    const float[:, ::1] psi, const float[:, ::1] importance, const int32_t[::1] batch,
    const float[::1] sample_weight, double[::1] log_eta, double step, double own, double others,
    float[:, ::1] coefs, Py_ssize_t first
) noexcept nogil:
    cdef double eta[CHUNK]
    cdef double sums[CHUNK]
    cdef float top[CHUNK]
    cdef float shift[CHUNK]
    cdef double total
    cdef Py_ssize_t i, j, at, size = min(CHUNK, psi.shape[0] - first), n = importance.shape[1]
    for i in range(CHUNK):
        # As in `local_chunk`.
        eta[i], top[i] = 0, 0
    for i in range(size):
        eta[i] = log_eta[batch[first + i]]
        top[i] = highest_above_own(&psi[first + i, 0], n)
    rescale_from_log(eta, top, 1 - step, step, shift, sums)
    for i in range(size):
        at = first + i
        # coefs hold importance e^(psi_s - psi_y - shift) first, and become the gradient in place.
        exp_terms(&psi[at, 1], &importance[at, 0], n, psi[at, 0], shift[i], &coefs[at, 1])
        total = 0
        for j in range(1, n + 1):
            total += coefs[at, j]
        divide_by_others(
            &coefs[at, 1], &importance[at, 0], n, sums[i], step, own, others, total
        )
        finish_coefs(&coefs[at, 0], n, weight_of(sample_weight, batch[at]))
        # The local step of Algorithm 1: (1 - a) eta + a (1 + total), of which `sums` has all but
        # the last part.
        sums[i] += step * total
    to_log(shift, sums, eta)
    for i in range(size):
        log_eta[batch[first + i]] = eta[i]


def leave_one_out_softmax(
    const float[:, ::1] psi, const float[:, ::1] importance, const int32_t[::1] batch,
    const float[::1] sample_weight, double[::1] log_eta, double step, double own, double others,
    float[:, ::1] coefs, int n_threads,
):
    """`local_softmax`, and `global_softmax` where each class sees the eta that the others make.

    That is (1 - step) eta + step (1 + own * exp(psi_s - psi_y) + others * the sum over the other
    classes drawn): as far as drawing goes, independent of the term that it divides.

    Parameters
    ----------
    log_eta : IN/OUT (n_samples,)
    step : IN, from [0, 1]
    own, others : IN, as `softmax/_class_sampling.ClassSampler.left_out`
    coefs : OUT
    """
    cdef Py_ssize_t chunk, n_chunks = (psi.shape[0] + CHUNK - 1) // CHUNK
    for chunk in prange(n_chunks, nogil=True, schedule="static", num_threads=n_threads):
        leave_one_out_chunk(
            psi, importance, batch, sample_weight, log_eta, step, own, others, coefs,
            chunk * CHUNK,
        )


def bound_softmax(
    const float[:, ::1] psi, const float[:, ::1] importance, const int32_t[::1] batch,
    const double[::1] log_eta, double[::1] out, int n_threads,
):
    """Eq. 8 for each row, exponents cut at DEEPEST. IN log_eta (n_samples,); OUT out (n_rows,)."""
    cdef Py_ssize_t i, j
    cdef double eta, total
    for i in prange(psi.shape[0], nogil=True, schedule="static", num_threads=n_threads):
        eta = log_eta[batch[i]]
        # (1 + sum) / eta term by term, as e^(-log eta) and e^(difference - log eta).
        total = exp64(min(-eta, DEEPEST))
        for j in range(importance.shape[1]):
            total = total + importance[i, j] * exp64(
                min(<double>psi[i, j + 1] - psi[i, 0] - eta, DEEPEST)
            )
        out[i] = 1 - eta - total


# -------------------------------------------------------------- Gaussian and logistic noise (eq. 9)


cdef inline double softplus(double x) noexcept nogil:
    # log(1 + e^x) = max(x, 0) + log(1 + e^-|x|): no overflow, and no lost digits far below zero.
    return max(x, <double>0) + log1p(exp(-fabs(x)))


cdef inline double log_softplus(double x) noexcept nogil:
    # log(1 + e^x) is e^x there, but for e^2x / 2.
    return log(softplus(x)) if x > -30 else x


cdef dispatched hazard_terms(
    const float* psi, const float* importance, Py_ssize_t n, double own, int model, double* out
) noexcept nogil:
    """out = importance * (phi / Phi)(own - psi)."""
    cdef Py_ssize_t j
    # The derivative of log Phi(eps + psi_y - psi_s) by eps and by psi_y, and minus that by psi_s.
    # One loop a model, without branches inside.
    if model == PROBIT:
        for j in range(n):
            out[j] = importance[j] * gaussian_hazard(own - psi[j])
    else:
        for j in range(n):
            out[j] = importance[j] * logistic_hazard(own - psi[j])


cdef enum Term:
    HAZARD
    LOG_CDF


cdef dispatched log_cdf_terms(
    const float* psi, const float* importance, Py_ssize_t n, double own, int model, double* out
) noexcept nogil:
    """out = importance * log Phi(own - psi)."""
    cdef Py_ssize_t j
    if model == PROBIT:
        for j in range(n):
            out[j] = importance[j] * gaussian_log_cdf(own - psi[j])
    else:
        for j in range(n):
            out[j] = importance[j] * logistic_log_cdf(own - psi[j])


cdef double sum_of_terms(
    Term kind, const float* psi, const float* importance, Py_ssize_t n, double noise, int model
) noexcept nogil:
    """The sum of importance * log Phi(noise + psi_y - psi_s), or its derivative by the noise."""
    cdef double terms[CHUNK]
    cdef double total = 0, own = noise + psi[0]
    cdef Py_ssize_t part, start, size, j
    for part in range((n + CHUNK - 1) // CHUNK):
        start = part * CHUNK
        size = min(CHUNK, n - start)
        if kind == HAZARD:
            hazard_terms(psi + 1 + start, importance + start, size, own, model, terms)
        else:
            log_cdf_terms(psi + 1 + start, importance + start, size, own, model, terms)
        for j in range(size):
            total += terms[j]
    return total


cdef double slope_of_joint(
    const float* psi, const float* importance, Py_ssize_t n, double noise, int model
) noexcept nogil:
    """The derivative by the noise of the logarithm in eq. 9; it falls as the noise rises."""
    cdef double slope = sum_of_terms(HAZARD, psi, importance, n, noise, model)
    # Both parts fall as the noise rises, phi and Phi being log-concave: the mode is unique.
    if model == PROBIT:
        return slope + gaussian_log_density_slope(noise)
    return slope + logistic_log_density_slope(noise)


cdef double mode_of_joint(
    const float* psi, const float* importance, Py_ssize_t n, int model
) noexcept nogil:
    """Where the noise is most probable, given the choice; within a thousandth."""
    cdef double low = 0, high = 1, middle
    # At zero the slope is that of the other classes, above 0, so that the mode is positive: `high`
    # is doubled until the slope has changed its sign, then the interval halved.
    while high < 1e9 and slope_of_joint(psi, importance, n, high, model) > 0:
        low, high = high, 2 * high
    while high - low > 1e-3 * (1 + low):
        middle = (low + high) / 2
        if slope_of_joint(psi, importance, n, middle, model) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def start_noise(
    const float[:, ::1] psi, const float[:, ::1] importance, const int32_t[::1] batch,
    double[::1] mu, double[::1] gamma, int model, int n_threads,
):
    """Laplace's approximation as the q of samples that have none yet.

    The mean is the mode of the noise given the choice, and the scale the one whose density is as
    much curved there.

    Parameters
    ----------
    mu, gamma : OUT (n_samples,), of the samples in the batch; as `local_noise`
    model : IN
    """
    cdef Py_ssize_t i, n = importance.shape[1]
    cdef double mode, curvature, scale
    cdef double h = 0.01
    require_model(model)
    for i in prange(psi.shape[0], nogil=True, schedule="static", num_threads=n_threads):
        mode = mode_of_joint(&psi[i, 0], &importance[i, 0], n, model)
        # Minus the second derivative at the mode, by a central difference of the slope.
        curvature = (
            slope_of_joint(&psi[i, 0], &importance[i, 0], n, mode - h, model)
            - slope_of_joint(&psi[i, 0], &importance[i, 0], n, mode + h, model)
        ) / (2 * h)
        # A flat joint gives no scale above 100.
        curvature = max(curvature, <double>1e-4)
        # Minus the second derivative of log q at its mean: 1 / scale^2, or 1 / (2 scale^2).
        scale = sqrt((1 if model == PROBIT else 0.5) / curvature)
        mu[batch[i]] = mode
        # The inverse of scale = log(1 + e^gamma): log(e^scale - 1), without e^scale.
        gamma[batch[i]] = scale + log(-expm1(-scale))


def local_noise(
    const float[:, ::1] psi, const float[:, ::1] importance, const int32_t[::1] batch,
    const double[::1] u, double[::1] mu, double[::1] gamma, double step, int model, int n_threads,
):
    """One step of the approximate posterior q of each row's noise along the gradient of eq. 9.

    The noise is mu + beta u with beta = log(1 + e^gamma). Both parts of the derivative by gamma,
    that of the likelihood and that of the entropy log(beta), carry d beta / d gamma.

    Parameters
    ----------
    u : IN (n_rows,), draws of the standard Gaussian or logistic distribution (see `_noise.draw`)
    mu, gamma : IN/OUT (n_samples,), moved by `step` times the gradient
    model : IN, 0 probit, 1 logistic
    """
    cdef Py_ssize_t i
    cdef int32_t row
    cdef double noise, slope, entropy
    require_model(model)
    for i in prange(psi.shape[0], nogil=True, schedule="static", num_threads=n_threads):
        row = batch[i]
        # eps = mu + beta u, with u of the standard distribution: the gradient by mu is the slope at
        # eps, that by beta u times as much (eq. 9).
        noise = mu[row] + softplus(gamma[row]) * u[i]
        slope = slope_of_joint(&psi[i, 0], &importance[i, 0], importance.shape[1], noise, model)
        # sigmoid(gamma) / beta tends to 1 where both tend to zero
        entropy = sigmoid(gamma[row]) / softplus(gamma[row]) if gamma[row] > -30 else 1
        # The authors' program leaves the entropy out, which lets the scale shrink; both of its
        # factors are here, 1 / beta and d beta / d gamma = sigmoid(gamma).
        mu[row] += step * slope
        gamma[row] += step * (sigmoid(gamma[row]) * u[i] * slope + entropy)


def global_noise(
    const float[:, ::1] psi, const float[:, ::1] importance, const int32_t[::1] batch,
    const float[::1] sample_weight, const double[::1] u, const double[::1] mu,
    const double[::1] gamma, float[:, ::1] coefs, int model, int n_threads,
):
    """One-sample estimate of the gradient of eq. 7. IN u, mu, gamma as in `local_noise`; OUT coefs.
    """
    cdef Py_ssize_t i
    cdef double noise
    require_model(model)
    for i in prange(psi.shape[0], nogil=True, schedule="static", num_threads=n_threads):
        noise = mu[batch[i]] + softplus(gamma[batch[i]]) * u[i]
        # Given eps, eq. 7 is a sum over classes whose derivatives by scores are hazards.
        noise_coefs(
            &psi[i, 0], &importance[i, 0], importance.shape[1], noise, model,
            weight_of(sample_weight, batch[i]), &coefs[i, 0],
        )


cdef void noise_coefs(
    const float* psi, const float* importance, Py_ssize_t n, double noise, int model,
    double weight, float* coefs
) noexcept nogil:
    cdef double terms[CHUNK]
    cdef double total = 0
    cdef Py_ssize_t part, start, size, j
    for part in range((n + CHUNK - 1) // CHUNK):
        start = part * CHUNK
        size = min(CHUNK, n - start)
        hazard_terms(psi + 1 + start, importance + start, size, noise + psi[0], model, terms)
        for j in range(size):
            # -h_s in psi_s, and the sum of them in psi_y.
            total += terms[j]
            coefs[1 + start + j] = as_coef(-weight * terms[j])
    coefs[0] = as_coef(weight * total)


def bound_noise(
    const float[:, ::1] psi, const float[:, ::1] importance, const int32_t[::1] batch,
    const double[::1] mu, const double[::1] gamma,
    const double[::1] nodes, const double[::1] weights, double[::1] out, int model, int n_threads,
):
    """Eq. 7 for each row.

    Parameters
    ----------
    mu, gamma : IN (n_samples,)
    nodes, weights : IN, the expectation over u as a sum (see `_noise_models.expectation`)
    out : OUT (n_rows,)
    """
    cdef Py_ssize_t i, j
    cdef int32_t row
    cdef double noise, total
    # Entropy of the standard Gaussian, log(2 pi e) / 2, and of the standard logistic distribution.
    cdef double entropy = 1.41893853320467274178 if model == PROBIT else 2
    require_model(model)
    for i in prange(psi.shape[0], nogil=True, schedule="static", num_threads=n_threads):
        row = batch[i]
        # The entropy of q: that of the standard distribution plus log beta.
        total = entropy + log_softplus(gamma[row])
        # The expectation over u as a sum over nodes, each with all classes in psi.
        for j in range(nodes.shape[0]):
            noise = mu[row] + softplus(gamma[row]) * nodes[j]
            total = total + weights[j] * (
                gaussian_log_density(noise) if model == PROBIT else logistic_log_density(noise)
            )
            total = total + weights[j] * sum_of_terms(
                LOG_CDF, &psi[i, 0], &importance[i, 0], importance.shape[1], noise, model
            )
        out[i] = total


def bound_one_vs_each(
    const float[:, ::1] psi, const float[:, ::1] importance, double[::1] out, int n_threads,
):
    """Eq. 10 for each row: logistic noise that is known to be 0. OUT out (n_rows,)."""
    cdef Py_ssize_t i
    # log of the sigmoid of psi_y - psi_k for each class: log Phi of the logistic distribution.
    for i in prange(psi.shape[0], nogil=True, schedule="static", num_threads=n_threads):
        out[i] = sum_of_terms(
            LOG_CDF, &psi[i, 0], &importance[i, 0], importance.shape[1], 0, LOGISTIC
        )

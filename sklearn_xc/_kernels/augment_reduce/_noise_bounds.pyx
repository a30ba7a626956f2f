"""Augment-and-Reduce with Gaussian and logistic noise (eq. 9): local steps, gradients, bounds.

What is IN and OUT in all functions is as in `_bounds`.
"""

from cython.parallel cimport prange
from libc.math cimport exp, expm1, fabs, log, log1p, sqrt
from libc.stdint cimport int32_t

from sklearn_xc._kernels.common._common cimport dispatched
from sklearn_xc._kernels.augment_reduce._noise cimport (
    PROBIT, gaussian_hazard, gaussian_log_cdf, gaussian_log_density,
    gaussian_log_density_slope,
    logistic_hazard, logistic_log_cdf, logistic_log_density, logistic_log_density_slope,
)
from sklearn_xc._kernels.common._vector_ops cimport sigmoid, weight_of
from sklearn_xc._kernels.softmax._coefficients cimport as_coef

cdef enum:
    CHUNK = 64  # terms that are computed at once


cdef inline double softplus(double x) noexcept nogil:
    return max(x, <double>0) + log1p(exp(-fabs(x)))


cdef inline double log_softplus(double x) noexcept nogil:
    return log(softplus(x)) if x > -30 else x


cdef dispatched hazard_terms(
    const float* psi, const float* importance, Py_ssize_t n, double own, int model, double* out
) noexcept nogil:
    """out = importance * (phi / Phi)(own - psi)."""
    cdef Py_ssize_t j
    if model == PROBIT:
        for j in range(n):
            out[j] = importance[j] * gaussian_hazard(own - psi[j])
    else:
        for j in range(n):
            out[j] = importance[j] * logistic_hazard(own - psi[j])


cdef double sum_of_hazards(
    const float* psi, const float* importance, Py_ssize_t n, double noise, int model
) noexcept nogil:
    """The derivative by the noise of sum of importance * log Phi(noise + psi_y - psi_s)."""
    cdef double terms[CHUNK]
    cdef double total = 0
    cdef Py_ssize_t part, start, size, j
    for part in range((n + CHUNK - 1) // CHUNK):
        start = part * CHUNK
        size = min(CHUNK, n - start)
        hazard_terms(psi + 1 + start, importance + start, size, noise + psi[0], model, terms)
        for j in range(size):
            total += terms[j]
    return total


cdef double slope_of_joint(
    const float* psi, const float* importance, Py_ssize_t n, double noise, int model
) noexcept nogil:
    """The derivative by the noise of the logarithm in eq. 9; it falls as the noise rises."""
    cdef double slope = sum_of_hazards(psi, importance, n, noise, model)
    if model == PROBIT:
        return slope + gaussian_log_density_slope(noise)
    return slope + logistic_log_density_slope(noise)


cdef double mode_of_joint(
    const float* psi, const float* importance, Py_ssize_t n, int model
) noexcept nogil:
    """Where the noise is most probable, given the choice; within a thousandth."""
    cdef double low = 0, high = 1, middle  # at zero the slope is that of the other classes, above 0
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
    for i in prange(psi.shape[0], nogil=True, schedule="static", num_threads=n_threads):
        mode = mode_of_joint(&psi[i, 0], &importance[i, 0], n, model)
        curvature = (
            slope_of_joint(&psi[i, 0], &importance[i, 0], n, mode - h, model)
            - slope_of_joint(&psi[i, 0], &importance[i, 0], n, mode + h, model)
        ) / (2 * h)
        curvature = max(curvature, <double>1e-4)
        # Minus the second derivative of log q at its mean: 1 / scale^2, or 1 / (2 scale^2).
        scale = sqrt((1 if model == PROBIT else 0.5) / curvature)
        mu[batch[i]] = mode
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
    for i in prange(psi.shape[0], nogil=True, schedule="static", num_threads=n_threads):
        row = batch[i]
        noise = mu[row] + softplus(gamma[row]) * u[i]
        slope = slope_of_joint(&psi[i, 0], &importance[i, 0], importance.shape[1], noise, model)
        # sigmoid(gamma) / beta tends to 1 where both tend to zero
        entropy = sigmoid(gamma[row]) / softplus(gamma[row]) if gamma[row] > -30 else 1
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
    for i in prange(psi.shape[0], nogil=True, schedule="static", num_threads=n_threads):
        noise = mu[batch[i]] + softplus(gamma[batch[i]]) * u[i]
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
            total += terms[j]
            coefs[1 + start + j] = as_coef(-weight * terms[j])
    coefs[0] = as_coef(weight * total)


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


cdef double sum_of_log_cdfs(
    const float* psi, const float* importance, Py_ssize_t n, double noise, int model
) noexcept nogil:
    cdef double terms[CHUNK]
    cdef double total = 0
    cdef Py_ssize_t part, start, size, j
    for part in range((n + CHUNK - 1) // CHUNK):
        start = part * CHUNK
        size = min(CHUNK, n - start)
        log_cdf_terms(psi + 1 + start, importance + start, size, noise + psi[0], model, terms)
        for j in range(size):
            total += terms[j]
    return total


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
    for i in prange(psi.shape[0], nogil=True, schedule="static", num_threads=n_threads):
        row = batch[i]
        total = entropy + log_softplus(gamma[row])
        for j in range(nodes.shape[0]):
            noise = mu[row] + softplus(gamma[row]) * nodes[j]
            total = total + weights[j] * (
                gaussian_log_density(noise) if model == PROBIT else logistic_log_density(noise)
            )
            total = total + weights[j] * sum_of_log_cdfs(
                &psi[i, 0], &importance[i, 0], importance.shape[1], noise, model
            )
        out[i] = total


def bound_one_vs_each(
    const float[:, ::1] psi, const float[:, ::1] importance, double[::1] out, int n_threads,
):
    """Eq. 10 for each row: logistic noise that is known to be 0. OUT out (n_rows,)."""
    cdef Py_ssize_t i
    for i in prange(psi.shape[0], nogil=True, schedule="static", num_threads=n_threads):
        out[i] = sum_of_log_cdfs(&psi[i, 0], &importance[i, 0], importance.shape[1], 0, 1)

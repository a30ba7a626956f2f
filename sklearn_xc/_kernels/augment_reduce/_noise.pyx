"""Noise of the utilities: draws of it, and its functions over arrays (see `_noise.pxd`)."""

from libc.stdint cimport int32_t, int64_t, uint64_t

from sklearn_xc._kernels.common._math cimport exp64, fast_exp, log64
from sklearn_xc._kernels.augment_reduce._noise cimport (
    PROBIT, gaussian_draw, gaussian_hazard, gaussian_log_cdf, gaussian_log_density,
    gaussian_log_density_slope, logistic_draw, logistic_hazard, logistic_log_cdf,
    logistic_log_density, logistic_log_density_slope, noise_stream, require_model,
)
from sklearn_xc._kernels.common._common cimport dispatched


def draw(
    const int32_t[::1] batch, double[::1] out, uint64_t seed, int64_t iteration, bint is_global,
    int model,
):
    """One standard Gaussian (model 0) or logistic (model 1) variable for each row of a mini-batch.

    Parameters
    ----------
    batch : IN (n_rows,), row numbers: what a row draws depends on its number, the seed, the
        iteration and the step, not on the rest of the mini-batch
    out : OUT (n_rows,)
    is_global : IN, whether the draws are those of the global step or of the local one
    """
    cdef Py_ssize_t i
    cdef uint64_t state
    require_model(model)
    with nogil:
        # Serial: a draw takes far less than the scores of its row.
        for i in range(batch.shape[0]):
            state = noise_stream(seed, iteration, is_global, batch[i])
            out[i] = gaussian_draw(&state) if model == PROBIT else logistic_draw(&state)


def tabulate(const double[::1] x, double[:, ::1] out, int model):
    """OUT (4, n): log phi, its slope, log Phi, its slope (the hazard phi / Phi)."""
    # For the tests, which hold the functions of `_noise.pxd` to references.
    require_model(model)
    # Loops of their own for each model: what is dispatched has no branch inside.
    with nogil:
        if model == PROBIT:
            tabulate_gaussian(&x[0], x.shape[0], &out[0, 0], &out[1, 0], &out[2, 0], &out[3, 0])
        else:
            tabulate_logistic(&x[0], x.shape[0], &out[0, 0], &out[1, 0], &out[2, 0], &out[3, 0])


cdef dispatched tabulate_gaussian(
    const double* x, Py_ssize_t n, double* density, double* slope, double* cdf, double* hazard
) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        density[i] = gaussian_log_density(x[i])
        slope[i] = gaussian_log_density_slope(x[i])
        cdf[i] = gaussian_log_cdf(x[i])
        hazard[i] = gaussian_hazard(x[i])


cdef dispatched tabulate_logistic(
    const double* x, Py_ssize_t n, double* density, double* slope, double* cdf, double* hazard
) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        density[i] = logistic_log_density(x[i])
        slope[i] = logistic_log_density_slope(x[i])
        cdf[i] = logistic_log_cdf(x[i])
        hazard[i] = logistic_hazard(x[i])


def exponential(const float[::1] x, float[::1] out):
    """OUT (n,): e^x in float32."""
    with nogil:
        exponential_loop(&x[0], x.shape[0], &out[0])


cdef dispatched exponential_loop(const float* x, Py_ssize_t n, float* out) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        out[i] = fast_exp(x[i])


def exponential_and_logarithm(const double[::1] x, double[:, ::1] out):
    """OUT (2, n): e^x and log |x|."""
    with nogil:
        logarithm_loop(&x[0], x.shape[0], &out[0, 0], &out[1, 0])


cdef dispatched logarithm_loop(
    const double* x, Py_ssize_t n, double* power, double* logarithm
) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        power[i] = exp64(x[i])
        logarithm[i] = log64(-x[i] if x[i] < 0 else x[i])

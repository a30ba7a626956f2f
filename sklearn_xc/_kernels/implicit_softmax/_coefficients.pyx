"""From scores of sampled classes to steps: the double sum, noise contrastive estimation, sampled
softmax.

A mini-batch step has three phases (see `softmax/_sampled_classes`): scores psi
(n_rows, n_sampled + 1) of the own class and of the classes drawn, coefficients of
the same shape, ascent of the weights along them.
Here is the second: coefs[i, j] = minus the derivative of the loss of sample batch[i] with respect
to psi[i, j], times the weight of the sample. `importance` (n_rows, n_sampled) makes a sum over the
classes drawn an unbiased estimate of the sum over all other classes.

Every function returns the number of rows with a coefficient that is not finite in float32.
"""

from cython.parallel cimport prange
from libc.math cimport INFINITY, exp, fabs, isfinite, log
from libc.stdint cimport int32_t

from sklearn_xc._kernels.common._vector_ops cimport sigmoid, weight_of

cdef enum:
    ENOUGH = 4096  # coefficients that are worth more than one thread

cdef double LARGEST = 1e38  # float32 ends at 3.4e38


cdef inline int threads(const float[:, ::1] psi, int n_threads) noexcept nogil:
    # Few coefficients take less time than waking threads.
    return n_threads if psi.shape[0] * psi.shape[1] >= ENOUGH else 1


cdef inline bint broken(const float* coefs, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(n):
        if not isfinite(coefs[j]):
            return True
    return False


# ------------------------------------------------------------------------------- double sum


cdef inline double bound_of(
    const float* psi, Py_ssize_t n_sampled, double own, bint distinct
) noexcept nogil:
    """log(e^base + sum of e^z over the distinct classes drawn), or over the largest of them.

    With base = 0, z = psi_k - psi_y, or for Raman's formulation (own = 0) base = psi_y, z = psi_k.
    The best u is above it, whatever the scores of the other classes.
    """
    cdef double top = psi[0] - own, total = 0, largest = -INFINITY
    cdef Py_ssize_t j
    for j in range(1, n_sampled + 1):
        largest = max(largest, psi[j] - own)
    # The highest exponent taken out: no e^z overflows.
    top = max(top, largest)
    # A class drawn twice must count once: of those the largest alone is surely a term of the sum.
    if not distinct:
        return top + log(exp(psi[0] - own - top) + exp(largest - top))
    for j in range(n_sampled + 1):
        total += exp(psi[j] - own - top)
    return top + log(total)


cdef struct DoubleSum:
    # Infinite for vanilla steps; otherwise u is raised to a lower bound of its best value where it
    # lies further below than that.
    double delta
    double lowest_u  # u is projected on [lowest_u, highest_u]
    double highest_u
    bint raman  # the formulation of eq. 8
    bint distinct  # whether the classes drawn for a sample all differ


def double_sum(
    const float[:, ::1] psi, const float[:, ::1] importance, const int32_t[::1] batch,
    const float[::1] sample_weight, double[::1] u, double rate, DoubleSum settings,
    float[:, ::1] coefs, int n_threads,
):
    """Vanilla and U-max steps on the double sum (eqs. 6 and 8), with several classes a sample.

    Parameters
    ----------
    psi, importance, batch : IN
    sample_weight : IN (n_samples,), or of size 0 for weights of 1
    u : IN/OUT (n_samples,), stepped here by `rate`
    settings : IN, a dict with the members of `DoubleSum`
    coefs : OUT
    """
    cdef Py_ssize_t i, j, n_sampled = importance.shape[1]
    cdef double own, weight, p, q, total, bound
    cdef int32_t row
    cdef int n_broken = 0, n_used = threads(psi, n_threads)
    for i in prange(psi.shape[0], nogil=True, schedule="static", num_threads=n_used):
        row = batch[i]
        weight = weight_of(sample_weight, row)
        own = 0 if settings.raman else psi[i, 0]
        # Algorithm 1: u is raised before the step, so that e^(z - u) is at most e^delta.
        if settings.delta < INFINITY:
            bound = bound_of(&psi[i, 0], n_sampled, own, settings.distinct)
            if u[row] < bound - settings.delta:
                u[row] = bound
        # With base = 0, or psi_y for Raman's: p = e^(base - u), q = importance e^(z - u).
        p = exp(psi[i, 0] - own - u[row])
        total = 0
        for j in range(n_sampled):
            q = importance[i, j] * exp(psi[i, j + 1] - own - u[row])
            coefs[i, j + 1] = <float>(-weight * q)
            total = total + q
        # Pairwise: z = psi_k - psi_y, so that the own class has minus the sum of the others. Raman:
        # -psi_y + e^(psi_y - u).
        coefs[i, 0] = <float>(weight * (1 - p if settings.raman else total))
        # The derivative by u of u + e^-u + sum of importance e^(z - u) (eq. 7).
        u[row] = u[row] - rate * weight * (1 - p - total)
        u[row] = min(max(u[row], settings.lowest_u), settings.highest_u)
        # NaN counts as well. The caller does not take steps of such a mini-batch.
        n_broken += broken(&coefs[i, 0], n_sampled + 1) or not fabs(u[row]) < LARGEST
    return n_broken


# ----------------------------------------------------------------------- the biased baselines


def noise_contrastive(
    const float[:, ::1] psi, const float[:, ::1] importance, const int32_t[::1] batch,
    const float[::1] sample_weight, const double[::1] noise,
    float[:, ::1] coefs, int n_threads,
):
    """Noise contrastive estimation with the normaliser fixed at 1 (Mnih and Teh, 2012).

    The loss is -log s(psi_y - nu_y) - n * E[log s(nu_k - psi_k)], k from the noise q over all
    classes, nu_k = log(n q_k), n classes a sample, s the logistic function. Classes are drawn
    without the own one: its part of the expectation, q_y, is added exactly and the others weigh
    1 - q_y, which leaves the expectation as it is.

    Parameters
    ----------
    psi, importance, batch : IN
    sample_weight : IN (n_samples,), or of size 0 for weights of 1
    noise : IN (n_rows,), q of each row's own class
    coefs : OUT
    """
    cdef Py_ssize_t i, j, n_sampled = importance.shape[1]
    cdef double weight, others, p
    cdef int n_broken = 0, n_used = threads(psi, n_threads)
    for i in prange(psi.shape[0], nogil=True, schedule="static", num_threads=n_used):
        weight = weight_of(sample_weight, batch[i])
        others = 1 - noise[i]
        # nu_y = log(n q_y); the last term is the own class as noise, whose part of the expectation
        # is exact.
        p = sigmoid(psi[i, 0] - log(n_sampled * noise[i]))
        coefs[i, 0] = <float>(weight * (1 - p - n_sampled * noise[i] * p))
        for j in range(n_sampled):
            # importance = (1 - q_y) / (n q_k), hence n q_k = (1 - q_y) / importance
            p = sigmoid(psi[i, j + 1] - log(others / importance[i, j]))
            coefs[i, j + 1] = <float>(-weight * others * p)
        n_broken += broken(&coefs[i, 0], n_sampled + 1)
    return n_broken


def sampled_softmax(
    const float[:, ::1] psi, const float[:, ::1] importance, const int32_t[::1] batch,
    const float[::1] sample_weight, float[:, ::1] coefs, int n_threads,
):
    """Importance sampling of the normaliser (Bengio and Senecal, 2008).

    The loss is log(e^psi_y + sum of importance * e^psi_k) - psi_y: its expectation is below that of
    the softmax. Its gradient weighs the classes by self-normalised importance weights.

    Parameters
    ----------
    psi, importance, batch : IN
    sample_weight : IN (n_samples,), or of size 0 for weights of 1
    coefs : OUT
    """
    cdef Py_ssize_t i, j, n_sampled = importance.shape[1]
    cdef double weight, top, total
    cdef int n_broken = 0, n_used = threads(psi, n_threads)
    for i in prange(psi.shape[0], nogil=True, schedule="static", num_threads=n_used):
        weight = weight_of(sample_weight, batch[i])
        # The highest score taken out.
        top = psi[i, 0]
        for j in range(1, n_sampled + 1):
            top = max(top, psi[i, j])
        total = 0
        for j in range(n_sampled):
            total = total + importance[i, j] * exp(psi[i, j + 1] - top)
        for j in range(n_sampled):
            # Minus the share of class k in the estimated normaliser.
            coefs[i, j + 1] = <float>(
                -weight * importance[i, j] * exp(psi[i, j + 1] - top)
                / (total + exp(psi[i, 0] - top))
            )
        coefs[i, 0] = <float>(weight * total / (total + exp(psi[i, 0] - top)))
        n_broken += broken(&coefs[i, 0], n_sampled + 1)
    return n_broken

"""Gradient of the one-vs-each bound of the softmax (eq. 10 of Augment-and-Reduce; Titsias, 2016).

`psi` (n_rows, n_sampled + 1) holds the scores of the own class and of the classes drawn,
`importance` (n_rows, n_sampled) what makes a sum over these an unbiased estimate of the sum over
all other classes; both are IN.
"""

from cython.parallel cimport prange
from libc.math cimport fabsf
from libc.stdint cimport int32_t

from sklearn_xc._kernels.common._common cimport dispatched
from sklearn_xc._kernels.common._math cimport fast_exp
from sklearn_xc._kernels.common._vector_ops cimport weight_of
from sklearn_xc._kernels.softmax._coefficients cimport as_coef


cdef dispatched finish_coefs(float* coefs, Py_ssize_t n, double weight) noexcept nogil:
    """From probabilities: minus those of the classes drawn, and their sum for the own class."""
    cdef double total = 0
    cdef Py_ssize_t j
    for j in range(1, n + 1):
        total += coefs[j]
    for j in range(1, n + 1):
        coefs[j] = as_coef(-weight * coefs[j])
    coefs[0] = as_coef(weight * total)


cdef dispatched sigmoid_terms(
    const float* psi, const float* importance, Py_ssize_t n, float own, float* out
) noexcept nogil:
    """out = importance * sigmoid(psi - own)."""
    cdef Py_ssize_t j
    cdef float z, power
    for j in range(n):
        z = psi[j] - own
        power = fast_exp(-fabsf(z))
        out[j] = importance[j] * (<float>1 if z > 0 else power) / (<float>1 + power)


def global_one_vs_each(
    const float[:, ::1] psi, const float[:, ::1] importance, const int32_t[::1] batch,
    const float[::1] sample_weight, float[:, ::1] coefs, int n_threads,
):
    """Gradient of eq. 10. OUT coefs."""
    cdef Py_ssize_t i
    for i in prange(psi.shape[0], nogil=True, schedule="static", num_threads=n_threads):
        sigmoid_terms(
            &psi[i, 1], &importance[i, 0], importance.shape[1], psi[i, 0], &coefs[i, 1]
        )
        finish_coefs(&coefs[i, 0], importance.shape[1], weight_of(sample_weight, batch[i]))

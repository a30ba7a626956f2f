"""Random sparsification of a weight vector (PPDSparse, Algorithm 3)."""

from libc.math cimport ceil, fabs
from libc.stdint cimport uint64_t

import numpy as np

from sklearn_xc._kernels.common._common cimport random_unit, seed_for


cdef Py_ssize_t n_draws(double l1_norm, double delta) noexcept nogil:
    """R = ceil(2 ||w||_1^2 / delta^2) of Theorem 4.1, capped where it stops being a saving."""
    cdef double draws = ceil(2.0 * (l1_norm / delta) * (l1_norm / delta))
    return <Py_ssize_t>draws if draws < 2.0**31 else <Py_ssize_t>1 << 31


cdef void sparsify_weights(
    const float *weights,  # IN (n,)
    Py_ssize_t n,
    Py_ssize_t draws,
    uint64_t *rng,  # IN / OUT
    double *cumulative,  # scratch (n,)
    float *out,  # OUT (n,)
) noexcept nogil:
    """E[out] = weights and at most `draws` of its entries are not zero."""
    cdef double total = 0.0, target
    cdef Py_ssize_t j, low, high, middle, _
    for j in range(n):
        total += fabs(weights[j])
        cumulative[j] = total
        out[j] = 0.0
    if total == 0.0:
        return
    cdef float step = <float>(total / draws)
    for _ in range(draws):
        target = random_unit(rng) * total
        low, high = 0, n - 1
        while low < high:  # the first j whose cumulative sum exceeds the target
            middle = (low + high) // 2
            if cumulative[middle] > target:
                high = middle
            else:
                low = middle + 1
        out[low] += step if weights[low] > 0 else -step


def sparsify(const float[::1] weights, double delta, uint64_t seed):
    """Algorithm 3 on one vector; returns the sparsified copy and the number of draws R."""
    cdef double[::1] cumulative = np.empty(weights.shape[0])
    out = np.zeros(weights.shape[0], dtype=np.float32)
    cdef float[::1] out_view = out
    cdef uint64_t rng = seed_for(seed, 0)
    cdef double l1_norm = 0.0
    cdef Py_ssize_t j, draws
    for j in range(weights.shape[0]):
        l1_norm += fabs(weights[j])
    draws = n_draws(l1_norm, delta)
    if draws > 0:
        with nogil:
            sparsify_weights(
                &weights[0], weights.shape[0], draws, &rng, &cumulative[0], &out_view[0]
            )
    return out, draws

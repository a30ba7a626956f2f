"""The softmax of a row of scores, step by step: largest score, exponentials, division."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

from sklearn_xc._kernels.common._common cimport dispatched
from sklearn_xc._kernels.common._math cimport exp_below
from sklearn_xc._kernels.common._vector_ops cimport LANES, largest

cdef enum:
    RUN = 256  # exponentials that are added up in float32


cdef dispatched add_weights(float* z, const float* weight, int64_t n, float* top) noexcept nogil:
    """z += weight; IN / OUT the largest so far."""
    cdef float part[LANES]
    cdef int64_t e
    cdef int32_t c
    for c in range(LANES):
        part[c] = top[0]
    for e in range(n // LANES):
        for c in range(LANES):
            z[e * LANES + c] += weight[e * LANES + c]
            part[c] = z[e * LANES + c] if z[e * LANES + c] > part[c] else part[c]
    for e in range(n - n % LANES, n):
        z[e] += weight[e]
        part[0] = z[e] if z[e] > part[0] else part[0]
    for c in range(LANES):
        top[0] = part[c] if part[c] > top[0] else top[0]


cdef dispatched exponentials(float* z, int64_t n, float top, double* total) noexcept nogil:
    """z = exp(z - top); their sum is added to the total."""
    cdef float part[LANES]
    cdef int64_t run, first, e
    cdef int32_t c
    for run in range((n + RUN - 1) // RUN):  # a sum in float32 is of few numbers
        first = run * RUN
        for c in range(LANES):
            part[c] = 0
        for e in range(min(RUN, n - first) // LANES):
            for c in range(LANES):
                z[first + e * LANES + c] = exp_below(z[first + e * LANES + c] - top)
                part[c] += z[first + e * LANES + c]
        for c in range(LANES):
            total[0] += part[c]
    for e in range(n - n % LANES, n):
        z[e] = exp_below(z[e] - top)
        total[0] += z[e]


cdef dispatched multiply(float* z, float factor, int64_t n) noexcept nogil:
    cdef int64_t c
    for c in range(n):
        z[c] *= factor


def exact_differences(
    float[:, ::1] z, const int64_t[::1] indptr, const int32_t[::1] ids, const float[::1] share
):
    """p(y|x) - q(y|x) of words x, of all contexts.

    Parameters
    ----------
    z : IN / OUT (n, n_words), the scores, at least one; then differences
    indptr, ids, share : IN (n + 1,), (n_pairs,), (n_pairs,): contexts and q(y|x), row by row
    """
    cdef int64_t i, e, n = z.shape[1]
    cdef float top
    cdef double total
    with nogil:
        for i in range(z.shape[0]):
            top, total = <float>-INFINITY, 0
            largest(&z[i, 0], n, &top)
            exponentials(&z[i, 0], n, top, &total)
            multiply(&z[i, 0], <float>(1 / total), n)
            for e in range(indptr[i], indptr[i + 1]):
                z[i, ids[e]] -= share[e]

"""How alike sparse rows are, by sixteen random directions, for the penalty `l2="auto"`."""

from libc.stdint cimport int8_t, int32_t, int64_t

import numpy as np

from sklearn_xc._kernels.common._common cimport dispatched
from sklearn_xc._kernels.common._rows cimport Row, Rows, pointers_to_rows, row_at
from sklearn_xc._kernels.ppdsparse._types cimport LANES


cdef dispatched add_products(
    Rows X,
    const float[::1] weight,
    const float *center,
    const float[:, ::1] directions,
    float[:, ::1] products,
    double *totals,
) noexcept nogil:
    """X.T @ s and the sum of s for the weighted scores s = weight * (X @ r - center)."""
    cdef Py_ssize_t i, e, c
    cdef float scores[LANES]
    cdef Row row
    for i in range(weight.shape[0]):
        row = row_at(X, i)
        for c in range(LANES):
            scores[c] = -center[c]
        for e in range(row.n):
            for c in range(LANES):
                scores[c] += row.values[e] * directions[row.features[e], c]
        for c in range(LANES):
            scores[c] *= weight[i]
            totals[c] += scores[c]
        for e in range(row.n):
            for c in range(LANES):
                products[row.features[e], c] += row.values[e] * scores[c]


cdef void directions_of(
    const int8_t[:, ::1] bits, const double[::1] mean, float[:, ::1] directions, float *center
) noexcept nogil:
    """Bits as the signs of directions, all of a feature side by side, and <mean, r> of each."""
    cdef Py_ssize_t j, c
    cdef float sign
    cdef double sums[LANES]
    for c in range(LANES):
        sums[c] = 0
    for j in range(directions.shape[0]):
        for c in range(LANES):
            sign = 2 * bits[c, j] - 1
            directions[j, c] = sign
            sums[c] += sign * mean[j]
    for c in range(LANES):
        center[c] = <float>sums[c]


cdef dispatched squares_about(
    const float[:, ::1] products, const double[::1] mean, const double *totals, double *squares
) noexcept nogil:
    """|products - mean * total|^2 of each direction."""
    cdef Py_ssize_t j, c
    cdef double off
    for j in range(products.shape[0]):
        for c in range(LANES):
            off = products[j, c] - mean[j] * totals[c]
            squares[c] += off * off


def weighted_sum(
    const int64_t[::1] indptr,
    const int32_t[::1] indices,
    const float[::1] data,
    const double[::1] weight,
    Py_ssize_t n_features,
):
    """X.T @ weight in float64, for which SciPy would copy all of X.

    Parameters
    ----------
    indptr, indices, data : CSR rows of X
    weight : (n_samples,)
    n_features : int

    Returns
    -------
    sums : ndarray of float64 (n_features,)
    """
    sums = np.zeros(n_features)
    cdef double[::1] to_sums = sums
    cdef Py_ssize_t i, e
    with nogil:
        for i in range(weight.shape[0]):
            for e in range(indptr[i], indptr[i + 1]):
                to_sums[indices[e]] += weight[i] * data[e]
    return sums


def scores_of(
    const int64_t[::1] indptr,
    const int32_t[::1] indices,
    const float[::1] data,
    const double[::1] direction,
):
    """X @ direction in float64, likewise.

    Parameters
    ----------
    indptr, indices, data : CSR rows of X
    direction : (n_features,)

    Returns
    -------
    scores : ndarray of float64 (n_samples,)
    """
    scores = np.empty(indptr.shape[0] - 1)
    cdef double[::1] to_scores = scores
    cdef Py_ssize_t i, e
    cdef double score
    with nogil:
        for i in range(indptr.shape[0] - 1):
            score = 0
            for e in range(indptr[i], indptr[i + 1]):
                score += direction[indices[e]] * data[e]
            to_scores[i] = score
    return scores


def squares_of_products(
    const int64_t[::1] indptr,
    const int32_t[::1] indices,
    const float[::1] data,
    const float[::1] weight,
    const double[::1] mean,
    const int8_t[:, ::1] bits,
):
    """|(X - mean).T @ s|^2 of the weighted scores s = weight * ((X - mean) @ r).

    Parameters
    ----------
    indptr, indices, data : CSR rows of X
    weight : (n_samples,)
    mean : (n_features,)
    bits : (16, n_features), 0 and 1 for the signs of each r

    Returns
    -------
    squares : ndarray of float64 (16,)
    """
    cdef float[:, ::1] directions = np.empty((mean.shape[0], LANES), dtype=np.float32)
    cdef float[:, ::1] products = np.zeros((mean.shape[0], LANES), dtype=np.float32)
    squares = np.zeros(LANES)
    cdef double[::1] to_squares = squares
    cdef double totals[LANES]
    cdef float center[LANES]
    cdef Py_ssize_t c
    cdef Rows X = pointers_to_rows(indptr, indices, data, False)
    for c in range(LANES):
        totals[c] = 0
    if weight.shape[0] and data.shape[0]:
        with nogil:
            directions_of(bits, mean, directions, center)
            add_products(X, weight, center, directions, products, totals)
            squares_about(products, mean, totals, &to_squares[0])
    return squares

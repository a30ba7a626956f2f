"""Products of sparse rows with sixteen random directions, for the penalty `l2="auto"`."""

from libc.stdint cimport int32_t, int64_t

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


def products_with_scores(
    const int64_t[::1] indptr,
    const int32_t[::1] indices,
    const float[::1] data,
    const float[::1] weight,
    const float[::1] center,
    const float[:, ::1] directions,
):
    """X.T @ s and the sum of s for the weighted scores s = weight * (X @ r - center).

    Parameters
    ----------
    indptr, indices, data : CSR rows of X
    weight : (n_samples,)
    center : (16,)
    directions : (n_features, 16), a column for each r

    Returns
    -------
    products : ndarray of float32 (n_features, 16)
    totals : ndarray of float64 (16,)
    """
    products = np.zeros((directions.shape[0], LANES), dtype=np.float32)
    totals = np.zeros(LANES)
    cdef float[:, ::1] to_products = products
    cdef double[::1] to_totals = totals
    cdef Rows X = pointers_to_rows(indptr, indices, data, False)
    if weight.shape[0] and data.shape[0]:
        with nogil:
            add_products(X, weight, &center[0], directions, to_products, &to_totals[0])
    return products, totals

"""Steps of Adagrad, coordinate by coordinate (Duchi, Hazan and Singer, 2011)."""

from cython.parallel cimport prange
from libc.math cimport sqrtf
from libc.stdint cimport int64_t

from sklearn_xc._kernels.common._common cimport dispatched

cdef float TINY = 1e-8  # beside the root of the sum of squared gradients


cdef dispatched step_row(
    float* row, float* squares, const float* gradient, float factor, int64_t n, float rate
) noexcept nogil:
    cdef int64_t c
    cdef float g
    for c in range(n):
        g = factor * gradient[c]
        squares[c] += g * g
        row[c] -= rate * g / (sqrtf(squares[c]) + TINY)


def step(
    float[:, ::1] table, float[:, ::1] squares, const float[:, ::1] gradient,
    const int64_t[::1] rows, const float[::1] factor, float rate, int n_threads,
):
    """One step of some rows against multiples of their gradients, or of all.

    Parameters
    ----------
    table, squares : IN/OUT (n_rows, n_columns), squares: the sums of squared gradients
    gradient : IN (n, n_columns)
    rows : IN (n,), distinct, or None for all in their order
    factor : IN (n,)
    rate : IN
    """
    cdef int64_t i, k
    cdef bint every = rows is None
    if table.shape[1] == 0:
        return
    for i in prange(gradient.shape[0], nogil=True, schedule="static", num_threads=n_threads):
        k = i if every else rows[i]
        step_row(&table[k, 0], &squares[k, 0], &gradient[i, 0], factor[i], table.shape[1], rate)

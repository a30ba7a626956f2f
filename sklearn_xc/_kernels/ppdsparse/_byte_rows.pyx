"""Dense rows rounded to bytes, each in units of its own, with bounds of what that takes away.

With ``x = s q + e``, a row's scale s, bytes q and error e, and weights ``w = t p + f`` alike,

    <w, x> = s t <q, p> + <w, e> + <f, s q>,

so that a score is known up to ``|w| |e| + |f| |s q|`` from a product of bytes, which takes a
quarter of the memory and, with instructions made for it, of the time.
"""

from libc.math cimport fabsf, rintf, sqrt
from libc.stdint cimport uint8_t

import numpy as np

# The bounds are summed in float64 and kept in float32, rounded upwards.
cdef double UPWARDS = 1.000001

GROUP = BLOCK  # for Python


cdef class ByteRows:
    """A view on what `round_rows` has written."""

    def __init__(
        self,
        const uint8_t[:, ::1] values,
        const float[::1] scale,
        const float[::1] error,
        const float[::1] length,
    ):
        self.pointers.values = &values[0, 0]
        self.pointers.width = values.shape[1]
        self.pointers.scale = &scale[0]
        self.pointers.error = &error[0]
        self.pointers.length = &length[0]
        self._arrays = values, scale, error, length


cdef void round_row(
    const float *x, Py_ssize_t n, uint8_t *values, float *scale, float *error, float *length
) noexcept nogil:
    cdef Py_ssize_t j
    cdef float largest = 0
    cdef float q
    cdef double left, lost = 0, kept = 0
    for j in range(n):
        largest = max(largest, fabsf(x[j]))
    scale[0] = largest / LARGEST
    if not divides(scale[0]):
        scale[0] = 0
    for j in range(n):
        q = rintf(x[j] / scale[0]) if scale[0] > 0 else 0
        values[j] = <uint8_t>(<int>q + ZERO)
        left = <double>x[j] - <double>scale[0] * q
        lost += left * left
        kept += <double>q * q
    error[0] = <float>(UPWARDS * sqrt(lost))
    length[0] = <float>(UPWARDS * sqrt(kept) * scale[0])


def round_rows(const float[:, ::1] X, uint8_t[:, ::1] values):
    """Round rows to bytes.

    Parameters
    ----------
    X : (n, d), d above zero
    values : OUT (n, d filled up to a multiple of GROUP)

    Returns
    -------
    scale, error, length : ndarray of float32 (n,)
        ``scale * (values - 128)`` is the rounded row; at least the length of what is missing from
        it, and at least its own.
    """
    scale, error, length = np.empty((3, X.shape[0]), dtype=np.float32)
    cdef float[::1] scales = scale, errors = error, lengths = length
    cdef Py_ssize_t i, j
    with nogil:
        for i in range(X.shape[0]):
            round_row(&X[i, 0], X.shape[1], &values[i, 0], &scales[i], &errors[i], &lengths[i])
            for j in range(X.shape[1], values.shape[1]):
                values[i, j] = ZERO
    return scale, error, length

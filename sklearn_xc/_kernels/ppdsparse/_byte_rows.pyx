"""Dense rows rounded to bytes, each in units of its own, with bounds of what that takes away.

With ``x = s q + e``, a row's scale s, bytes q and error e, and weights ``w = t p + f`` alike,

    <w, x> = s t <q, p> + <w, e> + <f, s q>,

so that a score is known up to ``|w| |e| + |f| |s q|`` from a product of bytes, which takes a
quarter of the memory and, with instructions made for it, of the time.
"""

from libc.math cimport fabsf, rintf, sqrt
from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memset

import numpy as np

from sklearn_xc._kernels.common._common cimport dispatched
from sklearn_xc._kernels.common._vector_ops cimport sum_of_squares

# The bounds are summed in float64 and kept in float32, rounded upwards.
cdef double UPWARDS = 1.000001

GROUP = BLOCK  # for Python


cdef class ByteRows:
    """A view on what `round_rows` has written."""

    def __init__(self, values, scale, error, length):
        cdef const uint8_t[:, ::1] of_values = values
        cdef const float[::1] of_scale = scale, of_error = error, of_length = length
        self.pointers.values = &of_values[0, 0]
        self.pointers.width = of_values.shape[1]
        self.pointers.scale = &of_scale[0]
        self.pointers.error = &of_error[0]
        self.pointers.length = &of_length[0]
        self._arrays = {"values": values, "scale": scale, "error": error, "length": length}

    @classmethod
    def from_arrays(cls, **arrays):
        """Make the rows again from what `arrays` has returned."""
        return cls(**arrays)

    def arrays(self):
        """Return the arrays by name, for another process."""
        return dict(self._arrays)


cdef dispatched find_scale(const float *x, Py_ssize_t n, float *scale) noexcept nogil:
    """Write the largest |x_j| in units of LARGEST, or 0 if that is none to divide by."""
    cdef float part[LANES]
    cdef float a
    cdef Py_ssize_t e, j, c
    for c in range(LANES):
        part[c] = 0
    for e in range(n // LANES):
        for c in range(LANES):
            a = fabsf(x[e * LANES + c])
            part[c] = a if a > part[c] else part[c]
    scale[0] = 0
    for j in range(n - n % LANES, n):
        scale[0] = max(scale[0], fabsf(x[j]))
    for c in range(LANES):
        scale[0] = max(scale[0], part[c])
    scale[0] /= LARGEST
    if not divides(scale[0]):
        scale[0] = 0


cdef inline double square_left(float x, float scale, uint8_t value) noexcept nogil:
    cdef double left = <double>x - <double>scale * (<int32_t>value - ZERO)
    return left * left


cdef dispatched round_entries(
    const float *x, Py_ssize_t n, float scale, uint8_t *values, double *lost, double *kept
) noexcept nogil:
    """Write q, and |x - s q|^2 and |q|^2."""
    cdef double part[LANES]
    cdef int32_t whole, squares = 0  # at most 2^17 of them, 127^2 each
    cdef Py_ssize_t e, j, c
    for j in range(n):
        whole = <int32_t>rintf(x[j] / scale)
        squares += whole * whole
        values[j] = <uint8_t>(whole + ZERO)
    for c in range(LANES):
        part[c] = 0
    for e in range(n // LANES):
        for c in range(LANES):
            j = e * LANES + c
            part[c] += square_left(x[j], scale, values[j])
    kept[0] = squares
    lost[0] = 0
    for j in range(n - n % LANES, n):
        lost[0] += square_left(x[j], scale, values[j])
    for c in range(LANES):
        lost[0] += part[c]


cdef void round_row(
    const float *x, Py_ssize_t n, uint8_t *values, float *scale, float *error, float *length
) noexcept nogil:
    cdef double lost, kept = 0
    find_scale(x, n, scale)
    if scale[0] > 0:
        round_entries(x, n, scale[0], values, &lost, &kept)
    else:
        memset(values, ZERO, n)
        sum_of_squares(x, n, &lost)
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

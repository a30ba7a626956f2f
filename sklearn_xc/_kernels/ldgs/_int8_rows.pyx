"""Rounding rows of weights to bytes; see `_int8_rows.pxd`."""

from cython.parallel cimport prange
from libc.math cimport rintf
from libc.stdint cimport int8_t, int32_t, int64_t
from libc.string cimport memcpy, memset

from sklearn_xc._kernels.common._common cimport dispatched


def bytes_of_row(n_columns):
    """The size of a row of this many columns and its scale, in whole cache lines."""
    return -(-(n_columns + sizeof(float)) // LINE) * LINE


cdef dispatched round_row(
    const float* row, int64_t n_columns, int8_t* values, int64_t n_bytes
) noexcept nogil:
    """OUT values (n_bytes,); of a row of tiny values zeros, with a scale that bounds the error."""
    cdef int64_t c
    cdef float most = largest_magnitude(row, n_columns)
    cdef float scale = most / LARGEST
    memset(values, 0, n_bytes)
    if divides(scale):
        for c in range(n_columns):
            values[c] = <int8_t><int32_t>rintf(row[c] / scale)
    elif scale < 1:
        scale = 2 * most
    memcpy(values + n_bytes - sizeof(scale), &scale, sizeof(scale))


def round_rows(const float[:, ::1] W, const int32_t[::1] ids, int8_t[:, ::1] values, int n_threads):
    """Round some rows.

    Parameters
    ----------
    W : IN (n_rows, n_columns)
    ids : IN, distinct rows
    values : IN/OUT (n_rows, bytes_of_row(n_columns)), of which those of `ids` are written
    n_threads : IN
    """
    cdef int64_t e
    if W.shape[1] == 0:
        return
    for e in prange(
        ids.shape[0], nogil=True, schedule="dynamic", chunksize=256, num_threads=n_threads
    ):
        round_row(&W[ids[e], 0], W.shape[1], &values[ids[e], 0], values.shape[1])

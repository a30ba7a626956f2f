"""Sparse rows counted, put in another order, and column by column: what a fit makes of X first.

Each is one pass over the entries, for which NumPy and SciPy need several and memory between them.

Invariant: rows come from `utils/_matrix.py`, which has checked that ``indptr`` does not fall and
that ``indices`` are within the columns. Callers make each output as large as the counts of the
entries say, so that every write below is inside.
"""

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from sklearn_xc._kernels.common._vector_ops cimport sum_of_squares

cdef extern from *:
    """
    #ifdef _MSC_VER
    #include <intrin.h>
    #define XC_ONES(word) ((int)__popcnt64(word))
    #else
    #define XC_ONES(word) __builtin_popcountll(word)
    #endif
    """
    int ones "XC_ONES" (uint64_t word) noexcept nogil


def count_entries(
    const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data,
    const uint8_t[::1] counted, int64_t[::1] counts,
):
    """Count the entries of each feature that are not zero.

    Parameters
    ----------
    indptr, indices, data : CSR rows
    counted : (n_samples,), 0 for rows that are left out
    counts : (n_features,), OUT: added to
    """
    cdef Py_ssize_t i, e
    with nogil:
        for i in range(indptr.shape[0] - 1):
            if counted[i]:
                for e in range(indptr[i], indptr[i + 1]):
                    # a stored zero does not count; the sum has no branch
                    counts[indices[e]] += data[e] != 0


def reorder(
    const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data,
    const int32_t[::1] samples, const int32_t[::1] position, const int64_t[::1] new_indptr,
    int32_t[::1] new_indices, float[::1] new_data,
):
    """Copy rows in another order, with other numbers for their features.

    Parameters
    ----------
    indptr, indices, data : CSR rows
    samples : (n_new,), the row at each new position
    position : (n_features,), the new number of each feature
    new_indptr : (n_new + 1,), where the new rows begin
    new_indices, new_data : OUT
    """
    cdef Py_ssize_t i, e, at
    with nogil:
        for i in range(samples.shape[0]):
            # new_indptr has the lengths of these rows: `at` stays below new_indptr[i + 1]
            at = new_indptr[i]
            for e in range(indptr[samples[i]], indptr[samples[i] + 1]):
                new_indices[at] = position[indices[e]]
                new_data[at] = data[e]
                at += 1


def transpose(
    const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data, Py_ssize_t first,
    int64_t[::1] free, int32_t[::1] rows, float[::1] values,
):
    """Put the entries of rows column by column.

    Parameters
    ----------
    indptr, indices, data : CSR rows
    first : the number of the first of these rows
    free : (n_columns,), IN / OUT: where the next entry of each column is put
    rows, values : OUT
    """
    cdef Py_ssize_t i, e
    cdef int64_t at
    with nogil:
        for i in range(indptr.shape[0] - 1):
            # A counting sort: free[c] goes up by one with each entry of column c. Rows come in
            # order, so that the entries of a column ascend.
            for e in range(indptr[i], indptr[i + 1]):
                at = free[indices[e]]
                free[indices[e]] = at + 1
                rows[at] = <int32_t>(first + i)
                values[at] = data[e]


def add_squares(
    const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data,
    const float[::1] weight, double[::1] squares,
):
    """Add up weight_i x_ij^2 for each feature j.

    Parameters
    ----------
    indptr, indices, data : CSR rows
    weight : (n_samples,)
    squares : (n_features,), OUT: added to
    """
    cdef Py_ssize_t i, e
    with nogil:
        for i in range(indptr.shape[0] - 1):
            for e in range(indptr[i], indptr[i + 1]):
                # in float64, in which no square over- or underflows and sums of many do not stall
                squares[indices[e]] += <double>weight[i] * data[e] * data[e]


def extend_extremes(
    const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data,
    float[::1] highest, float[::1] lowest,
):
    """Raise `highest` and lower `lowest` to the values of each feature.

    Parameters
    ----------
    indptr, indices, data : CSR rows
    highest, lowest : (n_features,), IN / OUT
    """
    cdef Py_ssize_t e
    with nogil:
        # the entries of all rows in one loop: which row has one does not matter
        for e in range(indptr[0], indptr[indptr.shape[0] - 1]):
            highest[indices[e]] = max(highest[indices[e]], data[e])
            lowest[indices[e]] = min(lowest[indices[e]], data[e])


def sums_of_rows(
    const int64_t[::1] indptr, const float[::1] data, bint squares, double[::1] sums
):
    """Add up the squares of the entries of each row, or their magnitudes.

    Parameters
    ----------
    indptr, data : CSR rows, or dense ones
    squares : whether squares
    sums : (n_samples,), OUT
    """
    cdef Py_ssize_t i, e
    # without entries there is none to take the address of
    if data.shape[0] == 0:
        sums[:] = 0
        return
    with nogil:
        for i in range(sums.shape[0]):
            if squares:
                sum_of_squares(&data[0] + indptr[i], indptr[i + 1] - indptr[i], &sums[i])
                continue
            sums[i] = 0
            for e in range(indptr[i], indptr[i + 1]):
                sums[i] += fabs(data[e])


def copy_rows(
    const int64_t[::1] lengths, const int32_t[::1] indices, const float[::1] data,
    const int64_t[::1] places, int32_t[::1] new_indices, float[::1] new_data,
):
    """Copy rows that stand one behind the other to places of their own.

    Parameters
    ----------
    lengths : (n_rows,), entries of each
    indices, data : (n_entries,)
    places : (n_rows,), where the first entry of each is to stand
    new_indices, new_data : OUT
    """
    cdef Py_ssize_t i, e = 0
    with nogil:
        for i in range(lengths.shape[0]):
            # of an empty row `places[i]` and `e` may be one beyond the end
            if lengths[i]:
                memcpy(&new_indices[places[i]], &indices[e], lengths[i] * sizeof(int32_t))
                memcpy(&new_data[places[i]], &data[e], lengths[i] * sizeof(float))
                e += lengths[i]


def narrow(
    const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data,
    const uint64_t[::1] words, const int32_t[::1] before, int64_t[::1] new_indptr,
    int32_t[::1] new_indices, float[::1] new_data,
):
    """Copy the entries of some features, with their numbers among these.

    Parameters
    ----------
    indptr, indices, data : CSR rows, of at most 64 features a word
    words : bit f % 64 of word f // 64 says whether feature f is one of these
    before : (n_words,), how many of these come before the features of each word
    new_indptr : (n_rows + 1,), OUT
    new_indices, new_data : OUT, as large as the entries of the rows
    """
    cdef Py_ssize_t i, e, at = 0
    cdef uint64_t word, bit
    new_indptr[0] = 0
    with nogil:
        for i in range(indptr.shape[0] - 1):
            for e in range(indptr[i], indptr[i + 1]):
                # The number of a feature among the chosen: the count before its word, and the ones
                # below its bit. There is a word for each 64 features, hence for every index.
                word, bit = words[indices[e] >> 6], <uint64_t>1 << (indices[e] & 63)
                if word & bit:
                    new_indices[at] = before[indices[e] >> 6] + ones(word & (bit - 1))
                    new_data[at] = data[e]
                    at += 1
            new_indptr[i + 1] = at

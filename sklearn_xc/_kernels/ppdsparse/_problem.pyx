"""The data of a fit, which all classes share, and sums over its rows for the penalties.

A matrix has its rows, its columns where these are sparse, in two parts where they are long, and
where it is dense perhaps its rows once more, rounded to bytes.
"""

from libc.math cimport fabsf, rintf, sqrt
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t
from libc.string cimport memset

import numpy as np

from sklearn_xc._kernels.common._common cimport dispatched
from sklearn_xc._kernels.common._rows cimport Row, Rows, pointers_to_rows, row_at
from sklearn_xc._kernels.common._vector_ops cimport divides, largest_magnitude, sum_of_squares
from sklearn_xc._kernels.ppdsparse._types cimport LANES

# Long columns in two parts, the few entries of large magnitude and all others.
#
# A search that leaves a feature out has to reckon with its largest entry (`_pruned_search`).  Most
# entries of a frequent word are far smaller than that: it reads the few large ones and leaves out
# the rest, which can lift a row by much less.

cdef enum:
    BINS = 256  # of magnitudes
    # One entry in so many is large.  A tenth, a quarter, two or three cuts read about as much.
    LARGE_ONE_IN = 10
    # Columns with less than this part of the rows cost little as they are.
    SHORT = 256


cdef inline int bin_of(float magnitude, float scale) noexcept nogil:
    """Find the bins of the histogram; safe where values are not finite."""
    # NaN compares false and takes the last bin, so the cast is of a number below BINS.
    cdef float x = magnitude * scale
    return <int>x if x < BINS - 1 else BINS - 1


cdef float cut_of(const float *values, Py_ssize_t n) noexcept nogil:
    """Return a magnitude that at most one of LARGE_ONE_IN entries exceeds, 0 if none is left."""
    cdef Py_ssize_t e, above = 0
    cdef int64_t counts[BINS]
    cdef int b = BINS - 1
    cdef float largest = 0, rest = 0, scale
    for e in range(n):
        largest = max(largest, fabsf(values[e]))
    scale = BINS / largest if largest > 0 else 0
    for e in range(BINS):
        counts[e] = 0
    for e in range(n):
        counts[bin_of(fabsf(values[e]), scale)] += 1
    # From the largest down, as long as all bins taken hold a tenth of the entries at most.
    while b > 0 and (above + counts[b]) * LARGE_ONE_IN <= n:
        above += counts[b]
        b -= 1
    # The exact bound of what is left, which a search reckons with.
    for e in range(n):
        if bin_of(fabsf(values[e]), scale) <= b:
            rest = max(rest, fabsf(values[e]))
    return rest if above else 0


cdef int64_t divide(
    int32_t *rows, float *values, Py_ssize_t n, float cut, int32_t *low_rows, float *low_values
) noexcept nogil:
    """Put the entries above the cut in front, in their order; returns how many there are."""
    cdef Py_ssize_t e, n_high = 0, n_low = 0
    for e in range(n):
        if fabsf(values[e]) > cut:
            # n_high <= e: an entry moves forward over one that was read.
            rows[n_high] = rows[e]
            values[n_high] = values[e]
            n_high += 1
        else:
            low_rows[n_low] = rows[e]
            low_values[n_low] = values[e]
            n_low += 1
    for e in range(n_low):
        rows[n_high + e] = low_rows[e]
        values[n_high + e] = low_values[e]
    return n_high


def divide_columns(
    const int64_t[::1] indptr, int32_t[::1] rows, float[::1] values, Py_ssize_t n_rows
):
    """Put the large entries of long columns in front of the others.

    Parameters
    ----------
    indptr : (n_columns + 1,)
    rows, values : IN / OUT, the entries column by column; both parts keep their order
    n_rows : of the matrix

    Returns
    -------
    middle : ndarray of int64 (n_columns,)
        Where the smaller entries begin; the end of a column that is not divided.
    rest : ndarray of float32 (n_columns,)
        The largest magnitude of these; 0 where there are none.
    """
    cdef Py_ssize_t j, n, longest = np.max(np.diff(indptr), initial=0)
    middle, rest = np.array(indptr[1:]), np.zeros(indptr.shape[0] - 1, dtype=np.float32)
    cdef int64_t[::1] to_middle = middle
    cdef float[::1] to_rest = rest
    cdef int32_t[::1] low_rows = np.empty(max(1, longest), dtype=np.int32)
    cdef float[::1] low_values = np.empty(max(1, longest), dtype=np.float32)
    with nogil:
        for j in range(indptr.shape[0] - 1):
            n = indptr[j + 1] - indptr[j]
            # Such a column is left as one part, whose end is `middle`.
            if n < LARGE_ONE_IN or n * SHORT < n_rows:
                continue
            to_rest[j] = cut_of(&values[indptr[j]], n)
            if to_rest[j] > 0:
                to_middle[j] = indptr[j] + divide(
                    &rows[indptr[j]], &values[indptr[j]], n, to_rest[j], &low_rows[0],
                    &low_values[0],
                )
    return middle, rest


# Dense rows rounded to bytes, each in units of its own, with bounds of what that takes away.
#
# With x = s q + e, a row's scale s, bytes q and error e, and weights w = t p + f alike,
#
#     <w, x> = s t <q, p> + <w, e> + <f, s q>,
#
# so that a score is known up to |w| |e| + |f| |s q| from a product of bytes, which takes a quarter
# of the memory and, with instructions made for it, of the time.

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
    # So that every |x_j| / s rounds to LARGEST at most.
    scale[0] = largest_magnitude(x, n) / LARGEST
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
    # Partial sums in float64: these are bounds, which may not lose what they bound.
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
        # q = 0, and all of the row is error.
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
                # Features that are not there, of value 0.
                values[i, j] = ZERO
    return scale, error, length


cdef class Matrix:
    """Rows in CSR form, or dense with one list of indices for all; perhaps columns, bytes.

    Entry e of row i has the feature ``indices[(0 if dense else indptr[i]) + e]`` and the value
    ``data[indptr[i] + e]``.  Columns may be in two parts, as `divide_columns` makes them.
    """

    def __init__(
        self, indptr, indices, data, bint dense, Py_ssize_t n_columns, column_indptr=None,
        column_rows=None, column_data=None, column_middle=None, column_rest=None,
        ByteRows rounded=None,
    ):
        # Pointers keep nothing alive; these references do, and other processes get them.
        self._arrays = {
            "indptr": indptr, "indices": indices, "data": data, "dense": dense,
            "n_columns": n_columns,
        }
        self.rows = pointers_to_rows(indptr, indices, data, dense)
        self.n_rows = len(indptr) - 1
        self.n_columns = n_columns
        self.n_entries = len(data)
        self.has_columns = column_indptr is not None
        if self.has_columns:
            if column_middle is None:  # columns of one part
                column_middle = column_indptr[1:]
                column_rest = np.zeros(n_columns, dtype=np.float32)
            self._arrays |= {
                "column_indptr": column_indptr, "column_rows": column_rows,
                "column_data": column_data, "column_middle": column_middle,
                "column_rest": column_rest,
            }
            self._point_to_columns(
                column_indptr, column_rows, column_data, column_middle, column_rest
            )
        self.rounded = rounded

    def _point_to_columns(
        self, const int64_t[::1] indptr, const int32_t[::1] rows, const float[::1] data,
        const int64_t[::1] middle, const float[::1] rest,
    ):
        self.columns.indptr = &indptr[0]
        self.columns.middle = &middle[0] if middle.shape[0] else NULL
        self.columns.rest = &rest[0] if rest.shape[0] else NULL
        self.columns.rows = &rows[0] if rows.shape[0] else NULL
        self.columns.values = &data[0] if data.shape[0] else NULL

    @classmethod
    def from_arrays(cls, **arrays):
        """Make the matrix again from what `arrays` has returned."""
        # Flat names, since joblib maps arrays into memory only if they are arguments themselves.
        rounded = named_part(arrays, "rounded_")
        return cls(**arrays, rounded=ByteRows.from_arrays(**rounded) if rounded else None)

    def arrays(self):
        """Return arrays and numbers by name, for another process; those of byte rows likewise."""
        rounded = {} if self.rounded is None else self.rounded.arrays()
        return self._arrays | with_prefix(rounded, "rounded_")


cdef dict with_prefix(dict arrays, str prefix):
    return {prefix + name: array for name, array in arrays.items()}


cdef dict named_part(dict arrays, str prefix):
    """Take those whose names begin so out of `arrays`, and return them without the prefix."""
    names = [name for name in arrays if name.startswith(prefix)]
    return {name[len(prefix):]: arrays.pop(name) for name in names}


cdef class Problem:
    """Samples, weights and labels.

    Parameters
    ----------
    X : Matrix, the samples
    coarse : Matrix, the samples that searches read which need not be exact (X itself, or X
        without its small entries)
    squared_norms : (n_samples,), ||x_i||^2
    sample_weight : (n_samples,)
    class_weight : (n_classes, 2), weight of the loss of a class's negatives and positives
    highest, lowest : (n_features,), max(0, max_i x_ij) and min(0, min_i x_ij) of each feature
    feature_norms : (n_features,), root of the sum of sample_weight_i x_ij^2
    positive_indptr, positive_rows : the positives of each class, sorted
    positive_grades : as many, in (0, 1], factors on their losses; None for ones
    """

    def __init__(
        self, Matrix X, Matrix coarse, squared_norms, sample_weight, class_weight, highest, lowest,
        feature_norms, positive_indptr, positive_rows, positive_grades=None,
    ):
        self.X = X
        self.coarse = coarse
        self.squared_norms = squared_norms
        self.sample_weight = sample_weight
        self.class_weight = class_weight
        self.highest = highest
        self.lowest = lowest
        self.feature_maxima = np.maximum(highest, np.negative(lowest))  # largest |x_ij|
        self.feature_norms = feature_norms
        self.positive_indptr = positive_indptr
        self.positive_rows = positive_rows
        self.positive_grades = positive_grades
        self.graded = positive_grades is not None
        # Index 0 of `weight_of` for all samples, if they weigh the same.
        self.weight_step = 1 if np.ptp(sample_weight) > 0 else 0
        self.total_weight = np.sum(sample_weight, dtype=np.float64)
        self._arrays = {
            "squared_norms": squared_norms, "sample_weight": sample_weight,
            "class_weight": class_weight, "highest": highest, "lowest": lowest,
            "feature_norms": feature_norms, "positive_indptr": positive_indptr,
            "positive_rows": positive_rows, "positive_grades": positive_grades,
        }

    @classmethod
    def from_arrays(cls, **arrays):
        """Make the problem again from what `arrays` has returned."""
        X = Matrix.from_arrays(**named_part(arrays, "X_"))
        coarse = named_part(arrays, "coarse_")
        return cls(X=X, coarse=Matrix.from_arrays(**coarse) if coarse else X, **arrays)

    def arrays(self):
        """Return arrays and numbers by name, for another process; those of matrices likewise."""
        coarse = {} if self.coarse is self.X else self.coarse.arrays()
        return (
            self._arrays
            | with_prefix(self.X.arrays(), "X_")
            | with_prefix(coarse, "coarse_")
        )


# How alike sparse rows are, by sixteen random directions, for the penalty `l2="auto"`.

cdef dispatched add_products(
    Rows X, const float[::1] weight, const float *center, const float[:, ::1] directions,
    float[:, ::1] products, double *totals,
) noexcept nogil:
    """Add X.T @ s and the sum of s, of the weighted scores s = weight * (X @ r - center)."""
    cdef Py_ssize_t i, e, c
    cdef float scores[LANES]
    cdef Row row
    # Two products of X in one pass: the scores of a row, then what it adds by them. Sixteen
    # directions side by side share each reading of an entry.
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
    """Write bits as signs of directions, a feature's side by side, and <mean, r> of each."""
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
    """Add |products - mean * total|^2 of each direction."""
    cdef Py_ssize_t j, c
    cdef double off
    for j in range(products.shape[0]):
        for c in range(LANES):
            # (X - 1 mean^T)^T s = X^T s - mean sum(s), so that X is never centred.
            off = products[j, c] - mean[j] * totals[c]
            squares[c] += off * off


def weighted_sum(
    const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data,
    const double[::1] weight, Py_ssize_t n_features,
):
    """Return X.T @ weight in float64, for which SciPy would copy all of X.

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
    const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data,
    const double[::1] direction,
):
    """Return X @ direction in float64, likewise.

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
    const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data,
    const float[::1] weight, const double[::1] mean, const int8_t[:, ::1] bits,
):
    """Return |(X - mean).T @ s|^2 of the weighted scores s = weight * ((X - mean) @ r).

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

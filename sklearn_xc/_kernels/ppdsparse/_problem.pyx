"""The data of a fit, which all classes share."""

from libc.math cimport fabsf
from libc.stdint cimport int32_t, int64_t

import numpy as np

from sklearn_xc._kernels.common._rows cimport pointers_to_rows
from sklearn_xc._kernels.ppdsparse._byte_rows cimport ByteRows

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
    while b > 0 and (above + counts[b]) * LARGE_ONE_IN <= n:
        above += counts[b]
        b -= 1
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
            if n < LARGE_ONE_IN or n * SHORT < n_rows:
                continue
            to_rest[j] = cut_of(&values[indptr[j]], n)
            if to_rest[j] > 0:
                to_middle[j] = indptr[j] + divide(
                    &rows[indptr[j]], &values[indptr[j]], n, to_rest[j], &low_rows[0],
                    &low_values[0],
                )
    return middle, rest


cdef class Matrix:
    """Rows in CSR form, or dense with one list of indices for all; perhaps columns, bytes.

    Entry e of row i has the feature ``indices[(0 if dense else indptr[i]) + e]`` and the value
    ``data[indptr[i] + e]``.  Columns may be in two parts, as `divide_columns` makes them.
    """

    def __init__(
        self,
        indptr,
        indices,
        data,
        bint dense,
        Py_ssize_t n_columns,
        column_indptr=None,
        column_rows=None,
        column_data=None,
        column_middle=None,
        column_rest=None,
        ByteRows rounded=None,
    ):
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
        self,
        const int64_t[::1] indptr,
        const int32_t[::1] rows,
        const float[::1] data,
        const int64_t[::1] middle,
        const float[::1] rest,
    ):
        self.columns.indptr = &indptr[0]
        self.columns.middle = &middle[0] if middle.shape[0] else NULL
        self.columns.rest = &rest[0] if rest.shape[0] else NULL
        self.columns.rows = &rows[0] if rows.shape[0] else NULL
        self.columns.values = &data[0] if data.shape[0] else NULL

    @classmethod
    def from_arrays(cls, **arrays):
        """Make the matrix again from what `arrays` has returned."""
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
        self,
        Matrix X,
        Matrix coarse,
        squared_norms,
        sample_weight,
        class_weight,
        highest,
        lowest,
        feature_norms,
        positive_indptr,
        positive_rows,
        positive_grades=None,
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

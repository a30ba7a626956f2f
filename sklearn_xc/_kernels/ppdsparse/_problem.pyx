"""The data of a fit, which all classes share."""

from libc.stdint cimport int32_t, int64_t

import numpy as np

from sklearn_xc._kernels.ppdsparse._matrix cimport Matrix


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
        const float[::1] squared_norms,
        const float[::1] sample_weight,
        const float[:, ::1] class_weight,
        const float[::1] highest,
        const float[::1] lowest,
        const float[::1] feature_norms,
        const int64_t[::1] positive_indptr,
        const int32_t[::1] positive_rows,
        const float[::1] positive_grades=None,
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

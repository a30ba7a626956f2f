"""Labels that a fit has checked, as an estimator takes them over and is scored by them."""

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ..utils._typing import LabelsLike, MatrixLike
from ._label_counts import training_support
from ._labels import LabelEncoding, accuracy, labels_to_score
from ._nearly_empty import WarnsIfNearlyEmpty


class TakesLabels(WarnsIfNearlyEmpty):
    """Mixin of the estimators that `validate_fit` gives their labels."""

    def _set_encoding(self, encoding: LabelEncoding) -> None:
        """Keep the form of y, and `classes_` as users see them."""
        self._encoding, self.classes_ = encoding, encoding.classes_

    def _set_labels(
        self, encoding: LabelEncoding, positives: sparse.csr_array, sample_weight: np.ndarray | None
    ) -> None:
        """Take the labels of a fit, and forget those of an earlier fit or stream."""
        self._set_encoding(encoding)
        self._set_support(training_support(positives, sample_weight, len(self.classes_)))
        # Both are of the model before: samples at the beginning of its stream, and probabilities
        # that were fitted to its scores.
        for name in "_beginning", "calibration_":
            vars(self).pop(name, None)
        if encoding.kind == "multilabel":
            self._count_rows_with_labels(positives, sample_weight)

    def score(self, X: MatrixLike, y: LabelsLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of samples whose class, or whole set of labels, is predicted.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
        y : array-like of shape (n_samples,), or indicator of shape (n_samples, n_classes)
            The columns of a DataFrame go by their names. With ``graded=True`` every label that is
            not 0 is true.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        score : float
        """
        check_is_fitted(self)
        return accuracy(self, X, labels_to_score(self, y), sample_weight)

"""Labels that a fit has checked, as an estimator takes them over."""

import numpy as np
from scipy import sparse

from ._label_counts import training_support
from ._labels import LabelEncoding
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

"""The warning of a prediction that leaves nearly all rows without a label."""

import warnings

import numpy as np
from scipy import sparse

FEWEST_ROWS = 100  # of fewer nothing can be said
MOST_WITH_LABELS = 0.1  # of the rows of a prediction
FALLEN_TO = 1 / 3  # of the share of rows that had labels in training


class WarnsIfNearlyEmpty:
    """Mixin of a warning, once for each fit, of predictions that leave nearly all rows empty."""

    def _count_rows_with_labels(
        self, Y: sparse.csr_array, sample_weight: np.ndarray | None
    ) -> None:
        """Keep the share of the training rows that have labels, and forget an earlier warning.

        Parameters
        ----------
        Y : csr_array (n_samples, n_classes)
        sample_weight : ndarray (n_samples,), or None
        """
        has_labels = np.diff(Y.indptr) > 0
        if sample_weight is not None:
            has_labels = has_labels[sample_weight > 0]
        self._share_with_labels = float(has_labels.mean()) if has_labels.size else 0.0
        vars(self).pop("_warned_of_empty", None)

    def _warn_if_nearly_empty(self, n_labels: np.ndarray, limit: str) -> None:
        """Warn where nine rows in ten get no label but training rows had some.

        Called by ``predict`` itself: the warning points to the line that calls it.

        Parameters
        ----------
        n_labels : ndarray of int (n_rows,)
            Predicted.
        limit : str
            What a label must have to be predicted.
        """
        known = vars(self)
        if len(n_labels) < FEWEST_ROWS or "_warned_of_empty" in known:
            return
        share = float((n_labels > 0).mean())
        expected = known.get("_share_with_labels", 1.0)  # not known of merged models
        if share > MOST_WITH_LABELS or share >= FALLEN_TO * expected:
            return
        self._warned_of_empty = True
        warnings.warn(
            f"predict gives no label to {(n_labels == 0).sum()} of {len(n_labels)} rows, as none "
            f"has a {limit} there, while {expected:.0%} of the training rows have labels: "
            "take the best labels of each row (predict_topk), or tune the limit "
            "(TopKThresholdClassifier); see the user guide, 'Getting started'",
            UserWarning,
            stacklevel=3,
        )

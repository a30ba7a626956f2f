"""The warning of a prediction that leaves nearly all samples without a label."""

import warnings

import numpy as np
from scipy import sparse

FEWEST_SAMPLES = 100  # of fewer nothing can be said
MOST_WITH_LABELS = 0.1  # of the samples of a prediction
# Of the share of samples that had labels in training: data where most have none are predicted so.
FALLEN_TO = 1 / 3


class WarnsIfNearlyEmpty:
    """Mixin of a warning, once for each fit, of predictions that leave nearly all samples empty."""

    def _count_rows_with_labels(
        self, Y: sparse.csr_array, sample_weight: np.ndarray | None
    ) -> None:
        """Keep the share of training samples that have labels, and forget an earlier warning."""
        has_labels = np.diff(Y.indptr) > 0
        if sample_weight is not None:
            has_labels = has_labels[sample_weight > 0]
        self._share_with_labels = float(has_labels.mean()) if has_labels.size else 0.0
        vars(self).pop("_warned_of_empty", None)

    def _warn_if_nearly_empty(self, n_labels: np.ndarray, limit: str) -> None:
        """Warn where nine samples in ten get no label, but those of training had some.

        `n_labels` counts the labels predicted of each sample, `limit` says what a label must have.
        """
        # `vars`, since an attribute that is not there is looked up in a mapped file.
        known = vars(self)
        if len(n_labels) < FEWEST_SAMPLES or "_warned_of_empty" in known:
            return
        share = float((n_labels > 0).mean())
        expected = known.get("_share_with_labels", 1.0)  # not known of merged models
        if share > MOST_WITH_LABELS or share >= FALLEN_TO * expected:
            return
        # Once: a service that predicts in batches would fill its log with one sentence.
        self._warned_of_empty = True
        # Level 3 is the line of the user that calls `predict`, which must call this itself.
        warnings.warn(
            f"predict gives no label to {(n_labels == 0).sum()} of {len(n_labels)} samples, as "
            f"none has a {limit} there, while {expected:.0%} of those of training have labels: "
            "take the best labels of each sample (predict_topk), or tune the limit "
            "(TopKThresholdClassifier); see the page 'A first model in ten lines'",
            UserWarning,
            stacklevel=3,
        )

"""Wrappers whose callbacks are tested."""

import sklearn_xc

WRAPPERS = {
    "calibrated": (sklearn_xc.TopKCalibratedClassifier, {"cv": 3}, 4),
    "calibrated once": (sklearn_xc.TopKCalibratedClassifier, {"cv": 0.3}, 2),
    "threshold": (sklearn_xc.TopKThresholdClassifier, {"cv": 3}, 4),
    "threshold once": (sklearn_xc.TopKThresholdClassifier, {"cv": 0.3, "refit": False}, 1),
}

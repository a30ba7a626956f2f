"""The ranges of the parameters of PPDSparseClassifier."""

import math
import os
from numbers import Integral, Real

from ..base._validation import OF_TRAINING, Interval, StrOptions
from ..calibration._mixin import CalibratedMixin

# Section 6 of the paper: lambda = 0.01 and tau = 1 "for most of data sets", of the grid
# {0.01, 0.1, 1} x {0.1, 1, 10}, for rows of unit length; no weight is dropped afterwards. The
# second has the search of Algorithm 3, of which no precision is given.
_OF_ALL = {"l1": 0.01, "l2": 1.0, "fit_intercept": True, "feature_threshold": 0.0, "pruning": 0.0}
PUBLISHED = {
    "squared_hinge": {"loss": "squared_hinge", "sparsification": None, **_OF_ALL},
    "sparsified": {"loss": "squared_hinge", "sparsification": "random", **_OF_ALL},
    "hinge": {"loss": "hinge", "sparsification": None, **_OF_ALL},
}


def _loss(ceiling: float, inverse: float) -> dict[str, float]:
    """Return a loss of a class against the rest as `_kernels/ppdsparse/_losses.pxd` takes it."""
    steepness = 1 / inverse if inverse > 0 else 3e38  # the largest of float32, nearly
    return {"ceiling": ceiling, "inverse": inverse, "steepness": steepness}


# The largest slope, and the inverse of the curvature below that.
LOSSES = {
    "squared_hinge": _loss(math.inf, 1.0),
    "smoothed_hinge": _loss(1.0, 1.0),
    "hinge": _loss(1.0, 0.0),
}
CONSTRAINTS = {
    # the kernels compute in float32: beyond these bounds a square would overflow
    # None is let through to the reading of penalties, whose error names all that there is
    "l1": [str, None, Interval(Real, 0, 1e12, closed="both")],
    "l2": [str, None, Interval(Real, 1e-12, 1e12, closed="both")],
    "loss": [StrOptions({*LOSSES, "crammer_singer"})],
    "fit_intercept": ["boolean"],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "n_select": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
    "sparsification": [StrOptions({"random"}), None],
    "delta": [Interval(Real, 0, None, closed="neither")],
    "feature_threshold": [Interval(Real, 0, None, closed="left")],
    "pruning": [Interval(Real, 0, None, closed="left")],
    **OF_TRAINING,
    **CalibratedMixin._calibration_constraints,
    "checkpoint": [str, os.PathLike, None],
    "keep_checkpoint": ["boolean"],
    "scratch": [str, os.PathLike, None],
    "label_names": ["array-like", None],
    "graded": ["boolean"],
}

"""The ranges of the parameters of PPDSparseClassifier."""

import os
from numbers import Integral, Real

from ..base._validation import Interval, StrOptions
from ..calibration._mixin import CalibratedMixin

CONSTRAINTS = {
    # the kernels compute in float32: beyond these bounds a square would overflow
    "l1": [str, Interval(Real, 0, 1e12, closed="both")],
    "l2": [str, Interval(Real, 1e-12, 1e12, closed="both")],
    "loss": [StrOptions({"squared_hinge", "hinge", "crammer_singer"})],
    "fit_intercept": ["boolean"],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "n_select": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
    "sparsification": [StrOptions({"random"}), None],
    "delta": [Interval(Real, 0, None, closed="neither")],
    "feature_threshold": [Interval(Real, 0, None, closed="left")],
    "pruning": [Interval(Real, 0, None, closed="left")],
    "class_weight": [StrOptions({"balanced", "propensity"}), dict, None],
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
    "warm_start": ["boolean"],
    **CalibratedMixin._calibration_constraints,
    "checkpoint": [str, os.PathLike, None],
    "keep_checkpoint": ["boolean"],
    "scratch": [str, os.PathLike, None],
    "label_names": ["array-like", None],
    "graded": ["boolean"],
}

"""The ranges of the parameters of MemoirSVC."""

from numbers import Integral, Real

from ..base._validation import OF_EARLY_STOPPING, OF_TRAINING, Interval, Options, StrOptions
from ..calibration._mixin import CalibratedMixin
from ..utils._csr import LARGEST_INDEX

CONSTRAINTS = {
    "penalty": [StrOptions({"l2", "l1"})],
    "alpha": [StrOptions({"auto"}), Interval(Real, 0, 1e12, closed="both")],
    "rho": [Interval(Real, 1e-12, 1e12, closed="both")],
    "search": [StrOptions({"auto", "exact", "hnsw", "lsh"})],
    "search_params": [dict, None],
    "batch_size": [StrOptions({"auto"}), Interval(Integral, 1, LARGEST_INDEX, closed="both")],
    "reduction": [StrOptions({"mean", "sum"})],
    "max_iter": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
    "eta0": [StrOptions({"auto"}), Interval(Real, 0, 1e12, closed="right")],
    "eta_step": [StrOptions({"auto"}), Interval(Real, 0, 1e12, closed="both")],
    "fit_intercept": ["boolean"],
    "sampling": [StrOptions({"uniform", "balanced"})],
    "average": ["boolean"],
    "normalize_scores": ["boolean"],
    **OF_EARLY_STOPPING,
    **OF_TRAINING,
    **CalibratedMixin._calibration_constraints,
}

SEARCH_PARAMS = {
    "min_recall": (0.9, [Interval(Real, 0, 1, closed="both")]),
    "n_bits": (64, [Options(Integral, set(range(64, 1025, 64)))]),
    "sketch_dim": (512, [Interval(Integral, 4, 2**16, closed="both")]),
}

"""The ranges of the parameters of AugmentReduceClassifier."""

from numbers import Integral, Real

from ..base._validation import WEIGHT_OF_TEXTS, Interval, StrOptions
from ..softmax._class_sampling import SAMPLINGS
from ..utils._csr import LARGEST_INDEX
from ._bounds import LOCAL_STEPS

CONSTRAINTS = {
    "model": [StrOptions({"softmax", "probit", "logistic"})],
    "bound": [StrOptions({"auto", "augment_reduce", "one_vs_each", "exact"})],
    "batch_size": [StrOptions({"auto"}), Interval(Integral, 1, LARGEST_INDEX, closed="both")],
    "n_sampled_classes": [Interval(Integral, 1, LARGEST_INDEX, closed="both")],
    "sampling": [StrOptions(set(SAMPLINGS))],
    "local_steps": [StrOptions(set(LOCAL_STEPS))],
    "max_iter": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
    "learning_rate": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
    "alpha": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
    "init_scale": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left"), None],
    "early_stopping": ["boolean"],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
    "warm_start": ["boolean"],
    "label_feature_weight": WEIGHT_OF_TEXTS,
}

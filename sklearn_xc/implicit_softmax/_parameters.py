"""The ranges of the parameters of ImplicitSoftmaxRegressor."""

from numbers import Integral, Real

from ..base._validation import WEIGHT_OF_TEXTS, Interval, StrOptions
from ..softmax._class_sampling import SAMPLINGS
from ..utils._csr import LARGEST_INDEX
from ..utils._schedules import DECAY
from ._train import PUBLISHED

CONSTRAINTS = {
    "solver": [StrOptions({"auto", *PUBLISHED})],
    "formulation": [StrOptions({"pairwise", "raman"})],
    "batch_size": [Interval(Integral, 1, LARGEST_INDEX, closed="both"), None],
    "n_sampled_classes": [Interval(Integral, 1, LARGEST_INDEX, closed="both"), None],
    "sampling": [StrOptions(set(SAMPLINGS)), None],
    "alpha": [StrOptions({"auto"}), Interval(Real, 0, 1e12, closed="both")],
    "learning_rate": [StrOptions({"auto"}), Interval(Real, 0, 1e12, closed="right")],
    "decay": DECAY,
    "max_iter": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
    "delta": [Interval(Real, 0, None, closed="neither")],
    "fit_intercept": ["boolean"],
    "intercept_scaling": [StrOptions({"auto"}), Interval(Real, 0, 1e12, closed="right")],
    "shuffle": ["boolean"],
    "compute_loss": ["boolean"],
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
    "warm_start": ["boolean"],
    "label_feature_weight": WEIGHT_OF_TEXTS,
}

"""The ranges of the parameters of ImplicitSoftmaxRegressor."""

from numbers import Integral, Real

from ..base._validation import OF_TRAINING, Interval, StrOptions
from ..softmax._class_sampling import SAMPLINGS
from ..training._schedules import DECAY
from ..utils._csr import LARGEST_INDEX
from ._train import PUBLISHED_SIZES

# Section 4.1 of the paper, for samples of unit length; rates are tuned for each data set.
_OF_ALL = {
    "sampling": "uniform",
    "alpha": 0.0,
    "learning_rate": "auto",
    "decay": 0.9,
    "max_iter": 50,
    "delta": 1.0,
    "fit_intercept": False,
}
PUBLISHED = {
    solver: {"solver": solver, "batch_size": n, "n_sampled_classes": m, **_OF_ALL}
    for solver, (n, m) in PUBLISHED_SIZES.items()
    if solver != "exact"
}
# Figure 2 and appendix G
PUBLISHED["umax_raman"] = PUBLISHED["umax"] | {"formulation": "raman"}
PUBLISHED["nce_single"] = PUBLISHED["nce"] | {"batch_size": 1, "n_sampled_classes": 1}
CONSTRAINTS = {
    "solver": [StrOptions({"auto", *PUBLISHED_SIZES})],
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
    **OF_TRAINING,
}

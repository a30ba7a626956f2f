"""The ranges of the parameters of AugmentReduceClassifier."""

from numbers import Integral, Real

from ..base._validation import OF_EARLY_STOPPING, OF_TRAINING, Interval, StrOptions
from ..softmax._class_sampling import SAMPLINGS
from ..utils._csr import LARGEST_INDEX
from ._bounds import LOCAL_STEPS

# Section 4 of the paper but for the sizes of its table 1, which are in `PUBLISHED_SIZES`.
_OF_ALL = {
    "sampling": "uniform",
    "local_steps": "published",
    "learning_rate": 0.02,
    "alpha": 0.0,
    "init_scale": 0.1,
    "tol": None,
    "early_stopping": False,
}
PUBLISHED = {
    "softmax": {"model": "softmax", "bound": "augment_reduce", **_OF_ALL},
    "one_vs_each": {"model": "softmax", "bound": "one_vs_each", **_OF_ALL},
    "exact": {"model": "softmax", "bound": "exact", **_OF_ALL},
    "probit": {"model": "probit", "bound": "augment_reduce", **_OF_ALL},
    "logistic": {"model": "logistic", "bound": "augment_reduce", **_OF_ALL},
}
# Section 4.1 and table 1: samples and classes of a mini-batch, and the iterations in passes.
PUBLISHED_SIZES = {
    "synthetic": {"batch_size": 500, "n_sampled_classes": 100, "max_iter": 834},
    "mnist": {"batch_size": 500, "n_sampled_classes": 1, "max_iter": 292},
    "bibtex": {"batch_size": 488, "n_sampled_classes": 20, "max_iter": 500},
    "omniglot": {"batch_size": 541, "n_sampled_classes": 50, "max_iter": 937},
    "eurlex": {"batch_size": 379, "n_sampled_classes": 50, "max_iter": 2439},
    "amazoncat": {"batch_size": 1987, "n_sampled_classes": 60, "max_iter": 10},
}
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
    **OF_EARLY_STOPPING,
    **OF_TRAINING,
}

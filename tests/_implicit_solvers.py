"""The solvers of ImplicitSoftmaxRegressor in short fits, and data for them."""

import numpy as np

from sklearn_xc import ImplicitSoftmaxRegressor

# A short run of every way to take steps.
SHORT = {
    "implicit": {"solver": "implicit"},
    "implicit batches": {"solver": "implicit", "batch_size": 20, "n_sampled_classes": 3},
    "umax": {"solver": "umax"},
    "umax raman": {"solver": "umax", "formulation": "raman"},
    "umax batches": {"solver": "umax", "batch_size": 50, "n_sampled_classes": 4},
    "sgd": {"solver": "sgd"},
    "sgd raman batches": {"solver": "sgd", "formulation": "raman", "batch_size": 9},
    "one_vs_each": {"solver": "one_vs_each"},
    "nce": {"solver": "nce"},
    "importance": {"solver": "importance"},
    "exact": {"solver": "exact"},
}
RATE = {"sgd": 0.01, "umax": 0.05, "exact": 0.1, "one_vs_each": 0.1, "nce": 0.05}


def make(name, **changes):
    options = {**SHORT[name], "max_iter": 4, "random_state": 0, **changes}
    options.setdefault("learning_rate", RATE.get(options["solver"], 0.5))
    return ImplicitSoftmaxRegressor(**options)


def assert_same_model(some, other):
    np.testing.assert_array_equal(some.coef_, other.coef_)
    np.testing.assert_array_equal(some.intercept_, other.intercept_)

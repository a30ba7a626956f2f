"""The models and bounds of Augment-and-Reduce, and data for them."""

import numpy as np

from sklearn_xc import AugmentReduceClassifier

MODELS = {
    "softmax": {"bound": "augment_reduce"},
    "probit": {"model": "probit"},
    "logistic": {"model": "logistic"},
    "one_vs_each": {"bound": "one_vs_each"},
    "exact": {"bound": "exact"},
}


def make(name, **changes):
    """Four passes of twelve steps each on the digits of `small`, unless told otherwise."""
    options = {
        "batch_size": 50,
        "n_sampled_classes": 5,
        "max_iter": 4,
        "tol": None,
        "random_state": 0,
        "learning_rate": 0.02,
        "alpha": 0.0,
        "init_scale": 0.1,
    }
    return AugmentReduceClassifier(**{**options, **MODELS[name], **changes})


def assert_same_model(some, other):
    np.testing.assert_array_equal(some.coef_, other.coef_)
    np.testing.assert_array_equal(some.intercept_, other.intercept_)

"""`partial_fit` means `fit`: the same rows in 1, 10 and 100 parts lead to the same model.

The objective is the mean loss of the rows trained on, and so is the accuracy.
"""

from typing import NamedTuple

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine

from sklearn_xc import (
    AugmentReduceClassifier,
    ImplicitSoftmaxRegressor,
    LDGSClassifier,
    MemoirSVC,
)
from sklearn_xc.datasets import make_xc_classification

N_PASSES = 10
PARTS = 10, 100


class Data(NamedTuple):
    X: object
    y: np.ndarray


def digits():
    X, y = load_digits(return_X_y=True)
    return Data((X / 16).astype(np.float32), y)


def wine():
    return Data(*load_wine(return_X_y=True))  # raw columns


def topics():
    X, y = make_xc_classification(3000, 2000, 60, random_state=0)
    return Data(sparse.csr_array(X), y)


DATA = {"digits": digits, "wine": wine, "topics": topics}


def log_loss(scores, y):
    return logsumexp(scores, axis=1) - scores[np.arange(len(y)), y]


def margin_loss(scores, y):
    """Of the most violating class, as MEMOIR has it."""
    own = scores[np.arange(len(y)), y]
    others = scores.copy()
    others[np.arange(len(y)), y] = -np.inf
    return np.maximum(0, 1 + others.max(axis=1) - own)


ESTIMATORS = {
    "augment_reduce": (AugmentReduceClassifier(random_state=0), log_loss),
    "implicit": (ImplicitSoftmaxRegressor(random_state=0), log_loss),
    "umax": (ImplicitSoftmaxRegressor(solver="umax", random_state=0), log_loss),
    "ldgs": (LDGSClassifier(random_state=0), log_loss),
    "memoir": (MemoirSVC(random_state=0), margin_loss),
}

# Where the law does not hold. A step of A&R is one of a mini-batch of 500, and a part of fewer rows
# is a step of its own: more parts are more steps, which lead further while steps are few. On wine
# parts of two to eighteen rows say little about the size of raw columns. LDGS is 5 % apart on
# digits (less with more parts), and 2.2 % on topics.
MISSED = {
    *((name, "wine") for name in ESTIMATORS),
    ("augment_reduce", "digits"),
    ("augment_reduce", "topics"),
    ("ldgs", "digits"),
    ("ldgs", "topics"),
}
NEARLY_ZERO = 1e-4  # a loss of rows that are all learnt


def scores_of(model, X):
    scores = model.decision_function(X)
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else np.asarray(scores, float)


def trained_in_parts(estimator, data, n_parts):
    model = clone(estimator)
    order = np.random.default_rng(0).permutation(len(data.y))
    classes = np.unique(data.y)
    for _ in range(N_PASSES):
        for part in np.array_split(order, n_parts):
            model.partial_fit(data.X[part], data.y[part], classes)
    return model


def losses_and_accuracies(name, data_name):
    estimator, loss = ESTIMATORS[name]
    data = DATA[data_name]()
    for n_parts in (1, *PARTS):
        model = trained_in_parts(estimator, data, n_parts)
        codes = np.searchsorted(model.classes_, data.y)
        right = model.predict(data.X) == data.y
        yield loss(scores_of(model, data.X), codes).mean(), right.mean()


CASES = [
    pytest.param(
        name,
        data_name,
        marks=[pytest.mark.xfail(reason="see MISSED"), pytest.mark.full]
        if (name, data_name) in MISSED
        else [],
    )
    for name in ESTIMATORS
    for data_name in DATA
]


@pytest.mark.parametrize(("name", "data_name"), CASES)
def test_parts_lead_to_the_same_model(name, data_name):
    """Objective within 2 %, accuracy within half a point and a row."""
    whole, *parts = losses_and_accuracies(name, data_name)
    for loss, accuracy in parts:
        assert loss == pytest.approx(whole[0], rel=0.02, abs=NEARLY_ZERO)
        assert accuracy == pytest.approx(whole[1], abs=0.006)


@pytest.mark.parametrize("name", ["augment_reduce", "ldgs"])
def test_small_parts_lose_nothing(name):
    """Where the law does not hold, smaller parts have learnt more: never less."""
    whole, *parts = losses_and_accuracies(name, "digits")
    for loss, accuracy in parts:
        assert loss <= 1.02 * whole[0]
        assert accuracy >= whole[1] - 0.005

"""Functions inside of what `test_partial_fit_laws.py` tests from outside."""

import pickle
from typing import NamedTuple

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.datasets import load_digits

from sklearn_xc import (
    AugmentReduceClassifier,
    ImplicitSoftmaxRegressor,
    LDGSClassifier,
    MemoirSVC,
)
from sklearn_xc.training import _waiting


class Data(NamedTuple):
    X: object
    y: np.ndarray


def digits():
    X, y = load_digits(return_X_y=True)
    return Data((X / 16).astype(np.float32), y)


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


def scores_of(model, X):
    scores = model.decision_function(X)
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else np.asarray(scores, float)


@pytest.mark.parametrize("name", ["augment_reduce", "ldgs", "implicit"])
def test_a_part_takes_no_pass_over_all_weights_to_undo_a_step(name, monkeypatch):
    """The arrays of before the step are kept; differences and digests are for files and pickles."""
    data = digits()
    model = clone(ESTIMATORS[name][0]).partial_fit(data.X[:970], data.y[:970], np.arange(10))
    expected = clone(ESTIMATORS[name][0]).partial_fit(data.X[:970], data.y[:970], np.arange(10))
    for row in range(970, 976):
        expected = pickle.loads(pickle.dumps(expected))
        expected.partial_fit(data.X[row : row + 1], data.y[row : row + 1])
    monkeypatch.delattr(_waiting, "digest_of")
    monkeypatch.delattr(_waiting, "Replaced")
    for row in range(970, 976):
        model.partial_fit(data.X[row : row + 1], data.y[row : row + 1])
    np.testing.assert_array_equal(scores_of(model, data.X), scores_of(expected, data.X))

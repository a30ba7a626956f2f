"""Data and losses of the laws of `partial_fit`."""

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp
from sklearn.datasets import load_digits

from sklearn_xc import (
    AugmentReduceClassifier,
    ImplicitSoftmaxRegressor,
    LDGSClassifier,
    MemoirSVC,
)


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

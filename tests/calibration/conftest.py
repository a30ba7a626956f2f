"""Fixtures of the tests of calibration."""

import pytest

from sklearn_xc.datasets import make_xc_classification


@pytest.fixture(scope="module")
def multilabel():
    X, Y = make_xc_classification(700, 300, 30, n_labels=2.0, signal=0.3, random_state=0)
    return X[:500], Y[:500], X[500:], Y[500:]


@pytest.fixture(scope="module")
def multiclass():
    X, y = make_xc_classification(700, 300, 30, signal=0.3, random_state=1)
    return X[:500], y[:500], X[500:], y[500:]

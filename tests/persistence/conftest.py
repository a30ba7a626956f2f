"""Small models of every kind that are saved and loaded."""

import pytest
from _saved_models import ESTIMATORS, INDICATOR, Y_TEXT, X
from sklearn.base import clone

from sklearn_xc import (
    PPDSparseClassifier,
)


@pytest.fixture(scope="module")
def models():
    found = {name: clone(model).fit(X, Y_TEXT) for name, model in ESTIMATORS.items()}
    # labels here are random: with penalties that let every label be learnt by heart
    found["multilabel"] = PPDSparseClassifier(0.1, 1.0, random_state=0).fit(X, INDICATOR)
    found["binary"] = PPDSparseClassifier(random_state=0).fit(X, Y_TEXT < "class 3")
    found["dense binary"] = clone(ESTIMATORS["implicit_softmax"]).fit(X, Y_TEXT < "class 3")
    return found

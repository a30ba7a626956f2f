"""Functions inside of what `base/test_trust.py` tests from outside."""

import pickle

import numpy as np

from sklearn_xc import (
    PPDSparseClassifier,
)
from sklearn_xc.topk import _weight_store

X, Y = np.eye(40), np.arange(40) % 8


def test_weights_of_a_fit_are_not_checked_again(monkeypatch):
    model = PPDSparseClassifier(random_state=0).fit(X, Y)
    looked_at = []
    monkeypatch.setattr(
        _weight_store, "checked_csr", lambda coef, name: looked_at.append(name) or coef
    )
    model.predict(X)
    model.explain(X)
    assert not looked_at
    again = pickle.loads(pickle.dumps(model))
    again.predict(X)
    assert len(looked_at) == 1
    again.explain(X)  # checked before, and nothing can have been written into it
    assert len(looked_at) == 1

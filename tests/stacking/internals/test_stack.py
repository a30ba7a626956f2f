"""Functions inside of what `stacking/test_stack.py` tests from outside."""

import numpy as np
from _stacked_samples import X, Y, fitted
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from sklearn_xc import PPDSparseClassifier, TopKNeighborsClassifier, TopKStackingClassifier
from sklearn_xc.stacking import _classifier, _learn


def test_parts_that_gain_together_stay(monkeypatch):
    """Each of two may look idle where the other is there, and on few rows."""
    monkeypatch.setattr(_learn, "_without_idle_parts", lambda judge, alone: [1])
    assert [name for name, _ in fitted().estimators_] == ["ovr", "near"]


def test_settings_are_chosen_once_on_all_samples(monkeypatch):
    """Parts on fewer samples take penalties and powers of those that answer."""
    seen = []

    def recorded(estimator, data, texts_alone=False):
        seen.append(real(estimator, data, texts_alone))
        return seen[-1]

    real = _classifier.fit_part
    monkeypatch.setattr(_classifier, "fit_part", recorded)
    parts = [
        ("ovr", make_pipeline(MaxAbsScaler(), PPDSparseClassifier("2*auto", 0.5, random_state=0))),
        ("near", TopKNeighborsClassifier(random_state=0)),
    ]
    TopKStackingClassifier(parts, random_state=0).fit(X, Y)
    whole, copy, near, near_copy = seen
    alone = clone(parts[0][1]).fit(X, Y)
    np.testing.assert_array_equal(whole[-1].coef_.toarray(), alone[-1].coef_.toarray())
    assert copy[-1].l1 == f"{2 * whole[-1].penalty_factors_[0]!r}*rows"
    assert copy[-1].l2 == 0.5
    assert copy[-1].penalty_factors_ == (1.0, 1.0)
    assert isinstance(near_copy.power, float)
    assert near_copy.power == near.power_

"""Functions inside of what `ldgs/test_auto.py` tests from outside."""

import numpy as np
import pytest

from sklearn_xc import LDGSClassifier
from sklearn_xc.ldgs import _auto, _features
from sklearn_xc.ldgs._train import LDGSProblem
from sklearn_xc.ldgs._units import Change, Units
from sklearn_xc.utils._matrix import as_rows, normalise


def test_many_weights_of_sparse_rows_get_a_layer(text, monkeypatch):
    monkeypatch.setattr(_auto, "MOST_WEIGHTS", 1000)
    model = LDGSClassifier(random_state=0, max_iter=2).fit(*text)
    assert model.hidden_dim_ == 100
    assert model.input_embeddings_.shape == (300, 100)
    assert model.score(*text) > 0.5


def test_many_classes_are_searched_for():
    plans = [_auto.make_plan(LDGSClassifier(), False, 3, n) for n in (5000, 100_000)]
    assert [plan.gradient for plan in plans] == ["exact", "decomposed"]


def test_threads_do_not_change_weights_by_features(text, monkeypatch):
    monkeypatch.setattr(_features, "WORTH_THREADS", 0)
    models = [LDGSClassifier(max_iter=2, n_jobs=n, random_state=0).fit(*text) for n in (1, 2)]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_units_are_changed_forth_and_back(fit_intercept):
    rng = np.random.default_rng(0)
    X = normalise(rng.normal(size=(60, 5)) * [1, 10, 0.1, 3, 0] + [5, 0, 1, -2, 7])
    units, nobody = Units(True, fit_intercept), np.zeros(60, dtype=bool)
    problem = LDGSProblem(as_rows(X), None, None, nobody, 4, False, True)
    for part in np.array_split(np.arange(60), 3):
        units = problem.seen_by(units, part)
    change = Change(units, False)
    W, b = rng.normal(size=(4, 5)), rng.normal(size=4)
    inside, shifted, _ = change.inside(W, b, None)
    Z = problem.in_units(change).rows.matrix()
    np.testing.assert_allclose(Z @ inside.T + shifted, X @ W.T + b, atol=1e-4)
    back, intercept, _ = change.outside(inside, shifted, None)
    np.testing.assert_allclose(back, W, rtol=1e-5)
    np.testing.assert_allclose(intercept, b, atol=1e-4)
    if fit_intercept:
        np.testing.assert_allclose(Z[:, :4].mean(axis=0), 0, atol=1e-4)
        np.testing.assert_allclose(Z[:, :4].std(axis=0), 0.5, rtol=1e-3)

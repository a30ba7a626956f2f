"""Laws of predict_proba that hold for all estimators and wrappers."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss

from sklearn_xc import (
    AugmentReduceClassifier,
    ImplicitSoftmaxRegressor,
    LDGSClassifier,
    MemoirSVC,
    PPDSparseClassifier,
    TopKCalibratedClassifier,
)
from sklearn_xc.datasets import make_xc_classification

STEEP = {"learning_rate": 1.0, "max_iter": 20, "random_state": 0}
HELD_OUT = {"calibration_cv": 0.5, "random_state": 0}
MODELS = {
    "softmax": AugmentReduceClassifier(max_iter=10, random_state=0),
    "probit": AugmentReduceClassifier(model="probit", max_iter=10, random_state=0),
    "logistic": AugmentReduceClassifier(model="logistic", max_iter=10, random_state=0),
    "implicit": ImplicitSoftmaxRegressor(**STEEP),
    "exact": ImplicitSoftmaxRegressor(solver="exact", learning_rate=0.1, random_state=0),
    "ldgs": LDGSClassifier(**STEEP),
    "sigmoid": PPDSparseClassifier(calibration="sigmoid", **HELD_OUT),
    "isotonic": MemoirSVC(calibration="isotonic", **HELD_OUT),
    "temperature": PPDSparseClassifier(calibration="temperature", **HELD_OUT),
    "top_label": PPDSparseClassifier(calibration="top_label", **HELD_OUT),
    "wrapper": TopKCalibratedClassifier(cv=0.5, method="temperature"),
}


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16, y


@pytest.fixture(params=[2, 10], scope="module")
def fitted(request, digits):
    X, y = digits
    y = y % request.param
    return {name: model.fit(X[:1000], y[:1000]) for name, model in MODELS.items()}, X, y


@pytest.mark.parametrize("name", MODELS)
def test_rows_sum_to_one_in_float64(name, fitted):
    models, X, y = fitted
    p = models[name].predict_proba(X)
    assert p.dtype == np.float64
    assert p.shape == (len(X), len(np.unique(y)))
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert p.min() >= 0
    log_p = models[name].predict_log_proba(X)
    assert log_p.dtype == np.float64
    assert log_p.max() <= 0
    np.testing.assert_allclose(np.exp(log_p), p, rtol=1e-12)


@pytest.mark.parametrize("name", ["softmax", "probit", "logistic", "implicit", "exact"])
def test_log_loss_of_scikit_learn_is_the_log_likelihood(name, fitted):
    models, X, y = fitted
    p = models[name].predict_proba(X)
    expected = -models[name].log_likelihood(X, y)
    assert log_loss(y, p) == pytest.approx(expected, rel=1e-9)


def test_small_probabilities_are_not_cut():
    """In float32 scikit-learn's log_loss cuts them at 1.2e-7, which made this one smaller."""
    X = np.array([[-1.0], [1.0]] * 50)
    y = np.array([0, 1] * 50)
    model = ImplicitSoftmaxRegressor(solver="exact", alpha=0, **STEEP).fit(X, y)
    model.coef_ = np.float32([[20.0]])
    p = model.predict_proba(X)
    assert 0 < p.min() < 1e-8
    assert log_loss(1 - y, p) == pytest.approx(-model.log_likelihood(X, 1 - y), rel=1e-9)
    assert log_loss(1 - y, p) > 19


@pytest.mark.parametrize("name", MODELS)
def test_what_does_not_fit_into_memory_is_counted_in_float64(name, fitted, monkeypatch):
    models, X, _ = fitted
    model, few = models[name], X[:100]
    size = 8 * 100 * len(model.classes_)
    monkeypatch.setenv("SKLEARN_XC_MEMORY_LIMIT", str(size - 1))
    with pytest.raises(MemoryError, match=r"dense output of shape \(100, "):
        model.predict_proba(few)
    monkeypatch.setenv("SKLEARN_XC_MEMORY_LIMIT", str(size))
    assert model.predict_proba(few).nbytes == size


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_labels_have_probabilities_in_float64(method):
    X, Y = make_xc_classification(400, 200, 20, n_labels=2.0, random_state=0)
    model = TopKCalibratedClassifier(method=method, cv=0.5).fit(X, Y)
    p = model.predict_proba(X)
    assert p.dtype == np.float64
    assert 0 < p.min() <= p.max() < 1
    _, best = model.predict_topk(X, 3, scores="proba")
    assert best.dtype == np.float32
    assert best.max() < 1
    np.testing.assert_allclose(best, -np.sort(-p, axis=1)[:, :3], rtol=1e-6)


def test_scores_in_blocks_give_the_same_probabilities(digits, monkeypatch):
    X, y = digits
    for model in (MODELS["softmax"], MODELS["ldgs"]):
        whole = model.fit(X[:200], y[:200]).predict_proba(X)
        monkeypatch.setattr("sklearn_xc.softmax._probabilities.SCORES_AT_ONCE", 70)
        np.testing.assert_array_equal(model.predict_proba(X), whole)
        monkeypatch.undo()

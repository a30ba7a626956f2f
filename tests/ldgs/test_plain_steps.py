"""Steps of one rate that LDGSClassifier takes on one label of a thousand classes and more a row."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import normalize

from sklearn_xc import LDGSClassifier

N_CLASSES = 1000


@pytest.fixture(scope="module")
def words():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(N_CLASSES), 4)
    own = rng.integers(2000, size=(N_CLASSES, 12))
    columns = own[y[:, None], rng.integers(12, size=(len(y), 6))]
    rows = np.repeat(np.arange(len(y)), 6)
    X = sparse.csr_array((np.ones(columns.size), (rows, columns.ravel())), shape=(len(y), 2000))
    return normalize(X).astype(np.float32), y


def fitted(X, y, **options):
    weight = options.pop("sample_weight", None)
    return LDGSClassifier(random_state=0, **options).fit(X, y, sample_weight=weight)


def test_they_learn_what_adagrad_does_not(words):
    X, y = words
    test = np.arange(len(y)) % 4 == 0
    ridge = {"alpha": 0.05 / np.sum(~test)}
    plain = fitted(X[~test], y[~test], **ridge)
    other = fitted(X[~test], y[~test], solver="adagrad", **ridge)
    assert plain.learning_rate_ == 10.0
    assert plain.score(X[test], y[test]) > other.score(X[test], y[test]) - 0.01
    own = np.arange(test.sum()), y[test]
    losses = [-np.log(m.predict_proba(X[test])[own]).mean() for m in (plain, other)]
    assert losses[0] < 0.95 * losses[1]


def test_neither_scale_nor_container_nor_a_factor_on_the_weights_matters(words):
    X, y = words
    plain = fitted(X, y, max_iter=2).decision_function(X)
    scaled = fitted(X * 1000, y, max_iter=2).decision_function(X * 1000)
    dense = fitted(X.toarray(), y, max_iter=2).decision_function(X)
    weight = np.full(len(y), 7.0)
    weighted = fitted(X, y, max_iter=2, sample_weight=weight).decision_function(X)
    for found in scaled, dense, weighted:
        np.testing.assert_allclose(found, plain, atol=2e-2 * np.abs(plain).max())


def test_rows_of_weight_zero_are_not_there(words):
    X, y = words
    weight = (np.arange(len(y)) % 4 != 1).astype(float)
    model = fitted(X, y, max_iter=3, sample_weight=weight)
    assert model.n_scored_ == N_CLASSES
    some = fitted(X, np.where(weight > 0, y, 0), max_iter=3, sample_weight=weight)
    np.testing.assert_array_equal(model.coef_[1:], some.coef_[1:])


def test_threads_change_nothing(words):
    models = [fitted(*words, max_iter=2, n_jobs=n) for n in (1, 2)]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)


@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_training_goes_on_by_parts_and_from_a_warm_start(words, kind):
    X, y = words
    if kind == "dense":
        X = X @ np.random.default_rng(0).normal(size=(2000, 30)).astype(np.float32)
    adagrad = fitted(X, y, solver="adagrad").partial_fit(X[:800], y[:800])
    model = fitted(X, y).partial_fit(X[:800], y[:800])
    assert model.score(X, y) > adagrad.score(X, y) - 0.01  # goes on as if it had begun so
    model = fitted(X, y, warm_start=True, max_iter=1)
    first = model.score(X, y)
    assert model.fit(X, y).score(X, y) > first


def test_early_stopping_keeps_the_passes_that_gained(words):
    model = fitted(*words, early_stopping=True, n_iter_no_change=2, max_iter=30)
    assert len(model.validation_scores_) == model.n_iter_ <= 30


def test_a_row_of_another_length_is_a_row_like_others(words):
    X, y = words
    X = sparse.csr_array(sparse.diags_array(np.where(np.arange(len(y)) == 11, 3e4, 1.0)) @ X)
    others = np.arange(len(y)) != 11
    assert fitted(X, y).score(X[others], y[others]) > 0.95

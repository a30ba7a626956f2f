"""Automatic settings of LDGSClassifier: independent of the scale of X, and good enough."""

import numpy as np
import pytest
from _full import rest_in_full
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_xc import LDGSClassifier


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:700], y[:700]


@pytest.mark.parametrize("options", [{}, {"hidden_dim": 8}, {"solver": "sgd"}, {"loss": "margin"}])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("factor", [1e-3, 1e4])
def test_the_scale_of_x_does_not_matter(kind, options, factor, digits, text):
    X, y = digits if kind == "dense" else text
    options = {"random_state": 0, "max_iter": 3} | options
    plain = LDGSClassifier(**options).fit(X, y)
    scaled = LDGSClassifier(**options).fit(X * factor, y)
    found, expected = scaled.decision_function(X * factor), plain.decision_function(X)
    np.testing.assert_allclose(found, expected, atol=2e-2 * np.abs(expected).max())
    assert scaled.learning_rate_ == plain.learning_rate_


def test_columns_may_have_units_of_their_own(digits):
    X, y = digits
    rng = np.random.default_rng(0)
    factors, shifts = 10.0 ** rng.integers(-3, 4, X.shape[1]), rng.normal(size=X.shape[1])
    other = (X + 10 * shifts) * factors
    plain = LDGSClassifier(random_state=0).fit(X[:500], y[:500])
    scaled = LDGSClassifier(random_state=0).fit(other[:500], y[:500])
    assert (plain.predict(X[500:]) == scaled.predict(other[500:])).mean() > 0.98


def test_distances_step_in_the_unit_of_the_rows(digits):
    X, y = digits
    rates = [
        LDGSClassifier(similarity="sqeuclidean", max_iter=1, random_state=0)
        .fit(c * X, y)
        .learning_rate_
        for c in (1, 10)
    ]
    assert rates[1] == pytest.approx(10 * rates[0])


@pytest.mark.parametrize(
    "load",
    rest_in_full([load_iris, load_wine, load_breast_cancer, load_digits], load_wine, load_iris),
)
def test_small_data_raw_or_not_are_learnt(load):
    X, y = load(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=1, stratify=y)
    best = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    model = LDGSClassifier(random_state=0).fit(X, y)
    error = 2 * np.sqrt(0.25 / len(y_test))
    assert model.score(X_test, y_test) > best.score(X_test, y_test) - 0.01 - error / 2
    losses = [log_loss(y_test, m.predict_proba(X_test)) for m in (model, best)]
    assert losses[0] < 1.3 * losses[1]


def test_what_was_chosen_is_told(digits, text):
    model = LDGSClassifier(random_state=0, max_iter=1).fit(*digits)
    assert (model.hidden_dim_, model.gradient_, model.learning_rate_) == (None, "exact", 10.0)
    assert model.alpha_ == pytest.approx(0.04 / 700)
    model.fit(*text)
    assert (model.hidden_dim_, model.gradient_, model.learning_rate_) == (None, "exact", 2.0)
    model.set_params(hidden_dim=7, gradient="mips", learning_rate=0.3, alpha=0.01).fit(*text)
    assert (model.hidden_dim_, model.gradient_, model.learning_rate_) == (7, "mips", 0.3)
    assert model.alpha_ == 0.01


def test_small_data_get_a_thousand_steps_at_least(text):
    X, y = text
    model = LDGSClassifier(random_state=0).fit(X[:64], y[:64])
    assert model.n_iter_ == 500
    assert LDGSClassifier(random_state=0, max_iter=4).fit(X, y).n_iter_ == 4


@pytest.mark.parametrize("loss", ["cross_entropy", "margin", "triplet"])
def test_mostly_zeros_are_one_model_in_any_container(text, loss):
    X, y = text
    options = {"random_state": 0, "max_iter": 2}
    some = LDGSClassifier(loss, **options).fit(X, y)
    other = LDGSClassifier(loss, **options).fit(X.toarray(), y)
    np.testing.assert_allclose(some.coef_, other.coef_, atol=1e-6)


@pytest.mark.parametrize(("share", "rate"), [(0.05, 2.0), (0.15, 10.0)])
def test_mostly_zeros_are_nine_entries_in_ten(share, rate):
    """Documented with `learning_rate`: its values for sparse and for dense samples."""
    rng = np.random.default_rng(0)
    X = (rng.random((200, 50)) < share) * rng.random((200, 50))
    for kept in (X, sparse.csr_array(X)):
        model = LDGSClassifier(max_iter=1, random_state=0).fit(kept, rng.integers(5, size=200))
        assert model.learning_rate_ == rate


def test_sparse_rows_without_a_layer_touch_their_features_only(text):
    X, y = text
    X = sparse.csr_array(sparse.hstack([X, sparse.csr_array((X.shape[0], 9))]))
    model = LDGSClassifier(random_state=0, max_iter=2, alpha=0.0).fit(X, y)
    assert model.coef_[:, :300].any(axis=0).mean() > 0.9
    assert not model.coef_[:, 300:].any()


@pytest.mark.parametrize("loss", ["cross_entropy", "triplet"])
def test_a_step_by_features_follows_the_gradient(loss):
    """The same step as that of dense rows, where rates are the same for all weights."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((40, 12), density=0.3, rng=rng, format="csr")
    y = rng.integers(5, size=40)
    options = {"solver": "sgd", "learning_rate": 0.1, "alpha": 0.1, "max_iter": 3}
    options |= {"gradient": "exact", "hidden_dim": None, "batch_size": 7, "random_state": 0}
    some = LDGSClassifier(loss, **options).fit(X, y)
    other = LDGSClassifier(loss, **options).fit(X.toarray(), y)
    assert some._state.form == "features"
    assert other._state.form == "rows"
    np.testing.assert_allclose(some.coef_, other.coef_, atol=1e-6)
    np.testing.assert_allclose(some.intercept_, other.intercept_, atol=1e-6)

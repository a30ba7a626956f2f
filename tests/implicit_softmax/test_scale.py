"""ImplicitSoftmaxRegressor on data of any scale: the same rows in other units, one model."""

import numpy as np
import pytest
from _full import rest_in_full
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from sklearn_xc import ImplicitSoftmaxRegressor

FORMS = {"dense": np.asarray, "sparse": lambda X: sparse.csr_array(np.where(X > 10, X, 0))}


@pytest.mark.parametrize("factor", rest_in_full([1e-6, 2.0**-10, 1e3], 1e-6, 1e3))
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("solver", ["auto", "implicit", "umax", "nce"])
def test_the_scale_of_x_changes_no_prediction(solver, form, factor):
    X, y = load_digits(return_X_y=True)
    X, y = FORMS[form](X[:600]), y[:600]
    options = {"solver": solver, "max_iter": 4, "random_state": 0}
    one = ImplicitSoftmaxRegressor(**options).fit(X, y)
    other = ImplicitSoftmaxRegressor(**options).fit(X * factor, y)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X * factor), atol=1e-3)
    assert other.learning_rate_ == pytest.approx(one.learning_rate_ / factor**2, rel=1e-4)
    assert other.alpha_ == pytest.approx(one.alpha_ * factor**2, rel=1e-4)


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_raw_columns_are_learnt_as_well_as_standardised_ones(load):
    X, X_test, y, y_test = train_test_split(
        *load(return_X_y=True), stratify=load().target, random_state=0
    )
    scaler = StandardScaler().fit(X)
    reference = LogisticRegression().fit(scaler.transform(X), y)
    model = ImplicitSoftmaxRegressor(random_state=0).fit(X, y)
    assert model.solver_ == "exact"
    assert model.alpha_.shape == (X.shape[1],)
    assert model.score(X_test, y_test) >= reference.score(scaler.transform(X_test), y_test) - 0.03
    log_p = reference.predict_log_proba(scaler.transform(X_test))
    assert -model.log_likelihood(X_test, y_test) <= 1.15 * -log_p[range(len(y_test)), y_test].mean()


@pytest.mark.parametrize("n_features", [34, 3000])
def test_sparse_columns_in_other_units_do_not_hide_the_rest(n_features):
    """Indicators beside an age and an income; few of very many columns in use."""
    rng = np.random.default_rng(0)
    y = np.arange(600) % 6
    place = 1.5 * rng.normal(size=(6, 4))[y] + rng.normal(size=(600, 4))
    indicators = np.eye(8)[np.clip(place * 1.5 + 4, 0, 7).astype(int)].reshape(600, 32)
    numbers = np.abs(rng.normal(40, 10, size=(600, 2))) * [1, 500]
    X = sparse.csr_array(np.hstack([indicators, numbers]))
    X.resize(600, n_features)
    model = ImplicitSoftmaxRegressor(random_state=0).fit(X[:400], y[:400])
    known = ImplicitSoftmaxRegressor(random_state=0).fit(X[:400, :32], y[:400])
    assert model.score(X[400:], y[400:]) > known.score(X[400:, :32], y[400:]) - 0.03
    assert model.alpha_.shape == (n_features,)
    again = ImplicitSoftmaxRegressor(random_state=0).fit(X[:400] * 100, y[:400])
    assert_close = np.testing.assert_allclose
    assert_close(again.predict_proba(X * 100), model.predict_proba(X), atol=1e-3)


@pytest.mark.parametrize("alpha", [30.0, 1000.0])
def test_a_ridge_of_one_strength_stays_one_on_raw_columns(alpha):
    """Coordinates change the way of the exact solver, not its optimum."""
    X, y = load_wine(return_X_y=True)
    scale = np.geomspace(1, 100, X.shape[1])
    inside = StandardScaler().fit_transform(X)
    X = inside * scale + 3 * scale

    def objective(weights):
        V, a = weights[:-3].reshape(3, -1), weights[-3:]
        scores = inside @ V.T + a
        p = softmax(scores, axis=1)
        losses = logsumexp(scores, axis=1) - scores[np.arange(len(y)), y]
        p[np.arange(len(y)), y] -= 1
        slope = p.T @ inside + alpha * V / scale**2
        value = losses.sum() + alpha / 2 * ((V / scale) ** 2).sum()
        return value, np.concatenate([slope.ravel(), p.sum(axis=0)])

    best = minimize(objective, np.zeros(3 * len(scale) + 3), jac=True, options={"maxiter": 5000})
    model = ImplicitSoftmaxRegressor("exact", alpha=alpha, max_iter=400, random_state=0).fit(X, y)
    assert model.alpha_ == alpha
    assert np.ndim(model._stream.coordinates.scale) == 1
    W = model.coef_.astype(float)
    found = np.concatenate([(W * scale).ravel(), model.intercept_ + W @ (3 * scale)])
    assert objective(found)[0] <= 1.02 * best.fun


@pytest.mark.parametrize("solver", ["auto", "implicit"])
def test_one_corrupt_row_does_not_decide(solver):
    X, y = load_digits(return_X_y=True)
    corrupt = X.copy()
    corrupt[7] *= 1e4
    model = ImplicitSoftmaxRegressor(solver, random_state=0).fit(corrupt, y)
    clean = ImplicitSoftmaxRegressor(solver, random_state=0).fit(X, y)
    assert model.intercept_scaling_ == pytest.approx(clean.intercept_scaling_, rel=1e-2)
    assert model.score(X, y) > clean.score(X, y) - 0.02


def test_small_data_get_a_thousand_steps():
    X, y = load_wine(return_X_y=True)
    model = ImplicitSoftmaxRegressor(random_state=0).fit(X, y)
    assert model.n_iter_ * -(-len(y) // 16) >= 1000
    assert model.n_iter_ > 10


def test_a_fit_that_ends_above_its_start_says_so():
    X, y = load_digits(return_X_y=True)
    model = ImplicitSoftmaxRegressor("umax", max_iter=2, learning_rate=0.01, random_state=0)
    with pytest.warns(ConvergenceWarning, match="above the 2.303 of weights of zero"):
        model.fit(X, y)

"""The ridge of LDGS: with either solver the documented objective is what is minimised."""

import numpy as np
import pytest
from _full import rest_in_full
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from sklearn_xc import LDGSClassifier

ALPHA = 0.01


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600] / 16, y[:600]


def scores(X, W, b, U=None, squared=False):
    E = X if U is None else X @ U
    if squared:
        return -((E[:, None] - W[None]) ** 2).sum(axis=2)
    return E @ W.T + b


def objective(X, y, W, b, U=None, squared=False, alpha=ALPHA):
    """Mean cross-entropy and alpha / 2 (||W||^2 + ||U||^2)."""
    z = scores(X, W, b, U, squared)
    loss = (logsumexp(z, axis=1) - z[np.arange(len(y)), y]).mean()
    square = (W**2).sum() + (0 if U is None else (U**2).sum())
    return loss + alpha / 2 * square


def of_model(model, X, y, **options):
    W, b = model.coef_.astype(float), model.intercept_.astype(float)
    U = model.input_embeddings_
    return objective(X, y, W, b, None if U is None else U.astype(float), **options)


@pytest.mark.parametrize("solver", ["adagrad", "sgd"])
@pytest.mark.parametrize(
    "options",
    [
        {"gradient": "exact"},
        *rest_in_full([{"gradient": "decomposed"}, {"gradient": "sampled", "query_size": 5}]),
    ],
)
def test_the_optimum_is_that_of_logistic_regression(digits, solver, options):
    X, y = digits
    best = LogisticRegression(C=1 / (ALPHA * len(y)), tol=1e-8, max_iter=5000).fit(X, y)
    lowest = objective(X, y, best.coef_, best.intercept_)
    assert lowest == pytest.approx(0.6848, abs=1e-4)
    for passes, above in ((30, 0.03), (300, 0.006)):
        model = LDGSClassifier(
            solver=solver, alpha=ALPHA, max_iter=passes, random_state=0, **options
        ).fit(X, y)
        assert lowest <= of_model(model, X, y) < lowest * (1 + above)


@pytest.mark.full
def test_more_passes_do_not_lead_away_from_the_optimum(digits):
    X, y = digits
    found = [
        of_model(
            LDGSClassifier(gradient="exact", alpha=ALPHA, max_iter=passes, random_state=0).fit(
                X, y
            ),
            X,
            y,
        )
        for passes in (300, 900)
    ]
    assert found[1] <= found[0] < 0.690


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("hidden_dim", [None, 5])
@pytest.mark.parametrize("gradient", rest_in_full(["exact", "decomposed"], "exact"))
def test_there_is_nothing_better_near_where_adagrad_ends(squared, hidden_dim, gradient):
    X, y = load_digits(n_class=6, return_X_y=True)
    X, y = normalize(X[:120]).astype(np.float64), y[:120]
    model = LDGSClassifier(
        similarity="sqeuclidean" if squared else "linear",
        hidden_dim=hidden_dim,
        gradient=gradient,
        alpha=ALPHA,
        max_iter=300,
        learning_rate=0.5,
        random_state=0,
    ).fit(X, y)
    parts = [model.coef_, model.intercept_]
    if hidden_dim:
        parts.append(model.input_embeddings_)
    ends = np.cumsum([part.size for part in parts])[:-1]

    def value_and_gradient(w):
        W, b, *U = (a.reshape(part.shape) for a, part in zip(np.split(w, ends), parts, strict=True))
        U = U[0] if U else None
        E = X if U is None else X @ U
        z = scores(X, W, b, U, squared)
        g = (softmax(z, axis=1) - np.eye(len(W))[y]) / len(y)
        if squared:
            of_W = 2 * (g.T @ E - g.sum(axis=0)[:, None] * W)
            of_E, of_b = 2 * (g @ W - g.sum(axis=1)[:, None] * E), 0 * b
        else:
            of_W, of_E, of_b = g.T @ E, g @ W, g.sum(axis=0)
        found = [of_W + ALPHA * W, of_b] + ([] if U is None else [X.T @ of_E + ALPHA * U])
        value = objective(X, y, W, b, U, squared)
        return value, np.concatenate([part.ravel() for part in found])

    start = np.concatenate([np.ravel(part) for part in parts]).astype(np.float64)
    best = minimize(value_and_gradient, start, jac=True, method="L-BFGS-B")
    assert value_and_gradient(start)[0] < best.fun * 1.01

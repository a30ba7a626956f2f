"""Exact steps of the probit and the logistic model against NumPy and the model itself."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import erfcx, expit
from softmax._reference import problem

from sklearn_xc.augment_reduce._noise_models import log_probability_of
from sklearn_xc.softmax._full_softmax import ExactSteps
from sklearn_xc.topk._feature_major import n_places
from sklearn_xc.utils._matrix import as_rows, normalise

pytestmark = pytest.mark.kernel
MODELS = ["probit", "logistic"]


def hazard(x, model):
    """phi / Phi."""
    if model == "probit":
        return np.sqrt(2 / np.pi) / erfcx(-x / np.sqrt(2))
    return expit(-x)


def curvature(x, model):
    h = hazard(x, model)
    return h * (h + x) if model == "probit" else h * (1 - h)


def means(scores, y, mu, beta, model):
    """E_q of the hazards and of their curvatures, with the own class left out, (n, K) each."""
    d = scores[np.arange(len(y)), y][:, None] - scores
    found = []
    for of in hazard, curvature:
        values = sum(of(d + e[:, None], model) for e in (mu - beta, mu + beta)) / 2
        values[np.arange(len(y)), y] = 0
        found.append(values)
    return found


def shorter(h):
    """Factors on gradients longer than twice the largest of all noises, about."""
    total = h.sum(axis=1)
    return np.minimum(1, 2 * np.sqrt(2 * np.log(n_places(h.shape[1]))) / total)


def steps_of(model, W, b, X, y, mu, beta, weight=None, n_threads=1, **options):
    rows = as_rows(normalise(sparse.csr_array(X)))
    options = {"alpha": 0.0, "intercept": 1.0, "adaptive": False} | options
    return ExactSteps(
        rows,
        y,
        weight,
        W,
        b,
        np.arange(len(y)),
        **options,
        n_threads=n_threads,
        noise=(model, mu, beta),
    )


@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("n_classes", [2, 70, 4200])
@pytest.mark.parametrize("model", MODELS)
def test_q_comes_to_its_optimum(model, n_classes, scale):
    X, y, _, W, b = problem(n_classes=n_classes)
    W *= scale
    mu, beta = np.full(37, 1.0), np.full(37, 0.5)
    steps = steps_of(model, W, b, X, y, mu, beta)
    for _ in range(30):
        steps.epoch(np.arange(37, dtype=np.int32), 5, 0.0)
    scores = X.astype(float) @ W[:, :n_classes] + b[:n_classes]
    h, c = means(scores, y, mu, beta, model)
    size = np.tanh(mu / 2)
    target, slope = (mu, 1) if model == "probit" else (size, (1 - size**2) / 2)
    np.testing.assert_allclose(h.sum(axis=1), target, rtol=2e-3, atol=1e-5)
    expected = np.maximum(c.sum(axis=1) + slope, 1 / 4)
    np.testing.assert_allclose(beta**-2, expected, rtol=5e-3)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("n_classes", [3, 70, 1300])
@pytest.mark.parametrize("model", MODELS)
def test_a_step_is_that_of_the_mean_hazards(model, n_classes, n_threads):
    X, y, weight, W, b = problem(n_classes=n_classes)
    mu, beta = np.full(37, 2.0), np.full(37, 0.5)
    order = np.arange(37, dtype=np.int32)
    for _ in range(60):
        steps_of(model, W, b, X, y, mu, beta).epoch(order, 37, 0.0)
    scores = X.astype(float) @ W[:, :n_classes] + b[:n_classes]
    h, _ = means(scores, y, mu, beta, model)
    gradient = h.copy()
    gradient[np.arange(37), y] = -h.sum(axis=1)
    gradient *= (weight * shorter(h))[:, None]
    expected = W[:, :n_classes] - 0.1 * X.T @ gradient
    of_b = b[:n_classes] - 0.1 * gradient.sum(axis=0)
    steps_of(model, W, b, X, y, mu, beta, weight, n_threads).epoch(order, 37, 0.1)
    np.testing.assert_allclose(W[:, :n_classes], expected, rtol=1e-3, atol=5e-4)
    np.testing.assert_allclose(b[:n_classes], of_b, rtol=1e-3, atol=5e-4)


@pytest.mark.parametrize("model", MODELS)
def test_rounded_steps_have_the_same_mean(model):
    n_classes = 4200
    X, y, _, W, b = problem(n_classes=n_classes)
    W *= 0.3
    mu, beta = np.full(37, 3.0), np.full(37, 0.3)
    order = np.arange(37, dtype=np.int32)
    for _ in range(60):
        steps_of(model, W, b, X, y, mu, beta).epoch(order, 37, 0.0)
    scores = X.astype(float) @ W[:, :n_classes] + b[:n_classes]
    h, _ = means(scores, y, mu, beta, model)
    gradient = h.copy()
    gradient[np.arange(37), y] = -h.sum(axis=1)
    gradient *= shorter(h)[:, None]
    found = np.zeros(n_classes)
    n_draws = 300
    for seed in range(n_draws):
        changed = b.copy()
        steps = steps_of(model, W.copy(), changed, X, y, mu.copy(), beta.copy())
        steps.epoch(order, 37, 0.1, seed)
        found += (b - changed)[:n_classes] / 0.1 / n_draws
    total = gradient.sum(axis=0)
    own = np.unique(y)
    np.testing.assert_allclose(found[own], total[own], rtol=0.05, atol=0.1)
    assert np.corrcoef(found, total)[0, 1] > 0.99


@pytest.mark.parametrize(("model", "least"), [("probit", 0.99), ("logistic", 0.98)])
@pytest.mark.parametrize("n_classes", [70, 1300])
def test_the_gradient_is_about_that_of_the_log_likelihood(model, least, n_classes):
    X, y, _, W, b = problem(n_classes=n_classes)
    mu, beta = np.full(37, 2.0), np.full(37, 0.5)
    order = np.arange(37, dtype=np.int32)
    for _ in range(60):
        steps_of(model, W, b, X, y, mu, beta).epoch(order, 37, 0.0)
    scores = np.float32(X.astype(float) @ W[:, :n_classes] + b[:n_classes])
    h, _ = means(scores.astype(float), y, mu, beta, model)
    for i in range(0, 37, 6):
        likely = np.argsort(-h[i])[:5]
        slopes = []
        for k in likely:
            moved = np.tile(scores[i], (2, 1))
            moved[:, k] += np.float32([-0.05, 0.05])
            p = log_probability_of(moved, np.full(2, y[i], dtype=np.int32), model, 1)
            slopes.append(-(p[1] - p[0]) / 0.1)
        cosine = np.dot(slopes, h[i, likely])
        cosine /= np.linalg.norm(slopes) * np.linalg.norm(h[i, likely])
        assert cosine > least


@pytest.mark.parametrize("model", MODELS)
def test_scores_of_any_size_give_finite_steps(model):
    X, y, weight, W, b = problem()
    W *= 1e28
    mu, beta = np.full(37, 2.0), np.full(37, 0.5)
    steps_of(model, W, b, X, y, mu, beta, weight).epoch(np.arange(37, dtype=np.int32), 7, 1e-9)
    assert np.isfinite(W[:, :70]).all()
    assert np.isfinite(mu).all()
    assert (beta > 0).all()

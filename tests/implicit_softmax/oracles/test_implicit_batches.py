"""Implicit steps on mini-batches against their defining problem (appendix F.3)."""

from itertools import combinations

import numpy as np
import pytest
from _full import rest_in_full
from _tiny import GO, K, Y, data_of, settings, tiny
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import logsumexp

from sklearn_xc._kernels.implicit_softmax._single_steps import solve_step
from sklearn_xc.implicit_softmax._implicit_batches import (
    ImplicitBatches,
    _Problem,
    draw_others,
    implicit_step,
)
from sklearn_xc.implicit_softmax._solvers import chance_of_touch

pytestmark = pytest.mark.kernel

CONTAINERS = {"dense": np.asarray, "sparse": sparse.csr_array}


def batch_problem(rng, n, labels, drawn, with_ridge):
    """Arguments of `implicit_step`, and what else its defining problem needs."""
    d, c = 6, labels + drawn
    X = rng.normal(size=(n, d)) * rng.choice([0.3, 1, 3])
    W, b = rng.normal(size=(c, d)), rng.normal(size=c)
    own = rng.integers(0, labels, size=n)
    own[:labels] = np.arange(labels)  # every label occurs, some twice
    log_factor = np.zeros(c)
    log_factor[labels:] = np.log(rng.uniform(1, 20))
    rate = 10 ** rng.uniform(-3, 2)
    shrinkage = 1 + rate * rng.uniform(0, 0.5, size=c) * with_ridge
    u, rates = rng.uniform(0, 3, size=n), rate * rng.uniform(0.5, 2, size=n)
    return X, W, b, own, log_factor, shrinkage, u, rates


def defining_problem(X, W, b, own, log_factor, shrinkage, u, rates, intercept):
    """Value and gradient of the objective of F.3 over (u, W, b) flattened, halved."""
    n = X.shape[0]
    rows = np.arange(n)

    def value(theta):
        new_u, new_W = theta[:n], theta[n : n + W.size].reshape(W.shape)
        new_b = theta[n + W.size :] if intercept else b
        psi = X @ new_W.T + new_b + log_factor
        log_terms = psi - psi[rows, own][:, None] - new_u[:, None]  # e^-u among them, at own
        terms = np.exp(np.minimum(log_terms, 300))
        target = W / shrinkage[:, None]
        f = rates @ (new_u + terms.sum(axis=1)) + ((new_u - u) ** 2).sum() / 2
        f += (shrinkage[:, None] * (new_W - target) ** 2).sum() / 2
        f += ((new_b - b) ** 2).sum() / 2 / (intercept**2 or 1)
        slope = rates[:, None] * terms
        of_u = rates - slope.sum(axis=1) + new_u - u
        slope[rows, own] = 0
        slope[rows, own] = -slope.sum(axis=1)
        of_W = slope.T @ X + shrinkage[:, None] * (new_W - target)
        of_b = slope.sum(axis=0) + (new_b - b) / (intercept**2 or 1)
        parts = [of_u, of_W.ravel()] + ([of_b] if intercept else [])
        return f, np.concatenate(parts)

    return value


@pytest.mark.parametrize("intercept", [0, 0.3, 1])
@pytest.mark.parametrize("with_ridge", [False, True])
@pytest.mark.parametrize("seed", rest_in_full(range(25), *range(8)))
def test_batch_step_is_the_brute_force_minimiser(seed, with_ridge, intercept):
    rng = np.random.default_rng(seed)
    n, labels, drawn = rng.integers(3, 8), rng.integers(1, 4), rng.integers(0, 4)
    X, W, b, own, log_factor, shrinkage, u, rates = batch_problem(rng, n, labels, drawn, with_ridge)
    lengths, shifts, new_u = implicit_step(
        X @ (W / shrinkage[:, None]).T + b,
        own,
        u,
        rates,
        log_factor,
        X @ X.T,
        shrinkage,
        intercept,
    )
    new_W = W / shrinkage[:, None] + lengths.T @ X
    value = defining_problem(X, W, b, own, log_factor, shrinkage, u, rates, intercept)
    found = np.concatenate([new_u, new_W.ravel()] + ([b + shifts] if intercept else []))
    at_found, gradient = value(found)
    start = np.concatenate([u, (W / shrinkage[:, None]).ravel()] + ([b] if intercept else []))
    options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-15, "gtol": 1e-9}
    best = minimize(value, start, jac=True, method="L-BFGS-B", options=options)
    assert at_found <= best.fun + 1e-7 * abs(best.fun)
    # the problem is 1-strongly convex: the gradient bounds the distance from its minimiser
    assert np.linalg.norm(gradient) <= 1e-4 * max(np.linalg.norm(found - start), 1e-3)


def test_batch_step_on_one_sample_and_class_is_the_scalar_one():
    rng = np.random.default_rng(0)
    for _ in range(200):
        x, W, b = rng.normal(size=5), rng.normal(size=(2, 5)), rng.normal(size=2)
        rate, u, n_others = 10 ** rng.uniform(-3, 3), rng.uniform(0, 5), rng.integers(1, 500)
        shrinkage = 1 + rng.uniform(0, 1, size=2) * rng.integers(0, 2)
        psi = W @ x / shrinkage + b
        curvature = (x @ x / shrinkage).sum() + 2
        g, new_u = solve_step(rate, psi[1] - psi[0], n_others, curvature, u)
        lengths, shifts, of_batch = implicit_step(
            psi[None],
            np.zeros(1, int),
            np.array([u]),
            np.array([rate]),
            np.log([1, n_others]),
            np.array([[x @ x]]),
            shrinkage,
            True,
            1e-10,
        )
        np.testing.assert_allclose(shifts, [g, -g], rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(lengths[0], [g, -g] / shrinkage, rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(of_batch, new_u, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("size", rest_in_full([1e-3, 1, 1e3, 1e6], 1e-3, 1e6))
@pytest.mark.parametrize("rate", rest_in_full([1e-3, 1, 1e3], 1e-3, 1e3))
def test_batch_step_is_finite_and_never_longer_than_the_vanilla_one(rate, size):
    rng = np.random.default_rng(0)
    for _ in range(10):
        X, W, b, own, log_factor, shrinkage, u, _ = batch_problem(rng, 6, 3, 3, False)
        scores, gram = size * X @ W.T + b, size**2 * X @ X.T
        lengths, shifts, new_u = implicit_step(
            scores, own, u, np.full(6, rate), log_factor, gram, shrinkage, True
        )
        length = np.linalg.norm(
            np.concatenate([(lengths.T @ (size * X)).ravel(), shifts, new_u - u])
        )
        assert np.isfinite(length)
        with np.errstate(over="ignore", invalid="ignore"):
            slope = np.exp(scores - scores[np.arange(6), own][:, None] - u[:, None] + log_factor)
            fall = 1 - slope.sum(axis=1)
            slope[np.arange(6), own] -= slope.sum(axis=1)
            vanilla = np.concatenate([(slope.T @ (size * X)).ravel(), slope.sum(axis=0), fall])
            longest = rate * np.linalg.norm(vanilla)
        assert not np.isfinite(longest) or length <= longest * (1 + 1e-5)


@pytest.mark.parametrize("rate", [1e6, 1e10, 1e12])
def test_batch_step_keeps_its_digits_at_the_largest_rates(rate, monkeypatch):
    """v is as large as the rate, and 1 - p as small: neither u nor the gradient may lose them."""
    rng = np.random.default_rng(0)
    points, point = [], _Problem.point
    monkeypatch.setattr(_Problem, "point", lambda self, x: points.append(1) or point(self, x))
    for _ in range(5):
        X = rng.normal(size=(10, 30))
        X /= np.linalg.norm(X, axis=1)[:, None]
        old = 3 * np.abs(rng.normal(size=10))
        log_factor = np.where(np.arange(14) < 10, 0, 5.0)
        scores, own = rng.normal(size=(10, 14)), np.arange(10)
        lengths, shifts, u = implicit_step(
            scores, own, old, np.full(10, rate), log_factor, X @ X.T, np.ones(14), 0.1
        )
        after = scores + X @ (X.T @ lengths) + shifts
        log_d = logsumexp(after + log_factor, axis=1) - after[np.arange(10), own]
        assert (u >= 0).all()
        # the first equation of the step: u + rate (1 - d e^-u) = u_old, divided by the rate
        np.testing.assert_allclose(np.expm1(log_d - u), (u - old) / rate, rtol=1e-3, atol=1e-14)
    assert len(points) < 5 * 100


def test_gradient_of_mini_batches_is_unbiased():
    """Tiny implicit steps are gradient steps: averaged over all draws they are the exact one."""
    X, W, b, u = tiny()
    batch, y = np.array([0, 1, 2]), Y[:3]
    labels = np.unique(y)
    others = [k for k in range(K) if k not in labels]
    rate, m = 1e-7, 1
    total = np.zeros((3, K))
    subsets = list(combinations(others, m))
    for drawn in subsets:
        classes = np.concatenate([labels, drawn]).astype(int)
        log_factor = np.r_[np.zeros(len(labels)), np.full(m, np.log(len(others) / m))]
        lengths, _, _ = implicit_step(
            (X[batch] @ W.T + b)[:, classes].astype(float),
            np.searchsorted(labels, y),
            u[:3],
            np.full(3, rate),
            log_factor,
            (X[batch] @ X[batch].T).astype(float),
            np.ones(len(classes)),
            False,
        )
        total[:, classes] += lengths / rate / len(subsets)
    psi = (X[batch] @ W.T + b).astype(float)
    slope = np.exp(psi - psi[np.arange(3), y][:, None] - u[:3, None])
    slope[np.arange(3), y] = 0
    slope[np.arange(3), y] = -slope.sum(axis=1)
    np.testing.assert_allclose(total.T @ X[batch], -slope.T @ X[batch], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("n_sampled", [1, 2, 9])
def test_ridge_of_fixed_mini_batches_is_unbiased(n_sampled):
    """Over all mini-batches and all draws a class is touched as often as beta_k says."""
    y, n_classes = np.array([0, 1, 1, 3, 3, 3, 0]), 6
    model = ImplicitBatches(
        data_of(np.zeros((7, 1), np.float32), y),
        n_classes,
        settings(batch_size=3, n_sampled=n_sampled, alpha=1.0, shuffle=False),
        0,
        1,
        GO,
    )
    touched = np.zeros(n_classes)
    for labels in model.labels:
        others = np.setdiff1d(np.arange(n_classes), labels)
        subsets = list(combinations(others, min(n_sampled, len(others))))
        for drawn in subsets:
            touched[[*labels, *drawn]] += 1 / len(subsets) / len(model.labels)
    assert [batch.tolist() for batch in model.batches] == [[0, 1, 2], [3, 4, 5], [6]]
    np.testing.assert_allclose(model.ridge, 1 / 3 / touched)


def test_chance_of_touch_counts_samples_and_draws():
    counts, q = np.array([5, 0, 3, 2]), np.array([0.4, 0.1, 0.3, 0.2])
    chance = np.zeros(4)
    for y in range(4):
        chance[y] += counts[y] / 10
        for k in range(4):
            if k != y:
                chance[k] += counts[y] / 10 * q[k] / (1 - q[y])
    np.testing.assert_allclose(chance_of_touch(counts, q), chance)


def test_classes_beside_the_labels_are_drawn_uniformly():
    rng = np.random.default_rng(0)
    labels, seen = np.array([0, 3, 4, 7]), np.zeros(9)
    for _ in range(2000):
        drawn = draw_others(labels, 9, 2, rng)
        assert len(set(drawn)) == 2
        seen[drawn] += 1
    assert not seen[labels].any()
    np.testing.assert_allclose(np.delete(seen, labels) / 2000, 2 / 5, atol=0.05)
    assert len(draw_others(np.arange(9), 9, 0, rng)) == 0


@pytest.mark.parametrize("container", CONTAINERS)
def test_fixed_mini_batches_follow_their_defining_problem(container):
    """A step through the estimator's own arrays: sparse columns, scales, intercepts."""
    X, W, b, u = tiny()
    alpha, rate = 0.4, 2.0
    model = ImplicitBatches(
        data_of(CONTAINERS[container](X), Y),
        K,
        settings(batch_size=3, n_sampled=1, alpha=alpha, shuffle=False),
        0,
        1,
        GO,
    ).begin((W.copy(), b.copy()))
    model.u[:] = u
    batch, drawn = model.batches[0], np.array([3])
    labels = model.labels[0]
    model.step(batch, labels, drawn, rate)
    classes = np.concatenate([labels, drawn])
    shrinkage = 1 + rate * model.ridge[classes]
    own = np.searchsorted(labels, Y[batch])
    log_factor = np.r_[np.zeros(len(labels)), np.log(K - len(labels))]
    value = defining_problem(
        X[batch].astype(float),
        W[classes].astype(float),
        b[classes].astype(float),
        own,
        log_factor,
        shrinkage,
        u[batch],
        np.full(3, rate),
        True,
    )
    new_W, new_b = model.weights()
    found = np.concatenate([model.u[batch], new_W[classes].ravel(), new_b[classes]])
    assert np.linalg.norm(value(found.astype(float))[1]) < 1e-5
    rest = np.setdiff1d(np.arange(K), classes)
    np.testing.assert_array_equal(new_W[rest], W[rest])

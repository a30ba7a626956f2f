"""Mini-batches of the double sum: unbiased coefficients, ridge, bounds."""

from itertools import combinations

import numpy as np
import pytest
from _tiny import GO, NONE, K, N, Y, data_of, settings
from scipy.optimize import approx_fprime
from scipy.special import log_expit, logsumexp

from sklearn_xc._kernels.implicit_softmax._coefficients import (
    double_sum,
    noise_contrastive,
    sampled_softmax,
)
from sklearn_xc.implicit_softmax._solvers import SampledBatches, SingleSteps

pytestmark = pytest.mark.kernel


def draws(n_sampled, own):
    return combinations([k for k in range(K) if k != own], n_sampled)


def losses(psi, y, u, raman):
    own = np.arange(len(y)), y
    if raman:
        return u - psi[own] + np.exp(psi - u[:, None]).sum(axis=1)
    return u + np.exp(psi - psi[own][:, None] - u[:, None]).sum(axis=1)


def vanilla(raman=False):
    """Settings of steps without bounds on u."""
    bounds = {"delta": np.inf, "lowest_u": -np.inf, "highest_u": np.inf}
    return {**bounds, "raman": raman, "distinct": True}


@pytest.mark.parametrize("raman", [False, True])
@pytest.mark.parametrize("n_sampled", [1, 2, 3])
def test_coefficients_of_the_double_sum_are_unbiased(raman, n_sampled):
    rng = np.random.default_rng(0)
    psi = rng.normal(size=(N, K))
    u, weight = rng.uniform(0.2, 2, size=N), rng.uniform(0.5, 2, size=N).astype(np.float32)
    gradient = np.array(
        [
            approx_fprime(
                psi[i], lambda p, i=i: losses(p[None], Y[i : i + 1], u[i : i + 1], raman)[0]
            )
            for i in range(N)
        ]
    )
    for i in range(N):
        found, moves = np.zeros(K), []
        for classes in draws(n_sampled, Y[i]):
            columns = [Y[i], *classes]
            coefs = np.empty((1, n_sampled + 1), dtype=np.float32)
            importance = np.full((1, n_sampled), (K - 1) / n_sampled, dtype=np.float32)
            new = u.copy()
            n_broken = double_sum(
                psi[i : i + 1, columns].astype(np.float32),
                importance,
                np.array([i], dtype=np.int32),
                weight,
                new,
                0.1,
                vanilla(raman),
                coefs,
                1,
            )
            assert n_broken == 0
            found[columns] += coefs[0]
            moves.append(new[i] - u[i])
        n_draws = len(moves)
        np.testing.assert_allclose(found / n_draws, -weight[i] * gradient[i], atol=1e-5)
        slope = losses(psi[i][None], Y[i : i + 1], u[i] + np.array([-1e-6, 1e-6]), raman)
        derivative = (slope[1] - slope[0]) / 2e-6
        np.testing.assert_allclose(np.mean(moves), -0.1 * weight[i] * derivative, atol=1e-5)


def noise_loss(psi, y, q, n):
    """The loss of noise contrastive estimation, exact over the noise."""
    nu = np.log(n * q)
    return -log_expit(psi[y] - nu[y]) - n * (q * log_expit(nu - psi)).sum()


@pytest.mark.parametrize("n_sampled", [1, 2, 3])
def test_noise_contrastive_coefficients_are_unbiased(n_sampled):
    rng = np.random.default_rng(1)
    psi, q = rng.normal(size=K) - 1, np.full(K, 1 / K)
    for own in range(K):
        gradient = approx_fprime(psi, lambda p, own=own: noise_loss(p, own, q, n_sampled))
        found, n_draws = np.zeros(K), 0
        for classes in draws(n_sampled, own):
            columns = [own, *classes]
            coefs = np.empty((1, n_sampled + 1), dtype=np.float32)
            noise_contrastive(
                psi[None, columns].astype(np.float32),
                np.full((1, n_sampled), (K - 1) / n_sampled, dtype=np.float32),
                np.zeros(1, dtype=np.int32),
                NONE,
                q[[own]],
                coefs,
                1,
            )
            found[columns] += coefs[0]
            n_draws += 1
        np.testing.assert_allclose(found / n_draws, -gradient, atol=1e-5)


def test_noise_contrastive_coefficients_with_frequencies():
    """One class drawn for a sample, from a distribution that is not uniform."""
    rng = np.random.default_rng(1)
    psi, q, own = rng.normal(size=K) - 1, np.array([0.4, 0.3, 0.2, 0.1]), 1
    gradient = approx_fprime(psi, lambda p: noise_loss(p, own, q, 1))
    found = np.zeros(K)
    for k in (0, 2, 3):
        chance = q[k] / (1 - q[own])
        coefs = np.empty((1, 2), dtype=np.float32)
        noise_contrastive(
            psi[None, [own, k]].astype(np.float32),
            np.array([[1 / chance]], dtype=np.float32),
            np.zeros(1, dtype=np.int32),
            NONE,
            q[[own]],
            coefs,
            1,
        )
        found[[own, k]] += chance * coefs[0]
    np.testing.assert_allclose(found, -gradient, atol=1e-5)


def test_sampled_softmax_coefficients_are_its_gradient():
    rng = np.random.default_rng(2)
    psi, importance = rng.normal(size=(N, 4)) * 5, rng.uniform(0.5, 9, size=(N, 3))
    weight = rng.uniform(0.5, 2, size=N).astype(np.float32)
    coefs = np.empty((N, 4), dtype=np.float32)
    batch = np.array([2, 0, 3, 1], dtype=np.int32)
    sampled_softmax(psi.astype(np.float32), importance.astype(np.float32), batch, weight, coefs, 2)
    for i in range(N):

        def loss(p, i=i):
            return logsumexp(p, b=np.append(1, importance[i])) - p[0]

        gradient = approx_fprime(psi[i], loss)
        np.testing.assert_allclose(coefs[i], -weight[batch[i]] * gradient, atol=1e-4)


def test_umax_of_several_classes_raises_u_to_its_bound():
    psi = np.array([[0, 5, 6], [0, -3, -4]], dtype=np.float32)
    batch, importance = np.arange(2, dtype=np.int32), np.full((2, 2), 5.0, dtype=np.float32)
    for distinct in (True, False):
        u, coefs = np.zeros(2), np.empty((2, 3), dtype=np.float32)
        bounded = {"delta": 1.0, "lowest_u": 0, "highest_u": np.inf, "raman": False}
        bounded["distinct"] = distinct
        double_sum(psi, importance, batch, NONE, u, 0.0, bounded, coefs, 1)
        bound = logsumexp([0, 5, 6]) if distinct else logsumexp([0, 6])
        np.testing.assert_allclose(u, [bound, 0], rtol=1e-6)
        np.testing.assert_allclose(coefs[0, 1:], -5 * np.exp(psi[0, 1:] - bound), rtol=1e-5)


@pytest.mark.parametrize("value", [1e30, -1e30, 3e38])
def test_extreme_scores_do_not_break_the_bounded_objectives(value):
    psi = np.array([[0, value, 1], [value, 0, 1]], dtype=np.float32)
    batch, importance = np.arange(2, dtype=np.int32), np.full((2, 2), 5.0, dtype=np.float32)
    coefs = np.empty((2, 3), dtype=np.float32)
    assert sampled_softmax(psi, importance, batch, NONE, coefs, 1) == 0
    assert (np.abs(coefs) <= 1).all()
    assert noise_contrastive(psi, importance, batch, NONE, np.full(2, 0.1), coefs, 1) == 0
    assert (np.abs(coefs) <= 1).all()


def test_vanilla_overflow_is_counted():
    psi = np.array([[0, 1000, 0], [0, 0, 0]], dtype=np.float32)
    batch, importance = np.arange(2, dtype=np.int32), np.full((2, 2), 5.0, dtype=np.float32)
    coefs = np.empty((2, 3), dtype=np.float32)
    u = np.zeros(2)
    assert double_sum(psi, importance, batch, NONE, u, 1.0, vanilla(), coefs, 1) == 1


@pytest.mark.parametrize("solver", ["umax", "sgd", "nce", "importance", "one_vs_each"])
@pytest.mark.parametrize("sampling", ["uniform", "frequency"])
def test_threads_do_not_change_a_mini_batch(solver, sampling):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 20)).astype(np.float32) / 5
    data = data_of(X, rng.integers(0, 30, size=3000))
    results = []
    for n_threads in (1, 3):
        model = SampledBatches(
            data,
            30,
            settings(solver, batch_size=1000, n_sampled=5, sampling=sampling, alpha=0.1),
            7,
            n_threads,
            GO,
        ).begin()
        for epoch in range(2):
            model.epoch(epoch, 0.01)
        results.append(model.weights())
    for some, other in zip(*results, strict=True):
        np.testing.assert_array_equal(some, other)
    assert np.abs(results[0][0]).max() > 0


def test_ridge_of_mini_batches_is_that_of_every_step():
    """With samples that have no features, weights only shrink: by all steps, touched or not."""
    X = np.zeros((40, 3), dtype=np.float32)
    start = np.ones((6, 3), dtype=np.float32), np.zeros(6, dtype=np.float32)
    alpha, rate = 0.5, 0.3
    model = SampledBatches(
        data_of(X, np.arange(40) % 6),
        6,
        settings("importance", batch_size=7, n_sampled=2, alpha=alpha),
        0,
        1,
        GO,
    ).begin(start)
    model.epoch(0, rate)
    model.epoch(1, rate)
    W, _ = model.weights()
    np.testing.assert_allclose(W, (1 - rate * alpha / 6) ** 12, rtol=1e-5)


def test_norms_stay_in_the_ball_of_umax():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200, 5)).astype(np.float32)
    data = data_of(X, rng.integers(0, 4, size=200))
    options = {"alpha": 2000.0, "intercept": 0.0}  # B_W = 0.53
    for model in (
        SampledBatches(data, 4, settings("umax", batch_size=20, n_sampled=2, **options), 0, 1, GO),
        SingleSteps(data, 4, settings("umax", **options), 0, 1, GO),
    ):
        model.begin()
        np.testing.assert_allclose(model.projection.radius, np.sqrt(0.2 * np.log(4)))
        radius = 0.02  # the ridge alone would keep the weights in the larger ball
        model.projection = model.projection._replace(radius=radius)
        for epoch in range(3):
            model.epoch(epoch, 0.01)
        norms = np.linalg.norm(model.weights()[0], axis=1)
        assert (norms <= radius * (1 + 1e-5)).all()
        assert norms.max() > 0.95 * radius

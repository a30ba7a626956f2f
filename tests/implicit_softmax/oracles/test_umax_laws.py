"""The lemmas and theorems of the U-max paper, as laws of its solvers (appendices A, D and F)."""

import numpy as np
import pytest
from _tiny import GO, data_of, settings
from scipy.optimize import minimize
from scipy.special import logsumexp

from sklearn_xc._kernels.implicit_softmax._single_steps import solve_step
from sklearn_xc.implicit_softmax._solvers import SingleSteps, projection

N, D, K = 5, 3, 4
SEEDS = range(6)


def problem(seed):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(N, D)) * rng.choice([0.1, 0.3])).astype(np.float32)
    return X, rng.integers(0, K, size=N).astype(np.int32), float(rng.choice([2.0, 20.0]))


def differences(X, y, W):
    """psi_k - psi_y, (N, K)."""
    psi = X.astype(float) @ W.T
    return psi - psi[np.arange(N), y][:, None]


def double_sum(X, y, alpha, u, W):
    """f of eq. 5."""
    z = differences(X, y, W)
    z[np.arange(N), y] = -np.inf
    terms = u + np.exp(-u) + np.exp(z - u[:, None]).sum(axis=1)
    return terms.sum() + alpha / 2 * (W**2).sum()


def best_u(X, y, W):
    return logsumexp(differences(X, y, W), axis=1)


def optimum(X, y, alpha):
    def value(flat):
        W = flat.reshape(K, D)
        return best_u(X, y, W).sum() + alpha / 2 * (W**2).sum()

    found = minimize(value, np.zeros(K * D), method="BFGS", options={"gtol": 1e-8})
    return found.x.reshape(K, D)


def bounds(X, y, alpha, raman=False):
    """The sets that U-max projects on, B_W and B_u among them."""
    found = projection(
        data_of(X, y),
        K,
        settings("umax", alpha=alpha, intercept=0.0, raman=raman),
        data_of(X, y).rows.squared_norms(),
        N,
    )
    return found.lowest_u, found.highest_u, found.radius


def points(rng, radius, highest):
    """Weights in the ball, also far out, and u in its interval."""
    W = rng.normal(size=(K, D))
    W *= radius * rng.uniform() ** 0.2 / np.linalg.norm(W)
    return W, rng.uniform(0, highest, size=N)


def gradients(X, y, alpha, u, W, i, k):
    """The gradient of f_ik (eq. 7) by u_i, w_k and w_y."""
    x, own = X[i].astype(float), y[i]
    q = (K - 1) * np.exp(x @ (W[k] - W[own]) - u[i])
    n_own = (np.bincount(y, minlength=K) / N)[[k, own]]
    beta = 1 / (n_own + (1 - n_own) / (K - 1))
    of_u = N * (1 - np.exp(-u[i]) - q)
    return of_u, N * q * x + alpha * beta[0] * W[k], -N * q * x + alpha * beta[1] * W[own]


def largest_gradient(X, y, alpha):
    """B_f of lemma 4."""
    _, highest, radius = bounds(X, y, alpha)
    longest = np.sqrt(data_of(X, y).rows.squared_norms().max())
    share = np.bincount(y, minlength=K) / N
    beta = (1 / (share + (1 - share) / (K - 1))).max()
    of_u = N * max(1, np.exp(highest) - 1)
    return of_u + 2 * (N * np.exp(highest) * longest + alpha * beta * radius)


@pytest.mark.parametrize("seed", SEEDS)
def test_lemmas_1_and_2_the_sets_contain_the_optimum(seed):
    X, y, alpha = problem(seed)
    W = optimum(X, y, alpha)
    lowest, highest, radius = bounds(X, y, alpha)
    assert np.linalg.norm(W) <= radius
    u = best_u(X, y, W)
    assert ((lowest <= u) & (u <= highest)).all()
    lowest, highest, _ = bounds(X, y, alpha, raman=True)
    u = logsumexp(X.astype(float) @ W.T, axis=1)
    assert ((lowest <= u) & (u <= highest)).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_lemma_3_strong_convexity(seed):
    """Along any line f bends by min(e^-B_u, alpha) at least."""
    X, y, alpha = problem(seed)
    _, highest, radius = bounds(X, y, alpha)
    rng = np.random.default_rng(seed)
    for _ in range(30):
        W, u = points(rng, radius, highest)
        V, v = rng.normal(size=(K, D)), rng.normal(size=N)
        length = np.sqrt((V**2).sum() + (v**2).sum())
        h = 1e-3 / length
        at = [double_sum(X, y, alpha, u + s * v, W + s * V) for s in (-h, 0, h)]
        bend = (at[0] - 2 * at[1] + at[2]) / (h * length) ** 2
        assert bend >= min(np.exp(-highest), alpha) * (1 - 1e-3) - 1e-5


@pytest.mark.parametrize("seed", SEEDS)
def test_lemma_4_gradients_are_bounded(seed):
    X, y, alpha = problem(seed)
    _, highest, radius = bounds(X, y, alpha)
    rng = np.random.default_rng(seed)
    bound = largest_gradient(X, y, alpha)
    for _ in range(30):
        W, u = points(rng, radius, highest)
        for i in range(N):
            for k in set(range(K)) - {y[i]}:
                parts = gradients(X, y, alpha, u, W, i, k)
                assert np.sqrt(sum(np.sum(np.square(part)) for part in parts)) <= bound


@pytest.mark.parametrize("delta", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_lemma_5_raising_u_lowers_the_objective(seed, delta):
    X, y, alpha = problem(seed)
    rng = np.random.default_rng(seed)
    for _ in range(20):
        W = rng.normal(size=(K, D)) * 3
        i, k = rng.integers(N), rng.integers(K - 1)
        k += k >= y[i]
        bound = np.logaddexp(0, differences(X, y, W)[i, k])
        u = rng.uniform(0, 3, size=N)
        u[i] = bound - delta - rng.uniform(0, 1)
        raised = u.copy()
        raised[i] = bound
        gain = double_sum(X, y, alpha, u, W) - double_sum(X, y, alpha, raised, W)
        assert gain >= delta**2 / 2 - 1e-12 * abs(double_sum(X, y, alpha, u, W))


@pytest.mark.parametrize("delta", [0.3, 0.5])
@pytest.mark.parametrize("seed", SEEDS)
def test_theorem_1_a_step_of_umax_ends_no_higher_than_a_vanilla_one(seed, delta):
    """At rates of up to delta^2 / 4 B_f^2; ours are N times the paper's."""
    X, y, alpha = problem(seed)
    _, highest, radius = bounds(X, y, alpha)
    rate = N * delta**2 / (4 * largest_gradient(X, y, alpha) ** 2)
    rng = np.random.default_rng(seed)
    raised = 0
    for _ in range(20):
        W, u = points(rng, radius, highest)
        W = W.astype(np.float32)
        u = np.zeros(N)  # below log(1 + e^z) by more than delta where z is not far below zero
        one = np.array([rng.integers(N)], dtype=np.int32)
        reached = {}
        for solver in ("umax", "sgd"):
            made = settings(solver, alpha=alpha, intercept=0.0, delta=delta)
            model = SingleSteps(data_of(X, y), K, made, seed, 1, GO)
            model.begin((W.copy(), np.zeros(K, np.float32)))
            model.u, model.visited = u.copy(), one  # a single step
            model.epoch(0, rate)
            V = model.weights()[0].astype(float)
            reached[solver] = double_sum(X, y, alpha, model.u, V)
            raised += solver == "umax" and abs(model.u - u).max() > delta / 2
        assert reached["umax"] <= reached["sgd"] + 1e-5 * abs(reached["sgd"])
        if abs(reached["umax"] - reached["sgd"]) > 1e-4:
            assert reached["umax"] < reached["sgd"]
    assert raised


@pytest.mark.parametrize("rate", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("curvature", [0.1, 2.0, 100.0])
def test_proposition_2_implicit_steps_grow_linearly(rate, curvature):
    """(1 + c) g + log g <= z - u + rate + log(rate n_others), where vanilla steps grow like e^z."""
    n_others, old = 50, 1.5
    z = np.linspace(-50, 5000, 300)
    steps = np.array([solve_step(rate, value, n_others, curvature, old)[0] for value in z])
    bound = (z - old + rate + np.log(rate * n_others)) / (1 + curvature)
    assert (steps <= np.maximum(1, bound) * (1 + 1e-9)).all()
    far = np.array([solve_step(rate, v, n_others, curvature, old)[0] for v in (1e6, 2e6)])
    assert np.diff(far)[0] * (1 + curvature) == pytest.approx(1e6, rel=1e-3)

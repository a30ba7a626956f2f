"""Steps of ImplicitSoftmaxRegressor against their defining problems and NumPy references."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import approx_fprime, minimize
from scipy.special import log_expit, logsumexp

from sklearn_xc._double_sum import (
    Data,
    SampledBatches,
    Settings,
    SingleSteps,
    chance_of_touch,
    squared_norms,
)
from sklearn_xc._implicit_batch import ImplicitBatches, draw_others, implicit_step
from sklearn_xc._kernels._double_sum import double_sum, noise_contrastive, sampled_softmax
from sklearn_xc._kernels._implicit import run_steps, solve_step
from sklearn_xc._rows import as_rows
from sklearn_xc._sampling import ClassSampler

NONE = np.empty(0, dtype=np.float32)
NO_DOUBLES = np.empty(0)
GO = np.zeros(1, dtype=np.int32)
METHODS = {"implicit": 0, "umax": 1, "sgd": 2}
N, D, K = 4, 3, 4
Y = np.array([0, 2, 2, 1], dtype=np.int32)
CONTAINERS = {"dense": np.asarray, "sparse": sparse.csr_array}

rates = st.floats(-3, 3).map(lambda e: 10**e)
scores = st.floats(-60, 60)


def tiny(seed=0):
    """Rows (one of them empty), weights, intercepts and auxiliary variables."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D)).astype(np.float32)
    X[1, 1] = 0
    X[3] = 0
    W = rng.normal(size=(K, D)).astype(np.float32)
    b = rng.normal(size=K).astype(np.float32)
    return X, W, b, rng.uniform(0.2, 2, size=N)


def settings(solver="implicit", **changes):
    options = {
        "raman": False, "batch_size": 1, "n_sampled": 1, "sampling": "uniform", "alpha": 0.0,
        "delta": 1.0, "fit_intercept": True, "shuffle": True,
    }  # fmt: skip
    return Settings(solver=solver, **{**options, **changes})


def data_of(X, y, weight=NONE):
    return Data(as_rows(X), y.astype(np.int32), weight)


# -------------------------------------------------------------------------- the scalar equation


def half_objective(rate, z, rivals, curvature, u_old):
    """Half of what Proposition 4 minimises over u and a, the fall of z; exponents kept in range."""

    def value(point):
        u, a = point
        terms = np.exp(-u) + np.exp(min(np.log(rivals) + z - a - u, 600))
        return rate * (u + terms) + (u - u_old) ** 2 / 2 + a**2 / (2 * curvature)

    return value


@pytest.mark.parametrize("seed", range(300))
def test_scalar_step_is_the_brute_force_minimiser(seed):
    rng = np.random.default_rng(seed)
    rate, curvature = 10 ** rng.uniform(-3, 1.5), 10 ** rng.uniform(-2, 1)
    rivals, z, u_old = rng.integers(1, 1000), rng.normal(0, 3), rng.uniform(0, 8)
    g, u = solve_step(rate, z, rivals, curvature, u_old)
    value = half_objective(rate, z, rivals, curvature, u_old)
    options = {"xatol": 1e-8, "fatol": 1e-12, "maxiter": 1000}
    best = minimize(value, [u_old, 0.0], method="Nelder-Mead", options=options)
    assert value([u, g * curvature]) <= best.fun + 1e-9 * abs(best.fun)
    np.testing.assert_allclose([u, g * curvature], best.x, rtol=1e-3, atol=1e-3)


def assert_solves(rate, z, rivals, curvature, u_old):
    g, u = solve_step(rate, z, rivals, curvature, u_old)
    assert np.isfinite([g, u]).all()
    assert g >= 0
    assert u >= 0
    if g < 1e-300:  # at the end of the range of double
        assert np.log(rate * rivals) + z - u < -690
        return
    sides = np.log(g) + curvature * g + u, np.log(rate) + np.log(rivals) + z
    size = np.abs([np.log(g), curvature * g, u, z, np.log(rate), np.log(rivals)]).max()
    assert abs(sides[0] - sides[1]) <= 1e-8 * (1 + size)
    residual = rate * -np.expm1(-u) + (u - u_old) - g
    # how far the residual moves when u is off by its rounding
    slack = (1 + rate * np.exp(-u)) * 1e-9 * (1 + size) + 1e-9 * (g + u_old + u)
    assert abs(residual) <= slack


def test_scalar_step_solves_its_equations_in_extreme_draws():
    rng = np.random.default_rng(0)
    for _ in range(20_000):
        assert_solves(
            10 ** rng.uniform(-3, 3), rng.choice([1, 30, 3000]) * rng.normal(),
            rng.integers(1, 10**6), rng.choice([0, 10 ** rng.uniform(-8, 8)]),
            rng.choice([0, 10 ** rng.uniform(-6, 4)]),
        )  # fmt: skip


@given(rates, st.floats(-1e30, 1e30), st.integers(1, 10**6), st.floats(0, 1e24), st.floats(0, 1e6))
def test_scalar_step_is_finite(rate, z, rivals, curvature, u_old):
    g, u = solve_step(rate, z, rivals, curvature, u_old)
    assert np.isfinite([g, u]).all()
    assert g >= 0
    assert u >= 0


@given(rates, scores, st.integers(1, 10**5), st.floats(0.01, 100), st.floats(0, 20))
def test_scalar_step_is_never_longer_than_the_vanilla_one(rate, z, rivals, curvature, u_old):
    g, u = solve_step(rate, z, rivals, curvature, u_old)
    vanilla = rate * rivals * np.exp(z - u_old)
    fall = rate * -np.expm1(-u_old) - vanilla
    assert np.hypot(u - u_old, g * np.sqrt(curvature)) <= (
        np.hypot(fall, vanilla * np.sqrt(curvature)) * (1 + 1e-9) + 1e-9
    )


def test_scalar_step_without_features_moves_u_to_its_optimum():
    u = np.log(50.0) + 3
    for _ in range(200):
        _, u = solve_step(10.0, 0.0, 49, 0.0, u)
    np.testing.assert_allclose(u, np.log(50))


# ------------------------------------------------------------------ steps on one sample and class


def step(method, X, W, b, u, order, rate, *, rival=None, ridge=NO_DOUBLES, weight=NONE,
         log_weight=None, raman=False, intercept=True, delta=1.0, lowest_u=-np.inf,
         highest_u=np.inf, radius=np.inf, seed=0, y=Y):  # fmt: skip
    """Copies of W, b and u after steps; `rival` forces the class drawn."""
    n_classes = len(W)
    W, b, u = W.copy(), b.copy(), u.copy()
    scale, rows = np.ones(n_classes), as_rows(X)
    norms = (W.astype(float) ** 2).sum(axis=1) if np.isfinite(radius) else NO_DOUBLES
    sampler = NO_DOUBLES, np.empty(0, np.int32), NO_DOUBLES, NO_DOUBLES
    if rival is not None:
        log_weight = np.log(n_classes - 1) if log_weight is None else log_weight
        alias = np.full(n_classes, rival, dtype=np.int32)
        logs = np.full(n_classes, -log_weight), np.zeros(n_classes)
        sampler = np.zeros(n_classes), alias, *logs
    options = {
        "method": METHODS[method], "raman": raman, "intercept": intercept, "rate": rate,
        "delta": delta, "lowest_u": lowest_u, "highest_u": highest_u, "radius": radius,
        "seed": seed,
    }  # fmt: skip
    n_steps = run_steps(
        *rows[:4], np.asarray(order, dtype=np.int32), y, weight, squared_norms(rows), ridge,
        *sampler, options, 0, W, b, scale, norms, u, GO,
    )  # fmt: skip
    if len(norms):
        true = W * scale[:, None]
        np.testing.assert_allclose(norms, (true.astype(float) ** 2).sum(axis=1), rtol=1e-4)
    return W * scale[:, None], b, u, n_steps


def full_gradient(X, W, b, u, alpha, weight, raman=False):
    """Of the double sum with respect to W, b and u, in float64."""
    X, W, b = X.astype(float), W.astype(float), b.astype(float)
    psi = X @ W.T + b
    base = psi * 0 if raman else psi[np.arange(N), Y][:, None]
    terms = np.exp(psi - base - u[:, None])
    own = np.zeros_like(psi)
    own[np.arange(N), Y] = 1
    if raman:
        slope = terms - own
        fall = 1 - terms.sum(axis=1)
    else:
        terms[np.arange(N), Y] = 0
        slope = terms - own * terms.sum(axis=1, keepdims=True)
        fall = 1 - np.exp(-u) - terms.sum(axis=1)
    slope *= weight[:, None]
    return slope.T @ X + alpha * W, slope.sum(axis=0), fall * weight


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("raman", [False, True])
@pytest.mark.parametrize("sampling", ["uniform", "frequency"])
def test_single_steps_are_unbiased(container, raman, sampling):
    X, W, b, u = tiny()
    alpha, rate = 0.7, 0.1
    weight = np.array([1, 0.5, 2, 1.5], dtype=np.float32)
    counts = np.bincount(Y, minlength=K)
    q = ClassSampler(sampling, counts, 1).probability
    ridge = alpha / N / chance_of_touch(counts, q)
    moved = [np.zeros((K, D)), np.zeros(K), np.zeros(N)]
    for i, k in product(range(N), range(K)):
        if k == Y[i]:
            continue
        chance = q[k] / (1 - q[Y[i]])
        new = step(
            "sgd", CONTAINERS[container](X), W, b, u, [i], rate, rival=k, ridge=ridge,
            weight=weight, log_weight=-np.log(chance), raman=raman,
        )  # fmt: skip
        for total, after, before in zip(moved, new[:3], (W, b, u), strict=True):
            total += chance / N * (after.astype(float) - before)
    gradient = full_gradient(X, W, b, u, alpha, weight, raman)
    for total, part in zip(moved, gradient, strict=True):
        np.testing.assert_allclose(total, -rate / N * part, atol=2e-7)


def test_draws_are_uniform_over_the_other_classes():
    X, W, b, u = tiny()
    n_draws = 3000
    drawn = np.zeros(K, dtype=int)
    for seed in range(n_draws):
        _, new, _, _ = step("sgd", X, W, b, u, [0], 0.1, seed=seed)
        drawn += new < b
    assert drawn[Y[0]] == 0
    np.testing.assert_allclose(np.delete(drawn, Y[0]) / n_draws, 1 / (K - 1), atol=0.04)


def reference_step(X, W, b, u, i, k, rate, alpha_k, alpha_y):
    """The defining problem of an implicit step in all its variables, by Newton's method on them."""
    x, y = X[i].astype(float), Y[i]
    old = np.concatenate([[u[i]], W[y], [b[y]], W[k], [b[k]]]).astype(float)
    along = np.concatenate([[-1], -x, [-1], x, [1]])
    penalty = np.concatenate([[0], np.full(D, alpha_y), [0], np.full(D, alpha_k), [0]])
    point = old.copy()

    def gradient(p):
        e = rate * (K - 1) * np.exp(along @ p)
        from_u = np.zeros_like(p)
        from_u[0] = rate * -np.expm1(-p[0])
        return from_u + e * along + rate * penalty * p + (p - old)

    for _ in range(200):
        if np.linalg.norm(gradient(point)) < 1e-11:
            break
        e = rate * (K - 1) * np.exp(along @ point)
        hessian = np.diag(1 + rate * penalty) + e * np.outer(along, along)
        hessian[0, 0] += rate * np.exp(-point[0])
        direction = -np.linalg.solve(hessian, gradient(point))
        length = 1.0
        while (
            np.linalg.norm(gradient(point + length * direction))
            > (1 - length / 4) * np.linalg.norm(gradient(point))
            and length > 1e-6
        ):
            length /= 2
        point = point + length * direction
    assert np.linalg.norm(gradient(point)) < 1e-8
    return point


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("alpha", [0.0, 0.3])
@pytest.mark.parametrize("rate", [1e-3, 0.1, 1.0, 30.0, 1000.0])
def test_implicit_step_solves_its_defining_problem(container, alpha, rate):
    for seed, (i, k) in enumerate(product(range(N), range(K))):
        if k == Y[i]:
            continue
        X, W, b, u = tiny(seed)
        ridge = np.array([0.5, 1, 2, 3]) * alpha if alpha else NO_DOUBLES
        new_W, new_b, new_u, _ = step(
            "implicit", CONTAINERS[container](X), W, b, u, [i], rate, rival=k, ridge=ridge
        )
        of_y, of_k = (ridge[Y[i]], ridge[k]) if alpha else (0, 0)
        best = reference_step(X, W, b, u, i, k, rate, of_k, of_y)
        y = Y[i]
        found = np.concatenate([[new_u[i]], new_W[y], [new_b[y]], new_W[k], [new_b[k]]])
        np.testing.assert_allclose(found, best, rtol=2e-5, atol=2e-5)
        untouched = [c for c in range(K) if c not in (y, k)]
        np.testing.assert_array_equal(new_W[untouched], W[untouched])


@given(st.integers(0, 1000), rates, st.sampled_from([0.0, 0.1, 10.0]))
def test_steps_are_finite_and_never_longer_than_the_vanilla_one(seed, rate, alpha):
    X, W, b, u = tiny(seed)
    i, k = 0, 1 + seed % (K - 1)
    ridge = np.full(K, alpha) if alpha else NO_DOUBLES
    new_W, new_b, new_u, n_steps = step("implicit", X, W, b, u, [i], rate, rival=k, ridge=ridge)
    assert n_steps == 1
    length = np.sqrt(((new_W - W) ** 2).sum() + ((new_b - b) ** 2).sum() + ((new_u - u) ** 2).sum())
    e = (K - 1) * np.exp(X[i] @ (W[k] - W[0]) + b[k] - b[0] - u[i])
    gradient = np.concatenate(
        [[1 - np.exp(-u[i]) - e, e, e], e * X[i] + alpha * W[k], -e * X[i] + alpha * W[0]]
    )
    assert length <= rate * np.linalg.norm(gradient) * (1 + 1e-5) + 1e-5


@pytest.mark.parametrize("method", METHODS)
def test_ridge_is_lazy_but_exact(method):
    """Many steps with so strong a ridge that scales are folded, against plain float64 weights."""
    X, W, b, u = tiny()
    W, b, y = W[:2], b[:2], np.array([0, 1, 1, 0], dtype=np.int32)
    order, rate, ridge = np.arange(400) % N, 0.2, np.array([0.4, 0.6])
    got = step(method, sparse.csr_array(X), W, b, u, order, rate, ridge=ridge, y=y, delta=np.inf)
    W, b, u = W.astype(float), b.astype(float), u.copy()
    for i in order:
        own, k = y[i], 1 - y[i]
        x = X[i].astype(float)
        if method == "implicit":
            W[own] /= 1 + rate * ridge[own]
            W[k] /= 1 + rate * ridge[k]
            parts = x @ x / (1 + rate * ridge)
            z = x @ (W[k] - W[own]) + b[k] - b[own]
            g, u[i] = solve_step(rate, z, 1, parts.sum() + 2, u[i])
            W[own] += g / (1 + rate * ridge[own]) * x
            W[k] -= g / (1 + rate * ridge[k]) * x
        else:
            z = x @ (W[k] - W[own]) + b[k] - b[own]
            g = rate * np.exp(z - u[i])
            u[i] -= rate * (1 - np.exp(-u[i])) - g
            W[own] = (1 - rate * ridge[own]) * W[own] + g * x
            W[k] = (1 - rate * ridge[k]) * W[k] - g * x
        b[own] += g
        b[k] -= g
    for found, expected in zip(got[:3], (W, b, u), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


def test_umax_raises_u_and_projects():
    X, W, b, u = tiny()
    W, b = 40 * W, 0 * b
    u[:] = 0
    z = X[0] @ (W[1:] - W[0]).T
    k = 1 + int(np.argmax(z))
    assert z[k - 1] > 5
    bound = np.logaddexp(0, z[k - 1])
    rate = 1e-3
    _, _, vanilla, _ = step("umax", X, W, b, u, [0], rate, rival=k, delta=1e9)
    _, _, raised, _ = step("umax", X, W, b, u, [0], rate, rival=k)
    expected = bound - rate * (1 - np.exp(-bound) - (K - 1) * np.exp(z[k - 1] - bound))
    np.testing.assert_allclose(raised[0], expected, rtol=1e-5)
    assert vanilla[0] > raised[0]  # a gradient of e^z
    _, _, capped, _ = step("umax", X, W, b, u, [0], rate, rival=k, lowest_u=0, highest_u=3.0)
    assert capped[0] == 3.0
    radius = 2.0
    new, _, _, _ = step("umax", X, W, b, u, [0], rate, rival=k, radius=radius)
    np.testing.assert_allclose(np.linalg.norm(new[[0, k]], axis=1), radius, rtol=1e-5)


@pytest.mark.parametrize("method", ["umax", "sgd"])
def test_a_step_that_overflows_is_not_taken(method):
    X, W, b, u = tiny()
    W = 3000 * W
    u[:] = 0
    k = 1 + int(np.argmax(X[0] @ (W[1:] - W[0]).T))
    new_W, new_b, _, n_steps = step(method, X, W, b, u, [0, 0], 1.0, rival=k, delta=1e9)
    assert n_steps == 0
    np.testing.assert_array_equal(new_W, W)
    np.testing.assert_array_equal(new_b, b)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_features", [1, 15, 33, 200])
def test_dense_and_sparse_rows_agree(method, n_features):
    rng = np.random.default_rng(n_features)
    X = (rng.normal(size=(20, n_features)) / np.sqrt(n_features)).astype(np.float32)
    W = np.zeros((5, n_features), dtype=np.float32)
    y = rng.integers(0, 5, size=20).astype(np.int32)
    order = np.tile(np.arange(20), 5)
    start = W, np.zeros(5, np.float32), np.full(20, np.log(5))
    dense = step(method, X, *start, order, 0.1, y=y)
    rows = step(method, sparse.csr_array(X), *start, order, 0.1, y=y)
    for some, other in zip(dense[:3], rows[:3], strict=True):
        np.testing.assert_allclose(some, other, rtol=1e-4, atol=1e-5)


# ------------------------------------------------------------------------------- mini-batches


def draws(n_sampled, own):
    return combinations([k for k in range(K) if k != own], n_sampled)


def losses(psi, y, u, raman):
    own = np.arange(len(y)), y
    if raman:
        return u - psi[own] + np.exp(psi - u[:, None]).sum(axis=1)
    return u + np.exp(psi - psi[own][:, None] - u[:, None]).sum(axis=1)


@pytest.mark.parametrize("raman", [False, True])
@pytest.mark.parametrize("n_sampled", [1, 2, 3])
def test_coefficients_of_the_double_sum_are_unbiased(raman, n_sampled):
    rng = np.random.default_rng(0)
    psi = rng.normal(size=(N, K))
    u, weight = rng.uniform(0.2, 2, size=N), rng.uniform(0.5, 2, size=N).astype(np.float32)
    gradient = np.array([
        approx_fprime(psi[i], lambda p, i=i: losses(p[None], Y[i : i + 1], u[i : i + 1], raman)[0])
        for i in range(N)
    ])  # fmt: skip
    for i in range(N):
        found, moves = np.zeros(K), []
        for classes in draws(n_sampled, Y[i]):
            columns = [Y[i], *classes]
            coefs = np.empty((1, n_sampled + 1), dtype=np.float32)
            importance = np.full((1, n_sampled), (K - 1) / n_sampled, dtype=np.float32)
            new = u.copy()
            n_broken = double_sum(
                psi[i : i + 1, columns].astype(np.float32), importance,
                np.array([i], dtype=np.int32), weight, new, 0.1, np.inf, -np.inf, np.inf, raman,
                True, coefs, 1,
            )  # fmt: skip
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
                np.zeros(1, dtype=np.int32), NONE, q[[own]], coefs, 1,
            )  # fmt: skip
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
            psi[None, [own, k]].astype(np.float32), np.array([[1 / chance]], dtype=np.float32),
            np.zeros(1, dtype=np.int32), NONE, q[[own]], coefs, 1,
        )  # fmt: skip
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
        double_sum(psi, importance, batch, NONE, u, 0.0, 1.0, 0, np.inf, False, distinct, coefs, 1)
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
    assert double_sum(
        psi, importance, batch, NONE, u, 1.0, np.inf, -np.inf, np.inf, False, True, coefs, 1
    ) == 1  # fmt: skip


@pytest.mark.parametrize("solver", ["umax", "sgd", "nce", "importance", "one_vs_each"])
@pytest.mark.parametrize("sampling", ["uniform", "frequency"])
def test_threads_do_not_change_a_mini_batch(solver, sampling):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 20)).astype(np.float32) / 5
    data = data_of(X, rng.integers(0, 30, size=3000))
    results = []
    for n_threads in (1, 3):
        model = SampledBatches(
            data, 30, None,
            settings(solver, batch_size=1000, n_sampled=5, sampling=sampling, alpha=0.1),
            7, n_threads, GO,
        )  # fmt: skip
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
        data_of(X, np.arange(40) % 6), 6, start,
        settings("importance", batch_size=7, n_sampled=2, alpha=alpha), 0, 1, GO,
    )  # fmt: skip
    model.epoch(0, rate)
    model.epoch(1, rate)
    W, _ = model.weights()
    np.testing.assert_allclose(W, (1 - rate * alpha / 6) ** 12, rtol=1e-5)


def test_norms_stay_in_the_ball_of_umax():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200, 5)).astype(np.float32)
    data = data_of(X, rng.integers(0, 4, size=200))
    options = {"alpha": 2000.0, "fit_intercept": False}  # B_W = 0.53
    for model in (
        SampledBatches(
            data, 4, None, settings("umax", batch_size=20, n_sampled=2, **options), 0, 1, GO
        ),
        SingleSteps(data, 4, None, settings("umax", **options), 0, 1, GO),
    ):
        np.testing.assert_allclose(model.projection.radius, np.sqrt(0.2 * np.log(4)))
        radius = 0.02  # the ridge alone would keep the weights in the larger ball
        model.projection = model.projection._replace(radius=radius)
        for epoch in range(3):
            model.epoch(epoch, 0.01)
        norms = np.linalg.norm(model.weights()[0], axis=1)
        assert (norms <= radius * (1 + 1e-5)).all()
        assert norms.max() > 0.95 * radius


# ----------------------------------------------------------------- implicit steps on mini-batches


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


def defining_problem(X, W, b, own, log_factor, shrinkage, u, rates, fit_intercept):
    """Value and gradient of the objective of F.3 over (u, W, b) flattened, halved."""
    n = X.shape[0]
    rows = np.arange(n)

    def value(theta):
        new_u, new_W = theta[:n], theta[n : n + W.size].reshape(W.shape)
        new_b = theta[n + W.size :] if fit_intercept else b
        psi = X @ new_W.T + new_b + log_factor
        log_terms = psi - psi[rows, own][:, None] - new_u[:, None]  # e^-u among them, at own
        terms = np.exp(np.minimum(log_terms, 300))
        target = W / shrinkage[:, None]
        f = rates @ (new_u + terms.sum(axis=1)) + ((new_u - u) ** 2).sum() / 2
        f += (shrinkage[:, None] * (new_W - target) ** 2).sum() / 2 + ((new_b - b) ** 2).sum() / 2
        slope = rates[:, None] * terms
        of_u = rates - slope.sum(axis=1) + new_u - u
        slope[rows, own] = 0
        slope[rows, own] = -slope.sum(axis=1)
        of_W = slope.T @ X + shrinkage[:, None] * (new_W - target)
        of_b = slope.sum(axis=0) + new_b - b
        parts = [of_u, of_W.ravel()] + ([of_b] if fit_intercept else [])
        return f, np.concatenate(parts)

    return value


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("with_ridge", [False, True])
@pytest.mark.parametrize("seed", range(25))
def test_batch_step_is_the_brute_force_minimiser(seed, with_ridge, fit_intercept):
    rng = np.random.default_rng(seed)
    n, labels, drawn = rng.integers(3, 8), rng.integers(1, 4), rng.integers(0, 4)
    X, W, b, own, log_factor, shrinkage, u, rates = batch_problem(rng, n, labels, drawn, with_ridge)
    lengths, shifts, new_u = implicit_step(
        X @ (W / shrinkage[:, None]).T + b, own, u, rates, log_factor, X @ X.T, shrinkage,
        fit_intercept,
    )  # fmt: skip
    new_W = W / shrinkage[:, None] + lengths.T @ X
    value = defining_problem(X, W, b, own, log_factor, shrinkage, u, rates, fit_intercept)
    found = np.concatenate([new_u, new_W.ravel()] + ([b + shifts] if fit_intercept else []))
    at_found, gradient = value(found)
    start = np.concatenate([u, (W / shrinkage[:, None]).ravel()] + ([b] if fit_intercept else []))
    options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-15, "gtol": 1e-9}
    best = minimize(value, start, jac=True, method="L-BFGS-B", options=options)
    assert at_found <= best.fun + 1e-7 * abs(best.fun)
    # the problem is 1-strongly convex: the gradient bounds the distance from its minimiser
    assert np.linalg.norm(gradient) <= 1e-4 * max(np.linalg.norm(found - start), 1e-3)


def test_batch_step_on_one_sample_and_class_is_the_scalar_one():
    rng = np.random.default_rng(0)
    for _ in range(200):
        x, W, b = rng.normal(size=5), rng.normal(size=(2, 5)), rng.normal(size=2)
        rate, u, rivals = 10 ** rng.uniform(-3, 3), rng.uniform(0, 5), rng.integers(1, 500)
        shrinkage = 1 + rng.uniform(0, 1, size=2) * rng.integers(0, 2)
        psi = W @ x / shrinkage + b
        curvature = (x @ x / shrinkage).sum() + 2
        g, new_u = solve_step(rate, psi[1] - psi[0], rivals, curvature, u)
        lengths, shifts, of_batch = implicit_step(
            psi[None], np.zeros(1, int), np.array([u]), np.array([rate]),
            np.log([1, rivals]), np.array([[x @ x]]), shrinkage, True, 1e-10,
        )  # fmt: skip
        np.testing.assert_allclose(shifts, [g, -g], rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(lengths[0], [g, -g] / shrinkage, rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(of_batch, new_u, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("size", [1e-3, 1, 1e3, 1e6])
@pytest.mark.parametrize("rate", [1e-3, 1, 1e3])
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
            (X[batch] @ W.T + b)[:, classes].astype(float), np.searchsorted(labels, y), u[:3],
            np.full(3, rate), log_factor, (X[batch] @ X[batch].T).astype(float),
            np.ones(len(classes)), False,
        )  # fmt: skip
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
        data_of(np.zeros((7, 1), np.float32), y), n_classes, None,
        settings(batch_size=3, n_sampled=n_sampled, alpha=1.0, shuffle=False), 0, 1, GO,
    )  # fmt: skip
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
        data_of(CONTAINERS[container](X), Y), K, (W.copy(), b.copy()),
        settings(batch_size=3, n_sampled=1, alpha=alpha, shuffle=False), 0, 1, GO,
    )  # fmt: skip
    model.u[:] = u
    batch, drawn = model.batches[0], np.array([3])
    labels = model.labels[0]
    model.step(batch, labels, drawn, rate)
    classes = np.concatenate([labels, drawn])
    shrinkage = 1 + rate * model.ridge[classes]
    own = np.searchsorted(labels, Y[batch])
    log_factor = np.r_[np.zeros(len(labels)), np.log(K - len(labels))]
    value = defining_problem(
        X[batch].astype(float), W[classes].astype(float), b[classes].astype(float), own,
        log_factor, shrinkage, u[batch], np.full(3, rate), True,
    )  # fmt: skip
    new_W, new_b = model.weights()
    found = np.concatenate([model.u[batch], new_W[classes].ravel(), new_b[classes]])
    assert np.linalg.norm(value(found.astype(float))[1]) < 1e-5
    rest = np.setdiff1d(np.arange(K), classes)
    np.testing.assert_array_equal(new_W[rest], W[rest])

"""Single steps of ImplicitSoftmaxRegressor against their defining problems and references."""

from itertools import product

import numpy as np
import pytest
from _full import rest_in_full
from _tiny import GO, NO_DOUBLES, NONE, D, K, N, Y, tiny
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import wrightomega

from sklearn_xc._kernels.implicit_softmax._single_steps import (
    Draws,
    Iterate,
    Samples,
    first_draws,
    run_steps,
    solve_step,
)
from sklearn_xc.implicit_softmax._solvers import chance_of_touch
from sklearn_xc.softmax._class_sampling import ClassSampler
from sklearn_xc.utils._matrix import as_rows

pytestmark = pytest.mark.kernel

METHODS = {"implicit": 0, "umax": 1, "sgd": 2}
CONTAINERS = {"dense": np.asarray, "sparse": sparse.csr_array}

rates = st.floats(-3, 3).map(lambda e: 10**e)
scores = st.floats(-60, 60)


# -------------------------------------------------------------------------- the scalar equation


def half_objective(rate, z, n_others, curvature, u_old):
    """Half of what Proposition 4 minimises over u and a, the fall of z; exponents kept in range."""

    def value(point):
        u, a = point
        terms = np.exp(-u) + np.exp(min(np.log(n_others) + z - a - u, 600))
        return rate * (u + terms) + (u - u_old) ** 2 / 2 + a**2 / (2 * curvature)

    return value


@pytest.mark.parametrize("seed", rest_in_full(range(300), *range(100)))
def test_scalar_step_is_the_brute_force_minimiser(seed):
    rng = np.random.default_rng(seed)
    rate, curvature = 10 ** rng.uniform(-3, 1.5), 10 ** rng.uniform(-2, 1)
    n_others, z, u_old = rng.integers(1, 1000), rng.normal(0, 3), rng.uniform(0, 8)
    g, u = solve_step(rate, z, n_others, curvature, u_old)
    value = half_objective(rate, z, n_others, curvature, u_old)
    options = {"xatol": 1e-8, "fatol": 1e-12, "maxiter": 1000}
    best = minimize(value, [u_old, 0.0], method="Nelder-Mead", options=options)
    assert value([u, g * curvature]) <= best.fun + 1e-9 * abs(best.fun)
    np.testing.assert_allclose([u, g * curvature], best.x, rtol=1e-3, atol=1e-3)


def assert_solves(rate, z, n_others, curvature, u_old):
    g, u = solve_step(rate, z, n_others, curvature, u_old)
    assert np.isfinite([g, u]).all()
    assert g >= 0
    assert u >= 0
    if g < 1e-300:  # at the end of the range of double
        assert np.log(rate * n_others) + z - u < -690
        return
    sides = np.log(g) + curvature * g + u, np.log(rate) + np.log(n_others) + z
    size = np.abs([np.log(g), curvature * g, u, z, np.log(rate), np.log(n_others)]).max()
    assert abs(sides[0] - sides[1]) <= 1e-8 * (1 + size)
    residual = rate * -np.expm1(-u) + (u - u_old) - g
    # how far the residual moves when u is off by its rounding
    slack = (1 + rate * np.exp(-u)) * 1e-9 * (1 + size) + 1e-9 * (g + u_old + u)
    assert abs(residual) <= slack


def test_scalar_step_solves_its_equations_in_extreme_draws():
    rng = np.random.default_rng(0)
    for _ in range(20_000):
        assert_solves(
            10 ** rng.uniform(-3, 3),
            rng.choice([1, 30, 3000]) * rng.normal(),
            rng.integers(1, 10**6),
            rng.choice([0, 10 ** rng.uniform(-8, 8)]),
            rng.choice([0, 10 ** rng.uniform(-6, 4)]),
        )


def interval(eta_n, z, n_others, square, u_old):
    """The interval of F.1 that holds the new u, for the rate of the equations times N."""
    log_a = np.log(2 * eta_n * n_others * square) + z - u_old
    a = wrightomega(log_a)  # a + log a
    if 2 * eta_n * -np.expm1(-u_old) - a / square < 0:
        return u_old, np.logaddexp(0, np.log(n_others) + z)
    return max(0.0, np.log(n_others) + z - 2 * eta_n * square), u_old


@given(rate=rates, z=scores, n_others=st.integers(1, 10**6), u_old=st.floats(0, 60))
def test_proposition_4_counts_the_interval_with_log_2(rate, z, n_others, u_old):
    """The printed bound lacks log 2; see the guide's errata."""
    low, high = interval(rate, z, n_others, 1.0, u_old)
    printed = abs(z - u_old) + 2 * rate + np.log(n_others)
    assert high - low <= printed + np.log(2) + 1e-9


def test_the_printed_length_of_proposition_4_can_be_too_small():
    low, high = interval(1e-6, 0.0, 1, 1.0, 0.0)
    assert high - low == pytest.approx(np.log(2))
    assert high - low > 0 + 2e-6 + np.log(1)


@given(rates, st.floats(-1e30, 1e30), st.integers(1, 10**6), st.floats(0, 1e24), st.floats(0, 1e6))
def test_scalar_step_is_finite(rate, z, n_others, curvature, u_old):
    g, u = solve_step(rate, z, n_others, curvature, u_old)
    assert np.isfinite([g, u]).all()
    assert g >= 0
    assert u >= 0


@given(rates, scores, st.integers(1, 10**5), st.floats(0.01, 100), st.floats(0, 20))
def test_scalar_step_is_never_longer_than_the_vanilla_one(rate, z, n_others, curvature, u_old):
    g, u = solve_step(rate, z, n_others, curvature, u_old)
    vanilla = rate * n_others * np.exp(z - u_old)
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


def step(
    method,
    X,
    W,
    b,
    u,
    order,
    rate,
    *,
    negative=None,
    ridge=NO_DOUBLES,
    weight=NONE,
    log_weight=None,
    raman=False,
    intercept=True,
    delta=1.0,
    lowest_u=-np.inf,
    highest_u=np.inf,
    radius=np.inf,
    seed=0,
    y=Y,
):
    """Copies of W, b and u after steps; `negative` forces the class drawn."""
    n_classes = len(W)
    W, b, u = W.copy(), b.copy(), u.copy()
    scale, rows = np.ones(n_classes), as_rows(X)
    norms = (W.astype(float) ** 2).sum(axis=1) if np.isfinite(radius) else NO_DOUBLES
    draws = Draws()
    if negative is not None:
        log_weight = np.log(n_classes - 1) if log_weight is None else log_weight
        alias = np.full(n_classes, negative, dtype=np.int32)
        logs = np.full(n_classes, -log_weight), np.zeros(n_classes)
        draws = Draws(np.zeros(n_classes), alias, *logs)
    options = {
        "method": METHODS[method],
        "raman": raman,
        "intercept": intercept,
        "rate": rate,
        "delta": delta,
        "lowest_u": lowest_u,
        "highest_u": highest_u,
        "radius": radius,
    }
    samples = Samples(*rows[:4], y, weight, rows.squared_norms())
    order = np.asarray(order, dtype=np.int32)
    iterate = Iterate(W, False, b, scale, norms, u)
    n_steps = run_steps(samples, order, ridge, draws, options, first_draws(seed, 0), iterate, GO)
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
            "sgd",
            CONTAINERS[container](X),
            W,
            b,
            u,
            [i],
            rate,
            negative=k,
            ridge=ridge,
            weight=weight,
            log_weight=-np.log(chance),
            raman=raman,
        )
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
            "implicit", CONTAINERS[container](X), W, b, u, [i], rate, negative=k, ridge=ridge
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
    new_W, new_b, new_u, n_steps = step("implicit", X, W, b, u, [i], rate, negative=k, ridge=ridge)
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
    _, _, vanilla, _ = step("umax", X, W, b, u, [0], rate, negative=k, delta=1e9)
    _, _, raised, _ = step("umax", X, W, b, u, [0], rate, negative=k)
    expected = bound - rate * (1 - np.exp(-bound) - (K - 1) * np.exp(z[k - 1] - bound))
    np.testing.assert_allclose(raised[0], expected, rtol=1e-5)
    assert vanilla[0] > raised[0]  # a gradient of e^z
    _, _, capped, _ = step("umax", X, W, b, u, [0], rate, negative=k, lowest_u=0, highest_u=3.0)
    assert capped[0] == 3.0
    radius = 2.0
    new, _, _, _ = step("umax", X, W, b, u, [0], rate, negative=k, radius=radius)
    np.testing.assert_allclose(np.linalg.norm(new[[0, k]], axis=1), radius, rtol=1e-5)


@pytest.mark.parametrize("method", ["umax", "sgd"])
def test_a_step_that_overflows_is_not_taken(method):
    X, W, b, u = tiny()
    W = 3000 * W
    u[:] = 0
    k = 1 + int(np.argmax(X[0] @ (W[1:] - W[0]).T))
    new_W, new_b, _, n_steps = step(method, X, W, b, u, [0, 0], 1.0, negative=k, delta=1e9)
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

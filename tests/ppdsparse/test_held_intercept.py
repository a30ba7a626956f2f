"""Passes that hold the intercept: the gap of their dual variables, and the rounds they save."""

import numpy as np
import pytest
from _ppdsparse_problem import dual_value, primal, solve
from scipy import sparse

pytestmark = pytest.mark.kernel

L1, L2 = 0.02, 0.02


def unit_rows(n, d):
    """Rows that are not negative; classes of one to five of them."""
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(n, d))) * (rng.random((n, d)) < 0.3)
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)
    Y = np.zeros((n, 20), dtype=np.int8)
    for k in range(20):
        Y[rng.choice(n, 1 + k // 4, replace=False), k] = 1
    return X.astype(np.float32), Y


def held_passes(X, y, n_passes, hold):
    """The passes in NumPy, in order: weights, intercept, dual variables and what stopping knows."""
    a, v, total, anchor = np.zeros(len(y)), np.zeros(X.shape[1]), 0.0, -1.0
    for _ in range(n_passes):
        for i, x in enumerate(X):
            b = (total + hold * anchor) / (L2 + hold)
            w = np.sign(v) * np.maximum(np.abs(v) - L1, 0) / L2
            slope = y[i] * (w @ x + b) - 1 + a[i]
            step = max(0, a[i] - slope / (x @ x / L2 + 1 / (L2 + hold) + 1)) - a[i]
            a[i], v, total = a[i] + step, v + step * y[i] * x, total + step * y[i]
        before, anchor = anchor, (total + hold * anchor) / (L2 + hold)
    w = np.sign(v) * np.maximum(np.abs(v) - L1, 0) / L2
    return w, anchor, a, hold * (anchor - before)


@pytest.mark.parametrize("n_passes", [1, 5, 400])
def test_gap_of_a_pass(n_passes):
    X, Y = unit_rows(60, 12)
    X, y = X.astype(float), np.where(Y[:, -1] > 0, 1.0, -1.0)
    w, b, a, pull = held_passes(X, y, n_passes, 0.5)
    result = {"coef": w[None], "intercept": np.array([b]), "dual": a[None]}
    gap = primal(X, Y[:, -1:], result, L1, L2) - dual_value(X, Y[:, -1:], result, L1, L2)
    margin = y * (X @ w + b)
    slopes = np.where(margin < 1, (1 - margin - a) ** 2 / 2, a * (margin - 1) + a**2 / 2)
    assert pull == pytest.approx((y @ a) - L2 * b)
    assert gap == pytest.approx(slopes.sum() + pull**2 / (2 * L2), rel=1e-4)
    if n_passes == 400:
        assert gap < 1e-3 * primal(X, Y[:, -1:], result, L1, L2)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_few_rounds_where_l2_is_small(container):
    X, Y = unit_rows(300, 40)
    result = solve(container(X), Y, l1=L1, l2=L2, tol=0.01)
    p = primal(X, Y, result, L1, L2)
    np.testing.assert_allclose(result["gap"], (p - dual_value(X, Y, result, L1, L2)) / p, atol=2e-6)
    assert (result["gap"] <= 0.01).all()
    assert result["n_iter"].max() <= 12  # 25 where steps of one variable throw the intercept


@pytest.mark.parametrize("scale", [1e-4, 1e3])
def test_rows_of_any_length(scale):
    # the constant feature is no part of the length of rows, beside which it may be all or nothing
    X, Y = unit_rows(200, 20)
    penalties = {"l1": L1 * scale, "l2": L2 * scale**2}
    result = solve(sparse.csr_array(X * np.float32(scale)), Y, tol=0.01, **penalties)
    assert (result["gap"] <= 0.01).all()
    p = primal(X * np.float32(scale), Y, result, **penalties)
    d = dual_value(X * np.float32(scale), Y, result, **penalties)
    np.testing.assert_allclose(result["gap"], (p - d) / p, atol=1e-5)

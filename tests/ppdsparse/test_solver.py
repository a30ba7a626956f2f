"""The PPDSparse kernels, held against plain NumPy."""

import numpy as np
import pytest
from _margin_losses import LOSSES, TOPS, VALUES, taken
from _ppdsparse_problem import dual_value, make, primal, solve
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

pytestmark = pytest.mark.kernel

CHUNK = 4096  # rows of a search at a time


def test_a_class_is_solved_alike_in_any_company():
    X, Y = make(60, 8, 40)
    together = solve(X, Y)
    for label in 0, 17, 39:
        alone = solve(X, Y, labels=[label])
        for name in together:
            np.testing.assert_array_equal(alone[name][0], together[name][label])


def test_labels_in_any_order_and_of_a_part():
    X, Y = make(60, 8, 40)
    together = solve(X, Y)
    some = np.array([31, 2, 39, 0, 5])
    part = solve(X, Y, labels=some)
    np.testing.assert_array_equal(part["coef"], together["coef"][np.sort(some)])


@pytest.mark.parametrize("n", [CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 77])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_rows_beyond_a_chunk(n, container):
    X, Y = make(n, 5, 3, density=0.3)
    result = solve(container(X), Y, tol=1e-4)
    p = primal(X, Y, result)
    np.testing.assert_allclose(result["gap"], (p - dual_value(X, Y, result)) / p, atol=2e-6)
    assert (result["gap"] <= 1e-4).all()


def test_columns_that_few_rows_use():
    # many features, each in few rows: the search goes through columns, over several chunks
    rng = np.random.default_rng(0)
    n, d = CHUNK + 500, 3000
    X = sparse.random_array((n, d), density=4 / d, format="csr", rng=rng, dtype=np.float32)
    Y = np.zeros((n, 20), dtype=np.int8)
    Y[rng.integers(n, size=60), rng.integers(20, size=60)] = 1
    Y[0] = Y[-1] = 1
    result = solve(X, Y, tol=1e-4)
    p = primal(X, Y, result)
    np.testing.assert_allclose(result["gap"], (p - dual_value(X, Y, result)) / p, atol=2e-6)
    dense = solve(X.toarray(), Y, tol=1e-4)
    np.testing.assert_allclose(primal(X, Y, dense), p, rtol=3e-4)


@pytest.mark.parametrize("n_select", [0, 1, 10, 10**6])
@pytest.mark.parametrize("sparsify", [False, True])
def test_dense_and_sparse_agree(n_select, sparsify):
    X, Y = make(300, 10, 20)
    options = {"n_select": n_select, "sparsify": sparsify, "delta": 1.0, "tol": 1e-6}
    a, b = solve(X, Y, **options), solve(sparse.csr_array(X), Y, **options)
    np.testing.assert_allclose(a["coef"], b["coef"], atol=3e-3)
    np.testing.assert_allclose(primal(X, Y, a), primal(X, Y, b), rtol=3e-6)


@pytest.mark.parametrize("empty", [[0], [29], [27, 28, 29], list(range(0, 30, 2)), list(range(30))])
def test_rows_without_entries(empty):
    X, Y = make(30, 6, 5)
    X[empty] = 0
    for weight in np.ones(30), np.r_[np.ones(20), np.zeros(10)]:
        Y[0] = 1  # every class has a positive of weight above zero
        a = solve(sparse.csr_array(X), Y, sample_weight=weight)
        b = solve(X, Y, sample_weight=weight)
        assert (a["gap"] <= 1e-5).all()
        np.testing.assert_allclose(
            primal(X, Y, a, weight=weight), primal(X, Y, b, weight=weight), rtol=3e-5
        )


def test_a_warm_start_from_the_optimum_is_done_at_once():
    X, Y = make(80, 8, 20)
    first = solve(X, Y, tol=1e-5)
    dual = sparse.csr_array(first["dual"].astype("f4"))
    dual = dual.indptr.astype("i8"), dual.indices.astype("i4"), dual.data
    again = solve(X, Y, tol=1e-4, dual=dual)
    assert (again["n_iter"] == 1).all()
    assert (again["gap"] <= 1e-4).all()
    assert first["n_iter"].max() > 1


def test_max_iter_ends_with_a_true_gap():
    X, Y = make(200, 10, 20)
    for sparsify in False, True:
        result = solve(X, Y, tol=1e-12, max_iter=2, sparsify=sparsify, delta=3.0)
        p = primal(X, Y, result)
        assert (result["n_iter"] == 2).all()
        np.testing.assert_allclose(result["gap"], (p - dual_value(X, Y, result)) / p, atol=2e-6)


def test_a_negative_that_no_longer_counts_leaves_the_active_set():
    X, Y = make(200, 10, 3)
    result = solve(X, Y)
    positives, used = Y.sum(axis=0), (result["dual"] > 0)
    np.testing.assert_array_equal(result["n_active"], positives + (used & (Y.T == 0)).sum(axis=1))


@given(
    n=st.integers(2, 12),
    d=st.integers(1, 6),
    seed=st.integers(0, 2**31),
    density=st.sampled_from([0.2, 0.6, 1.0]),
    l1=st.sampled_from([0.0, 0.01, 0.1, 1.0, 100.0]),
    l2=st.sampled_from([0.1, 1.0, 5.0]),
    loss=st.sampled_from(LOSSES),
    container=st.sampled_from([np.asarray, sparse.csr_array]),
)
def test_kkt_conditions_of_tiny_problems(n, d, seed, density, l1, l2, loss, container):
    X, Y = make(n, d, 3, seed, density)
    penalties = {"l1": l1, "l2": l2, "loss": loss}
    result = solve(container(X), Y, **penalties, tol=1e-6, max_iter=2000)
    # the hinge loss has no curvature: nearly parallel rows keep its descent from 1e-6
    assert (result["gap"] <= (1e-3 if loss == "hinge" else 1e-6)).all()
    y, a = np.where(Y > 0, 1, -1), result["dual"].T
    assert (a >= 0).all()
    assert (a <= TOPS[loss] + 1e-6).all()
    # stationarity: l2 w + l1 sign(w) = v where w is not zero, |v| <= l1 where it is
    v = (a * y).T @ X
    w = np.sign(v) * np.maximum(np.abs(v) - l1, 0) / l2
    np.testing.assert_allclose(result["coef"], w, atol=2e-5 * max(1, np.abs(v).max() / l2))
    # of the intercept as nearly as the gap asks for, since passes hold it
    pull = (a * y).sum(axis=0) - l2 * result["intercept"]
    scale = primal(X, Y, result, **penalties)
    assert (pull**2 / (2 * l2) <= (result["gap"] + 1e-5) * scale).all()
    # complementary slackness: loss(m) + conjugate(-a) + a m is zero for every sample; in all they
    # are the gap, with the pull
    slack = 1 - y * (X @ result["coef"].T + result["intercept"])
    residual = VALUES[loss](np.maximum(0, slack)) - a * slack + taken(loss, a, 1.0)
    assert (residual >= -1e-5 * scale).all()
    total = residual.sum(axis=0) + pull**2 / (2 * l2)
    np.testing.assert_allclose(total / scale, result["gap"], atol=2e-5)

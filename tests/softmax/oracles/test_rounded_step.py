"""Steps of the exact softmax on probabilities that are rounded at random, against plain ones."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from softmax._reference import problem, reference

from sklearn_xc import ImplicitSoftmaxRegressor
from sklearn_xc._kernels.softmax._rounded_step import apply_scales
from sklearn_xc.softmax import _full_softmax as module
from sklearn_xc.softmax._full_softmax import ExactSteps
from sklearn_xc.utils._matrix import as_rows, normalise

pytestmark = pytest.mark.kernel

GRAIN = 1 / 32


@pytest.fixture(autouse=True)
def rounded(monkeypatch):
    monkeypatch.setattr(module, "ROUNDED_FROM", 0)


def test_factors_are_taken_off():
    W = np.random.default_rng(0).normal(size=(5, 16)).astype(np.float32)
    found, scales = W.copy(), np.array([1, 0.5, 3, 1, 1], np.float32)
    apply_scales(found, scales, 2)
    np.testing.assert_array_equal(found, W * np.float32([[1], [0.5], [3], [1], [1]]))
    assert (scales == 1).all()


def steps_on(X, y, weight, W, b, *, alpha=0.0, intercept=1.0, n_threads=1):
    return ExactSteps(
        as_rows(normalise(X)),
        y,
        weight,
        W,
        b,
        np.arange(len(y)),
        alpha=alpha,
        intercept=intercept,
        adaptive=False,
        n_threads=n_threads,
    )


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 0.7, 1e7])
def test_probabilities_above_a_grain_stay_as_they_are(dense, alpha):
    X, y, weight, W, b = problem(n_classes=3)
    W *= 0.1  # all probabilities are above a grain
    order = np.random.default_rng(1).permutation(len(X)).astype(np.int32)
    rates = 0.1 / np.arange(1, 9) ** 0.5
    expected = reference(X, y, weight, W[:, :3], b[:3], order, 5, rates, alpha, False)
    steps = steps_on(X if dense else sparse.csr_array(X), y, weight, W, b, alpha=alpha)
    loss = steps.epoch(order, 5, rates)
    steps.finish()
    np.testing.assert_allclose(loss, expected[2], rtol=1e-5)
    np.testing.assert_allclose(W[:, :3], expected[0], rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(b[:3], expected[1], rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("n_classes", [70, 1300])
def test_the_mean_step_is_the_plain_one(n_classes):
    X, y, weight, W, b = problem(n_classes=n_classes)
    order = np.arange(len(X), dtype=np.int32)
    rates = np.array([0.5])
    expected = reference(
        X,
        y,
        weight,
        W[:, :n_classes],
        b[:n_classes],
        order,
        37,
        rates,
        0.7,
        False,
    )
    n_draws = 400
    changes = np.zeros((2, *W.shape))
    intercepts = np.zeros((2, len(b)))
    for seed in range(n_draws):
        w, c = W.copy(), b.copy()
        steps = steps_on(sparse.csr_array(X), y, weight, w, c, alpha=0.7)
        loss = steps.epoch(order, 37, rates, seed)
        steps.finish()
        np.testing.assert_allclose(loss, expected[2], rtol=1e-5)  # is not rounded
        for sums, values in ((changes, w - W), (intercepts, c - b)):
            sums[0] += values / n_draws
            sums[1] += values.astype(float) ** 2 / n_draws
    for sums, before, after in ((changes, W, expected[0]), (intercepts, b, expected[1])):
        mean = (sums[0] + before)[..., :n_classes]
        error = np.sqrt(np.maximum(sums[1] - sums[0] ** 2, 0) / n_draws)[..., :n_classes]
        assert error.max() > 0
        # Of thousands of means one in a million lies further off; float32 adds its own error. A
        # class with a tiny probability may never have been drawn, hence a share of a grain.
        seldom = 5 * 0.5 * np.abs(X).max() * 2 * GRAIN / n_draws
        assert np.all(np.abs(mean - after) <= 5.5 * error + seldom + 2e-6)


def test_few_classes_are_touched():
    n_classes = 5000
    X, y, _, W, b = problem(n_classes=n_classes)
    W[:] = 0
    b[:n_classes] = 0
    before = b.copy()
    steps = steps_on(X, y, None, W, b)
    steps.epoch(np.array([5], dtype=np.int32), 1, 1.0, 3)
    steps.finish()
    touched = np.flatnonzero(b != before)
    assert set(touched) == set(np.flatnonzero(W.any(axis=0)))
    # 64 lanes start below a grain and end below one, in each of nine tiles.
    assert abs(len(touched) - 1 / GRAIN) <= 64 * 9
    np.testing.assert_allclose(
        np.delete((before - b)[touched], np.searchsorted(touched, y[5])), GRAIN
    )


def test_seeds_and_threads():
    results = {}
    for n_threads, seed in ((1, 0), (2, 0), (5, 0), (1, 1)):
        X, y, weight, W, b = problem(n_classes=1500)
        steps = steps_on(X, y, weight, W, b, alpha=0.1, n_threads=n_threads)
        loss = steps.epoch(np.arange(37, dtype=np.int32), 37, 0.3, seed)
        steps.finish()
        results[n_threads, seed] = loss, W, b
    for threads in (2, 5):
        assert results[threads, 0][0] == results[1, 0][0]
        np.testing.assert_array_equal(results[threads, 0][1], results[1, 0][1])
        np.testing.assert_array_equal(results[threads, 0][2], results[1, 0][2])
    assert np.any(results[1, 1][1] != results[1, 0][1])


def test_scores_of_any_size_give_finite_steps():
    X, y, weight, W, b = problem()
    W *= 1e30
    steps = steps_on(X, y, weight, W, b, intercept=0.0)
    steps.epoch(np.arange(37, dtype=np.int32), 7, 1e-3)
    steps.finish()
    assert np.isfinite(W[:, :70]).all()
    assert (b[:70] == problem()[4][:70]).all()


def test_fits_reach_the_optimum():
    X, y = load_digits(return_X_y=True)
    X /= 16
    best = LogisticRegression(solver="newton-cg", tol=1e-6).fit(X, y)
    model = ImplicitSoftmaxRegressor(
        solver="exact", alpha=1.0, learning_rate=0.3, max_iter=200, decay=0.97, random_state=0
    ).fit(X, y)
    least, ours = (
        -m.predict_log_proba(X)[np.arange(len(y)), y].sum() + 0.5 * (m.coef_**2).sum()
        for m in (best, model)
    )
    assert least * (1 - 1e-5) <= ours <= 1.01 * least

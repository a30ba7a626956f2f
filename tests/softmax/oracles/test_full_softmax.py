"""Steps of the exact softmax against plain NumPy."""

import numpy as np
import pytest
from scipy import sparse
from softmax._reference import problem, reference

from sklearn_xc.softmax._full_softmax import ExactSteps, cuts_at, equal_cuts
from sklearn_xc.utils._matrix import as_rows, normalise

pytestmark = pytest.mark.kernel


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize(("n_classes", "batch_size"), [(2, 5), (70, 8), (1300, 37), (2100, 3)])
def test_epochs_are_those_of_numpy(adaptive, dense, n_classes, batch_size):
    X, y, weight, W, b = problem(n_classes=n_classes)
    order = np.random.default_rng(1).permutation(len(X)).astype(np.int32)
    n_batches = -(-len(X) // batch_size)
    rates = 0.1 / np.arange(1, n_batches + 1) ** 0.5
    expected = reference(
        X, y, weight, W[:, :n_classes], b[:n_classes], order, batch_size, rates, 0.7, adaptive
    )
    rows = as_rows(normalise(X if dense else sparse.csr_array(X)))
    options = {"alpha": 0.7, "intercept": 1.0, "adaptive": adaptive, "n_threads": 2}
    steps = ExactSteps(rows, y, weight, W, b, np.arange(37), **options)
    loss = steps.epoch(order, batch_size, rates)
    np.testing.assert_allclose(loss, expected[2], rtol=1e-5)
    np.testing.assert_allclose(W[:, :n_classes], expected[0], rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(b[:n_classes], expected[1], rtol=2e-4, atol=2e-5)
    assert steps.n_steps == n_batches


def test_cuts():
    assert cuts_at(11, 5).tolist() == [0, 5, 10, 11]
    assert cuts_at(10, 5).tolist() == [0, 5, 10]
    assert equal_cuts(11, 5).tolist() == [0, 3, 7, 11]
    assert equal_cuts(10, 5).tolist() == [0, 5, 10]
    assert equal_cuts(3, 5).tolist() == [0, 3]


def test_averages_decay_over_steps_that_leave_a_feature_alone():
    X, y, _, W, b = problem(n=60, density=0.05)
    weight = np.ones(60, dtype=np.float32)
    order = np.tile(np.arange(60, dtype=np.int32), 2)
    rates = np.full(120, 0.05)
    expected = reference(X, y, weight, W[:, :70], b[:70], order, 1, rates, 0, True)
    options = {"alpha": 0, "intercept": 1.0, "adaptive": True, "n_threads": 1}
    rows = as_rows(normalise(sparse.csr_array(X)))
    steps = ExactSteps(rows, y, None, W, b, np.arange(60), **options)
    for _ in range(2):
        steps.epoch(order[:60], 1, 0.05)
    np.testing.assert_allclose(W[:, :70], expected[0], rtol=2e-4, atol=2e-5)


def test_threads_change_nothing():
    results = []
    for n_threads in (1, 2, 5):
        X, y, weight, W, b = problem(n_classes=1500)
        options = {"alpha": 0.1, "intercept": 1.0, "adaptive": False}
        steps = ExactSteps(
            as_rows(X), y, weight, W, b, np.arange(37), **options, n_threads=n_threads
        )
        loss = steps.epoch(np.arange(37, dtype=np.int32), 37, 0.3)  # enough work to share
        results.append((loss, W, b))
    for other in results[1:]:
        assert other[0] == results[0][0]
        np.testing.assert_array_equal(other[1], results[0][1])
        np.testing.assert_array_equal(other[2], results[0][2])


def test_scores_of_any_size_give_finite_steps():
    X, y, weight, W, b = problem()
    W *= 1e30
    options = {"alpha": 0, "intercept": 0.0, "adaptive": False, "n_threads": 1}
    steps = ExactSteps(as_rows(X), y, weight, W, b, np.arange(37), **options)
    steps.epoch(np.arange(37, dtype=np.int32), 7, 1e-3)
    assert np.isfinite(W[:, :70]).all()
    assert (b[:70] == problem()[4][:70]).all()

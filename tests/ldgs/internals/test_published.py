"""Functions inside of what `ldgs/test_published.py` tests from outside."""

import numpy as np
import pytest
from _ldgs_data import SETTINGS
from _ldgs_problem import Problem, loss_and_gradient
from _ldgs_replayed import replayed

from sklearn_xc.ldgs._candidate_gradients import ChunkIndexes, Positives, chunk_bounds
from sklearn_xc.ldgs._steps import ColumnLayout, LDGSSteps, Weights
from sklearn_xc.utils._matrix import as_rows, normalise

# ------------------------------------------------------------------------------------ the decay


def test_the_rate_falls_with_each_step(digits):
    X, y = digits[0][:30], digits[1][:30]
    options = SETTINGS._replace(
        loss="cross_entropy",
        gradient="exact",
        batch_size=1,
        n_chunks=1,
        learning_rate=2.0,
        decay="inverse_steps",
        fit_intercept=False,
    )
    layout = ColumnLayout(X.shape[1], 1, "linear", False)
    weights = Weights(layout.weights(np.zeros((10, 64)), np.zeros(10)), None, False)
    positives = Positives(np.arange(31, dtype=np.int64), y.astype(np.int32))
    steps = LDGSSteps(
        as_rows(normalise(X)),
        positives,
        None,
        np.arange(30),
        weights,
        layout,
        options,
        0,
        1,
        shuffled=False,
    )
    for number in range(2):
        steps.epoch(number)
    expected = replayed(X, y, 10, 2.0, 2)
    np.testing.assert_allclose(layout.coef(weights.W)[0], expected, atol=1e-5)


# ------------------------------------------------------------------------- the threshold query


@pytest.mark.parametrize("n_chunks", [1, 3])
@pytest.mark.parametrize("kind", ["exact", "spherical"])
def test_a_threshold_query_names_scores_beyond_it_of_either_sign(n_chunks, kind):
    problem, bounds = Problem(), chunk_bounds(12, n_chunks)
    K, threshold = len(problem.W), 0.8
    index = ChunkIndexes(kind, bounds, n_centroids=4, n_probes=4).build(problem.W)
    found = index.beyond(problem.W, problem.H, K, threshold)
    for i, h in enumerate(problem.H):
        for j in range(n_chunks):
            columns = slice(bounds[j], bounds[j + 1])
            scores = problem.W[:, columns] @ h[columns]
            named = found[i, j][found[i, j] >= 0]
            np.testing.assert_array_equal(np.sort(named), np.flatnonzero(abs(scores) > threshold))


@pytest.mark.parametrize("loss", ["cross_entropy", "margin"])
@pytest.mark.parametrize("n_chunks", [1, 3])
@pytest.mark.parametrize("threshold", [0.3, 1.0])
def test_the_loss_is_off_by_at_most_the_thresholds_of_all_chunks(loss, n_chunks, threshold):
    """Section 3.2: B tau_1 times the Lipschitz constant, 2 for the margin, 2 |P| for the other."""
    for seed in range(20):
        problem, bounds = Problem(seed=seed, scale=1.0), chunk_bounds(12, n_chunks)
        index = ChunkIndexes("exact", bounds).build(problem.W)
        retrieved = index.beyond(problem.W, problem.H, len(problem.W), threshold)
        exact = problem.exact(loss)[0]
        scores = problem.H @ problem.W.T
        for i, own in enumerate(problem.own):
            kept = np.union1d(own, retrieved[i][retrieved[i] >= 0])
            z = np.zeros(len(problem.W))
            z[kept] = scores[i, kept]
            assert np.abs(z - scores[i]).max() <= n_chunks * threshold + 1e-5
            order = np.concatenate([own, np.setdiff1d(np.arange(len(z)), own)])
            value, _ = loss_and_gradient(loss, z[order], len(own))
            lipschitz = 2.0 * (len(own) if loss == "cross_entropy" else 1)
            assert abs(value - exact[i]) <= lipschitz * n_chunks * threshold + 1e-4

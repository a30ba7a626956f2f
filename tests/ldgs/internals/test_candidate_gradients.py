"""Functions inside of what `ldgs/test_candidate_gradients.py` tests from outside."""

from itertools import pairwise

import numpy as np
import pytest
from _ldgs_problem import Problem

from sklearn_xc.ldgs._candidate_gradients import (
    ChunkIndexes,
    ComparedClasses,
    Positives,
    SetLoss,
    chunk_bounds,
    set_gradients,
)

pytestmark = pytest.mark.kernel

LOSSES = ["cross_entropy", "margin", "triplet"]
SMOOTH = LOSSES[:2]


@pytest.mark.parametrize("n_passes", [1, 2, 5, 20])
def test_messages_shrink_the_distance_by_the_stated_factor(n_passes):
    """After T passes lambda = (1 - 2 / ((T + 1) (T + 2))) lambda*."""
    problem, n_chunks = Problem(), 3
    bounds = chunk_bounds(12, n_chunks)
    parts = [problem.H[:, a:b] @ problem.W[:, a:b].T for a, b in pairwise(bounds)]
    z = sum(parts)
    share = 1 - 2 / ((n_passes + 1) * (n_passes + 2))
    expected = np.mean(
        [
            problem.exact("cross_entropy", n_chunks * (part + share * (z / n_chunks - part)))[1]
            for part in parts
        ],
        axis=0,
    )
    found, _ = problem.gradient("cross_entropy", n_chunks, n_message_passes=n_passes, tau=-1.0)
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("loss", SMOOTH)
@pytest.mark.parametrize("seed", range(3))
def test_theorem_2_bounds_the_gap(loss, seed):
    problem, n_chunks = Problem(seed=seed), 4
    values, _ = problem.exact(loss)
    bounds = chunk_bounds(12, n_chunks)
    parts = np.stack([problem.H[:, a:b] @ problem.W[:, a:b].T for a, b in pairwise(bounds)])
    squares = ((parts.mean(axis=0) - parts) ** 2).sum(axis=(0, 2))
    n_positive = np.diff(problem.positives.indptr)
    mu = 1.0 / n_positive if loss == "cross_entropy" else 1.0
    for n_passes in (1, 3, 10):
        _, found = problem.gradient(loss, n_chunks, n_message_passes=n_passes, tau=0.0)
        # the state after T updates is that of step T + 1
        gap = 2 * n_chunks * squares / (mu * (n_passes + 3))
        assert (found.losses - values <= gap + 1e-4).all()


@pytest.mark.parametrize("tau", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("loss", SMOOTH)
@pytest.mark.parametrize("seed", range(3))
def test_theorem_2_bounds_the_gap_that_small_gradients_leave(loss, seed, tau):
    """With tau_2 > 0 the bound has a second term, 2 tau_2 ln(t) ||Lambda*||_1."""
    problem, n_chunks = Problem(seed=seed), 4
    values, _ = problem.exact(loss)
    bounds = chunk_bounds(12, n_chunks)
    parts = np.stack([problem.H[:, a:b] @ problem.W[:, a:b].T for a, b in pairwise(bounds)])
    messages = parts.mean(axis=0) - parts
    squares, lengths = (messages**2).sum(axis=(0, 2)), abs(messages).sum(axis=(0, 2))
    mu = 1.0 / np.diff(problem.positives.indptr) if loss == "cross_entropy" else 1.0

    def gap(n_passes):
        return (
            problem.gradient(loss, n_chunks, n_message_passes=n_passes, tau=tau)[1].losses - values
        )

    for n_passes in (1, 3, 10, 100, 3000):
        first = 2 * n_chunks * squares / (mu * (n_passes + 3))  # after T updates t = T + 1
        second = 2 * tau * np.log(n_passes + 1) * lengths
        assert (gap(n_passes) <= first + second + 1e-4).all()
    if tau == 0.5:  # messages never sent leave a gap that the first term alone does not bound
        assert (gap(3000) > first).any()
    for t in (2, 3, 10, 100):  # eq. 13, of which theorem 2 is the sum
        eta = 2 / (t + 2)
        step = eta * tau * lengths + eta**2 * n_chunks / (2 * mu) * squares
        assert (gap(t) <= (1 - eta) * gap(t - 1) + step + 1e-4).all()


@pytest.mark.parametrize("n_chunks", [1, 3])
def test_no_class_left_out_has_a_larger_gradient(n_chunks):
    problem = Problem(n_classes=200)
    indexes = ChunkIndexes("exact", chunk_bounds(12, n_chunks)).build(problem.W, problem.H)
    for n in (5, 50, 200):
        retrieved = indexes.candidates(problem.H, n)
        _, found = problem.gradient("cross_entropy", n_chunks, retrieved, wants_left_out=True)
        _, exact = problem.exact("cross_entropy")
        for i, bound in enumerate(found.left_out):
            left = np.setdiff1d(np.arange(200), found.ids[i, : found.counts[i]])
            assert abs(exact[i, left]).max(initial=0) <= bound * (1 + 1e-5)


def test_no_rows():
    problem = Problem()
    found = set_gradients(
        problem.W,
        problem.H[:0],
        chunk_bounds(12, 2),
        ComparedClasses(np.empty((0, 2, 3), np.int32)),
        Positives(np.zeros(1, np.int64), np.empty(0, np.int32)),
        SetLoss("margin"),
    )
    assert found.counts.shape == (0,)

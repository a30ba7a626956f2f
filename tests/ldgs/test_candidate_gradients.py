"""Losses on sets of classes, and Algorithms 1 and 2 of LDGS, against NumPy and SciPy."""

from itertools import combinations

import numpy as np
import pytest
from _ldgs_problem import Problem, loss_and_gradient
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import check_grad, minimize

pytestmark = pytest.mark.kernel

LOSSES = ["cross_entropy", "margin", "triplet"]
SMOOTH = LOSSES[:2]


def projected(v, n_positive):
    """The point of the bi-simplex nearest to v, as a quadratic program."""
    n = len(v)
    sign = np.where(np.arange(n) < n_positive, -1.0, 1.0)
    constraints = [
        {"type": "eq", "fun": lambda a: a.sum(), "jac": lambda a: np.ones(n)},
        {
            "type": "ineq",
            "fun": lambda a: 1 - a[n_positive:].sum(),
            "jac": lambda a: -(sign > 0).astype(float),
        },
    ]
    bounds = [(None, 0) if s < 0 else (0, None) for s in sign]
    found = minimize(
        lambda a: ((a - v) ** 2).sum() / 2,
        np.zeros(n),
        jac=lambda a: a - v,
        bounds=bounds,
        constraints=constraints,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return found.x


def scores_of_sets(n_cases, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(n_cases):
        n = rng.integers(2, 12)
        z = rng.normal(size=n) * rng.choice([0.1, 1, 3])
        yield z.astype(np.float32), rng.integers(1, n), rng.choice([0.3, 1.0, 5.0])


def test_margin_gradient_is_the_projection_on_the_bi_simplex():
    for z, n_positive, mu in scores_of_sets(60):
        negative = np.arange(len(z)) >= n_positive
        value, gradient = loss_and_gradient("margin", z, n_positive, mu)
        np.testing.assert_allclose(gradient, projected((z + negative) / mu, n_positive), atol=2e-5)
        expected = (z + negative) @ gradient - mu / 2 * gradient @ gradient
        assert value == pytest.approx(expected, abs=1e-5)


def test_ties_share_the_projection():
    value, gradient = loss_and_gradient("margin", np.zeros(7), 2)
    np.testing.assert_allclose(gradient, [-0.5, -0.5, *[0.2] * 5], atol=1e-7)
    assert value == pytest.approx(1 - 0.25 - 0.1)


def test_triplet_counts_the_pairs_that_violate():
    for z, n_positive, _ in scores_of_sets(100):
        value, gradient = loss_and_gradient("triplet", z, n_positive)
        margins = z[None, n_positive:] - z[:n_positive, None] + 1
        assert value == pytest.approx(np.maximum(margins, 0).sum(), abs=1e-4)
        expected = [*-(margins > 0).sum(axis=1), *(margins > 0).sum(axis=0)]
        np.testing.assert_array_equal(gradient, expected)


def test_cross_entropy_with_weights():
    rng = np.random.default_rng(1)
    for z, n_positive, _ in scores_of_sets(50):
        weight = rng.random(n_positive).astype(np.float32)
        value, gradient = loss_and_gradient("cross_entropy", z, n_positive, weight=weight)
        log_z = np.log(np.exp(z.astype(float)).sum())
        assert value == pytest.approx(weight @ (log_z - z[:n_positive]), abs=1e-4)
        expected = weight.sum() * np.exp(z - log_z)
        expected[:n_positive] -= weight
        np.testing.assert_allclose(gradient, expected, atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_rest_stands_for_classes_scored_zero(loss):
    z = np.array([0.3, -0.2, 0.8, -0.1], dtype=np.float32)
    value, gradient = loss_and_gradient(loss, z, 2, rest=3)
    whole, of_all = loss_and_gradient(loss, np.append(z, np.zeros(3)), 2)
    assert value == pytest.approx(whole, rel=1e-6)
    np.testing.assert_allclose(gradient, of_all[:4], atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_extreme_scores_stay_finite(loss):
    value, gradient = loss_and_gradient(loss, [1e4, -1e4, 3e4, -2e4], 2)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_without_positives_there_is_no_loss(loss):
    value, gradient = loss_and_gradient(loss, [1.0, 2.0], 0)
    assert value == 0
    assert not gradient.any()


@pytest.mark.parametrize("loss", ["margin", "triplet"])
def test_without_negatives_there_is_no_margin(loss):
    value, gradient = loss_and_gradient(loss, [1.0, 2.0], 2)
    assert value == 0
    assert not gradient.any()


@pytest.mark.parametrize("loss", SMOOTH)
def test_gradients_are_those_of_the_losses(loss):
    z = np.random.default_rng(2).normal(size=6)
    error = check_grad(
        lambda z: loss_and_gradient(loss, z, 2)[0],
        lambda z: loss_and_gradient(loss, z, 2)[1].astype(float),
        z,
        epsilon=1e-2,
    )
    assert error < 2e-2


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_chunks", [1, 2, 3, 5, 12])
def test_scoring_again_gives_the_exact_gradient_at_once(loss, n_chunks):
    problem = Problem()
    values, expected = problem.exact(loss)
    found, result = problem.gradient(loss, n_chunks)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_allclose(result.losses, values, rtol=1e-5)


@pytest.mark.parametrize("loss", SMOOTH)
@pytest.mark.parametrize("n_chunks", [1, 2, 4, 12])
def test_messages_lead_to_the_exact_gradient(loss, n_chunks):
    problem = Problem()
    values, expected = problem.exact(loss)
    errors = []
    for n_passes in (1, 10, 300):
        found, result = problem.gradient(loss, n_chunks, n_message_passes=n_passes, tau=-1.0)
        errors.append(abs(found - expected).max())
        assert (result.losses >= values - 1e-4).all()  # theorem 1
    assert errors[2] <= 1e-4
    if n_chunks > 1:
        assert errors[0] > 10 * errors[1] > 10 * errors[2]  # one pass alone is not exact


@given(st.integers(0, 2**31), st.sampled_from(LOSSES), st.integers(1, 6), st.floats(0, 5))
def test_theorem_1(seed, loss, n_chunks, spread):
    """Messages that add up to zero never bring the decomposition below the loss."""
    rng = np.random.default_rng(seed)
    n, n_positive = 8, rng.integers(1, 7)
    parts = rng.normal(size=(n_chunks, n))
    z = parts.sum(axis=0)
    messages = spread * rng.normal(size=(n_chunks, n))
    messages -= messages.mean(axis=0)
    value = loss_and_gradient(loss, z, n_positive)[0]
    decomposed = [
        loss_and_gradient(loss, n_chunks * (part + message), n_positive)[0]
        for part, message in zip(parts, messages, strict=True)
    ]
    assert np.mean(decomposed) >= value - 1e-4 * (1 + abs(value))
    best = z / n_chunks - parts
    tight = [
        loss_and_gradient(loss, n_chunks * (part + message), n_positive)[0]
        for part, message in zip(parts, best, strict=True)
    ]
    assert np.mean(tight) == pytest.approx(value, abs=1e-4 * (1 + abs(value)))


def test_what_a_chunk_did_not_retrieve_counts_as_zero_there():
    problem = Problem(n_rows=1)
    first, second = np.array([3, 4, 5], np.int32), np.array([5, 6, -1], np.int32)
    retrieved = np.stack([first, second])[None]
    found, result = problem.gradient("margin", 2, retrieved, n_message_passes=1000)
    parts = [problem.H[0, :6] @ problem.W[:, :6].T, problem.H[0, 6:] @ problem.W[:, 6:].T]
    own = problem.own[0]
    inside = np.concatenate([own, np.setdiff1d([3, 4, 5, 6], own)])
    known = [np.union1d(own, first), np.union1d(own, second[:2])]
    z = sum(
        np.where(np.isin(inside, k), part[inside], 0) for part, k in zip(parts, known, strict=True)
    )
    expected = loss_and_gradient("margin", z, len(own))[1]
    np.testing.assert_allclose(found[0, inside], expected, atol=2e-4)
    assert result.counts[0] == len(inside)
    assert found[0].sum() == pytest.approx(found[0, inside].sum())


@pytest.mark.parametrize("tau", [1e-6, 0.01, 0.2, 5.0])
def test_what_is_neglected_is_little_and_the_smallest(tau):
    problem = Problem(n_classes=200, scale=1.5)
    whole, _ = problem.gradient("cross_entropy", 2, wants_left_out=True)
    found, result = problem.gradient("cross_entropy", 2, wants_left_out=True, tau=tau)
    assert (result.counts == 200).all()
    for row, before, own in zip(found, whole, problem.own, strict=True):
        gone = (row == 0) & (before != 0)
        assert not gone[own].any()
        np.testing.assert_array_equal(row[~gone], before[~gone])
        assert before[gone].sum() < tau
        negatives = np.delete(np.arange(200), own)
        kept = before[negatives][row[negatives] > 0]
        assert before[gone].max(initial=0) <= kept.min(initial=np.inf)
        if len(kept):  # the next power of two would have been too much
            next_ones = kept[kept < 2 ** (np.floor(np.log2(kept.min())) + 1)]
            assert before[gone].sum() + next_ones.sum() >= tau * (1 - 1e-6)


@pytest.mark.parametrize("n_passes", [0, 2])
def test_threads_do_not_change_gradients(n_passes):
    problem = Problem(n_rows=40)
    one, _ = problem.gradient("margin", 3, n_message_passes=n_passes)
    two, _ = problem.gradient("margin", 3, n_message_passes=n_passes, n_threads=2)
    np.testing.assert_array_equal(one, two)


def test_classes_named_twice_count_once():
    problem = Problem(n_rows=1)
    twice = np.array([[[7, 7, 9, -1], [9, 7, -1, -1]]], dtype=np.int32)
    once = np.array([[[7, 9], [-1, -1]]], dtype=np.int32)
    np.testing.assert_array_equal(
        problem.gradient("cross_entropy", 2, twice)[0],
        problem.gradient("cross_entropy", 2, once)[0],
    )


@pytest.mark.parametrize("n_chunks", [1, 3])
@pytest.mark.parametrize("n_drawn", [1, 2, 4])
def test_drawn_classes_estimate_the_partition_function_without_bias(n_chunks, n_drawn):
    """Averaged over all subsets of the classes left, the estimate is the exact sum."""
    problem = Problem(n_classes=9, n_rows=1)
    own, named = problem.own[0], np.array([1, 4], dtype=np.int32)
    left = np.setdiff1d(np.arange(9), np.union1d(own, named))
    retrieved = np.tile(named, (1, n_chunks, 1))
    z = (problem.H @ problem.W.T)[0]
    estimates = []
    for subset in combinations(left, min(n_drawn, len(left))):
        # those named already, and repetitions, do not count
        drawn = np.array([[*subset, subset[0], own[0], 4]], dtype=np.int32)
        gradient, found = problem.gradient("cross_entropy", n_chunks, retrieved, drawn=drawn)
        estimates.append(np.exp((found.losses[0] + z[own].sum()) / len(own)))
        assert gradient[0].sum() == pytest.approx(0, abs=1e-4)  # as that of all classes
    assert np.mean(estimates) == pytest.approx(np.exp(z).sum(), rel=1e-4)


@pytest.mark.parametrize(("n_passes", "atol"), [(0, 1e-5), (300, 1e-3)])
@pytest.mark.parametrize("loss", SMOOTH)
def test_drawing_all_that_is_left_gives_the_exact_gradient(loss, n_passes, atol):
    problem = Problem(n_classes=20)
    drawn = np.tile(np.arange(20, dtype=np.int32), (5, 1))
    named = problem.everything(3)[:, :, :6].copy()
    found, _ = problem.gradient(loss, 3, named, drawn=drawn, n_message_passes=n_passes, tau=-1.0)
    np.testing.assert_allclose(found, problem.exact(loss)[1], atol=atol)


@pytest.mark.parametrize("loss", ["margin", "triplet"])
def test_drawn_classes_are_candidates_of_the_other_losses(loss):
    problem = Problem(n_rows=3)
    first, second = np.arange(8, dtype=np.int32), np.arange(8, 20, dtype=np.int32)
    together = np.tile(np.concatenate([first, second]), (3, 1, 1))
    found, _ = problem.gradient(loss, 1, np.tile(first, (3, 1, 1)), drawn=np.tile(second, (3, 1)))
    np.testing.assert_allclose(found, problem.gradient(loss, 1, together)[0], atol=1e-6)

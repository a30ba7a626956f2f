"""Gradients from weights rounded to bytes, and indexes that follow the weights."""

import numpy as np
import pytest
from _ldgs_problem import Problem
from hypothesis import given
from hypothesis import strategies as st

from sklearn_xc.ldgs._candidate_gradients import (
    ChunkIndexes,
    chunk_bounds,
)
from sklearn_xc.ldgs._int8_rows import ByteRows

pytestmark = pytest.mark.kernel


# ------------------------------------------------------------------------------- rounded weights


@pytest.mark.parametrize("n_columns", [1, 59, 60, 61, 200])
def test_rows_of_bytes_are_multiples_of_their_scales(n_columns):
    rng = np.random.default_rng(0)
    W = (rng.normal(size=(50, n_columns)) * 10.0 ** rng.integers(-9, 9, 50)[:, None]).astype("f4")
    values = ByteRows(W).values
    assert values.ctypes.data % 64 == values.shape[1] % 64 == 0
    scales = np.ascontiguousarray(values[:, -4:]).view(np.float32)
    np.testing.assert_allclose(scales, abs(W).max(axis=1, keepdims=True) / 127, rtol=1e-6)
    assert (abs(scales * values[:, :n_columns] - W) <= 0.501 * scales).all()
    assert not values[:, n_columns:-4].any()


def test_rows_of_bytes_follow_the_weights():
    rng = np.random.default_rng(0)
    W = rng.normal(size=(500, 9)).astype(np.float32)
    rows, changed = ByteRows(W, n_threads=2), rng.permutation(500)[:400].astype(np.int32)
    W[changed] *= 3
    rows.update(W, changed)
    np.testing.assert_array_equal(rows.values, ByteRows(W).values)


@given(
    loss=st.sampled_from(["margin", "triplet"]),
    mu=st.sampled_from([1e-3, 0.3, 1.0, 20.0]),
    spread=st.sampled_from([0.0, 0.03, 0.3, 3.0, 1e4]),
    zero_rest=st.booleans(),
    n_columns=st.sampled_from([3, 60, 130]),
    seed=st.integers(0, 10**6),
)
def test_rounded_weights_do_not_change_the_gradient(loss, mu, spread, zero_rest, n_columns, seed):
    """Classes left out by a bound of their score have no gradient."""
    problem = Problem(80, n_columns, seed=seed, scale=spread * n_columns**-0.5)
    rng = np.random.default_rng(seed)
    problem.W *= 10.0 ** rng.uniform(-2, 1, size=(80, 1)).astype(np.float32)
    problem.W[rng.integers(80, size=3)] = 0
    problem.W[rng.integers(80, size=3)] *= np.float32(1e-35)
    named = rng.permuted(problem.everything(2), axis=2)[:, :, :20].copy()
    options = {"mu": mu, "zero_rest": zero_rest, "drawn": named[:, 0, :7] // 2}
    expected, whole = problem.gradient(loss, 2, named, **options)
    found, some = problem.gradient(loss, 2, named, rounded=ByteRows(problem.W), **options)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(some.losses, whole.losses)
    np.testing.assert_array_equal(some.n_scored, whole.counts)
    assert (some.counts <= whole.counts).all()


def test_rounded_weights_leave_out_most_negatives():
    problem = Problem(2000, 130, seed=3)
    _, found = problem.gradient("margin", 1, rounded=ByteRows(problem.W), n_threads=2)
    assert (found.n_scored == 2000).all()
    assert found.counts.max() < 60


@pytest.mark.parametrize("loss", ["margin", "triplet"])
@pytest.mark.parametrize("where", ["W", "H"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_rounded_weights_hide_nothing_that_is_not_finite(loss, where, value):
    problem = Problem()
    getattr(problem, where)[2] = value
    _, whole = problem.gradient(loss, 2)
    _, some = problem.gradient(loss, 2, rounded=ByteRows(problem.W))
    np.testing.assert_array_equal(some.losses, whole.losses)
    if where == "W":
        assert all(2 in ids[:n] for ids, n in zip(some.ids, some.counts, strict=True))


def test_message_passes_score_all_parts_of_all_weights():
    problem = Problem()
    options = {"n_message_passes": 3}
    expected, _ = problem.gradient("margin", 3, **options)
    found, _ = problem.gradient("margin", 3, rounded=ByteRows(problem.W), **options)
    np.testing.assert_array_equal(found, expected)


# -------------------------------------------------------------------------------------- indexes


@pytest.mark.parametrize("kind", ["spherical", "hnsw", "exact"])
def test_indexes_follow_the_weights(kind):
    rng = np.random.default_rng(0)
    W = rng.normal(size=(400, 8)).astype(np.float32)
    H = rng.normal(size=(50, 8)).astype(np.float32)
    indexes = ChunkIndexes(kind, chunk_bounds(8, 2), n_probes=20).build(W, H)
    assert indexes.candidates(H, 5).shape == (50, 2, 5)
    W[7] = 10 * np.sign(H[0])
    indexes.build(W, H)
    assert (indexes.candidates(H[:1], 1) == 7).all()


@pytest.mark.parametrize("n_passes", [0, 3])
def test_more_is_used_while_it_could_matter(n_passes):
    """Starting with some of each line ends as with the lines that it ends with."""
    problem, n_chunks = Problem(n_classes=200, n_rows=20), 2
    bounds = chunk_bounds(12, n_chunks)
    lines = ChunkIndexes("exact", bounds).build(problem.W).candidates(problem.H, 40)
    options = {"wants_left_out": True, "n_message_passes": n_passes}

    def using(n, **more):
        some = np.ascontiguousarray(lines[:, :, :n])
        return problem.gradient("cross_entropy", n_chunks, some, **options, **more)

    options["tau"] = np.median(using(10)[1].left_out)
    dense, found = using(40, n_first=5)
    by_size = [using(n) for n in (5, 10, 20, 40)]
    sizes = []
    for i in range(20):
        enough = [some.left_out[i] <= options["tau"] for _, some in by_size[:3]] + [True]
        sizes.append(int(np.argmax(enough)))
        expected, some = by_size[sizes[-1]]
        np.testing.assert_allclose(dense[i], expected[i], atol=1e-6)
        assert found.counts[i] == some.counts[i]
        assert found.losses[i] == pytest.approx(some.losses[i], rel=1e-6)
        assert found.left_out[i] == pytest.approx(some.left_out[i], rel=1e-5)
    assert min(sizes) < 2 < max(sizes) + 1

"""Inverted lists of chunks, and their search, against NumPy."""

from itertools import pairwise

import numpy as np
import pytest

from sklearn_xc._kernels.ldgs import _inverted_lists as kernel
from sklearn_xc.ldgs._candidate_gradients import chunk_bounds
from sklearn_xc.ldgs._inverted_lists import ChunkLists, as_blocks, assign, grouped

pytestmark = pytest.mark.kernel

LANES = kernel.lanes()


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("n_clusters", [1, 5, 16, 17, 40])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_rows_go_to_the_nearest_direction(n_clusters, n_threads):
    rows, directions = normal(300, 11), normal(n_clusters, 4, seed=1)
    found = assign(rows, directions, n_threads, start=3)
    np.testing.assert_array_equal(found, (rows[:, 3:7] @ directions.T).argmax(axis=1))


def test_ties_go_to_the_first_and_what_is_no_number_somewhere():
    directions = np.ones((20, 2), dtype=np.float32)
    rows = np.array([[1, 2], [-1, -2], [0, 0], [np.nan, 1], [np.inf, -np.inf]], dtype=np.float32)
    np.testing.assert_array_equal(assign(rows, directions, 1), 0)


def test_each_row_is_in_the_block_of_its_cluster():
    assigned = np.random.default_rng(0).integers(7, size=200).astype(np.int32)
    assigned[assigned == 3] = 2  # nobody in cluster 3
    starts, ids = grouped(assigned, 8)
    for c, (a, b) in enumerate(pairwise(starts)):
        members = ids[a:b].ravel()
        np.testing.assert_array_equal(members[members >= 0], np.flatnonzero(assigned == c))
        assert (members[np.count_nonzero(assigned == c) :] == -1).all()


@pytest.mark.parametrize("width", [1, 5])
def test_blocks_hold_rows_column_by_column(width):
    rows = normal(21, width)
    blocks = as_blocks(rows)
    assert blocks.shape == (2, width, LANES)
    np.testing.assert_array_equal(blocks.transpose(0, 2, 1).reshape(-1, width)[:21], rows)
    assert not blocks[1, :, 5:].any()


def decoded(values, scales, width):
    """Blocks (n_blocks, LANES, width) of numbers."""
    words = values.reshape(len(scales), -1, LANES)
    numbers = words.transpose(0, 2, 1).copy().view(np.int8)[:, :, :width]
    return numbers * scales[:, None, None]


def in_lists(lists):
    """Weights as the lists of each chunk hold them, (n_rows, width)."""
    chunks, first, n_blocks = [], 0, lists._starts[:, -1]
    ends = np.append(lists._offsets[1:], len(lists._values))
    for j, width in enumerate(np.diff(lists._bounds)):
        here = slice(first, first + n_blocks[j])
        blocks = decoded(lists._values[lists._offsets[j] : ends[j]], lists._scales[here], width)
        ids = lists._ids[here].ravel()
        rows = np.empty((ids.max() + 1, width), dtype=np.float32)
        rows[ids[ids >= 0]] = blocks.reshape(-1, width)[ids >= 0]
        chunks.append(rows)
        first += n_blocks[j]
    return chunks


def of_chunks(lists, H):
    starts = pairwise(lists._bounds)
    return [H[:, a:b] @ W.T for (a, b), W in zip(starts, in_lists(lists), strict=True)]


@pytest.mark.parametrize("width", [1, 4, 5, 8, 11])
def test_blocks_of_lists_hold_bytes(width):
    """The nearest to the values, of 255 up to the largest of the block."""
    rows = normal(44, width)
    rows[16:32] *= 1e-3
    ids = np.append(np.arange(44), [-1] * 4).astype(np.int32).reshape(3, LANES)
    values = np.empty(3 * -(-width // 4) * LANES, dtype=np.int32)
    scales = np.empty(3, dtype=np.float32)
    kernel.lay_out(rows, 0, width, ids, values, scales, 2)
    found = decoded(values, scales, width).reshape(-1, width)
    for block in range(3):
        here = slice(16 * block, min(16 * (block + 1), 44))
        largest = np.abs(rows[here]).max()
        assert scales[block] == pytest.approx(largest / 127)
        np.testing.assert_allclose(found[here], rows[here], rtol=0, atol=0.501 * largest / 127)
    assert not found[44:].any()


@pytest.mark.parametrize("value", [0, np.nan, np.inf, -np.inf, 1e-45, 2e-43])
def test_blocks_without_a_scale_are_zeros(value):
    rows = np.full((LANES, 3), value, dtype=np.float32)
    values, scales = np.empty(LANES, dtype=np.int32), np.empty(1, dtype=np.float32)
    ids = np.arange(LANES, dtype=np.int32)[None]
    kernel.lay_out(rows, 0, 3, ids, values, scales, 1)
    assert not values.any()


@pytest.mark.parametrize("n_chunks", [1, 3, 8])
@pytest.mark.parametrize("n", [1, 7, 60, 300])
def test_reading_all_lists_names_the_best(n_chunks, n):
    W, H, bounds = normal(300, 20), normal(9, 20, seed=1), chunk_bounds(20, n_chunks)
    lists = ChunkLists(bounds, 12, 12, 0, 1).build(W)
    named = lists.candidates(H, n)
    for j, scores in enumerate(of_chunks(lists, H)):
        best = np.sort(np.argsort(-scores, axis=1)[:, :n], axis=1)
        np.testing.assert_array_equal(np.sort(named[:, j], axis=1), best)


@pytest.mark.parametrize("n_first", [1, 5, 12, 30])
def test_the_first_are_the_best_and_so_on(n_first):
    W, H, bounds = normal(200, 6), normal(4, 6, seed=1), chunk_bounds(6, 2)
    lists = ChunkLists(bounds, 4, 4, 0, 1).build(W)
    named = lists.candidates(H, 50, n_first)
    for j, scores in enumerate(of_chunks(lists, H)):
        order = np.argsort(-scores, axis=1)
        n = n_first
        while n < 50:
            expected = np.sort(order[:, :n], axis=1)
            np.testing.assert_array_equal(np.sort(named[:, j, :n], axis=1), expected)
            n *= 2


@pytest.mark.parametrize("n_probes", [1, 2, 5])
def test_rows_come_from_the_lists_of_the_best_centroids(n_probes):
    W, H, bounds = normal(400, 10), normal(20, 10, seed=1), chunk_bounds(10, 2)
    lists = ChunkLists(bounds, 9, n_probes, 0, 1).build(W)
    named = lists.candidates(H, 400)
    for j, (a, b) in enumerate(pairwise(bounds)):
        assigned = assign(W, lists._directions[j], 1, a)
        norms = np.square(W[:, a:b]).sum(axis=1)
        scale = [np.sqrt(norms[assigned == c].mean()) for c in range(9)]
        centroids = lists._directions[j] * np.array(scale)[:, None]
        read = np.argsort(-(H[:, a:b] @ centroids.T), axis=1)[:, :n_probes]
        for ids, clusters in zip(named[:, j], read, strict=True):
            expected = np.flatnonzero(np.isin(assigned, clusters))
            np.testing.assert_array_equal(np.sort(ids[ids >= 0]), expected)
            assert (ids[len(expected) :] == -1).all()


def test_ties_go_to_the_smaller_ids():
    W = np.ones((100, 2), dtype=np.float32)
    lists = ChunkLists(chunk_bounds(2, 1), 1, 1, 0, 1).build(W)
    for sign in (1, -1):
        named = lists.candidates(sign * np.ones((1, 2), dtype=np.float32), 30)
        np.testing.assert_array_equal(np.sort(named[0, 0]), np.arange(30))


@pytest.mark.parametrize("value", [0.0, np.nan, np.inf, 3e38])
def test_any_weights_can_be_searched(value):
    W, H = normal(50, 6), normal(3, 6, seed=1)
    W[:20] = value
    lists = ChunkLists(chunk_bounds(6, 2), 7, 3, 0, 1)
    with np.errstate(all="ignore"):
        named = lists.build(W).candidates(H, 50)
    for ids in named.reshape(-1, 50):
        ids = ids[ids >= 0]
        assert len(np.unique(ids)) == len(ids) <= 50
        assert ids.max(initial=0) < 50


def test_more_clusters_than_rows_and_no_queries():
    lists = ChunkLists(chunk_bounds(4, 2), 30, 9, 0, 2).build(normal(5, 4))
    assert lists.candidates(normal(0, 4), 3).shape == (0, 2, 3)
    found = lists.candidates(normal(2, 4), 5)
    assert (np.sort(found, axis=2) == np.arange(5)).all()


def test_threads_do_not_change_what_is_named():
    W, H, bounds = normal(3000, 12), normal(64, 12, seed=1), chunk_bounds(12, 3)
    one, two = (ChunkLists(bounds, None, 3, 0, n).build(W).candidates(H, 40, 10) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_building_again_follows_the_rows():
    W, H, bounds = normal(400, 8), normal(5, 8, seed=1), chunk_bounds(8, 2)
    lists = ChunkLists(bounds, None, 20, 0, 1).build(W)
    W[7] = 10 * np.sign(H[0])
    assert (lists.build(W).candidates(H[:1], 1) == 7).all()


def test_memory_is_as_stated(monkeypatch):
    W, bounds = normal(3000, 20), chunk_bounds(20, 4)
    lists = ChunkLists(bounds, 50, 2, 0, 1).build(W)
    size = lists._values.nbytes + lists._ids.nbytes
    assert 3000 * (28 + 16) < size < (3000 + LANES * 50) * (32 + 16)
    monkeypatch.setenv("SKLEARN_XC_MEMORY_LIMIT", "100000")
    with pytest.raises(MemoryError, match="lists of 3000 rows of 20 columns"):
        ChunkLists(bounds, 50, 2, 0, 1).build(W)

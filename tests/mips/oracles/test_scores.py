"""Kernels of the inner product search against plain NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sklearn_xc._kernels.mips import _search
from sklearn_xc.mips._row_store import Heaps, RowStore, check_vectors

pytestmark = pytest.mark.kernel

rng = np.random.default_rng(0)


def vectors(shape, kind, seed):
    random = np.random.default_rng(seed)
    dense = random.normal(size=shape) * (random.random(shape) < 0.3)
    return sparse.csr_array(dense) if kind == "sparse" else dense


def to_dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)


def store_of(rows):
    return RowStore(check_vectors(rows, "rows"), rows)


@pytest.mark.parametrize("row_kind", ["dense", "sparse"])
@pytest.mark.parametrize("query_kind", ["dense", "sparse"])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_scores_are_inner_products(row_kind, query_kind, n_threads):
    rows, queries = vectors((30, 37), row_kind, 1), vectors((9, 37), query_kind, 2)
    candidates = rng.integers(0, 30, size=(9, 12)).astype(np.int32)
    candidates[3, 4] = -1
    scores = store_of(rows).score(check_vectors(queries, "Q"), candidates, n_threads)
    expected = to_dense(queries) @ to_dense(rows).T
    expected = np.take_along_axis(expected, candidates.astype(int), axis=1)
    expected[3, 4] = -np.inf
    np.testing.assert_allclose(scores, expected, atol=1e-5)


def test_candidates_shared_by_all_queries():
    rows, queries = vectors((30, 5), "dense", 1), vectors((4, 5), "dense", 2)
    shared = np.array([[7, 0, 29]], dtype=np.int32)
    scores = store_of(rows).score(check_vectors(queries, "Q"), shared, 1)
    np.testing.assert_allclose(scores, queries @ rows[[7, 0, 29]].T, atol=1e-5)


@given(
    scores=st.lists(st.integers(-3, 3), min_size=1, max_size=200),
    k=st.integers(1, 12),
    seed=st.integers(0, 99),
)
def test_heaps_keep_the_best_with_ties_to_smaller_ids(scores, k, seed):
    scores = np.array([scores], dtype=np.float32)
    ids = np.random.default_rng(seed).permutation(scores.shape[1])[None].astype(np.int32)
    ids[0, 0] = -1
    top = Heaps(1, k)
    for part in np.array_split(np.arange(scores.shape[1]), 3):
        if len(part):
            top.offer(scores[:, part].copy(), ids[:, part].copy())
    found, best = top.sorted()
    order = [p for p in np.lexsort((ids[0], -scores[0])) if ids[0, p] >= 0][:k]
    np.testing.assert_array_equal(found[0, : len(order)], ids[0, order])
    np.testing.assert_array_equal(best[0, : len(order)], scores[0, order])
    assert (found[0, len(order) :] == -1).all()


def test_heaps_of_the_queries_named():
    top = Heaps(3, 2)
    into = np.array([2, 0], dtype=np.int32)
    scores = np.array([[1, 2, 3], [6, 5, 4]], dtype=np.float32)
    top.offer(scores, np.array([[5, 6, 7]], dtype=np.int32), into)
    ids, _ = top.sorted()
    np.testing.assert_array_equal(ids, [[5, 6], [-1, -1], [7, 6]])


@pytest.mark.parametrize("n_words", [1, 3])
def test_codes_hold_the_signs(n_words):
    projections = rng.normal(size=(20, 64 * n_words)).astype(np.float32)
    projections[:, 5] = 0
    codes = np.empty((20, n_words), dtype=np.uint64)
    _search.pack_signs(projections, codes)
    bits = codes[:, :, None] >> np.arange(64, dtype=np.uint64) & np.uint64(1)
    np.testing.assert_array_equal(bits.reshape(20, -1).astype(bool), projections > 0)


@pytest.mark.parametrize("n_words", [1, 2])
@pytest.mark.parametrize("wanted", [1, 7, 60, 200])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_nearest_codes(n_words, wanted, n_threads):
    codes = rng.integers(0, 2**63, size=(200, n_words), dtype=np.uint64)
    codes[50:90] = codes[3]  # many ties
    queries = np.concatenate([codes[3:5], rng.integers(0, 2**63, (9, n_words), dtype=np.uint64)])
    ids = np.empty((11, wanted), dtype=np.int32)
    _search.nearest(
        queries,
        codes,
        ids,
        np.empty((n_threads, 200), dtype=np.uint16),
        np.empty((n_threads, 64 * n_words + 1), dtype=np.int64),
        n_threads,
    )
    distances = np.bitwise_count(queries[:, None] ^ codes[None]).sum(axis=2, dtype=int)
    expected = np.argsort(distances, axis=1, kind="stable")[:, :wanted]
    np.testing.assert_array_equal(ids, expected)


def test_nothing_to_do():
    top = Heaps(0, 3)
    assert top.sorted()[0].shape == (0, 3)
    empty = np.empty((0, 2), dtype=np.float32)
    _search.offer(
        empty,
        np.empty((1, 2), np.int32),
        np.empty(0, np.int32),
        np.empty((1, 1), np.float32),
        np.empty((1, 1), np.int32),
        1,
    )


# ------------------------------------------------------------------------------------- the store


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=25))
def test_replaced_sparse_rows_read_back(seeds):
    current = vectors((20, 15), "sparse", 0).toarray()
    store = store_of(sparse.csr_array(current))
    for seed in seeds:
        random = np.random.default_rng(seed)
        ids = random.permutation(20)[: random.integers(1, 6)]
        new = random.normal(size=(len(ids), 15)) * (random.random((len(ids), 15)) < 0.5)
        current[ids] = new
        store.replace(ids, check_vectors(sparse.csr_array(new), "rows"))
        np.testing.assert_allclose(store.take(np.arange(20)).toarray(), current, rtol=1e-6)
        assert len(store.data) <= 1.5 * 20 * 15 + 2


def test_read_only_arrays_are_not_copied_until_a_row_is_replaced():
    rows = rng.normal(size=(50, 4)).astype(np.float32)
    store = store_of(rows)
    assert not np.shares_memory(store.data, rows)
    rows.flags.writeable = False
    store = store_of(rows)
    assert np.shares_memory(store.data, rows)
    before = rows.copy()
    store.replace(np.array([3]), np.ones((1, 4), dtype=np.float32))
    np.testing.assert_array_equal(rows, before)
    np.testing.assert_array_equal(store.matrix[3], 1)
    np.testing.assert_array_equal(store.matrix[4], rows[4])

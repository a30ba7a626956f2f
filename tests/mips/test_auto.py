"""The choice of an index by counted operations."""

import pickle
import sys
import time

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from sklearn_xc.mips import AutoIndex, _auto, _cost
from sklearn_xc.mips._row_store import RowStore, check_vectors


def clustered(n, d, seed):
    centres = np.random.default_rng(0).normal(size=(50, d))
    random = np.random.default_rng(seed)
    return centres[random.integers(50, size=n)] + 0.5 * random.normal(size=(n, d))


def normal(n, d, seed):
    return np.random.default_rng(seed).normal(size=(n, d))


def test_rows_in_clusters_are_searched_by_clusters():
    rows, queries = clustered(6000, 16, 1), clustered(300, 16, 2)
    index = AutoIndex(random_state=0).build(rows, queries)
    assert index.search_ == "spherical"
    assert index.recall_ >= 0.9
    assert index.costs_["spherical"] < index.costs_["exact"]
    ids, scores = index.query(queries, 10)
    best = np.sort(-(queries @ rows.T), axis=1)[:, :10]
    assert (scores >= -best[:, -1:] - 1e-4).mean() == pytest.approx(index.recall_, abs=0.06)
    assert index.candidates(queries, 10).shape == ids.shape


def test_few_rows_are_searched_exactly():
    rows = normal(200, 8, 0)
    index = AutoIndex(random_state=0).build(rows)
    assert (index.search_, index.mode_, index.recall_) == ("exact", "exact", 1.0)
    assert (index.n_rows_, index.n_features_in_, index.n_fallbacks_) == (200, 8, 0)
    rows[3] = 100
    index.update([3], rows[3:4])
    np.testing.assert_array_equal(index.query(np.ones((1, 8)), 1)[0], [[3]])


def test_building_counts_when_queries_are_few():
    rows, queries = clustered(6000, 16, 1), clustered(300, 16, 2)
    index = AutoIndex(n_queries=100, random_state=0).build(rows, queries)
    assert index.search_ == "exact"
    many = AutoIndex(n_queries=10**7, random_state=0).build(rows, queries)
    assert many.search_ == "spherical"
    assert many.costs_["spherical"] < index.costs_["spherical"]


def test_what_misses_the_recall_is_not_chosen():
    rows, queries = normal(5000, 48, 1), normal(200, 48, 2)
    index = AutoIndex(min_recall=0.99, random_state=0).build(rows, queries)
    assert index.search_ == "exact"
    assert index.costs_["spherical"] == np.inf


@pytest.mark.parametrize("search", ["exact", "hnsw", "spherical", "lsh"])
def test_an_index_can_be_prescribed(search):
    rows = normal(400, 6, 0)
    index = AutoIndex(search=search, min_recall=0, random_state=0).build(rows)
    assert index.search_ == search
    assert index.index_.get_params()["random_state"] == 0


def test_one_prescribed_that_falls_short_is_exact_and_says_so():
    with pytest.warns(RuntimeWarning, match="SphericalIndex answers exactly") as caught:
        index = AutoIndex(search="spherical", min_recall=1, random_state=0).build(normal(500, 9, 0))
    assert index.search_ == "exact"
    assert caught[0].filename == __file__


def test_no_clock_decides(monkeypatch):
    def clock(*_):
        raise AssertionError("the clock was read")

    rows, queries = clustered(3000, 8, 1), clustered(100, 8, 2)
    for name in ("time", "perf_counter", "monotonic", "process_time"):
        monkeypatch.setattr(time, name, clock)
    built = [AutoIndex(random_state=3, n_jobs=j).build(rows, queries) for j in (1, 1)]
    monkeypatch.undo()
    assert built[0].costs_ == built[1].costs_
    assert built[0].search_ == built[1].search_


def test_without_hnswlib_the_others_are_compared(monkeypatch):
    monkeypatch.setitem(sys.modules, "hnswlib", None)
    monkeypatch.setattr(_cost, "CACHED_NODE", 0)
    monkeypatch.setattr(_cost, "NODE", 0)  # a graph would seem worth trying
    index = AutoIndex(random_state=0).build(clustered(6000, 64, 1), clustered(300, 64, 2))
    assert index.costs_["hnsw"] == np.inf
    assert index.search_ == "spherical"
    with pytest.raises(ImportError, match="HNSWIndex needs hnswlib"):
        AutoIndex(search="hnsw").build(normal(20, 3, 0))


def test_what_a_pilot_finds_is_used_for_all_rows(monkeypatch):
    monkeypatch.setattr(_auto, "PILOT_ROWS", 1500)
    rows, queries = clustered(6000, 16, 1), clustered(300, 16, 2)
    index = AutoIndex(random_state=0).build(rows, queries)
    assert index.search_ == "spherical"
    assert index.index_.reduction == index.mode_
    assert index.n_rows_ == 6000


def test_copies_and_missing_attributes():
    index = AutoIndex(n_queries=5, random_state=0)
    assert clone(index).get_params() == index.get_params()
    with pytest.raises(AttributeError, match="'AutoIndex' object has no attribute 'recall_'"):
        index.recall_  # noqa: B018
    with pytest.raises(ValueError, match="this AutoIndex has no rows yet: call build first"):
        index.query(np.ones((1, 3)), 1)
    with pytest.raises(ValueError, match="search of AutoIndex must be one of auto, exact"):
        AutoIndex(search="fast").build(np.ones((3, 3)))
    rows = normal(50, 4, 0)
    copy = pickle.loads(pickle.dumps(index.build(rows)))
    np.testing.assert_array_equal(copy.query(rows, 5)[0], index.query(rows, 5)[0])


# ------------------------------------------------------------------------------- the cost model


def store_of(rows):
    return RowStore(check_vectors(rows, "rows"), rows)


def test_entries_of_lists_are_counted():
    rows = sparse.random_array((300, 50), density=0.1, rng=0, format="lil")
    rows[:, 7] = 1.0  # stored for all rows
    rows = rows.tocsr()
    queries = sparse.random_array((40, 50), density=0.2, rng=1, format="csr")
    asked = (queries != 0).toarray().sum(axis=0) / 40
    lengths = (rows != 0).toarray().sum(axis=0)
    lists = _cost.LIST + _cost.POSTING * lengths
    lists[7] = _cost.FULL * 300
    counted = _cost.exact(store_of(rows), queries)
    assert counted == pytest.approx(asked @ lists + _cost.CLASS * 300)
    dense = _cost.exact(store_of(rows), queries.toarray())
    assert dense == pytest.approx(lists.sum() + _cost.CLASS * 300)


def test_dense_products_are_counted():
    rows, queries = normal(300, 50, 0), normal(5, 50, 0)
    assert _cost.exact(store_of(rows), queries) == 300 * (50 + _cost.SCAN)
    few = sparse.csr_array(queries * (np.arange(50) < 2))
    assert _cost.exact(store_of(rows), few) == 300 * (4 * 2 + _cost.SCAN)


@pytest.mark.parametrize(
    "count",
    [
        lambda n, d, e: _cost.graph(n, d, 16, e),
        lambda n, d, e: _cost.lists(n, d, 100, e),
        lambda n, d, e: _cost.codes(n, d, 64) + _cost.scored(e, d, 4 * n * d),
    ],
)
def test_costs_grow_with_rows_features_and_effort(count):
    base = count(10_000, 64, 50)
    assert base < count(40_000, 64, 50)
    assert base < count(10_000, 128, 50)
    assert base < count(10_000, 64, 100)
    assert 0 < base < 10_000 * 64 * 50

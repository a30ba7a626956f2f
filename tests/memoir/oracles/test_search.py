"""The search for the most violating class: exact, by a graph, by codes."""

import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import normalize

from sklearn_xc import MemoirSVC
from sklearn_xc.memoir import _violator_search
from sklearn_xc.memoir._growing_weights import GrowingWeights
from sklearn_xc.memoir._violator_search import IndexedClasses, LaggingIndex, choose_search
from sklearn_xc.mips import HNSWIndex, SimpleLSHIndex
from sklearn_xc.utils._matrix import as_rows

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.filterwarnings("ignore:sklearn-xc was built without OpenMP"),
]


# -------------------------------------------------------------------------------- the search


@pytest.fixture
def any_number(monkeypatch):
    """An index where it is asked for, also of classes so few that exact search costs less."""
    monkeypatch.setattr(_violator_search, "FEWEST_CLASSES", {})
    monkeypatch.setattr(_violator_search, "BUILDING", 0.3)


@pytest.mark.parametrize("search", ["hnsw", "lsh"])
def test_an_index_finds_what_exact_search_finds(search, many, any_number):
    X, y = many
    exact = MemoirSVC(search="exact", max_iter=2, random_state=0).fit(X, y)
    options = {"search_params": {"n_bits": 512}} if search == "lsh" else {}
    found = MemoirSVC(search=search, max_iter=2, random_state=0, **options).fit(X, y)
    assert (exact.search_, found.search_) == ("exact", search)
    assert exact.recall_ == 1
    assert 0.9 <= found.recall_ <= 1
    assert exact.n_scored_ == 200
    assert found.n_scored_ < (100 if search == "hnsw" else 180)
    assert abs(exact.score(X, y) - found.score(X, y)) < 0.02


@pytest.mark.full
def test_a_sketch_finds_violating_classes_among_sparse_rows(any_number):
    """Classes in groups of twenty, so that ten of them are clearly the best."""
    rng = np.random.default_rng(0)
    y = np.arange(1000) % 200
    common = sparse.csr_array(np.repeat(np.eye(10), 20, axis=0)[y])
    own = sparse.random_array((200, 3000), density=0.002, rng=rng, format="csr")[y]
    X = normalize(sparse.hstack([2 * common, own], format="csr"))
    model = MemoirSVC(
        search="hnsw", search_params={"sketch_dim": 2048}, max_iter=2, random_state=0
    ).fit(X, y)
    assert model.recall_ >= 0.9
    assert model.n_scored_ < 150
    exact = MemoirSVC(search="exact", max_iter=2, random_state=0).fit(X, y)
    assert model.score(X, y) > exact.score(X, y) - 0.02


def test_classes_that_have_moved_are_candidates():
    """An index that knows nothing: what has moved since it was built is looked at all the same."""

    class Blind(HNSWIndex):
        def candidates(self, Q, n):
            named.append(n)
            return np.full((Q.shape[0], n), 0, dtype=np.int32)

    named = []
    weights = GrowingWeights(100, 5, averaged=False)
    search = IndexedClasses(
        Blind(random_state=0), np.ones((300, 6), np.float32), weights, 0, "hnsw"
    )
    assert search.samples_at_once == 8
    search.changed(np.arange(25))
    assert search.candidates(np.arange(8)).shape == (8, 0)  # too few to build an index of
    search.changed([0, 40])
    np.testing.assert_array_equal(search.candidates([1]), [[0] * named[0]])  # built: none has moved
    search.changed([0, 7, 40])
    np.testing.assert_array_equal(search.candidates([1, 2]), [[-1] * named[0]] * 2)  # each once
    np.testing.assert_array_equal(search.shared, [0, 7, 40])
    search.changed(np.arange(50, 58))
    assert search.moved.sum() == 11
    assert search.candidates([1]).shape == (1, named[0])  # it has followed
    assert not search.moved.any()


def test_of_dense_rows_classes_that_have_turned_are_compared():
    """The index follows when comparing them has cost as much as building it."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 6)).astype(np.float32), rng.integers(100, size=300)
    weights = GrowingWeights(100, 5, averaged=False, dense=True)
    weights.lists.keep_rows()
    index = HNSWIndex(min_recall=0, n_candidates=32, random_state=0)
    search = LaggingIndex(index, X, y.astype(np.int32), weights, 0, "hnsw")
    V, samples = weights.lists.rows, np.arange(300)
    V[:30] = rng.normal(size=(30, 6))
    search.changed(np.arange(30))
    found = search.candidates(samples)
    np.testing.assert_array_equal(found[:, :2], [[30, 31]] * 300)  # two without weights
    assert best_is_among(found, X @ V.T, y, 30)
    np.testing.assert_array_equal(search.shared, np.unique(y))  # their own classes
    assert search.spent == 300 * 30 * search.class_cost
    V[:] = rng.normal(size=V.shape)
    search.changed(np.arange(100))
    search.spent = 1.01 * search.price
    assert search.candidates(samples).shape == (300, 12)
    assert not search.moved.any()
    V[4] *= 1.1  # a little
    V[7] *= -1
    search.changed(np.array([4, 5, 7]))
    found = search.candidates(samples)
    np.testing.assert_array_equal(np.flatnonzero(search.moved), [7])
    assert (found[y != 7, 12] == 7).all()
    assert (found[:, :12] != 7).all()  # once
    weights.state[0] = 0.5
    weights.fold()  # all weights in another unit, and none has turned
    search.changed(np.arange(100))
    np.testing.assert_array_equal(np.flatnonzero(search.moved), [7])
    search.spent = 1.01 * search.price
    search.candidates(samples)
    assert not search.moved.any()
    np.testing.assert_array_equal(search.rows, V)


def test_a_graph_of_dense_rows_that_fails_leaves_products_with_all_classes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 30)).astype(np.float32), rng.integers(500, size=60)
    weights = GrowingWeights(500, 29, averaged=False, dense=True)
    weights.lists.keep_rows()
    weights.lists.rows[:] = rng.normal(size=(500, 30))
    index = HNSWIndex(min_recall=1, n_candidates=1, M=2, ef_construction=1, random_state=0)
    search = LaggingIndex(index, X, y.astype(np.int32), weights, 0, "hnsw")
    search.changed(np.arange(20))
    price = search.price
    search.spent = 1.01 * price
    with pytest.warns(RuntimeWarning, match="recall"):
        found = search.candidates(np.arange(60))
    assert (search.built, search.recall_, search.price) == (False, 1.0, 2 * price)
    assert best_is_among(found, X @ weights.lists.rows.T, y, 500)
    assert search.spent == 60 * 500 * search.class_cost


def best_is_among(found, scores, y, n):
    """Whether the best of the first n classes, but for its own, is a candidate of each sample."""
    scores[np.arange(len(y)), y] = -np.inf
    return (found == scores[:, :n].argmax(axis=1)[:, None]).any(axis=1).all()


def test_blocks_of_classes_have_their_best_among_the_candidates(monkeypatch):
    monkeypatch.setattr(_violator_search, "CLASSES_AT_ONCE", 7)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 6)).astype(np.float32), rng.integers(100, size=50)
    weights = GrowingWeights(100, 5, averaged=False, dense=True)
    weights.lists.keep_rows()
    search = LaggingIndex(HNSWIndex(), X, y.astype(np.int32), weights, 0, "hnsw")
    weights.lists.rows[:] = rng.normal(size=(100, 6))
    for n in (0, 1, 8, 100):
        found = search.best_of(np.arange(n, dtype=np.int32), np.arange(50))
        assert n < 2 or best_is_among(found, X @ weights.lists.rows.T, y, n)
        assert found.shape == (50, -(-n // min(7, max(1, -(-n // 8)))))


def test_an_index_that_misses_too_much_hands_over_to_exact_search(digits):
    X, y = digits
    rng = np.random.default_rng(0)
    X = normalize(np.hstack([X, rng.normal(size=(len(X), 200)) / 10]))
    X, y = sparse.csr_array(X), np.arange(len(y)) % 300
    with pytest.warns(RuntimeWarning, match="answers exactly"):
        model = MemoirSVC(
            search="lsh", search_params={"sketch_dim": 4}, max_iter=2, random_state=0
        ).fit(X, y)
    exact = MemoirSVC(search="exact", max_iter=2, random_state=0).fit(X, y)
    assert (model.search_, model.recall_) == ("exact", 1)
    assert model.n_scored_ == pytest.approx(300, rel=0.01)
    np.testing.assert_allclose(model.coef_.toarray(), exact.coef_.toarray(), atol=1e-4)


def test_a_lower_recall_is_allowed_on_request():
    rng = np.random.default_rng(0)
    y = np.arange(8000) % 4000
    X = normalize(rng.normal(size=(4000, 30))[y] + 0.5 * rng.normal(size=(8000, 30)))
    options = {"search": "lsh", "max_iter": 1, "random_state": 0}
    some = MemoirSVC(search_params={"min_recall": 0.2}, **options).fit(X, y)
    most = MemoirSVC(search_params={"min_recall": 0.8}, **options).fit(X, y)
    assert 0.2 <= some.recall_ < 0.8 <= most.recall_ < 1
    # Of one pass the first eighth is searched exactly: until a quarter of the classes have moved.
    assert some.n_scored_ < most.n_scored_ < 1200


def test_auto_counts_operations():
    rng = np.random.default_rng(0)
    few = as_rows(rng.normal(size=(100, 64)).astype(np.float32))
    y = np.arange(100, dtype=np.int32)
    assert choose_search("auto", few, y, (100, 64), 256) == "exact"
    assert choose_search("auto", few, y, (10**6, 64), 256) == "hnsw"
    assert choose_search("lsh", few, y, (100, 64), 256) == "lsh"
    rare = as_rows(sparse.random_array((5000, 100_000), density=1e-4, format="csr", rng=rng))
    of_rare = rng.integers(10**6, size=5000).astype(np.int32)
    assert choose_search("auto", rare, of_rare, (10**6, 100_000), 256) == "exact"


def test_auto_is_exact_without_hnswlib(monkeypatch):
    few = as_rows(np.ones((4, 64), dtype=np.float32))
    monkeypatch.setitem(sys.modules, "hnswlib", None)
    assert choose_search("auto", few, np.zeros(4, dtype=np.int32), (10**6, 64), 256) == "exact"


@pytest.mark.parametrize("min_recall", [0.3, 0.6, 0.9])
def test_the_gap_of_the_margins_matches_the_recall(min_recall, many):
    """Where the index retrieves the most violating class the margins are equal."""
    X, y = many
    W = MemoirSVC(fit_intercept=False, random_state=0).fit(X, y).coef_.toarray()
    scores = X @ W.T
    samples = np.arange(len(y))
    own = scores[samples, y].copy()
    scores[samples, y] = -np.inf
    exact = own - scores.max(axis=1)
    index = SimpleLSHIndex(n_bits=64, min_recall=min_recall, random_state=0).build(W, X)
    named = index.candidates(X, max(10, index.effort_))
    inexact = own - np.where(named >= 0, np.take_along_axis(scores, named, axis=1), -np.inf).max(1)
    assert (inexact >= exact - 1e-6).all()
    assert min_recall <= index.recall_ < 1
    assert index.recall_ - 0.05 <= (inexact <= exact + 1e-6).mean() <= 1
    truth = np.sort(X @ W.T, axis=1)[:, -10]  # a row counts as found where it reaches this
    found = np.take_along_axis(X @ W.T, named, axis=1) >= truth[:, None] - 1e-6
    assert (found & (named >= 0)).sum() / (10 * len(y)) == pytest.approx(index.recall_, abs=0.06)


@pytest.mark.parametrize("search", ["exact", "hnsw", "lsh"])
def test_threads_change_nothing(search, many, any_number):
    X, y, long = many[0][:1000], many[1][:1000], {"n_bits": 1024}
    one, two = (
        MemoirSVC(search=search, search_params=long, max_iter=1, n_jobs=n, random_state=0).fit(X, y)
        for n in (1, 2)
    )
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(one.coef_, name), getattr(two.coef_, name))
    assert one.n_scored_ == two.n_scored_

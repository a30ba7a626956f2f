"""Searches through an index over dense rows: what it misses costs rounds, never certainty."""

import joblib
import numpy as np
import pytest
from _ppdsparse_problem import dual_value, make, primal, solve
from scipy import sparse

from sklearn_xc import PPDSparseClassifier
from sklearn_xc._kernels.ppdsparse._byte_rows import ByteRows
from sklearn_xc._kernels.ppdsparse._matrix import Matrix
from sklearn_xc.ppdsparse._row_index import directions, graph_pays, wants_graph
from sklearn_xc.ppdsparse._solver import rounded_rows
from sklearn_xc.utils._matrix import as_rows


class Forgetful:
    """The rows of largest inner product, each named with some probability."""

    def __init__(self, X, share):
        self.X, self.share, self.n_queries = X, share, 0
        self.rng = np.random.default_rng(0)

    def candidates(self, queries, n):
        assert queries.dtype == np.float32
        assert queries.flags.c_contiguous
        self.n_queries += len(queries)
        ids = np.argsort(-(queries @ self.X.T), axis=1)[:, :n].astype(np.int32)
        ids[self.rng.random(ids.shape) >= self.share] = -1
        return ids


def solve_by_index(X, Y, index, rounded=None, **settings):
    rows = as_rows(X)
    parts = rows.indptr, rows.indices, rows.data, True, X.shape[1], None, None, None
    return solve(X, Y, matrix=Matrix(*parts, rounded=rounded, index=index), **settings)


def clusters(n, d, k, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    X = rng.normal(size=(k, d))[y] + rng.normal(size=(n, d))
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32), y


@pytest.mark.parametrize("share", [1.0, 0.5, 0.0])
@pytest.mark.parametrize("hinge", [False, True])
def test_gaps_are_true_whatever_an_index_misses(share, hinge):
    X, Y = make(1500, 12, 19, density=1.0)
    settings = {"hinge": hinge, "tol": 1e-3 if hinge else 1e-5}
    index = Forgetful(X, share)
    result = solve_by_index(X, Y, index, **settings)
    p = primal(X, Y, result, hinge=hinge)
    np.testing.assert_allclose(
        result["gap"], (p - dual_value(X, Y, result, hinge=hinge)) / p, atol=2e-6
    )
    assert (result["gap"] <= settings["tol"]).all()
    assert index.n_queries >= 19
    np.testing.assert_allclose(p, primal(X, Y, solve(X, Y, **settings), hinge=hinge),
                               rtol=2 * settings["tol"])  # fmt: skip


@pytest.mark.parametrize("max_iter", [1, 2, 3, 5])
def test_max_iter_ends_with_a_true_gap(max_iter):
    X, Y = make(2000, 20, 20, density=1.0)
    result = solve_by_index(X, Y, Forgetful(X, 0.8), tol=1e-12, max_iter=max_iter)
    p = primal(X, Y, result)
    assert (result["n_iter"] == max_iter).all()
    np.testing.assert_allclose(result["gap"], (p - dual_value(X, Y, result)) / p, atol=2e-6)


def test_rows_of_bytes_certify_what_an_index_names():
    X, y = clusters(9000, 24, 33)
    Y = np.eye(33, dtype=np.uint8)[y]
    rounded = ByteRows(*rounded_rows(as_rows(X), 33))
    result = solve_by_index(X, Y, Forgetful(X, 0.7), rounded, tol=0.01)
    p = primal(X, Y, result)
    np.testing.assert_allclose(result["gap"], (p - dual_value(X, Y, result)) / p, atol=2e-6)
    assert (result["gap"] <= 0.01).all()


def test_an_index_that_fails_ends_the_fit():
    class Failing:
        def candidates(self, queries, n):
            raise OSError("the index is gone")

    X, Y = make(300, 12, 5, density=1.0)
    with pytest.raises(OSError, match="the index is gone"):
        solve_by_index(X, Y, Failing())


def test_directions_are_those_of_the_positives():
    X, y = clusters(400, 6, 5)
    Y = sparse.csc_array(np.eye(7, dtype=np.uint8)[y])  # two classes are empty
    found = directions(X, Y, np.random.default_rng(0))
    expected = [(X[y == k] - X.mean(axis=0)).sum(axis=0) for k in range(5)]
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_a_graph_pays_for_millions_of_rows_and_many_classes():
    assert not graph_pays(500_000, 256, 100_000)
    assert not graph_pays(10_000_000, 256, 1000)  # building it costs more
    assert graph_pays(10_000_000, 256, 1_000_000)
    large = 10_000_000, 256, 1_000_000
    assert wants_graph("auto", large, dense=True, searched_whole=True)
    assert not wants_graph("exact", large, dense=True, searched_whole=True)
    assert not wants_graph("auto", large, dense=False, searched_whole=True)
    assert not wants_graph("auto", large, dense=True, searched_whole=False)


# ---------------------------------------------------------------------------------- the estimator


def test_a_graph_over_the_rows_serves_all_classes(monkeypatch, pytestconfig):
    pytest.importorskip("hnswlib")
    X, y = clusters(4000, 24, 40)
    options = {"random_state": 0, "pruning": 0}
    exact = PPDSparseClassifier(search="exact", **options).fit(X, y)
    assert (exact.search_, exact.recall_) == ("exact", 1.0)
    model = PPDSparseClassifier(search="hnsw", warm_start=True, **options).fit(X, y)
    assert model.search_ == "hnsw"
    assert 0.9 < model.recall_ <= 1
    assert (model.dual_gap_ <= model.tol).all()
    assert np.mean(model.predict(X) == exact.predict(X)) > 0.99
    for backend in ["threading", "loky"] if pytestconfig.getoption("--full") else ["threading"]:
        with joblib.parallel_backend(backend):
            two = PPDSparseClassifier(search="hnsw", n_jobs=2, **options).fit(X, y)
        np.testing.assert_array_equal(two.coef_.toarray(), model.coef_.toarray())
        np.testing.assert_array_equal(two.dual_gap_, model.dual_gap_)
    model.fit(X, y)  # from the optimum
    assert (model.dual_gap_ <= model.tol).all()
    assert model.n_iter_ <= two.n_iter_
    monkeypatch.setattr("sklearn_xc.ppdsparse._row_index.graph_pays", lambda *sizes: True)
    assert PPDSparseClassifier(**options).fit(X, y).search_ == "hnsw"
    assert PPDSparseClassifier(**options).fit(sparse.csr_array(X), y).search_ == "exact"


def test_labels_added_are_searched_for_in_the_same_way():
    pytest.importorskip("hnswlib")
    X, y = clusters(3000, 24, 20)
    Y = np.eye(20, dtype=np.uint8)[y]
    model = PPDSparseClassifier(search="hnsw", random_state=0).fit(X, Y[:, :15])
    model.add_labels(X, Y[:, 15:])
    assert (model.dual_gap_ <= model.tol).all()
    assert np.mean(model.predict_topk(X, 1)[0][:, 0] == y) > 0.9


def test_what_a_graph_cannot_serve_is_refused():
    pytest.importorskip("hnswlib")
    X, y = clusters(300, 24, 5)
    model = PPDSparseClassifier(search="hnsw")
    with pytest.raises(ValueError, match="search='hnsw' takes dense X"):
        model.fit(sparse.csr_array(X), y)
    for option in {"sparsification": "random"}, {"feature_threshold": 0.1}:
        with pytest.raises(ValueError, match="search='hnsw' does not go with"):
            PPDSparseClassifier(search="hnsw", **option).fit(X, y)
    assert not hasattr(model, "coef_")


def test_without_hnswlib_searches_are_exact(monkeypatch):
    monkeypatch.setattr("sklearn_xc.ppdsparse._row_index.is_available", lambda name: False)
    monkeypatch.setattr("sklearn_xc.ppdsparse._row_index.graph_pays", lambda *sizes: True)
    X, y = clusters(300, 24, 5)
    assert PPDSparseClassifier().fit(X, y).search_ == "exact"

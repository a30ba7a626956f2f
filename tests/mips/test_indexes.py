"""All indexes of inner product search: against brute force, and what their interface promises."""

import gc
import pickle
import tracemalloc
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from _full import rest_in_full
from scipy import sparse
from sklearn.base import clone

from sklearn_xc.mips import (
    ExactIndex,
    HNSWIndex,
    SimpleLSHIndex,
    SphericalIndex,
    _exact_search,
    _spherical,
)

INDEXES = {
    "exact": ExactIndex(random_state=0),
    "hnsw": HNSWIndex(random_state=0),
    "ranges": HNSWIndex(reduction="ranges", random_state=0),
    "spherical": SphericalIndex(n_probes=12, random_state=0),
    "lsh": SimpleLSHIndex(n_bits=128, random_state=0),
}
K = 400


def make(kind, n, seed, d=None):
    random = np.random.default_rng(seed)
    if kind == "dense":
        return random.normal(size=(n, d or 8))
    if kind == "sparse":
        return sparse.random_array((n, d or 60), density=0.2, rng=random, format="csr")
    return sparse.random_array((n, d or 900), density=0.02, rng=random, format="csr")


def to_dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix, dtype=float)


def brute_force(rows, queries, k):
    scores = to_dense(queries) @ to_dense(rows).T
    ids = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return ids, np.take_along_axis(scores, ids, axis=1)


def recall(ids, expected):
    return np.mean([np.isin(line, best).mean() for line, best in zip(ids, expected, strict=True)])


@pytest.fixture(params=["kernel", "blas"])
def either_way(request, monkeypatch):
    """Little work goes another way than much: both are tested with little."""
    if request.param == "blas":
        for module in (_exact_search, _spherical):
            monkeypatch.setattr(module, "BLAS_WORK", 0)


def built(name, rows, queries=None, **parameters):
    """An index, its warning about a low recall put aside: it is tested on its own."""
    index = clone(INDEXES[name])
    index.set_params(**{k: v for k, v in parameters.items() if k in index.get_params()})
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "recall@", RuntimeWarning)
        return index.build(rows, queries)


def check_answer(rows, queries, k, ids, scores):
    """Scores are those of the rows named, best first, distinct, ties to the smaller id."""
    assert (ids.dtype, scores.dtype) == (np.int32, np.float32)
    assert ids.shape == scores.shape == (queries.shape[0], k)
    products = to_dense(queries) @ to_dense(rows).T
    np.testing.assert_allclose(scores, np.take_along_axis(products, ids.astype(int), 1), atol=2e-5)
    rising = np.diff(scores, axis=1)
    assert ((rising < 0) | ((rising == 0) & (np.diff(ids, axis=1) > 0))).all()
    assert all(len(set(line)) == k for line in ids.tolist())


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("name", INDEXES)
@pytest.mark.parametrize("kind", ["dense", "sparse", "wide"])
def test_against_brute_force(name, kind):
    rows, queries, asked = (make(kind, n, i) for i, n in enumerate((K, 80, 60)))
    index = built(name, rows, queries, min_recall=0.8)
    ids, scores = index.query(asked, 10)
    check_answer(rows, asked, 10, ids, scores)
    expected, best = brute_force(rows, asked, 10)
    if index.mode_ == "exact":
        np.testing.assert_allclose(scores, best, atol=2e-5)
        assert index.recall_ == 1
    else:
        assert index.recall_ == index.ann_recall_ >= 0.8
        assert recall(ids, expected) == pytest.approx(index.recall_, abs=0.1)


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("name", INDEXES)
@pytest.mark.parametrize("row_kind", ["dense", "sparse"])
@pytest.mark.parametrize("query_kind", ["dense", "sparse"])
@pytest.mark.parametrize("n", [3, 40])
def test_queries_of_either_kind(name, row_kind, query_kind, n):
    rows = make(row_kind, 150, 0, d=30)
    queries = make(query_kind, n, 1, d=30)
    ids, scores = built(name, rows, min_recall=0).query(queries, 5)
    check_answer(rows, queries, 5, ids, scores)
    if name == "exact":
        np.testing.assert_array_equal(ids, brute_force(rows, queries, 5)[0])


FORMS = {
    "float16": lambda X: X.astype(np.float16),
    "float64": lambda X: X.astype(np.float64),
    "int": lambda X: X.astype(int),
    "bool": lambda X: X > 0,
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "list": lambda X: X.tolist(),
    "coo": sparse.coo_array,
    "csc_matrix": sparse.csc_matrix,
    "lil": sparse.lil_array,
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_rows_and_queries(form):
    rows = np.random.default_rng(0).integers(-3, 4, size=(40, 6)).astype(float)
    queries = np.random.default_rng(1).integers(-3, 4, size=(5, 6)).astype(float)
    given_rows, given_queries = FORMS[form](rows), FORMS[form](queries)
    before = pickle.dumps(given_rows)
    ids, scores = ExactIndex().build(given_rows).query(given_queries, 7)
    values = [
        np.asarray(M.todense() if sparse.issparse(M) else M, dtype=float)
        for M in (given_rows, given_queries)
    ]
    expected, best = brute_force(*values, 7)
    np.testing.assert_array_equal(ids, expected)  # small integers: many ties, to smaller ids
    np.testing.assert_array_equal(scores, best)
    assert pickle.dumps(given_rows) == before


def test_disordered_sparse_rows(tmp_path):
    data, columns = np.array([1.0, 2, 4, 8]), np.array([2, 0, 2, 1], dtype=np.int64)
    rows = sparse.csr_array((data, columns, np.array([0, 3, 3, 4])), shape=(3, 3))
    ids, scores = ExactIndex().build(rows).query(np.array([[1.0, 1, 10]]), 3)
    np.testing.assert_array_equal(ids, [[0, 2, 1]])
    np.testing.assert_array_equal(scores, [[52, 8, 0]])


def test_memory_mapped_rows(tmp_path):
    rows = make("dense", 50, 0).astype(np.float32)
    np.save(tmp_path / "rows.npy", rows)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    index = ExactIndex().build(mapped).update([1], np.zeros((1, 8)))
    np.testing.assert_array_equal(mapped, rows)
    rows[1] = 0
    queries = make("dense", 20, 1)
    np.testing.assert_array_equal(index.query(queries, 50)[0], brute_force(rows, queries, 50)[0])


@pytest.mark.parametrize("name", INDEXES)
@pytest.mark.parametrize("kind", ["dense", "sparse", "wide"])
def test_zero_rows_and_queries(name, kind):
    rows = 0 * make(kind, 70, 0)
    index = built(name, rows)
    ids, scores = index.query(0 * make(kind, 3, 1), 70)
    np.testing.assert_array_equal(ids, np.tile(np.arange(70), (3, 1)))
    np.testing.assert_array_equal(scores, 0)


@pytest.mark.parametrize("name", INDEXES)
def test_no_queries_and_one_row(name):
    index = built(name, make("dense", 1, 0))
    ids, scores = index.query(make("dense", 0, 0), 1)
    assert ids.shape == scores.shape == (0, 1)
    assert (ids.dtype, scores.dtype) == (np.int32, np.float32)
    np.testing.assert_array_equal(index.query(make("dense", 4, 0), 1)[0], 0)
    assert index.candidates(make("dense", 0, 0), 1).shape == (0, 1)


@pytest.mark.parametrize("name", INDEXES)
def test_candidates_are_distinct_rows(name):
    rows, queries = make("dense", K, 0), make("dense", 50, 1)
    index = built(name, rows, queries, min_recall=0)
    ids = index.candidates(queries, 30)
    assert (ids.dtype, ids.shape) == (np.int32, (50, 30))
    for line in ids:
        found = line[line >= 0]
        assert len(set(found.tolist())) == len(found) > 0
        assert found.max() < K
    assert recall(ids, brute_force(rows, queries, 1)[0]) > 0.02


# --------------------------------------------------------------------------------------- updates


@pytest.mark.parametrize("name", INDEXES)
@pytest.mark.parametrize("kind", ["dense", "sparse", "wide"])
def test_scores_are_those_of_the_current_rows(name, kind):
    rows, queries = to_dense(make(kind, K, 0)), make(kind, 40, 1)
    as_given = sparse.csr_array if kind != "dense" else np.array
    index = built(name, as_given(rows), queries, min_recall=0.3)
    for step in range(4):
        ids = np.random.default_rng(step).permutation(K)[:30]
        rows[ids] = 2 * to_dense(make(kind, 30, 10 + step))
        index.update(ids, as_given(rows[ids]))
        check_answer(rows, queries, 10, *index.query(queries, 10))


@pytest.mark.parametrize("name", ["exact", "spherical", "lsh", "hnsw"])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_updated_index_answers_like_a_new_one(name, kind):
    """With a rebuild due; then also the structure is that of an index built from the rows."""
    rows, queries = to_dense(make(kind, K, 0)), make(kind, 40, 1)
    as_given = sparse.csr_array if kind != "dense" else np.array
    index = built(name, as_given(rows), queries, min_recall=0.5)
    ids = np.random.default_rng(5).permutation(K)[: 3 * K // 4]
    rows[ids] = to_dense(make(kind, len(ids), 2))
    index.update(ids, as_given(rows[ids]))
    parameters = {} if name == "exact" else {"reduction": index.mode_}
    assert index.mode_ == "exact" or index.n_rebuilds_ == 1
    if index.mode_ == "exact":
        parameters = {}
    new = built(name, as_given(rows), queries, min_recall=0.5, **parameters)
    for mine, other in zip(index.query(queries, 10), new.query(queries, 10), strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-6)
    if name != "exact":
        assert index.ann_recall_ == new.ann_recall_


def test_few_updates_of_sparse_rows_leave_the_lists():
    rows, queries = make("sparse", 3000, 0), make("sparse", 30, 1)
    index = ExactIndex().build(rows)
    index.query(queries, 5)
    dense = rows.toarray()
    for step in range(40):
        ids = np.arange(5 * step, 5 * step + 5)
        dense[ids] = 2 * make("sparse", 5, step).toarray()
        index.update(ids, sparse.csr_array(dense[ids]))
        ids, scores = index.query(queries, 5)
        check_answer(dense, queries, 5, ids, scores)
        np.testing.assert_allclose(scores, brute_force(dense, queries, 5)[1], atol=2e-5)


@pytest.mark.parametrize("name", INDEXES)
def test_memory_does_not_grow_over_updates(name):
    kind = "sparse"
    rows, queries = make(kind, K, 0), make(kind, 40, 1)
    index = built(name, rows, queries, min_recall=0.3)
    index.query(queries, 5)
    sizes = []
    for step in range(200):
        ids = np.random.default_rng(step).permutation(K)[:5]
        index.update(ids, make(kind, 5, step))
        if step % 20 == 19:
            index.query(queries, 5)
            sizes.append(len(pickle.dumps(index)))
    assert max(sizes) <= 1.6 * sizes[0]
    assert max(sizes[5:]) <= 1.1 * max(sizes[:5])


@pytest.mark.parametrize("name", rest_in_full(INDEXES, "hnsw", "lsh"))
@pytest.mark.parametrize("kind", rest_in_full(["dense", "wide"], "dense"))
def test_no_allocation_outlives_an_update(name, kind):
    rows, queries = make(kind, K, 0), make(kind, 40, 1)
    index = built(name, rows, queries, min_recall=0.1, rebuild_share=0.05)
    held = []
    tracemalloc.start()
    try:
        for step in range(36):
            index.update(np.random.default_rng(step).permutation(K)[:5], make(kind, 5, 7))
            index.query(queries, 5)
            if step % 12 == 11:
                gc.collect()
                held.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert index.n_rebuilds_ > 3 or index.mode_ == "exact"
    assert held[2] <= held[1] + 30_000


# ------------------------------------------------------------------------- copies, threads, seeds


@pytest.mark.parametrize("name", INDEXES)
@pytest.mark.parametrize("kind", ["dense", "sparse", "wide"])
def test_pickled_index_answers_alike(name, kind):
    rows, queries = make(kind, K, 0), make(kind, 40, 1)
    index = built(name, rows, queries, min_recall=0.3)
    copy = pickle.loads(pickle.dumps(index))
    for mine, other in zip(index.query(queries, 10), copy.query(queries, 10), strict=True):
        np.testing.assert_array_equal(mine, other)
    new = make(kind, 5, 9)
    for each in (index, copy):
        each.update(np.arange(5), new)
    for mine, other in zip(index.query(queries, 10), copy.query(queries, 10), strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-6)


@pytest.mark.parametrize("name", INDEXES)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_threads_of_the_caller(name, kind):
    rows, queries = make(kind, K, 0), make(kind, 200, 1)
    index = built(name, rows, queries, min_recall=0.3)
    parts = [queries[i : i + 25] for i in range(0, 200, 25)] * 4
    serial = [index.query(part, 10) for part in parts]
    with ThreadPoolExecutor(4) as pool:
        parallel = list(pool.map(lambda part: index.query(part, 10), parts))
    for some, others in zip(serial, parallel, strict=True):
        for mine, other in zip(some, others, strict=True):
            np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("name", INDEXES)
@pytest.mark.parametrize("kind", rest_in_full(["dense", "sparse", "wide"], "dense", "sparse"))
def test_seed_decides_and_threads_do_not(name, kind, monkeypatch):
    monkeypatch.setattr(_exact_search, "BLAS_WORK", 0)
    monkeypatch.setattr(_spherical, "BLAS_WORK", 0)
    rows, queries = make(kind, K, 0), make(kind, 150, 1)
    answers = []
    for n_jobs in (1, 2, 2):
        index = built(name, rows, min_recall=0.3, n_jobs=n_jobs)
        answers.append((index.mode_, index.recall_, *index.query(queries, 10)))
    for other in answers[1:]:
        for mine, its in zip(answers[0], other, strict=True):
            np.testing.assert_array_equal(mine, its)


def test_parameters_are_only_stored():
    for index in INDEXES.values():
        assert clone(index).get_params() == index.get_params()
        assert {"min_recall", "n_jobs", "random_state"} <= set(index.get_params())
        assert index.min_recall == 0.9

"""Recall is measured honestly, and what falls short is answered exactly."""

import warnings

import numpy as np
import pytest
from _recall_of_index import best_ten, measured, normal
from scipy import sparse

from sklearn_xc.mips import HNSWIndex, SimpleLSHIndex, SphericalIndex


def biased_softmax(n, d, seed):
    """Rows with a common bias column beside them, queries with a 1 there."""
    random = np.random.default_rng(seed)
    bias = 3 * random.normal(size=(n, 1)) - 8
    return np.hstack([random.normal(size=(n, d)), bias])


@pytest.mark.parametrize(
    "index",
    [
        HNSWIndex(n_candidates=12, M=4, min_recall=0.2, random_state=0),
        SphericalIndex(n_probes=8, min_recall=0.2, random_state=0),
        SimpleLSHIndex(n_candidates=200, min_recall=0.2, random_state=0),
    ],
    ids=lambda index: type(index).__name__,
)
def test_recall_is_that_of_other_queries(index):
    rows = normal(2000, 12, 0)
    index.build(rows, normal(256, 12, 1))
    assert index.mode_ != "exact"
    assert index.recall_ == pytest.approx(measured(index, rows, normal(500, 12, 2)), abs=0.06)


def test_the_lower_recall_counts_without_queries():
    """Rows find themselves in lists of their own; Gaussian vectors are harder."""
    rows = normal(1500, 24, 0)
    parameters = {"n_probes": 3, "min_recall": 0, "random_state": 0}
    recalls = [
        SphericalIndex(**parameters).build(rows, queries).recall_
        for queries in (None, rows, normal(256, 24, 1))
    ]
    assert recalls[0] <= min(recalls[1:]) + 0.05


def test_reductions_are_chosen_by_recall():
    rows = biased_softmax(3000, 16, 0)
    queries = np.hstack([normal(256, 16, 1), np.ones((256, 1))])
    index = HNSWIndex(random_state=0).build(rows, queries)
    assert index.mode_ != "exact"
    assert set(index.recalls_) == {"ip", "xbox", "ip-centred", "xbox-centred"}
    assert index.recalls_[index.mode_] >= 0.9


@pytest.mark.parametrize("mode", ["ip", "xbox", "ip-centred", "xbox-centred"])
def test_a_reduction_can_be_prescribed(mode):
    rows = normal(500, 6, 0)
    for index in (HNSWIndex(reduction=mode), SphericalIndex(reduction=mode, n_probes=20)):
        index.set_params(random_state=0, min_recall=0.5).build(rows)
        assert index.mode_ == mode
        assert list(index.recalls_) == [mode]


def low(cls, **parameters):
    """An index that cannot reach the recall it is to have."""
    effort = "n_probes" if cls is SphericalIndex else "n_candidates"
    return cls(**{effort: 1}, min_recall=1.0, random_state=0, **parameters)


@pytest.mark.parametrize("cls", [HNSWIndex, SphericalIndex, SimpleLSHIndex])
def test_below_min_recall_one_warning_and_exact_answers(cls):
    rows, queries = normal(600, 16, 0), normal(50, 16, 1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        index = low(cls).build(rows, queries)
        for step in range(8):  # enough changes for another attempt, which fails as well
            ids = np.arange(200) + 50 * step
            rows[ids] = normal(200, 16, 2 + step)
            index.update(ids, rows[ids])
        np.testing.assert_array_equal(index.query(queries, 10)[0], best_ten(rows, queries))
    assert index.n_rebuilds_ > 0
    (warning,) = caught
    assert issubclass(warning.category, RuntimeWarning)
    assert f"below min_recall=1.0: {cls.__name__} answers exactly" in str(warning.message)
    assert warning.filename == __file__
    assert index.mode_ == "exact"
    assert index.recall_ == 1.0
    assert index.ann_recall_ < 1.0
    np.testing.assert_array_equal(index.candidates(queries, 10), best_ten(rows, queries))


class Broken:
    """A graph whose searches raise what hnswlib raises, now and then."""

    def __init__(self, graph, fails):
        self._graph, self._fails = graph, fails

    def get_current_count(self):
        return self._graph.get_current_count()

    def knn_query(self, part, **options):
        if self._fails():
            raise RuntimeError("Cannot return the results in a contiguous 2D array. ...")
        return self._graph.knn_query(part, **options)


def test_exceptions_of_hnswlib_become_exact_answers():
    rows, queries = normal(800, 8, 0), normal(700, 8, 1)
    index = HNSWIndex(random_state=0).build(rows, queries)
    calls = iter([False, True, False])  # 256, 256 and 188 queries
    graph = index._found.structure
    graph._graph = Broken(graph._graph, lambda: next(calls))
    ids = index.query(queries, 10)[0]
    assert index.n_fallbacks_ == 256
    np.testing.assert_array_equal(ids[256:512], best_ten(rows, queries)[256:512])
    graph._graph = Broken(graph._graph._graph, lambda: True)
    assert (index.candidates(queries, 10) == -1).all()


@pytest.mark.parametrize("n_added", [0, 1, 30])
def test_a_graph_that_cannot_be_built_is_not_used(monkeypatch, n_added):
    import hnswlib

    class Full(hnswlib.Index):
        def add_items(self, data, ids, num_threads):
            if n_added:
                super().add_items(data[:n_added], ids[:n_added], num_threads=num_threads)
            raise RuntimeError("The number of elements exceeds the specified limit")

    monkeypatch.setattr(hnswlib, "Index", Full)
    rows = normal(300, 4, 0)
    with pytest.warns(RuntimeWarning, match="HNSWIndex answers exactly"):
        index = HNSWIndex(random_state=0).build(rows)
    np.testing.assert_array_equal(index.query(rows, 10)[0], best_ten(rows, rows))


def test_only_a_sample_of_many_queries_is_kept():
    rows, queries = normal(300, 4, 0), normal(5000, 4, 1)
    for form in (np.asarray, sparse.coo_array):
        index = HNSWIndex(min_recall=0, random_state=0).build(rows, form(queries))
        assert index._queries.shape == (256, 4)


def test_ranges_find_what_one_graph_loses():
    """By "xbox" where norms differ much, by "ip" where the longest rows are the worst."""
    random = np.random.default_rng(0)
    spread = normal(3000, 24, 0) * 40 ** random.random((3000, 1)) ** 3
    softmax = biased_softmax(3000, 8, 0)
    for mode, rows in ("xbox", spread), ("ip", softmax):
        queries, asked = normal(100, rows.shape[1], 1), normal(200, rows.shape[1], 2)
        if mode == "ip":
            queries[:, -1] = asked[:, -1] = 1
        found = {}
        for reduction in (mode, "ranges"):
            index = HNSWIndex(reduction, n_candidates=200, min_recall=0, random_state=0)
            found[reduction] = measured(index.build(rows, queries), rows, asked)
        assert found[mode] < 0.6
        assert found["ranges"] > 0.95


def test_rows_of_zeros_do_not_crowd_out_others():
    """Sketches of good rows may score below zero: two thousand rows of zeros stay behind them."""
    rows = np.zeros((2000, 8))
    rows[::40] = normal(50, 8, 0)
    index = HNSWIndex("ranges", n_candidates=60, random_state=0).build(rows, normal(100, 8, 1))
    named = index.candidates(normal(30, 8, 2), 60)
    assert all(set(range(0, 2000, 40)) <= set(line) for line in named.tolist())
    assert index.recall_ == 1
    named = index.candidates(normal(30, 8, 2), 2000)
    np.testing.assert_array_equal(np.sort(named, axis=1), np.arange(2000)[None].repeat(30, axis=0))


@pytest.mark.parametrize("n_zero", [0, 5])
def test_ranges_that_cannot_be_searched(monkeypatch, n_zero):
    """Queries on which hnswlib fails in every range get what is left, and are answered exactly."""
    rows = np.vstack([normal(3000, 8, 0), np.zeros((n_zero, 8))])
    index = HNSWIndex("ranges", n_candidates=40, min_recall=0, random_state=0)
    index.build(rows, normal(100, 8, 1))
    queries = normal(6, 8, 2)

    class Lost:
        def knn_query(self, *args, **options):
            raise RuntimeError("Cannot return the results in a contiguous 2D array")

        def get_current_count(self):
            return 187

    for graph in index._found.structure._graphs:
        monkeypatch.setattr(graph, "_graph", Lost())
    named = index.candidates(queries, 40)
    assert ((named == -1) | (named >= 3000)).all()
    assert (named >= 0).sum() == 6 * n_zero
    np.testing.assert_array_equal(index.query(queries, 10)[0], best_ten(rows, queries))
    assert index.n_fallbacks_ == 6


def test_sketched_rows_have_ranges_too():
    rows = sparse.random_array((500, 900), density=0.02, format="csr", rng=0)
    index = HNSWIndex(n_components=64, min_recall=0, random_state=0).build(rows, rows)
    assert set(index.recalls_) == {"ranges", "ip", "xbox", "ip-centred", "xbox-centred"}


def test_lists_with_too_few_rows_are_answered_exactly():
    rows = normal(300, 4, 0)
    index = SphericalIndex(n_clusters=30, n_probes=1, min_recall=0, random_state=0).build(rows)
    queries = normal(20, 4, 1)
    ids, _ = index.query(queries, 200)
    assert index.n_fallbacks_ == 20
    expected = np.argsort(-(queries @ rows.T), axis=1, kind="stable")[:, :200]
    np.testing.assert_array_equal(ids, expected)


def test_stale_graphs_are_rebuilt_and_measured():
    rows, queries = normal(600, 8, 0), normal(100, 8, 1)
    index = HNSWIndex(rebuild_share=0.2, random_state=0).build(rows, queries)
    for step in range(4):  # the same hundred rows again: a sixth of all
        rows[:100] = 3 * normal(100, 8, 2 + step)
        index.update(np.arange(100), rows[:100])
    assert index.n_rebuilds_ == 0
    rows[100:150] = 3 * normal(50, 8, 9)
    index.update(np.arange(100, 150), rows[100:150])
    assert index.n_rebuilds_ == 1
    assert measured(index, rows, normal(200, 8, 10)) == pytest.approx(index.recall_, abs=0.05)


def test_a_rebuild_may_change_the_reduction(monkeypatch):
    monkeypatch.setattr(HNSWIndex, "_modes", ("ip", "xbox"))
    rows, queries = normal(2000, 17, 0), np.hstack([normal(256, 16, 1), np.ones((256, 1))])
    index = HNSWIndex(random_state=0).build(rows, queries)
    assert index.mode_ == "ip"
    rows = biased_softmax(2000, 16, 2)
    index.update(np.arange(2000), rows)  # for which "ip" fails
    assert index.n_rebuilds_ == 1
    assert index.mode_ == "xbox"
    assert measured(index, rows, queries) >= 0.85


def test_sparse_queries_stand_in_for_many_features():
    rows = sparse.random_array((200, 6000), density=0.01, rng=0, format="csr")
    index = HNSWIndex(n_components=64, min_recall=0, random_state=0).build(rows)
    assert 0 < index.recall_ <= 1

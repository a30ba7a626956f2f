"""Laws of reductions, hashes and sketches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sklearn_xc.mips import LinearSketch, SphericalIndex, _spherical
from sklearn_xc.mips._hnsw import Graph
from sklearn_xc.mips._lsh import Codes, encode
from sklearn_xc.mips._reductions import MODES, reduction
from sklearn_xc.mips._row_store import RowStore
from sklearn_xc.mips._sketch import heavy_features
from sklearn_xc.mips._spherical import CentroidLists, assign, train
from sklearn_xc.utils._matrix import normalise


def lognormal(n, d, seed):
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n, d)) * random.lognormal(0, 1, size=(n, 1))
    return rows.astype(np.float32)


# ------------------------------------------------------------------------------------ reductions


@given(seed=st.integers(0, 1000), mode=st.sampled_from(MODES), d=st.integers(1, 12))
def test_reductions_keep_the_order(seed, mode, d):
    rows, queries = lognormal(60, d, seed), lognormal(8, d, seed + 1)
    mapping = reduction(mode, rows)
    mapped, asked = mapping.rows(rows).astype(float), mapping.queries(queries).astype(float)
    products = queries.astype(float) @ rows.T.astype(float)
    for scores, inner in zip(products, asked @ mapped.T, strict=True):
        spread = np.ptp(scores)
        order = np.argsort(-inner)
        assert (np.diff(scores[order]) <= 1e-4 * spread + 1e-6).all()
    if mapping.extended:
        np.testing.assert_allclose(np.linalg.norm(mapped, axis=1), 1, atol=1e-3)
        distances = ((asked[:, None] - mapped[None]) ** 2).sum(axis=2)
        np.testing.assert_allclose(distances, 2 - 2 * asked @ mapped.T, atol=2e-3)
    else:
        assert np.linalg.norm(mapped, axis=1).max() == pytest.approx(1, abs=1e-3)


def test_a_row_beyond_the_bound_stays_finite():
    mapping = reduction("xbox", lognormal(50, 4, 0))
    assert np.isfinite(mapping.rows(100 * lognormal(50, 4, 1))).all()


def test_zero_rows_and_queries_stay_finite():
    zero = np.zeros((5, 3), dtype=np.float32)
    for mode in MODES:
        mapping = reduction(mode, zero)
        np.testing.assert_array_equal(mapping.rows(zero)[:, :3], 0)
        np.testing.assert_array_equal(mapping.queries(zero), 0)


# ----------------------------------------------------------------------------------------- hashes


@pytest.mark.parametrize("seed", range(3))
def test_bits_differ_with_the_probability_of_the_angle(seed):
    """P(bit of w != bit of q) = arccos(<q, w> / (||q|| M)) / pi."""
    rows, queries = lognormal(30, 6, seed), lognormal(10, 6, seed + 10)
    mapping = reduction("xbox", rows)
    n_bits = 1024 * 8
    codes = Codes(mapping.rows(rows), n_bits, seed, 1)
    asked = encode(mapping.queries(queries), codes._projection)
    differ = np.bitwise_count(asked[:, None] ^ codes.codes[None]).sum(axis=2) / n_bits
    norms = np.linalg.norm(queries, axis=1, keepdims=True) * np.linalg.norm(rows, axis=1).max()
    probability = np.arccos(queries @ rows.T / norms) / np.pi
    error = (differ - probability) / np.sqrt(probability * (1 - probability) / n_bits)
    assert np.abs(error).max() < 5  # 300 pairs
    assert abs(error.mean()) < 1


# ------------------------------------------------------------------------------------- clustering


def test_assignment_is_to_the_direction_of_largest_product():
    rows, directions = lognormal(5000, 7, 0), lognormal(12, 7, 1)
    np.testing.assert_array_equal(assign(rows, directions, 1), (rows @ directions.T).argmax(axis=1))


def test_clusters_that_are_far_apart_are_found():
    random = np.random.default_rng(0)
    centres = np.linalg.qr(random.normal(size=(10, 10)))[0]
    which = np.repeat(np.arange(10), 60)
    rows = (centres[which] + 0.05 * random.normal(size=(600, 10))).astype(np.float32)
    directions = train(rows, 30, 0, 1)
    np.testing.assert_allclose(np.linalg.norm(directions, axis=1), 1, atol=1e-5)
    groups = assign(rows, directions, 1)
    assert all(len(np.unique(which[groups == g])) == 1 for g in np.unique(groups))


def test_lists_hold_every_row_once():
    rows = lognormal(500, 5, 0)
    lists = CentroidLists(rows, 20, 0, 1)
    lists.replace(np.arange(40), lognormal(40, 5, 1))
    np.testing.assert_array_equal(np.sort(lists.members), np.arange(500))
    for c in range(20):
        members = lists.members[lists.starts[c] : lists.starts[c + 1]]
        assert (np.diff(members) > 0).all()
        assert (lists._assigned[members] == c).all()


@pytest.mark.parametrize("work", [0, 10**12])
def test_reading_all_lists_is_exact(monkeypatch, work):
    monkeypatch.setattr(_spherical, "BLAS_WORK", work)
    rows, queries = lognormal(300, 5, 0), lognormal(50, 5, 1)
    index = SphericalIndex(n_clusters=9, n_probes=9, random_state=0).build(rows)
    assert index.mode_ != "exact"
    assert index.ann_recall_ == 1.0
    expected = np.argsort(-(queries @ rows.T), axis=1, kind="stable")[:, :10]
    np.testing.assert_array_equal(index.candidates(queries, 10), expected)
    np.testing.assert_array_equal(index.candidates(queries[:4], 10), expected[:4])


# --------------------------------------------------------------------------------------- sketches


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_sketches_are_linear(form):
    random = np.random.default_rng(0)
    x, y = random.normal(size=(2, 6, 80)) * (random.random((2, 6, 80)) < 0.3)
    sketch = LinearSketch(n_components=24, random_state=1).fit(80)
    combined = sketch.transform(form(2 * x - 3 * y))
    assert combined.dtype == np.float32
    expected = 2 * sketch.transform(form(x)) - 3 * sketch.transform(form(y))
    np.testing.assert_allclose(combined, expected, atol=1e-4)


@pytest.mark.parametrize("n_nonzeros", [1, 4])
def test_sketches_keep_inner_products_on_average(n_nonzeros):
    random = np.random.default_rng(0)
    x, y = random.normal(size=(2, 60))
    estimates = []
    for seed in range(400):
        sketch = LinearSketch(32, n_nonzeros, random_state=seed).fit(60)
        a, b = sketch.transform(np.array([x, y])).astype(float)
        estimates.append(a @ b)
    deviation = np.std(estimates)
    assert np.mean(estimates) == pytest.approx(x @ y, abs=4 * deviation / np.sqrt(400))
    assert deviation <= 1.1 * np.sqrt(2 / 32) * np.linalg.norm(x) * np.linalg.norm(y)


def test_sketch_of_a_feature_spreads_over_all_parts():
    sketch = LinearSketch(n_components=10, n_nonzeros=3, random_state=0).fit(500)
    projection = sketch.projection_.toarray()
    np.testing.assert_allclose(np.abs(projection[projection != 0]), 1 / np.sqrt(3))
    for part in np.split(projection, [3, 6], axis=1):
        np.testing.assert_array_equal((part != 0).sum(axis=1), 1)
    assert sketch.projection_.data.nbytes == 4 * 3 * 500


def test_kept_features_have_a_component_of_their_own():
    kept = [7, 2]
    sketch = LinearSketch(n_components=16, random_state=0).fit(100, kept)
    projection = sketch.projection_.toarray()
    np.testing.assert_array_equal(projection[kept], np.eye(2, 16))
    others = np.delete(projection, kept, axis=0)
    np.testing.assert_array_equal(others[:, :2], 0)
    np.testing.assert_array_equal((others[:, 2:] != 0).sum(axis=1), 4)
    x, y = np.zeros((2, 100))
    x[kept], y[:] = [3, -1], np.arange(100)
    assert float(np.prod(sketch.transform([x, y]), axis=0).sum()) == 3 * 7 - 2


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_heavy_features_are_those_that_lower_the_variance(form):
    random = np.random.default_rng(0)
    rows, queries = random.normal(size=(2, 30, 200))
    assert len(heavy_features(form(rows), form(queries), 16)) == 0  # equals: none is worth it
    queries[:, 150] = 10  # a constant feature, for the intercepts
    rows[:, 20] *= 20
    np.testing.assert_array_equal(heavy_features(form(rows), form(queries), 16), [20, 150])
    assert len(heavy_features(form(rows * 0), form(queries * 0), 16)) == 0
    queries[:28, 20] = 0  # what two of thirty have says little of others
    np.testing.assert_array_equal(heavy_features(form(rows), form(queries), 16), [150])
    queries[:, 20] = random.normal(size=30)
    few = np.zeros((3, 200))
    few[:, :2] = 1
    np.testing.assert_array_equal(heavy_features(form(few), form(few), 5), [0])  # four are left

    def deviation(kept):
        sketches = [LinearSketch(16, random_state=seed).fit(200, kept) for seed in range(60)]
        products = [s.transform(rows) @ s.transform(queries).T for s in sketches]
        return np.std(np.array(products) - rows @ queries.T)

    assert deviation([20, 150]) < min(deviation([]), deviation([20]), deviation([20, 150, 3, 4, 5]))


def test_many_rows_are_sketched_block_by_block(monkeypatch):
    from sklearn_xc.mips import _sketch

    X = sparse.random_array((90, 40), density=0.2, rng=0, format="csr")
    sketch = LinearSketch(8, random_state=0).fit(40)
    whole = sketch.transform(X)
    monkeypatch.setattr(_sketch, "BLOCK", 7)
    np.testing.assert_array_equal(sketch.transform(X), whole)


# ----------------------------------------------------------------------------------------- memory


def test_structures_take_the_memory_stated():
    """Bytes of the table in doc/estimators/mips.rst, for 2000 rows of 9 features."""
    n, d, n_clusters = 2000, 9, 45
    rows = lognormal(n, d, 0)
    mapped = reduction("xbox", rows).rows(rows)
    graph = Graph(mapped, "l2", 12, 20, 0, 1)._graph
    assert graph.index_file_size() == pytest.approx(n * (4 * (d + 1) + 8 * 12 + 20), rel=0.02)
    lists = CentroidLists(mapped, n_clusters, 0, 1)
    held = lists.members.nbytes + lists._assigned.nbytes
    assert held == 8 * n
    assert lists.centroids.nbytes == 4 * n_clusters * (d + 1)
    assert Codes(mapped, 128, 0, 1).codes.nbytes == n * 128 / 8
    store = RowStore(rows, rows)
    assert store.data.nbytes == 4 * n * d
    sparse_rows = normalise(sparse.csr_array(rows))
    store = RowStore(sparse_rows, sparse_rows)
    assert store.nbytes == 8 * sparse_rows.nnz + 24 * n

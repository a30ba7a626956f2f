"""Top-k prediction against a full sort of plain scores."""

import threading
import tracemalloc
from unittest import mock

import numpy as np
import pytest
from _full import rest_in_full
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sklearn_xc._kernels.topk import _dense_rows
from sklearn_xc._kernels.topk import _inverted_index as kernel
from sklearn_xc.topk import _inverted_index, _layout
from sklearn_xc.topk._inverted_index import InvertedIndex
from sklearn_xc.topk._layout import Layout
from sklearn_xc.utils import _csr
from sklearn_xc.utils._matrix import as_rows, normalise

pytestmark = pytest.mark.kernel


def problem(n_rows, n_classes, n_features, density=0.3, seed=0):
    """Rows, weights and intercepts of small integers: sums are exact, and ties many."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (n_rows, n_features)) * (rng.random((n_rows, n_features)) < density)
    W = rng.integers(-2, 3, (n_classes, n_features)) * (rng.random((n_classes, n_features)) < 0.3)
    b = rng.integers(-2, 2, n_classes)
    return X.astype(np.float32), sparse.csr_array(W.astype(np.float32)), b.astype(np.float32)


def reference(X, W, b, k):
    scores = X @ W.toarray().T + b
    best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return best, np.take_along_axis(scores, best, axis=1)


@given(
    n_rows=st.integers(1, 40),
    n_classes=st.integers(1, 300),
    n_features=st.integers(1, 12),
    density=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    k=st.integers(1, 300),
    seed=st.integers(0, 2**32 - 1),
    way=st.sampled_from([0, 1, 2]),
    full_share=st.sampled_from([0.0, 0.1, 0.25, 1.0]),
    least_gain=st.sampled_from([0, 2, 32]),
    most_narrow=st.sampled_from([0, 65536]),
    n_threads=st.sampled_from([1, 2, 5]),
    dense=st.booleans(),
)
def test_topk_is_a_stable_sort(
    n_rows,
    n_classes,
    n_features,
    density,
    k,
    seed,
    way,
    full_share,
    least_gain,
    most_narrow,
    n_threads,
    dense,
):
    X, W, b = problem(n_rows, n_classes, n_features, density, seed)
    k = min(k, n_classes)
    rows = as_rows(normalise(X if dense else sparse.csr_array(X)))
    with (
        mock.patch.object(_inverted_index, "MOST_NARROW", most_narrow),
        mock.patch.multiple(_layout, FULL_SHARE=full_share, LEAST_GAIN=least_gain),
    ):
        index = InvertedIndex(W, b)
    assert index.classes.itemsize == (2 if most_narrow else 4)
    best, scores = index.topk(rows, k, n_threads, way)
    expected_best, expected_scores = reference(X, W, b, k)
    assert (best.dtype, scores.dtype) == (np.int32, np.float32)
    np.testing.assert_array_equal(best, expected_best)
    np.testing.assert_array_equal(scores, expected_scores)


@pytest.mark.parametrize("n_classes", [100, 2000])
def test_threads_build_the_index_of_one(n_classes):
    _, W, b = problem(1, n_classes, 40, 0.3, 0)
    W[n_classes // 2 :] *= np.random.default_rng(1).random((n_classes - n_classes // 2, 40)) < 0.2
    W = sparse.csr_array(W)
    alone = InvertedIndex(W, b)
    with mock.patch.object(_csr, "FEWEST", 10):
        together = InvertedIndex(W, b, n_threads=3)
    for name in "indptr", "classes", "weights", "full_stop", "full_start", "full_weights":
        np.testing.assert_array_equal(getattr(alone, name), getattr(together, name))


@given(
    n_rows=st.integers(1, 40),
    n_classes=st.integers(1, 300),
    density=st.sampled_from([0.0, 0.1, 1.0]),
    shift=st.sampled_from([-3, 0, 3]),
    seed=st.integers(0, 2**32 - 1),
    most_narrow=st.sampled_from([0, 65536]),
    n_threads=st.sampled_from([1, 2, 5]),
    dense=st.booleans(),
)
def test_scores_and_positives(
    n_rows, n_classes, density, shift, seed, most_narrow, n_threads, dense
):
    X, W, b = problem(n_rows, n_classes, 8, density, seed)
    with mock.patch.object(_inverted_index, "MOST_NARROW", most_narrow):
        index = InvertedIndex(W, b + shift)
    rows = as_rows(normalise(X if dense else sparse.csr_array(X)))
    expected = X @ W.toarray().T + b + shift
    np.testing.assert_array_equal(index.scores(rows, n_threads), expected)
    pattern = index.positives(rows, n_threads)
    assert pattern.dtype == bool
    assert pattern.has_canonical_format
    np.testing.assert_array_equal(pattern.toarray(), expected > 0)


@pytest.fixture(scope="module")
def large():
    """Real-valued scores, enough rows for several threads and classes for both ways."""
    rng = np.random.default_rng(3)
    W = rng.random((5000, 400)) * (rng.random((5000, 400)) < 0.01)
    X = rng.random((700, 400)) * (rng.random((700, 400)) < 0.02)
    X, W = (sparse.csr_array(matrix.astype(np.float32)) for matrix in (X, W))
    W.data -= np.float32(0.5)
    return X, W, rng.normal(-0.5, 0.1, 5000).astype(np.float32)


def test_same_bits_both_ways_any_threads_dense_or_sparse(large):
    X, W, b = large
    index, rows = InvertedIndex(W, b), as_rows(normalise(X))
    best, scores = index.topk(rows, 7, 1, 1)
    plain = X.astype(float) @ W.T.astype(float) + b.astype(float)
    np.testing.assert_allclose(scores, -np.sort(-plain, axis=1)[:, :7], rtol=1e-5, atol=1e-6)
    for way in (0, 1, 2):
        for n_threads in (1, 2, 5):
            for form in (rows, as_rows(normalise(X.toarray()))):
                other_best, other_scores = index.topk(form, 7, n_threads, way)
                np.testing.assert_array_equal(other_best, best)
                np.testing.assert_array_equal(other_scores, scores)
    full = index.scores(rows, 2)
    np.testing.assert_array_equal(np.take_along_axis(full, best.astype(int), axis=1), scores)
    np.testing.assert_array_equal(index.positives(rows, 2).toarray(), full > 0)


def test_results_do_not_depend_on_the_row_blocks(large, monkeypatch):
    X, W, b = large
    index, rows = InvertedIndex(W, b), as_rows(normalise(X))
    expected = index.topk(rows, 3, 2), index.scores(rows, 2), index.positives(rows, 2)
    monkeypatch.setattr(_inverted_index, "ROW_BLOCK", 33)
    best, scores = index.topk(rows, 3, 2)
    np.testing.assert_array_equal(best, expected[0][0])
    np.testing.assert_array_equal(scores, expected[0][1])
    np.testing.assert_array_equal(index.scores(rows, 2), expected[1])
    assert (index.positives(rows, 2) != expected[2]).nnz == 0


def test_several_threads_may_use_one_index(large):
    X, W, b = large
    index, rows = InvertedIndex(W, b), as_rows(normalise(X))
    expected = index.topk(rows, 5, 1)
    results = []
    workers = [
        threading.Thread(target=lambda: results.append(index.topk(rows, 5, 2))) for _ in range(6)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(results) == 6
    for best, scores in results:
        np.testing.assert_array_equal(best, expected[0])
        np.testing.assert_array_equal(scores, expected[1])


def test_weights_may_be_dense_or_empty():
    X, W, b = problem(5, 9, 4)
    rows = as_rows(normalise(X))
    best, scores = InvertedIndex(W.toarray(), b).topk(rows, 9, 1)
    np.testing.assert_array_equal(best, reference(X, W, b, 9)[0])
    empty = InvertedIndex(sparse.csr_array((9, 4), dtype=np.float32), b)
    for way in (1, 2):
        best, scores = empty.topk(rows, 9, 2, way)
        np.testing.assert_array_equal(best, np.tile(np.argsort(-b, kind="stable"), (5, 1)))
        np.testing.assert_array_equal(scores, np.tile(-np.sort(-b), (5, 1)))
    np.testing.assert_array_equal(empty.positives(rows, 1).toarray(), np.tile(b > 0, (5, 1)))


@pytest.mark.parametrize("way", [1, 2])
def test_classes_without_positives_come_last_and_finite(way):
    b = np.array([-1e18, 0.5, -1e18, -1.0], dtype=np.float32)
    W = sparse.csr_array(np.array([[0], [1], [0], [-1]], dtype=np.float32))
    best, scores = InvertedIndex(W, b).topk(as_rows(np.ones((2, 1), np.float32)), 4, 1, way)
    np.testing.assert_array_equal(best, [[1, 3, 0, 2]] * 2)
    np.testing.assert_array_equal(scores, np.float32([[1.5, -2, -1e18, -1e18]] * 2))


@pytest.mark.parametrize("way", [0, 1, 2])
def test_overflow_is_an_error(way):
    W = sparse.csr_array(np.array([[3e38, 3e38], [-3e38, 3e38], [1, 1]], dtype=np.float32))
    index = InvertedIndex(W, np.zeros(3, np.float32))

    def topk(rows, n_threads):
        return index.topk(rows, 3, n_threads, way)

    for n_rows in (1, 5):
        rows = as_rows(np.full((n_rows, 2), 1e30, dtype=np.float32))
        for scores_of in (index.scores, index.positives, topk):
            with pytest.raises(ValueError, match="some scores are not finite in float32"):
                scores_of(rows, 1)


@pytest.mark.parametrize("n_features", [256, 257, 600])
def test_more_features_than_one_pass_over_the_classes_takes(n_features):
    X, W, b = problem(7, 70, n_features, density=0.9)
    with mock.patch.multiple(_layout, FULL_SHARE=0.0, LEAST_GAIN=0):
        rows, index = as_rows(normalise(X)), InvertedIndex(W, b)
    assert (index.full_stop > 0).all()
    expected = reference(X, W, b, 6)
    for result, wanted in zip(index.topk(rows, 6, 2), expected, strict=True):
        np.testing.assert_array_equal(result, wanted)
    np.testing.assert_array_equal(index.scores(rows, 2), X @ W.T.toarray() + b)


@pytest.mark.parametrize("n_features", [255, 256, 257, 600])
def test_more_lists_than_are_collected_at_once(n_features):
    """Some of them empty, and some of features whose value in the row is zero."""
    X, W, b = problem(7, 70, n_features, density=0.9)
    W = W.multiply(np.arange(n_features) % 3 > 0).tocsr()
    W.eliminate_zeros()
    with mock.patch.object(_layout, "FULL_SHARE", 1):
        index = InvertedIndex(sparse.csr_array(W), b)
    lengths = np.diff(index.indptr)
    assert (lengths == 0).sum() >= n_features // 3
    assert not index.full_stop.any()
    expected = reference(X, W, b, 6)
    for form in (X, sparse.csr_array(X)):
        rows = as_rows(normalise(form))
        for way in (0, 1, 2):
            for result, wanted in zip(index.topk(rows, 6, 2, way), expected, strict=True):
                np.testing.assert_array_equal(result, wanted)
        np.testing.assert_array_equal(index.scores(rows, 2), X @ W.T.toarray() + b)
        np.testing.assert_array_equal(index.positives(rows, 1).toarray(), X @ W.T + b > 0)


@pytest.mark.parametrize("n_features", rest_in_full([3, 256, 300, 600], 3, 300))
@pytest.mark.parametrize("n_classes", rest_in_full([2, 64, 65, 1000], 2, 65, 1000))
@pytest.mark.parametrize("kind", ["lists and full", "full", "read in place"])
@pytest.mark.parametrize("zeros", [0, 0.1])
def test_dense_rows_share_the_weights_and_keep_the_bits(n_features, n_classes, kind, zeros):
    """Groups of rows, the last one smaller, against one row after another and float64."""
    rng = np.random.default_rng(n_features + n_classes)
    X = rng.normal(size=(150, n_features)).astype(np.float32)
    X[rng.random(X.shape) < zeros] = 0
    W = rng.normal(size=(n_classes, n_features)).astype(np.float32)
    W[rng.random(W.shape) < np.where(rng.random(n_features) < 0.2, 0.9, 0.3)] = 0
    b = rng.normal(size=n_classes).astype(np.float32)
    if kind == "lists and full":
        index = InvertedIndex(sparse.csr_array(W), b)
    else:
        W = np.asfortranarray(W) if kind == "read in place" else W
        index = InvertedIndex(W, b)
        assert np.shares_memory(index.full_weights, W) == (kind == "read in place")
    rows, k = as_rows(X), min(7, n_classes)
    best, scores = index.topk(rows, k, 1, 1)
    plain = X.astype(float) @ W.T.astype(float) + b.astype(float)
    np.testing.assert_allclose(scores, -np.sort(-plain, axis=1)[:, :k], rtol=1e-4, atol=1e-4)
    for n_threads in (1, 2, 5):
        for part in (slice(None), slice(3, 4), slice(0, 33)):
            grouped = index.topk(as_rows(X[part]), k, n_threads)
            np.testing.assert_array_equal(grouped[0], best[part])
            np.testing.assert_array_equal(grouped[1], scores[part])
    with mock.patch.object(_inverted_index, "MOST_SCRATCH", 3 * len(index.intercept)):
        for expected, found in zip((best, scores), index.topk(rows, k, 2), strict=True):
            np.testing.assert_array_equal(found, expected)
    one_by_one = [as_rows(X[i : i + 1]) for i in range(len(X))]
    every = np.concatenate([index.scores(row, 1) for row in one_by_one])
    patterns = sparse.vstack([index.positives(row, 1) for row in one_by_one]).toarray()
    np.testing.assert_array_equal(patterns, every > 0)
    for n_threads in (1, 3):
        np.testing.assert_array_equal(index.scores(rows, n_threads), every)
        np.testing.assert_array_equal(index.positives(rows, n_threads).toarray(), patterns)


def test_dense_rows_alone_are_taken_in_groups():
    X, W, b = problem(3, 9, 4)
    rows, index = as_rows(normalise(sparse.csr_array(X))), InvertedIndex(W.toarray(), b)
    places = np.empty((3, 2), np.int32), np.empty((3, 2), np.float32)
    with pytest.raises(ValueError, match="rows must be dense"):
        _dense_rows.topk(*index._arguments(rows), index._scratch(4), *places, 2, 1)
    rows = as_rows(X)
    for together in (0, 129):
        with pytest.raises(ValueError, match=f"no room for groups of {together} rows"):
            _dense_rows.topk(*index._arguments(rows), index._scratch(4), *places, together, 1)
    index = InvertedIndex(W, b)
    assert (index.full_stop < 9).any()
    with pytest.raises(ValueError, match="no room for groups of 3 rows"):
        _dense_rows.topk(*index._arguments(rows), index._scratch(5), *places, 3, 2)


@pytest.mark.parametrize("length", [0, 15, 16, 17, 255, 273, 1200])
def test_lists_of_any_length(length):
    """Long ones are added sixteen entries at a time, and fetched beyond their end."""
    rng = np.random.default_rng(length)
    W = np.zeros((6000, 3), dtype=np.float32)
    for j in range(3):
        W[rng.choice(6000, max(0, length - j), replace=False), j] = rng.normal(
            size=max(0, length - j)
        )
    X = rng.random((5, 3), dtype=np.float32)
    b = rng.normal(size=6000).astype(np.float32)
    rows = as_rows(normalise(sparse.csr_array(X)))
    with mock.patch.object(_layout, "FULL_SHARE", 1):
        index = InvertedIndex(sparse.csr_array(W), b)
    assert not len(index.full_weights)
    expected = np.tile(b, (5, 1)).astype(np.float64)
    for j in range(3):  # rounded to float32 after each feature, as in the kernel
        fused = expected + X[:, j, None].astype(np.float64) * W[:, j].astype(np.float64)
        expected = fused.astype(np.float32).astype(np.float64)
    np.testing.assert_allclose(index.scores(rows, 1), expected, rtol=3e-7, atol=1e-7)
    for way in (0, 1, 2):
        best, scores = index.topk(rows, 6, 2, way)
        all_scores = index.scores(rows, 1)
        order = np.argsort(-all_scores, axis=1, kind="stable")[:, :6]
        np.testing.assert_array_equal(best, order)
        np.testing.assert_array_equal(scores, np.take_along_axis(all_scores, order, axis=1))


@pytest.mark.parametrize("n_classes", [300, 2000])
def test_memory_of_the_index_is_bounded_by_the_weights(n_classes):
    _, W, b = problem(1, n_classes, 12)
    index = InvertedIndex(W, b)
    used = np.bincount(W.indices, minlength=12)
    stored = used - np.diff(index.indptr)
    assert 0 < np.count_nonzero(index.full_stop) <= 12
    assert (stored >= 0.25 * index.full_stop).all()
    assert index.full_weights.nbytes <= 4 * (index.full_stop + kernel.block_of_classes() - 1).sum()


def test_the_first_classes_that_use_a_feature_have_their_weights_stored():
    """Against the definition, on weights of which some classes have many and others few."""
    rng = np.random.default_rng(0)
    frequent = 1 / np.arange(1, 41)
    W = rng.random((700, 40)) < np.outer(rng.random(700) ** 3, frequent) * 3
    W = sparse.csr_array(W.astype(np.float32))
    order = np.argsort(-np.diff(W.indptr), kind="stable")
    layout = Layout.of(W)
    np.testing.assert_array_equal(layout.order, order)
    used = np.cumsum(W.toarray()[order], axis=0)
    gain = used - _layout.FULL_SHARE * np.arange(1, 701)[:, None]
    best = gain.argmax(axis=0)
    enough = gain.max(axis=0) >= _layout.LEAST_GAIN
    assert 0 < enough.sum() < 40
    np.testing.assert_array_equal(layout.stops, np.where(enough, best + 1, 0))
    assert 0 < layout.stops.max() < 700
    with mock.patch.object(_layout, "FEW_CLASSES", 700):
        plain = Layout.of(W)
    assert plain.order is None
    np.testing.assert_array_equal(plain.stops, np.where(used[-1] > 0.25 * 700, 700, 0))


def test_an_index_is_built_beside_no_second_copy():
    rng = np.random.default_rng(0)
    W = rng.random((2000, 1500), dtype=np.float32)
    W[rng.random(W.shape) < 0.95] = 0
    W[:, 700:720] = 1  # full columns between lists
    W = sparse.csr_array(W)
    tracemalloc.start()
    try:
        index = InvertedIndex(W, np.zeros(2000, np.float32))
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (index.full_stop == 2000).sum() == 20
    assert index.order is not None
    size = index.classes.nbytes + index.weights.nbytes + index.full_weights.nbytes
    assert size <= kept <= size + 2**17
    assert peak <= 8 * W.nnz + index.full_weights.nbytes + 2**17


@pytest.mark.parametrize("n_classes", [65_536, 65_537])
def test_classes_at_the_end_of_what_two_bytes_hold(n_classes):
    last = n_classes - 1
    W = sparse.csr_array(([1.0, 2.0], ([0, last], [0, 0])), shape=(n_classes, 2), dtype=np.float32)
    layout = Layout(None, np.zeros(2, dtype=np.int32))
    index = InvertedIndex(W, np.zeros(n_classes), layout=layout)
    assert index.classes.tolist() == [0, last]
    best, scores = index.topk(as_rows(normalise(np.array([[1.0, 0.0]]))), 2, 1)
    assert best.tolist() == [[last, 0]]
    assert scores.tolist() == [[2, 1]]


def test_shapes_must_fit():
    _, W, b = problem(1, 9, 4)
    with pytest.raises(ValueError, match=r"one entry for each of the 9 rows .* got shape \(8,\)"):
        InvertedIndex(W, b[:8])
    with pytest.raises(ValueError, match="X has 5 features, but coef_ has 4"):
        InvertedIndex(W, b).topk(as_rows(np.ones((1, 5), np.float32)), 2, 1)

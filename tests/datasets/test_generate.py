"""Laws of the generator and of first_label."""

import numpy as np
import pytest
import scipy.sparse as sp
from _memory import with_peak
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.preprocessing import normalize

from sklearn_xc.datasets import first_label, make_xc_classification, repeat_per_label


@given(Y=hnp.arrays(np.uint8, hnp.array_shapes(min_dims=2, max_dims=2), elements=st.integers(0, 1)))
def test_first_label(Y):
    expected = [min(np.flatnonzero(row), default=-1) for row in Y]
    scrambled = sp.csr_matrix(Y[:, ::-1])
    scrambled.indices = (Y.shape[1] - 1 - scrambled.indices).astype(np.int32)  # not sorted
    for container in (Y, Y.tolist(), sp.csr_array(Y), sp.csc_matrix(Y), scrambled, Y * 0.5):
        labels, has_label = first_label(container)
        np.testing.assert_array_equal(labels, expected)
        np.testing.assert_array_equal(has_label, Y.any(axis=1))
        assert (labels.dtype, has_label.dtype) == (np.int64, bool)


def test_first_label_without_columns_and_with_stored_zeros():
    labels, has_label = first_label(np.zeros((2, 0)))
    np.testing.assert_array_equal(labels, [-1, -1])
    assert not has_label.any()
    stored_zero = sp.csr_matrix(([0, 1], [0, 2], [0, 2]), shape=(1, 3))
    assert first_label(stored_zero)[0] == [2]


def test_a_label_that_is_stored_twice_is_one():
    Y = sp.csr_array((np.ones(3), np.array([0, 0, 2]), np.array([0, 2, 3])), shape=(2, 3))
    _, labels, rows = repeat_per_label(np.eye(2), Y)
    assert (labels.tolist(), rows.tolist()) == ([0, 2], [0, 1])
    assert first_label(Y)[0].tolist() == [0, 2]
    assert Y.nnz == 3  # the caller's matrix is left alone


def test_first_label_refuses_other_shapes():
    with pytest.raises(ValueError, match=r"Y must be two-dimensional, it has shape \(3,\)"):
        first_label([0, 1, 1])


@pytest.mark.parametrize("exponent", [1 + 2e-16, 1 - 1e-12, 1 + 1e-9, 1 + 1e-7])
def test_exponents_near_1_draw_as_1_does(exponent):
    near, one = (
        make_xc_classification(
            400, 50, 5, n_tokens=5.0, feature_exponent=e, feature_shift=1.0, random_state=0
        )[0]
        for e in (exponent, 1.0)
    )
    assert abs(near - one).sum() < 1e-3 * one.sum()


@given(
    n_samples=st.integers(1, 60),
    n_features=st.integers(1, 50),
    n_classes=st.integers(1, 40),
    n_labels=st.none() | st.just(1) | st.just(1.0),
    n_tokens=st.floats(1, 20),
    signal=st.floats(0, 1),
    class_exponent=st.floats(0, 4),
    feature_exponent=st.floats(0, 4),
    feature_shift=st.floats(0, 100),
    n_topics=st.none() | st.just(1),
    seed=st.integers(0, 2**31),
)
def test_shapes_and_unit_rows(n_samples, n_features, n_classes, n_labels, seed, **parameters):
    problem = {"n_labels": n_labels, "random_state": seed, "topic_signal": 0.0, **parameters}
    X, y = make_xc_classification(n_samples, n_features, n_classes, **problem)
    assert X.shape == (n_samples, n_features)
    assert X.dtype == np.float32
    assert X.indices.dtype == np.int32
    X.check_format(full_check=True)
    assert X.has_canonical_format
    np.testing.assert_allclose(X.multiply(X).sum(axis=1), 1, rtol=1e-5)
    if n_labels is None:
        assert y.shape == (n_samples,)
        assert y.dtype == np.int64
        assert y.min() >= 0
        assert y.max() < n_classes
        assert n_samples < n_classes or len(np.unique(y)) == n_classes
    else:
        assert y.shape == (n_samples, n_classes)
        np.testing.assert_array_equal(np.diff(y.indptr), 1)
        assert set(y.data) == {1}


@pytest.mark.parametrize("n_labels", [None, 3])
def test_random_state(n_labels):
    problem = {"n_samples": 300, "n_features": 200, "n_classes": 50, "n_labels": n_labels}
    (X, y), (X_again, y_again), (X_other, _) = (
        make_xc_classification(**problem, random_state=seed) for seed in (0, 0, 1)
    )
    assert (X_again != X).nnz == 0
    assert np.all(y == y_again) if n_labels is None else (y != y_again).nnz == 0
    assert (X_other != X).nnz > 0
    X_legacy, _ = make_xc_classification(**problem, random_state=np.random.RandomState(0))
    assert (X_legacy != X).nnz == 0


def test_number_of_labels_and_tokens():
    X, Y = make_xc_classification(
        20_000,
        10**6,
        10**5,
        n_labels=3,
        n_tokens=20,
        class_exponent=0,
        feature_exponent=0,
        random_state=0,
    )
    assert np.diff(Y.indptr).min() == 1
    assert np.diff(Y.indptr).mean() == pytest.approx(3, rel=0.02)
    tokens = np.diff(X.indptr).mean()  # half of them are shared by few characteristic features
    assert 15 < tokens < 20


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 1.7])
def test_power_law_of_the_class_sizes(exponent):
    _, Y = make_xc_classification(
        100_000, 10, 1000, n_labels=1, n_tokens=1, class_exponent=exponent, random_state=0
    )
    sizes = np.asarray(Y.sum(axis=0, dtype=np.int64)).ravel()
    edges = np.arange(1, 1002.0)
    power = 1 - exponent
    primitive = np.log(edges) if power == 0 else edges**power / power
    expected = 100_000 * np.diff(primitive) / (primitive[-1] - primitive[0])
    deviation = (sizes - expected)[expected > 20] / np.sqrt(expected[expected > 20])
    assert np.mean(deviation**2) == pytest.approx(1, abs=0.25)  # chi-squared over its freedom


def test_learnable_as_far_as_the_signal_goes():
    accuracy = {}
    for signal in (0.0, 0.3, 1.0):
        X, y = make_xc_classification(
            6000, 5000, 200, class_exponent=0, signal=signal, random_state=0
        )
        train, test = slice(0, 4000), slice(4000, None)
        means = sp.csr_matrix((np.ones(4000), (y[train], np.arange(4000))), shape=(200, 4000))
        centroids = normalize(means @ X[train])
        predicted = np.argmax((X[test] @ centroids.T).toarray(), axis=1)
        accuracy[signal] = np.mean(predicted == y[test])
    assert accuracy[0.0] < 0.03
    assert accuracy[0.3] > 0.5
    assert accuracy[1.0] > 0.97


def test_a_million_classes():
    """Memory follows the non-zeros: a dense (n, K) or (K, D) buffer would not fit anywhere."""
    # traced: the resident peak of a child would count what its parent had when it forked
    (X, _), peak = with_peak(
        lambda: make_xc_classification(200_000, 10**6, 10**6, n_tokens=10, random_state=0)
    )
    assert X.nnz < 2_000_000
    assert peak < 500e6


def test_the_shape_of_amazon_670k():
    """A tenth of the preset, by which the sizes of labels and rows do not change."""
    X, Y = make_xc_classification(
        49_045, n_classes=67_009, n_topics=1200, preset="amazon-670k", random_state=0
    )
    assert X.shape == (49_045, 135_909)
    assert X.nnz / X.shape[0] == pytest.approx(75, abs=2)
    assert Y.nnz / Y.shape[0] == pytest.approx(5.45, abs=0.1)
    sizes = np.bincount(Y.indices, minlength=Y.shape[1])
    assert 2 <= np.median(sizes) <= 4
    assert (sizes == 0).mean() < 0.1
    assert sizes.max() < 1000
    frequency = np.bincount(X.indices, minlength=X.shape[1])
    assert frequency.max() < 0.75 * X.shape[0]  # no word that every text has


def test_labels_of_a_row_share_its_topic():
    sizes = {"n_samples": 4000, "n_features": 3000, "n_classes": 200, "n_labels": 6}
    rest = {"n_topics": 20, "topic_signal": 0.6, "signal": 0.3, "class_exponent": 0}
    together = {}
    for share in 0.0, 0.9:
        X, Y = make_xc_classification(**sizes, **rest, topic_share=share, random_state=0)
        pairs = (Y.T @ Y).toarray() / 4000
        np.fill_diagonal(pairs, 0)
        together[share] = np.sort(pairs, axis=1)[:, -5:].mean() / pairs.mean()
    assert together[0.0] < 3 < 10 < together[0.9]
    # the features of a topic are those of its rows
    rows = X[(Y @ Y[0].T).toarray().ravel() >= 3]
    common = np.asarray((rows > 0).mean(axis=0)).ravel()
    everywhere = np.asarray((X > 0).mean(axis=0)).ravel()
    assert ((common > 0.5) & (everywhere < 0.2)).sum() >= 5


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"preset": "amazon"}, "preset must be one of 'short-texts', 'amazon-670k', got 'amazon'"),
        ({"feature_shift": -1}, "feature_shift must be a number from 0 to .*, got -1"),
        ({"n_topics": 1001}, "n_topics must be a whole number from 1 to 1000, got 1001"),
        ({"n_topics": 9, "topic_share": 2}, "topic_share must be a number from 0 to 1, got 2"),
        (
            {"n_topics": 9, "topic_signal": 0.6},
            "topic_signal must be a number from 0 to 0.5, got 0",
        ),
        ({"n_samples": 0}, "n_samples must be a whole number from 1 to 2147483647, got 0"),
        ({"n_features": 2.5}, "n_features must be a whole number from 1 to 2147483647, got 2.5"),
        ({"n_classes": 2**31}, "n_classes must be a whole number .*, got 2147483648"),
        ({"n_characteristic": True}, "n_characteristic must be a whole number .*, got True"),
        ({"n_labels": 0.5}, "n_labels must be a number from 1 to 1000, got 0.5"),
        ({"n_labels": 1001}, "n_labels must be a number from 1 to 1000, got 1001"),
        ({"n_tokens": 0}, "n_tokens must be a number from 1 to .*, got 0"),
        ({"signal": 1.5}, "signal must be a number from 0 to 1, got 1.5"),
        ({"signal": float("nan")}, "signal must be a number from 0 to 1, got nan"),
        ({"class_exponent": -1}, "class_exponent must be a number from 0 to 10, got -1"),
        ({"feature_exponent": "1"}, "feature_exponent must be a number from 0 to 10, got '1'"),
    ],
)
def test_refuses(parameters, message):
    with pytest.raises(ValueError, match=message):
        make_xc_classification(**parameters)

"""One corrupt row, far longer than the others, decides nothing."""

import numpy as np
import pytest
from _full import rest_in_full
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine

from sklearn_xc import (
    AugmentReduceClassifier,
    ImplicitSoftmaxRegressor,
    LDGSClassifier,
    MemoirSVC,
    PPDSparseClassifier,
)
from sklearn_xc.utils._far_rows import FAR, LONGEST, shares, shortening, typical_length
from sklearn_xc.utils._matrix import as_rows, normalise


def test_no_row_is_longer_than_some_typical_ones():
    lengths = np.array([0.0, 1.0, 2.0, 3.0, 1e6])
    assert typical_length(lengths**2) == pytest.approx(np.sqrt(6.5), rel=0.1)
    bounded = lengths * shares(lengths, 2.0)
    np.testing.assert_allclose(bounded, [0, 1, 2, 3, 2 * FAR])
    assert typical_length(np.zeros(3)) == 0
    np.testing.assert_array_equal(shares(np.zeros(3), 0.0), np.ones(3))


def test_far_rows_are_shortened_and_others_stay():
    X = np.diag(np.arange(6.0))
    X[5] *= 1e6
    rows = as_rows(normalise(sparse.csr_array(X)))
    np.testing.assert_allclose(
        np.sqrt(rows.shortened().squared_norms()), [0, 1, 2, 3, 4, 3 * LONGEST], rtol=1e-6
    )
    few = rows.take([0, 1, 2, 3, 4])
    assert few.shortened() is few
    bounded = np.sqrt(rows.shortened(typical=0.001).squared_norms())
    np.testing.assert_allclose(bounded[1:], 0.001 * LONGEST, rtol=1e-6)
    weight = np.array([0, 1, 0, 0, 0, 0.1])
    assert rows.shortened(weight).squared_norms()[5] == pytest.approx(LONGEST**2)


def test_the_further_a_row_the_less_it_counts():
    lengths = np.array([0.0, 5, FAR, 1.25 * FAR, 2 * FAR, 100 * FAR])
    found = lengths * shortening(lengths, 1.0)
    np.testing.assert_allclose(found, [0, 5, FAR, 0.8 * FAR, 0.5 * FAR, LONGEST])
    np.testing.assert_array_equal(shortening(lengths, 0.0), np.ones(6))


def test_dense_rows_are_shortened_about_the_middle_of_the_others():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) + 50
    X[7] *= 3e4
    others = np.delete(np.arange(200), 7)
    middle = X[others].mean(axis=0)
    spread = np.median(np.linalg.norm(X[others] - middle, axis=1))
    found = as_rows(normalise(X)).shortened().matrix()
    np.testing.assert_array_equal(found[others], X[others].astype(np.float32))
    moved = found[7] - middle
    assert np.linalg.norm(moved) == pytest.approx(LONGEST * spread, rel=1e-3)
    np.testing.assert_allclose(moved / moved.max(), (X[7] - middle) / (X[7] - middle).max(), 1e-3)
    alone = as_rows(normalise(X[[7]])).shortened(typical=80.0)  # without others, about zero
    assert np.sqrt(alone.squared_norms()[0]) == pytest.approx(80 * LONGEST, rel=1e-6)


def topics():
    """Counts of words, twelve topics."""
    rng = np.random.default_rng(0)
    y = rng.integers(12, size=600)
    words = rng.random((12, 200)) ** 12
    return rng.poisson(words[y] * 20 / words.sum(axis=1)[y][:, None]).astype(float), y


def measurements():
    X, y = load_wine(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def offset():
    """One column, whose values are far from zero beside their differences."""
    y = np.arange(600) % 4
    return 14 + 4.0 * y[:, None] + np.random.default_rng(0).normal(scale=0.7, size=(600, 1)), y


def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16, y


def some_digits():
    X, y = digits()
    return X[:500], y[:500]


MODELS = {
    "ppdsparse": PPDSparseClassifier(),
    "ppdsparse-l2": PPDSparseClassifier(l2=1.0),
    "memoir": MemoirSVC(),
    "memoir-alpha": MemoirSVC(alpha=1e-4),
    "implicit-exact": ImplicitSoftmaxRegressor(),
    "implicit": ImplicitSoftmaxRegressor(solver="implicit"),
    "ldgs": LDGSClassifier(),
    "ldgs-hidden": LDGSClassifier(hidden_dim=16),
    "augment-reduce": AugmentReduceClassifier(),
    "augment-reduce-drawn": AugmentReduceClassifier(bound="augment_reduce"),
    "probit": AugmentReduceClassifier("probit"),
    "logistic": AugmentReduceClassifier("logistic"),
}
DATA = {
    "digits": digits,
    "offset": offset,
    "topics": topics,
    "measurements": measurements,
}
# Sparse rows of one model of each family, and one kind of noise, stand for the others (time).
OF_A_FAMILY = ["ppdsparse", "memoir", "implicit-exact", "ldgs", "augment-reduce"]
CASES = [(name, form) for name in MODELS for form in (np.asarray, sparse.csr_array)]
QUICK = [(n, f) for n, f in CASES if n != "logistic" and (f is np.asarray or n in OF_A_FAMILY)]
CORRUPT = {"one": lambda n: [11], "a hundredth": lambda n: np.arange(5, n, 100)}


def corrupted(X, rows):
    corrupt = X.copy()
    corrupt[rows] *= 3e4
    return corrupt


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("data", rest_in_full(["some digits", *DATA], "some digits"))
@pytest.mark.parametrize("which", rest_in_full(CORRUPT, "one"))
@pytest.mark.parametrize(("name", "to_matrix"), rest_in_full(CASES, *QUICK))
def test_corrupt_rows_decide_nothing(name, which, data, to_matrix):
    X, y = some_digits() if data == "some digits" else DATA[data]()
    rows = CORRUPT[which](len(y))
    others = np.delete(np.arange(len(y)), rows)
    model = clone(MODELS[name]).set_params(random_state=0)
    if data == "some digits" and isinstance(model, AugmentReduceClassifier):
        model.set_params(max_iter=50)  # by itself it takes many more passes over few rows (time)
    X_others = to_matrix(X[others])
    expected = model.fit(X_others, y[others]).score(X_others, y[others])
    found = model.fit(to_matrix(corrupted(X, rows)), y).score(X_others, y[others])
    assert found > expected - 0.02


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["implicit", "ldgs", "augment-reduce", "logistic"])
def test_corrupt_rows_beside_an_offset_decide_nothing(name):
    X, y = offset()
    rows = [11] if name == "logistic" else CORRUPT["a hundredth"](len(y))
    others = np.delete(np.arange(len(y)), rows)
    model = clone(MODELS[name]).set_params(random_state=0)
    if isinstance(model, AugmentReduceClassifier):
        model.set_params(max_iter=100)  # (time)
    expected = model.fit(X[others], y[others]).score(X[others], y[others])
    found = model.fit(corrupted(X, rows), y).score(X[others], y[others])
    assert found > expected - 0.02


@pytest.mark.parametrize("data", rest_in_full(DATA, "digits"))
@pytest.mark.parametrize(
    "name", rest_in_full(["memoir", "implicit-exact", "implicit", "ldgs", "augment-reduce"], "ldgs")
)
@pytest.mark.parametrize("row", rest_in_full([11, 170, "a hundredth"], 11, "a hundredth"))
def test_a_corrupt_row_of_a_stream_decides_nothing(name, row, data):
    X, y = DATA[data]()
    row = [row] if row in (11, 170) else CORRUPT[row](len(y))
    others = np.delete(np.arange(len(y)), row)
    scores = []
    for seen in (X, corrupted(X, row)):
        model = clone(MODELS[name]).set_params(random_state=0)
        for part in [*np.array_split(np.arange(len(y)), 8)] * 3:
            model.partial_fit(seen[part], y[part], classes=np.unique(y))
        scores.append(model.score(X[others], y[others]))
    assert scores[1] > scores[0] - 0.02


def test_parts_know_how_long_rows_were_before():
    X, y = load_digits(return_X_y=True)
    X = X / 16
    X[1100] *= 1e4
    model = MemoirSVC(random_state=0)
    for start in range(0, 1200, 100):
        part = slice(start, start + 100)
        model.partial_fit(X[part], y[part], classes=np.arange(10))
    assert model.score(X[1200:], y[1200:]) > 0.85

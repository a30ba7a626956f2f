"""Sizes of rows in parts, against NumPy and those of all rows at once."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from sklearn_xc.implicit_softmax._data import NONE, SoftmaxData
from sklearn_xc.implicit_softmax._sizes import Sizes
from sklearn_xc.training._rows_seen import RowsSeen
from sklearn_xc.training._sizes_seen import ColumnsSeen, Lengths
from sklearn_xc.utils._matrix import as_rows
from sklearn_xc.utils._records import made_record

RNG = np.random.default_rng(0)


def data(X):
    return SoftmaxData(as_rows(X), np.zeros(X.shape[0], np.int32), NONE)


def with_rows(columns, X, weight):
    return columns.with_moments(*as_rows(X).column_moments(weight))


@pytest.mark.parametrize("n", [1, 2, 5, 100, 1001])
def test_the_median_of_lengths(n):
    lengths, weight = RNG.lognormal(sigma=2, size=n), RNG.integers(1, 4, size=n).astype(float)
    found = Lengths()
    for part in np.array_split(np.arange(n), 7):
        found = found.with_squares(lengths[part] ** 2, weight[part])
    repeated = np.sort(np.repeat(lengths**2, weight.astype(int)))
    low, high = repeated[(len(repeated) - 1) // 2], repeated[len(repeated) // 2]
    assert found.median == pytest.approx(np.sqrt((low + high) / 2), rel=5e-4)
    assert Lengths().with_squares(np.zeros(3), np.ones(3)).median == 1
    assert Lengths().with_squares(np.ones(3), np.zeros(3)).median == 1


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_columns_in_parts_are_those_of_all_rows(load):
    X = load(return_X_y=True)[0].astype(np.float32)
    X[:, 2] = 7.5  # does not vary
    weight = RNG.uniform(0.5, 2, size=len(X))
    found = ColumnsSeen()
    for part in np.array_split(RNG.permutation(len(X)), 50):
        found = with_rows(found, X[part], weight[part])
    wanted, found = as_rows(X).coordinates(weight), found.coordinates()
    np.testing.assert_allclose(found.mean, wanted.mean, rtol=1e-6)
    np.testing.assert_allclose(found.scale, wanted.scale, rtol=1e-5)
    assert found.mean[2] == wanted.mean[2] == 7.5


def test_columns_of_like_sizes_have_no_coordinates():
    X = load_digits(return_X_y=True)[0].astype(np.float32)
    assert ColumnsSeen().coordinates() is None
    assert with_rows(ColumnsSeen(), X, np.ones(len(X))).coordinates() is None
    assert with_rows(ColumnsSeen(), X[:1], np.ones(1)).coordinates() is None


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
# Distances are from the mean of the rows so far: the median of the few and uneven rows of wine is
# then up to 8 % another, of thirty orders of the rows.
@pytest.mark.parametrize(("load", "off"), [(load_wine, 0.1), (load_digits, 0.002)])
def test_sizes_of_parts_lead_to_the_coordinates_of_a_fit(load, off, columns, fit_intercept):
    X = load(return_X_y=True)[0].astype(np.float32)
    X = X[RNG.permutation(len(X))]
    X[3] *= 1000  # counts no more than others in lengths
    wanted, sizes = data(X).coordinates(columns, fit_intercept), Sizes()
    for part in np.array_split(X, [len(X) * 9 // 10, len(X) * 9 // 10 + 9]):
        sizes = data(part).added_to(sizes, 1.0)
    found = sizes.coordinates(True, columns, fit_intercept)
    np.testing.assert_allclose(found.scale, wanted.scale, rtol=off)
    if wanted.mean is None:
        assert found.mean is None
    else:
        np.testing.assert_allclose(found.mean, wanted.mean, rtol=1e-4, atol=1e-4)
    rows, sparse_rows = as_rows(X), as_rows(sparse.csr_array(X))
    np.testing.assert_allclose(sparse_rows.squared_norms(), rows.squared_norms(), rtol=1e-5)
    assert data(X).added_to(sizes, 0.0) is sizes


def test_rows_that_come_again_are_not_new():
    X, seen = RNG.normal(size=(500, 6)).astype(np.float32), RowsSeen()
    shares = []
    for part in (X[:200], X[:200], X[100:300], X[300:]):
        before, seen = seen, seen.with_hashes(as_rows(part).hashes(), None)
        shares.append(seen.new_since(before))
    np.testing.assert_allclose(shares, [1, 0, 0.5, 1], atol=0.05)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (vars(Lengths()) | {"bins": np.array([1])}, "one weight and one sum"),
        (
            {"bins": np.array([2, 1]), "weight": np.ones(2), "squares": np.ones(2)},
            "not in order",
        ),
    ],
)
def test_a_histogram_that_contradicts_itself_is_refused(values, message):
    with pytest.raises(ValueError, match=message):
        made_record(Lengths, values)


def test_columns_and_sizes_that_contradict_themselves_are_refused():
    with pytest.raises(ValueError, match="different features"):
        made_record(ColumnsSeen, vars(ColumnsSeen()) | {"mean": np.zeros(3)})
    with pytest.raises(ValueError, match="not one number for each feature"):
        made_record(Sizes, vars(Sizes()) | {"near": np.zeros(3)})

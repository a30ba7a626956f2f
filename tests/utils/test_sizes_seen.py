"""Sizes of rows in parts, against NumPy and `Coordinates.of` on all of them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from sklearn_xc.implicit_softmax._coordinates import coordinates_for
from sklearn_xc.implicit_softmax._sizes import Sizes
from sklearn_xc.utils._coordinates import Coordinates
from sklearn_xc.utils._matrix import as_rows
from sklearn_xc.utils._records import made_record
from sklearn_xc.utils._rows_seen import RowsSeen
from sklearn_xc.utils._sizes_seen import Columns, Lengths, squared_lengths

RNG = np.random.default_rng(0)


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
    found = Columns()
    for part in np.array_split(RNG.permutation(len(X)), 50):
        found = found.with_rows(X[part], weight[part])
    wanted, found = Coordinates.of(X, weight), found.coordinates()
    np.testing.assert_allclose(found.mean, wanted.mean, rtol=1e-6)
    np.testing.assert_allclose(found.scale, wanted.scale, rtol=1e-5)
    assert found.mean[2] == wanted.mean[2] == 7.5


def test_columns_of_like_sizes_have_no_coordinates():
    X = load_digits(return_X_y=True)[0].astype(np.float32)
    assert Columns().coordinates() is None
    assert Columns().with_rows(X, np.ones(len(X))).coordinates() is None
    assert Columns().with_rows(X[:1], np.ones(1)).coordinates() is None


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("load", [load_wine, load_digits])
def test_sizes_of_parts_lead_to_the_coordinates_of_a_fit(load, columns, fit_intercept):
    X = load(return_X_y=True)[0].astype(np.float32)
    X = X[RNG.permutation(len(X))]
    X[3] *= 1000  # counts no more than others in lengths
    wanted, sizes = coordinates_for(X, None, columns, fit_intercept), Sizes()
    for part in np.array_split(X, [len(X) * 9 // 10, len(X) * 9 // 10 + 9]):
        sizes = sizes.with_rows(part, None, 1.0)
    found = sizes.coordinates(True, columns, fit_intercept)
    np.testing.assert_allclose(found.scale, wanted.scale, rtol=0.02)
    if wanted.mean is None:
        assert found.mean is None
    else:
        np.testing.assert_allclose(found.mean, wanted.mean, rtol=1e-4, atol=1e-4)
    sparse_rows = sparse.csr_array(X)
    np.testing.assert_allclose(squared_lengths(sparse_rows), squared_lengths(X), rtol=1e-5)
    assert sizes.with_rows(X, None, 0.0) is sizes


def test_rows_that_come_again_are_not_new():
    X, seen = RNG.normal(size=(500, 6)).astype(np.float32), RowsSeen()
    shares = []
    for part in (X[:200], X[:200], X[100:300], X[300:]):
        before, seen = seen, seen.with_rows(as_rows(part))
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
        made_record(Columns, vars(Columns()) | {"mean": np.zeros(3)})
    with pytest.raises(ValueError, match="not one number for each feature"):
        made_record(Sizes, vars(Sizes()) | {"near": np.zeros(3)})

"""Coordinates in which rows have length 1 about."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from sklearn_xc.utils._coordinates import Coordinates
from sklearn_xc.utils._matrix import as_rows, normalise
from sklearn_xc.utils._records import made_record

RNG = np.random.default_rng(0)


def lengths(X):
    return np.sqrt((X.power(2) if sparse.issparse(X) else X**2).sum(axis=1))


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("factor", [1e-6, 1.0, 16.0, 1e6])
def test_rows_have_length_one_whatever_their_scale(as_sparse, factor):
    X = load_digits().data * factor
    X = normalise(sparse.csr_array(X) if as_sparse else X)
    coordinates = as_rows(X).coordinates()
    assert np.median(lengths(as_rows(X).inside(coordinates).matrix())) == pytest.approx(1, rel=1e-5)
    assert coordinates.mean is None


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_columns_in_other_units_get_one_size(load):
    X = normalise(load().data)
    rows = as_rows(X)
    inside = rows.inside(rows.coordinates()).matrix()
    assert np.abs(inside.mean(axis=0)).max() < 1e-5
    np.testing.assert_allclose(inside.std(axis=0), X.shape[1] ** -0.5, rtol=1e-4)


def test_even_columns_are_not_shifted():
    for X in (load_iris().data, load_digits().data, RNG.normal(size=(200, 50))):
        assert as_rows(normalise(X)).coordinates().mean is None


def test_unit_rows_are_taken_as_they_are():
    X = normalise(sparse.random_array((50, 30), density=0.3, rng=0, format="csr"))
    X = normalise(sparse.csr_array(X / np.maximum(lengths(X), 1e-9)[:, None]))
    coordinates = as_rows(X).coordinates()
    assert coordinates.changes_nothing
    rows = as_rows(X)
    assert rows.inside(coordinates) is rows


@pytest.mark.parametrize("X", [load_wine().data, load_digits().data])
def test_scores_are_the_same_inside_and_outside(X):
    X = normalise(X)
    coordinates = as_rows(X).coordinates()
    V = RNG.normal(size=(3, X.shape[1])).astype(np.float32)
    a = RNG.normal(size=3).astype(np.float32)
    W, b = coordinates.weights_outside(V, a)
    inside = as_rows(X).inside(coordinates).matrix() @ V.T + a
    np.testing.assert_allclose(X.astype(np.float64) @ W.T + b, inside, atol=2e-4)
    again = coordinates.weights_inside(W, b)
    np.testing.assert_allclose(again[0], V, rtol=1e-5)
    np.testing.assert_allclose(again[1], a, atol=1e-3)


def test_sparse_columns_can_have_scales_of_their_own():
    X = normalise(sparse.random_array((20, 6), density=0.4, rng=0, format="csr"))
    scale = np.arange(1.0, 7.0)
    inside = as_rows(X).inside(Coordinates(scale=scale)).matrix()
    np.testing.assert_allclose(inside.toarray(), X.toarray() / scale, rtol=1e-6)


def test_samples_of_weight_zero_and_single_ones_do_not_decide():
    X = normalise(RNG.normal(size=(100, 5)))
    far = np.vstack([X, 1e6 * np.ones((50, 5), np.float32)])
    weight = np.repeat([1.0, 0.0], [100, 50])
    assert as_rows(far).coordinates(weight).scale == as_rows(X).coordinates().scale
    one = normalise(sparse.csr_array(np.vstack([X, 1e6 * np.ones((1, 5))])))
    assert as_rows(one).coordinates().scale == pytest.approx(
        as_rows(X).coordinates().scale, rel=0.05
    )


def test_rows_and_columns_without_values():
    empty = normalise(sparse.csr_array((4, 3)))
    assert as_rows(empty).coordinates().changes_nothing
    assert as_rows(np.zeros((4, 3), np.float32)).coordinates().changes_nothing
    some = sparse.csr_array(np.array([[0, 0], [3.0, 4.0], [0, 0]]))
    assert as_rows(normalise(some)).coordinates().scale == pytest.approx(5)
    constant = np.hstack([load_wine().data, np.full((178, 1), 7.0)])
    rows = as_rows(normalise(constant))
    inside = rows.inside(rows.coordinates()).matrix()
    assert np.abs(inside[:, -1]).max() == 0


def test_a_record_that_contradicts_itself_is_refused():
    for mean, scale in ((np.zeros(3), np.ones(2)), (None, 0.0), (None, np.array([1, np.nan]))):
        with pytest.raises(ValueError, match="Coordinates"):
            made_record(Coordinates, {"mean": mean, "scale": scale})

"""Long columns in two parts: what is put where, and that nothing is lost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sklearn_xc._kernels.ppdsparse._problem import divide_columns

pytestmark = pytest.mark.kernel


def columns_of(X):
    X = sparse.csc_array(X)
    return X.indptr.astype("i8"), X.indices.astype("i4"), X.data.astype("f4")


@given(
    n=st.integers(1, 300),
    d=st.integers(0, 6),
    density=st.sampled_from([0.0, 0.05, 0.5, 1.0]),
    values=st.sampled_from(["lognormal", "signs", "ones", "zeros"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_large_entries_come_first(n, d, density, values, seed):
    rng = np.random.default_rng(seed)
    X = rng.lognormal(size=(n, d)) * (rng.random((n, d)) < density)
    if values == "signs":
        X *= rng.choice([-1, 1], size=X.shape)
    indptr, rows, data = columns_of((X != 0) if values == "ones" else X)
    if values == "zeros":
        data[::2] = 0  # stored all the same
    before = rows.copy(), data.copy()
    middle, rest = divide_columns(indptr, rows, data, n)
    assert (middle.dtype, rest.dtype) == (np.int64, np.float32)
    for j, (start, cut, stop) in enumerate(zip(indptr, middle, indptr[1:], strict=False)):
        n_large, n_small = cut - start, stop - cut
        order = np.argsort(rows[start:stop])
        np.testing.assert_array_equal(rows[start:stop][order], before[0][start:stop])
        np.testing.assert_array_equal(data[start:stop][order], before[1][start:stop])
        if not n_small:  # as it was
            assert rest[j] == 0
            continue
        assert (np.diff(rows[start:cut]) > 0).all()
        assert (np.diff(rows[cut:stop]) > 0).all()
        assert rest[j] == np.abs(data[cut:stop]).max() > 0
        assert (np.abs(data[start:cut]) > rest[j]).all()
        assert 0 < 10 * n_large <= n_large + n_small


def test_frequent_words_are_divided_and_rare_ones_are_not():
    rng = np.random.default_rng(0)
    n = 20_000
    X = rng.lognormal(size=(n, 3)).astype("f4") * (rng.random((n, 3)) < [0.5, 0.01, 0.002])
    indptr, rows, data = columns_of(X)
    middle, rest = divide_columns(indptr, rows, data, n)
    lengths = np.diff(indptr)
    assert 0.05 * lengths[0] < middle[0] - indptr[0] <= 0.1 * lengths[0]
    assert 0 < middle[1] - indptr[1] <= 0.1 * lengths[1]
    assert (middle[2], rest[2]) == (indptr[3], 0)


def test_equal_entries_and_values_that_are_not_finite_stay_together():
    indptr, rows, data = columns_of(np.ones((500, 1)))
    assert divide_columns(indptr, rows, data, 500)[0][0] == 500
    for value in np.nan, np.inf:
        data[:] = 1
        data[7] = value
        middle, _ = divide_columns(indptr, rows, data, 500)
        assert 0 <= middle[0] <= 500
        assert np.array_equal(np.sort(rows), np.arange(500))

"""Columns that are used of a wide space: rows and weights by their numbers among these."""

import numpy as np
import pytest
from scipy import sparse

from sklearn_xc.utils import _column_map
from sklearn_xc.utils._column_map import WIDE, ColumnMap, used_columns
from sklearn_xc.utils._matrix import as_rows, normalise

pytestmark = pytest.mark.kernel


def wide_rows(seed=0, n_columns=WIDE + 77, n_used=150, n_rows=40):
    """Return rows of a wide space with entries in its first and last column and some between."""
    rng = np.random.default_rng(seed)
    used = np.unique(np.r_[0, rng.choice(n_columns, n_used), n_columns - 1])
    some = sparse.random_array((n_rows, len(used)), density=0.2, rng=rng, dtype=np.float32)
    some = sparse.coo_array(some)
    places = some.coords[0], used[some.coords[1]]
    X = sparse.csr_array((some.data, places), shape=(n_rows, n_columns))
    return normalise(X), used


@pytest.mark.parametrize("mapped", [0, 2**26])
@pytest.mark.parametrize("dense", [False, True])
def test_rows_by_the_numbers_of_some_columns_are_those_columns(dense, mapped, monkeypatch):
    monkeypatch.setattr(_column_map, "MAPPED", mapped)
    X, used = wide_rows()
    some = used[::3]
    given = normalise(X.toarray()) if dense else X
    found = as_rows(given).narrowed(ColumnMap(some, X.shape[1])).matrix()
    found = found if dense else found.toarray()
    assert np.array_equal(found, X[:, some].toarray())


@pytest.mark.parametrize("mapped", [0, 2**26])
def test_a_block_of_rows_is_narrowed_alone(mapped, monkeypatch):
    monkeypatch.setattr(_column_map, "MAPPED", mapped)
    X, used = wide_rows()
    block = as_rows(X).block(7, 21)
    found = block.narrowed(ColumnMap(used, X.shape[1])).matrix()
    assert np.array_equal(found.toarray(), X[7:21][:, used].toarray())


def test_wide_and_narrow_are_inverse():
    X, used = wide_rows()
    columns = ColumnMap(used, X.shape[1])
    narrow = columns.narrow_csr(X)
    assert narrow.shape == (X.shape[0], len(used))
    assert (columns.widen_csr(narrow) != X).nnz == 0


def test_few_of_many_columns_are_told():
    X, _ = wide_rows()
    used = used_columns(X.indices, X.shape[1])
    assert np.array_equal(used, np.unique(X.indices))
    assert used_columns(X.indices % (WIDE - 1), WIDE - 1) is None  # no wide space
    assert used_columns(np.arange(WIDE // 16), WIDE) is None  # not few
    assert used_columns(X.indices[:0], WIDE) is None

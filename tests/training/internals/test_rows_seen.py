"""How many different rows were given, over many calls."""

import numpy as np
import pytest
from scipy import sparse

from sklearn_xc.training._rows_seen import N_REGISTERS, RowsSeen
from sklearn_xc.utils._matrix import as_rows, normalise


def rows_of(X):
    return as_rows(normalise(X))


@pytest.mark.parametrize("n", [1, 30, 1000, 20_000, 100_000])
def test_different_rows_are_counted_to_three_percent(n):
    X = sparse.random_array((n, 3000), density=0.002, rng=0, format="csr") + sparse.csr_array(
        (np.arange(1, n + 1, dtype=float), (np.arange(n), np.zeros(n, int))), shape=(n, 3000)
    )
    seen = RowsSeen()
    for part in np.array_split(np.arange(n), min(n, 10)):
        seen = seen.with_hashes(rows_of(X[part]).hashes())
    for part in np.array_split(np.arange(n), min(n, 3)):  # the same rows once more
        seen = seen.with_hashes(rows_of(X[part]).hashes())
    assert seen.n_visits == 2 * n
    assert seen.n_rows == pytest.approx(n, rel=0.03)
    assert seen.weight == pytest.approx(n, rel=0.03)


def test_equal_rows_of_one_call_all_count():
    seen = RowsSeen().with_hashes(rows_of(np.ones((500, 3))).hashes())
    assert seen.n_rows == 500
    assert seen.with_hashes(rows_of(np.ones((500, 3))).hashes()).n_rows == 500


def test_rows_of_weight_zero_are_not_there_and_weights_are_means():
    X = np.random.default_rng(0).normal(size=(100, 4))
    weight = np.repeat([0.0, 3.0], 50)
    seen = RowsSeen().with_hashes(rows_of(X).hashes(), weight)
    assert seen.n_visits == 50
    assert seen.weight == pytest.approx(150, rel=0.01)
    twice = seen.with_hashes(rows_of(X).hashes(), weight)
    assert twice.weight == pytest.approx(150, rel=0.01)
    assert RowsSeen().weight == 0


def test_a_row_has_one_hash_sparse_or_dense_with_explicit_zeros_or_without():
    X = np.random.default_rng(0).normal(size=(50, 9)) * (np.arange(9) % 2)
    zeros = sparse.csr_array(X)
    explicit = zeros.copy()
    explicit.data[::4] = 0
    cleaned = explicit.copy()
    cleaned.eliminate_zeros()
    np.testing.assert_array_equal(rows_of(X).hashes(), rows_of(zeros).hashes())
    np.testing.assert_array_equal(rows_of(explicit).hashes(), rows_of(cleaned).hashes())
    assert len(np.unique(rows_of(X).hashes())) == 50
    assert len(rows_of(X[:0]).hashes()) == 0


def test_long_rows_are_hashed_part_by_part(monkeypatch):
    X = np.random.default_rng(0).normal(size=(20, 30))
    whole = rows_of(X).hashes()
    monkeypatch.setattr("sklearn_xc.utils._rows.HASHED_AT_ONCE", 7)
    np.testing.assert_array_equal(rows_of(X).hashes(), whole)
    np.testing.assert_array_equal(rows_of(sparse.csr_array(X)).hashes(), whole)


def test_a_record_out_of_range_is_refused():
    seen = RowsSeen()
    seen.registers = np.full(N_REGISTERS, 60, dtype=np.uint8)
    with pytest.raises(ValueError, match="registers"):
        seen._check_record()


@pytest.mark.parametrize("n_rows", [200, 3000, 60_000])
def test_a_call_of_all_rows_counts_exactly_however_often_it_comes(n_rows):
    X = np.random.default_rng(n_rows).normal(size=(n_rows, 3)).astype(np.float32)
    rows = as_rows(normalise(X))
    seen = RowsSeen()
    for _ in range(3):
        seen = seen.with_hashes(rows.hashes())
        assert seen.n_rows == n_rows

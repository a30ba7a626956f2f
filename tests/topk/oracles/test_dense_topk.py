"""The k best columns of dense scores: against a stable sort of whole rows."""

import numpy as np
import pytest

from sklearn_xc.topk._dense_topk import best_columns


@pytest.mark.parametrize("n_values", [2, 5, 10**6], ids=["many ties", "ties", "no ties"])
@pytest.mark.parametrize("k", [1, 3, 12, 40])
def test_as_a_stable_sort(n_values, k):
    values = np.random.default_rng(k).integers(-n_values, n_values, (50, 12)).astype(np.float64)
    expected = np.argsort(-values, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(best_columns(values, k), expected)


@pytest.mark.parametrize("k", [1, 3, 8])
def test_entries_that_do_not_count(k):
    """Not even where an entry that counts is minus infinity as well."""
    rng = np.random.default_rng(0)
    counted = rng.random((60, 8)) < 0.4
    values = np.where(counted & (rng.random((60, 8)) < 0.8), rng.integers(0, 3, (60, 8)), -np.inf)
    found = best_columns(values, k, counted)
    for row, mask, columns in zip(values, counted, found, strict=True):
        there = np.flatnonzero(mask)
        expected = there[np.argsort(-row[there], kind="stable")][:k]
        assert columns[columns >= 0].tolist() == expected.tolist()
        assert (columns[len(expected) :] == -1).all()


def test_no_rows():
    assert best_columns(np.empty((0, 4)), 2).shape == (0, 2)

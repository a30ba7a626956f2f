"""Functions inside of what `ppdsparse/test_penalties.py` tests from outside."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import normalize

from sklearn_xc import PPDSparseClassifier
from sklearn_xc.datasets import make_xc_classification
from sklearn_xc.ppdsparse._problem import penalties_of
from sklearn_xc.utils._matrix import as_rows, normalise

X, Y = make_xc_classification(400, 300, 40, n_labels=3, random_state=0)
X = sparse.csr_array(X, dtype=np.float32)
ONES = np.ones(400, dtype=np.float32)


# ------------------------------------------------------------------------------------- numbers


def test_numbers_are_taken_as_they_are():
    model = PPDSparseClassifier(0.3, 2, random_state=0).fit(X, Y)
    assert (model.l1_, model.l2_) == (0.3, 2)
    assert penalties_of(0.3, 2, as_rows(7 * X), ONES).coordinates.changes_nothing


def test_rows_of_many_small_entries_have_a_smaller_l1():
    rng = np.random.default_rng(0)
    for n_entries in (10, 100, 1000):
        rows = normalize(sparse.random_array((200, 5000), density=n_entries / 5000, rng=rng))
        rows.data[:] = 1 / n_entries**0.5
        l1 = penalties_of("auto", "auto", as_rows(normalise(rows)), ONES[:200]).l1
        assert l1 == pytest.approx(min(0.05, 0.5 / n_entries**0.5), rel=0.05)


# ------------------------------------------------------------------------------- mostly zeros


def test_dense_rows_that_are_mostly_zeros_are_those_of_csr():
    assert not as_rows(X.toarray()).compact().dense
    for kept in (as_rows(np.ones((4, 3), dtype=np.float32)), as_rows(X)):
        assert kept.compact() is kept
    sparse_fit = PPDSparseClassifier(random_state=0).fit(X, Y)
    dense_fit = PPDSparseClassifier(random_state=0).fit(X.toarray(), Y)
    for name in ("intercept_", "dual_gap_", "n_active_"):
        np.testing.assert_array_equal(getattr(dense_fit, name), getattr(sparse_fit, name))
    np.testing.assert_array_equal(dense_fit.coef_.toarray(), sparse_fit.coef_.toarray())
    assert dense_fit._n_visits == sparse_fit._n_visits

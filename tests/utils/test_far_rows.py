"""One corrupt row, far longer than the others, decides nothing."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits

from sklearn_xc import MemoirSVC, PPDSparseClassifier
from sklearn_xc.utils._far_rows import FAR, shares, typical_length


def test_no_row_is_longer_than_some_typical_ones():
    lengths = np.array([0.0, 1.0, 2.0, 3.0, 1e6])
    assert typical_length(lengths**2) == pytest.approx(np.sqrt(6.5), rel=0.1)
    bounded = lengths * shares(lengths, 2.0)
    np.testing.assert_allclose(bounded, [0, 1, 2, 3, 2 * FAR])
    assert typical_length(np.zeros(3)) == 0
    np.testing.assert_array_equal(shares(np.zeros(3), 0.0), np.ones(3))


@pytest.mark.parametrize("to_matrix", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    "model",
    [
        PPDSparseClassifier(random_state=0),
        PPDSparseClassifier(l2=1.0, random_state=0),
        MemoirSVC(random_state=0),
        MemoirSVC(alpha=1e-4, random_state=0),
    ],
    ids=["ppdsparse", "ppdsparse-l2", "memoir", "memoir-alpha"],
)
def test_one_corrupt_row_decides_nothing(model, to_matrix):
    X, y = load_digits(return_X_y=True)
    X, train, test = X / 16, slice(1200), slice(1200, None)
    corrupt = X.copy()
    corrupt[7] *= 1e4
    expected = model.fit(to_matrix(X[train]), y[train]).score(to_matrix(X[test]), y[test])
    found = model.fit(to_matrix(corrupt[train]), y[train]).score(to_matrix(X[test]), y[test])
    assert found > expected - 0.02


def test_parts_know_how_long_rows_were_before():
    X, y = load_digits(return_X_y=True)
    X = X / 16
    X[1100] *= 1e4
    model = MemoirSVC(random_state=0)
    for start in range(0, 1200, 100):
        part = slice(start, start + 100)
        model.partial_fit(X[part], y[part], classes=np.arange(10))
    assert model.score(X[1200:], y[1200:]) > 0.85

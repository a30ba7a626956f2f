"""Fixtures of the tests of the base classes."""

import numpy as np
import pytest
from scipy import sparse

from sklearn_xc.datasets import make_xc_classification


@pytest.fixture(scope="module")
def data():
    """Rows, and the same with others between them that have weight zero and another truth."""
    X, Y = make_xc_classification(400, 200, 12, n_labels=2.0, random_state=0)
    rng = np.random.default_rng(0)
    order = rng.permutation(600)
    nothing = sparse.csr_matrix((rng.random((200, 12)) < 0.8).astype(Y.dtype))
    X_all = sparse.vstack([X, X[:200]], format="csr")[order]
    Y_all = sparse.vstack([Y, nothing], format="csr")[order]
    kept = order[order < 400]
    return X[kept], Y[kept], X_all, Y_all, (order < 400).astype(float)

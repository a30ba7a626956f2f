"""Small rows with ties, labels and texts for tests of nearest rows."""

import numpy as np
import pytest
from scipy import sparse

FIXED = {"n_neighbors": 7, "power": 2.0, "frequency_power": 0.25, "text_weight": 1.5}


def sparse_rows(n, n_features=40, share=0.15, seed=0):
    """Rows of few small whole numbers: many are alike, some are zero."""
    rng = np.random.default_rng(seed)
    X = rng.integers(1, 3, size=(n, n_features)) * (rng.random((n, n_features)) < share)
    X[:: max(1, n // 5)] = 0
    X[n // 2 : n // 2 + n // 6] = X[: n // 6]
    return X.astype(np.float32)


def indicator(n, n_labels=12, seed=0):
    return sparse.csr_array((np.random.default_rng(seed).random((n, n_labels)) < 0.2).astype(int))


X, Y = sparse_rows(150), indicator(150)
Q = sparse_rows(40, seed=1)
T = sparse_rows(12, seed=2)
FORMS = {
    "sparse": sparse.csr_array,
    "dense": np.asarray,
    "negative": lambda X: sparse.csr_array(X * np.where(np.arange(X.shape[1]) % 3, 1, -1)),
}
in_each_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)

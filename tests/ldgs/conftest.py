"""Small data for LDGS."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.preprocessing import normalize


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return normalize(X)[:600], y[:600]


@pytest.fixture(scope="module")
def labels():
    """Sparse rows with several of 40 labels: the topics of their features, some rows with none."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((400, 80), density=0.06, rng=rng, format="csr")
    Y = (X[:, :40] > 0).astype(np.int8).tocsr()
    return normalize(X), Y


@pytest.fixture(scope="module")
def text():
    rng = np.random.default_rng(0)
    y = rng.integers(12, size=1200)
    topics = rng.random((12, 300)) ** 12
    words = sparse.random_array((1200, 300), density=0.03, rng=rng, format="csr")
    own = rng.poisson(topics[y] * 20 / topics.sum(axis=1)[y][:, None])
    return normalize(sparse.csr_array(words + own)), y

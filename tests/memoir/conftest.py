"""Small data for MEMOIR: digits, and many classes."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.preprocessing import normalize


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return normalize(X).astype(np.float32), y


@pytest.fixture(scope="module")
def many():
    """200 classes around random centres."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(200, 30))
    y = np.arange(4000) % 200
    X = centres[y] + 0.5 * rng.normal(size=(4000, 30))
    return normalize(X).astype(np.float32), y

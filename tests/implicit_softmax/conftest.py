"""Digits as unit rows, all of them and few."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.preprocessing import normalize


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return normalize(X).astype(np.float32), y


@pytest.fixture(scope="module")
def small(digits):
    return digits[0][:300], digits[1][:300]

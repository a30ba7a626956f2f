"""The models and bounds of Augment-and-Reduce, and data for them."""

import numpy as np
import pytest
from sklearn.datasets import load_digits


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return (X / 16).astype(np.float32), y


@pytest.fixture(scope="module")
def small(digits):
    return digits[0][:600], digits[1][:600]

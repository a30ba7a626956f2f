"""Functions inside of what `ldgs/test_classifier.py` tests from outside."""

import numpy as np
import pytest
from _ldgs_data import SETTINGS

from sklearn_xc.ldgs._candidate_gradients import Positives
from sklearn_xc.ldgs._steps import ColumnLayout, LDGSSteps, Weights
from sklearn_xc.utils._matrix import as_rows, normalise

pytestmark = pytest.mark.kernel


def test_the_memory_of_the_weights_is_what_the_guide_says():
    K, D, H, B, n = 300, 70, 12, 4, 50
    rng = np.random.default_rng(0)
    layout = ColumnLayout(H, B, "linear", True)
    W = layout.weights(rng.normal(size=(K, H)), np.zeros(K))
    U = np.zeros((D, layout.n_columns), dtype=np.float32)
    weights = Weights(W, U, adaptive=True)
    arrays = weights.W, weights.U, weights.squares_W, weights.squares_U
    assert sum(array.nbytes for array in arrays) == 4 * (K + D) * (H + B) + 4 * (K + D)
    rows = as_rows(normalise(rng.normal(size=(n, D))))
    positives = Positives(np.arange(n + 1, dtype=np.int64), rng.integers(K, size=n, dtype=np.int32))
    settings = SETTINGS._replace(n_chunks=B)
    steps = LDGSSteps(rows, positives, None, np.arange(n), weights, layout, settings, 0, 1)
    steps.epoch(0)
    stores = [index._store.nbytes - 16 * K for index in steps.search.indexes._indexes]
    assert sum(stores) == 4 * K * (H + B)  # beside 16 bytes a row that say where it lies

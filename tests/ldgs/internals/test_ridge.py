"""Functions inside of what `ldgs/test_ridge.py` tests from outside."""

import numpy as np

from sklearn_xc._kernels.ldgs import _row_updates
from sklearn_xc.ldgs._layers import NO_NORMS


def test_rows_that_were_not_touched_bear_the_ridge_of_all_steps():
    """In one go what a step at a time would have taken off, row by row in the metric of Adagrad."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(5, 4)).astype(np.float32)
    squares = np.array([4, 1, 0.25, 9, 0], dtype=np.float32)
    strength = np.array([0.1, 0.1, 0.3, 0], dtype=np.float32)
    settled, rates = np.array([0.0, 0.2, 0, 0.5, 0]), 0.5
    expected = table.astype(np.float64)
    for k in range(4):
        due = (rates - settled[k]) / np.sqrt(squares[k])
        expected[k] *= np.exp(-due * strength)
    _row_updates.settle(table, squares, NO_NORMS, strength, settled, rates, 1)
    np.testing.assert_allclose(table, expected, rtol=2e-3)
    assert (settled == rates).all()

"""Functions inside of what `persistence/test_faults.py` tests from outside."""

import numpy as np

from sklearn_xc.training._sizes_seen import Lengths


def test_lengths_of_nothing():
    none = Lengths().with_squares(np.zeros(3), np.ones(3))
    assert none.weight.dtype == none.squares.dtype == np.float64

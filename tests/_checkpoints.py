"""Data of the tests of checkpoints, and the comparison of fits."""

import numpy as np

from sklearn_xc.datasets import make_xc_classification

X, Y = make_xc_classification(700, 800, 200, n_labels=2, random_state=0)


def assert_same(model, expected):
    for name in ("coef_", "dual_coef_"):
        if hasattr(expected, name):
            assert (getattr(model, name) != getattr(expected, name)).nnz == 0
    for name in ("intercept_", "dual_gap_", "n_active_", "n_iter_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(expected, name))

"""Data of the tests of scratch files, and the comparison of fits."""

import numpy as np

from sklearn_xc.datasets import make_xc_classification

X, Y = make_xc_classification(700, 800, 200, n_labels=2, random_state=0)


def assert_same(model, expected):
    for name in "coef_", "dual_coef_":
        if hasattr(expected, name):
            found, wanted = getattr(model, name), getattr(expected, name)
            for part in "data", "indices", "indptr":
                np.testing.assert_array_equal(getattr(found, part), getattr(wanted, part))
    for name in "intercept_", "dual_gap_", "n_active_", "n_iter_", "l1_", "l2_":
        np.testing.assert_array_equal(getattr(model, name), getattr(expected, name))
    for some, other in zip(model.predict_topk(X, k=3), expected.predict_topk(X, k=3), strict=True):
        np.testing.assert_array_equal(some, other)

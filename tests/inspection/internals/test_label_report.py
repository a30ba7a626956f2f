"""Functions inside of what `inspection/test_label_report.py` tests from outside."""

import numpy as np

from sklearn_xc.base._label_counts import summed_support

RNG = np.random.default_rng(0)


def test_support_of_classes_that_come_later():
    classes, codes = np.array(["ant", "bee", "cow"]), np.array([1, 1, 2])
    before = np.array(["ant", "cow"]), np.array([7, 5])
    assert summed_support(classes, codes, None).tolist() == [0, 2, 1]
    assert summed_support(classes, codes, None, before).tolist() == [7, 2, 6]
    assert summed_support(classes, codes, np.array([0, 1, 1]), before).tolist() == [7, 1, 6]
    assert summed_support(classes, codes, None, (before[0], None)) is None

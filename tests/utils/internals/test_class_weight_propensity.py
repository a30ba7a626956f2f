"""Functions inside of what `utils/test_class_weight_propensity.py` tests from outside."""

import numpy as np

from sklearn_xc import PPDSparseClassifier
from sklearn_xc.datasets import make_xc_classification
from sklearn_xc.ppdsparse._problem import factors_of_classes

X, Y = make_xc_classification(600, 300, 60, n_labels=2, class_exponent=1.0, random_state=0)


def test_weights_count_as_rows():
    twice = np.full(600, 2.0)
    doubled = PPDSparseClassifier(class_weight="propensity", l1=0.2, l2=2, random_state=0)
    weight = factors_of_classes(doubled.fit(X, Y, twice), Y, twice.astype(np.float32))
    counts = np.bincount(Y.indices, minlength=60)
    C = (np.log(1200) - 1) * 2.5**0.55
    np.testing.assert_allclose(weight[:, 1], 1 + C * (2 * counts + 1.5) ** -0.55, rtol=1e-6)

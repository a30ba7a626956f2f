"""class_weight="propensity": what is lost by rare labels counts more."""

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_xc import MemoirSVC, PPDSparseClassifier
from sklearn_xc.datasets import make_xc_classification
from sklearn_xc.metrics import propensities, psprecision_at_k

X, Y = make_xc_classification(600, 300, 60, n_labels=2, class_exponent=1.0, random_state=0)
PENALTIES = {"l1": 0.05, "l2": 1.0}


def test_it_is_the_inverse_of_the_metric():
    weights = dict(enumerate(1 / propensities(Y)))
    model = PPDSparseClassifier(**PENALTIES, class_weight="propensity", random_state=0)
    by_name = clone(model).fit(X, Y)
    by_dict = clone(model).set_params(class_weight=weights).fit(X, Y)
    assert (by_name.coef_ != by_dict.coef_).nnz == 0
    y = np.arange(600) ** 2 % 7
    weights = dict(zip(np.unique(y).tolist(), 1 / propensities(y), strict=True))
    by_name = MemoirSVC(class_weight="propensity", random_state=0, max_iter=3).fit(X, y)
    by_dict = MemoirSVC(class_weight=weights, random_state=0, max_iter=3).fit(X, y)
    np.testing.assert_array_equal(by_name.coef_.toarray(), by_dict.coef_.toarray())


def test_rare_labels_gain():
    train, test = slice(0, 400), slice(400, 600)
    p = propensities(Y[train])
    found = {}
    for weight in (None, "propensity"):
        model = PPDSparseClassifier(**PENALTIES, class_weight=weight, random_state=0)
        model.fit(X[train], Y[train])
        found[weight] = psprecision_at_k(
            Y[test], model.predict_topk(X[test], 3)[0], 3, propensities=p
        )
    assert found["propensity"] > found[None]


def test_two_rows_are_too_few():
    with pytest.raises(ValueError, match="at least 3 samples to estimate propensities"):
        PPDSparseClassifier(class_weight="propensity").fit(X[:2], Y[:2])

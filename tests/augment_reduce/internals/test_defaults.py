"""Functions inside of what `augment_reduce/test_defaults.py` tests from outside."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits

from sklearn_xc import AugmentReduceClassifier
from sklearn_xc.augment_reduce import _auto
from sklearn_xc.augment_reduce._feature_moments import FeatureMoments
from sklearn_xc.softmax._class_sampling import ClassSampler
from sklearn_xc.utils._matrix import as_rows, normalise

pytestmark = pytest.mark.filterwarnings("ignore:sklearn-xc was built without OpenMP")


def test_one_corrupt_row_does_not_decide_the_sizes():
    X, y = load_digits(return_X_y=True)
    broken = X.copy()
    broken[7] *= 1e4
    for container in (np.asarray, sparse.csr_array):
        sizes = []
        for Z in (X, broken):
            weight = np.ones(len(Z))
            sums = as_rows(normalise(container(Z))).feature_sums(weight)
            sizes.append(FeatureMoments(64).with_sums(sums, weight).coordinates(True).scale)
        np.testing.assert_allclose(sizes[1], sizes[0], rtol=0.1)
    model = AugmentReduceClassifier(max_iter=20, random_state=0).fit(broken, y)
    assert model.score(X, y) > 0.9


def test_steps_of_all_classes_end_where_there_are_very_many():
    model, n_classes = AugmentReduceClassifier(n_sampled_classes=1), 4000
    assert _auto.bound_of(model, n_classes) == "exact"
    assert _auto.bound_of(model, n_classes + 1) == "augment_reduce"
    assert _auto.bound_of(model, n_classes, part=True) == "augment_reduce"


def test_many_classes_are_drawn_without_looking_back():
    sampler = ClassSampler("uniform", np.ones(20_000), 19_000)
    classes, _ = sampler.draw(np.zeros(3, dtype=np.int32), 0, 1)
    for row in classes:
        assert len(np.unique(row)) == 19_001
        assert (row >= 0).all()
        assert (row < 20_000).all()

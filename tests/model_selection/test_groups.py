"""Groups are kept together by a splitter that does so, and otherwise refused by name."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut

from sklearn_xc import PPDSparseClassifier
from sklearn_xc.model_selection import RareLabelKFold, cross_val_label_scores, cross_val_topk

X = np.random.default_rng(0).random((40, 5))
Y, GROUPS = np.arange(40) % 4, np.arange(40) // 5
MODEL = PPDSparseClassifier(l1=0.01, l2=1.0, random_state=0)
BOTH = pytest.mark.parametrize("function", [cross_val_topk, cross_val_label_scores])


@BOTH
@pytest.mark.parametrize("cv", [GroupKFold(3), LeaveOneGroupOut()])
def test_groups_go_to_the_splitter(function, cv):
    splits = list(cv.split(X, Y, GROUPS))
    found, expected = function(MODEL, X, Y, cv=cv, groups=GROUPS), function(MODEL, X, Y, cv=splits)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


@BOTH
@pytest.mark.parametrize(
    ("cv", "name"),
    [(None, "cv=None"), (4, "cv=4"), (KFold(3), "KFold"), (RareLabelKFold(3), "RareLabelKFold")],
)
def test_splitters_that_mix_groups_are_refused(function, cv, name):
    with pytest.raises(ValueError, match=f"groups is given, but {name} does not keep groups"):
        function(MODEL, X, Y, cv=cv, groups=GROUPS)


@BOTH
def test_a_list_of_splits_has_no_groups(function):
    splits = list(KFold(3).split(X))
    with pytest.raises(ValueError, match="groups is given"):
        function(MODEL, X, Y, cv=splits, groups=GROUPS)

"""Functions inside of what `base/test_zero_weights.py` tests from outside."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold

from sklearn_xc import (
    LDGSClassifier,
)
from sklearn_xc.base._labels import LabelEncoding
from sklearn_xc.base._multiclass import held_out_samples
from sklearn_xc.ldgs._candidate_gradients import Positives
from sklearn_xc.ldgs._data import held_out_of


def test_splitters_and_their_groups_see_rows_with_weight_only(data):
    *_, X_all, Y_all, weight = data
    groups = np.arange(600) % 3
    seen = []

    class Splitter(GroupKFold):
        def split(self, X, y=None, groups=None):
            seen.append((X.shape[0], groups))
            return super().split(X, y, groups)

    from sklearn_xc.model_selection._out_of_fold import splits_of

    splits = splits_of(Splitter(3), X_all, Y_all, "multilabel", {"groups": groups}, weight)
    assert seen[0][0] == 400
    np.testing.assert_array_equal(seen[0][1], groups[weight > 0])
    tested = np.sort(np.concatenate([test for _, test in splits]))
    np.testing.assert_array_equal(tested, np.flatnonzero(weight))


@pytest.mark.parametrize("several", [False, True])
def test_no_row_of_weight_zero_is_held_out(several):
    codes, weight = np.repeat(np.arange(4), 50), np.tile([0.0, 1.0], 100)
    rng = np.random.RandomState(0)
    if several:
        positives = Positives(np.arange(201, dtype=np.int64), codes.astype(np.int32))
        model = LDGSClassifier(early_stopping=True, validation_fraction=0.5)
        model._encoding = LabelEncoding("multilabel", np.arange(4), np.dtype(int))
        held_out = held_out_of(model, positives, weight, rng)
    else:
        held_out = held_out_samples(codes, 0.5, rng, weight)
        alone = held_out_samples(codes[1::2], 0.5, np.random.RandomState(0))
        np.testing.assert_array_equal(held_out[1::2], alone)
    assert held_out.sum() == 50
    assert not held_out[weight == 0].any()

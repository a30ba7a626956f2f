"""Functions inside of what `base/test_label_features_in_parts.py` tests from outside."""

import numpy as np
import pytest
from _label_features import (
    FORMS,
    LABEL_OF,
    N_LABELS,
    NAMES,
    Y_1D,
    below,
    weights_of,
)
from sklearn import clone

from sklearn_xc import (
    MemoirSVC,
)
from sklearn_xc.base._multiclass import held_out_samples

X, T = FORMS["sparse"]
GIVEN = {"label_features": T, "classes": NAMES}


@pytest.mark.parametrize("n_texts", [0, 12])
def test_texts_are_not_held_out_and_hold_out_none(n_texts):
    codes = np.append(LABEL_OF, np.arange(n_texts)).astype(np.int32)
    found = held_out_samples(codes, 0.2, np.random.RandomState(0), n_texts=n_texts)
    plain = held_out_samples(LABEL_OF, 0.2, np.random.RandomState(0))
    np.testing.assert_array_equal(found[: len(LABEL_OF)], plain)
    assert not found[len(LABEL_OF) :].any()


def test_rates_are_judged_by_samples():
    from sklearn_xc.base._label_texts import Texts
    from sklearn_xc.implicit_softmax._data import NONE, SoftmaxData
    from sklearn_xc.utils._matrix import as_rows

    n, n_texts = 1400, 1000
    rows = as_rows(np.arange(n, dtype=np.float32).reshape(-1, 1))
    texts = as_rows(np.full((n_texts, 1), -1, dtype=np.float32))
    data = SoftmaxData(rows, np.zeros(n, np.int32), NONE)
    data = data.with_texts(Texts(texts, np.zeros(n_texts, np.int32), 1.0))
    _, _, loss = data.part_for_rates(0.0, seed=0)
    others = loss.func.__self__
    assert len(others.y) >= 250
    assert (others.rows.data >= 0).all()


@pytest.mark.parametrize("class_weight", ["balanced", "propensity"])
def test_weights_of_classes_count_samples(class_weight):
    from sklearn_xc.training._class_weight import weights_of_labels

    model = MemoirSVC(random_state=0, class_weight=class_weight).fit(X, Y_1D, **GIVEN)
    counts = np.bincount(LABEL_OF, minlength=N_LABELS)
    factors = weights_of_labels(class_weight, NAMES, counts)
    by_hand = dict(zip(NAMES.tolist(), factors.tolist(), strict=True))
    rows, y, weights = below(X, Y_1D, None, T, NAMES, model.label_feature_weight)
    reference = MemoirSVC(random_state=0, class_weight=by_hand)
    reference.fit(rows, y, sample_weight=weights)
    np.testing.assert_allclose(weights_of(model), weights_of(reference), rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="counts the samples of all calls, and texts are none"):
        clone(model).partial_fit(X, Y_1D, **GIVEN)

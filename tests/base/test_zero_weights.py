"""Rows of weight zero are nowhere: neither in the fits of wrappers nor in what these tune."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator

from sklearn_xc import (
    AugmentReduceClassifier,
    LDGSClassifier,
    MemoirSVC,
    PPDSparseClassifier,
    TopKCalibratedClassifier,
    TopKStackingClassifier,
    TopKThresholdClassifier,
)

BASE = PPDSparseClassifier(random_state=0)


def tuned(model):
    if isinstance(model, TopKThresholdClassifier):
        return [model.best_threshold_, model.best_score_, model.max_labels_]
    calibration = model.calibration_
    return [*vars(calibration.transform).values(), calibration.rest_probability]


@pytest.mark.parametrize("cv", [2, 0.25, "frozen"])
@pytest.mark.parametrize(
    "model",
    [
        TopKCalibratedClassifier(BASE),
        TopKCalibratedClassifier(BASE, method="isotonic"),
        TopKThresholdClassifier(BASE),
        TopKThresholdClassifier(BASE, scope="per_label", metric="macro_f1"),
        BASE,
    ],
)
def test_rows_of_weight_zero_are_nowhere(model, cv, data):
    X, Y, X_all, Y_all, weight = data
    if model is BASE:
        if cv == "frozen":
            pytest.skip("no wrapper")
        options = {"calibration": "sigmoid", "calibration_cv": cv}
    elif cv == "frozen":
        frozen = FrozenEstimator(PPDSparseClassifier(random_state=0).fit(X[:300], Y[:300]))
        options = {"estimator": frozen}
    else:
        options = {"cv": cv}
    expected = type(model)(**{**model.get_params(deep=False), **options}).fit(X, Y)
    found = type(model)(**{**model.get_params(deep=False), **options}).fit(X_all, Y_all, weight)
    for a, b in zip(tuned(found), tuned(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4)
    np.testing.assert_array_equal(found.predict(X).toarray(), expected.predict(X).toarray())


@pytest.mark.parametrize("one_class", [True, False])
def test_samples_of_weight_zero_are_not_in_a_stack(one_class, data):
    X, Y, X_all, Y_all, weight = data
    weight = weight * np.linspace(1, 2, len(weight))
    if one_class:
        Y, Y_all = (np.asarray(y[:, :3].sum(axis=1)).ravel() for y in (Y, Y_all))
    expected = TopKStackingClassifier(random_state=0).fit(X, Y, weight[weight > 0])
    found = TopKStackingClassifier(random_state=0).fit(X_all, Y_all, weight)
    for a, b in zip(found.predict_topk(X, 3), expected.predict_topk(X, 3), strict=True):
        np.testing.assert_array_equal(a, b)


EARLY = {"early_stopping": True, "validation_fraction": 0.3, "max_iter": 4, "random_state": 0}
ON_LINE = [
    AugmentReduceClassifier(tol=None, **EARLY),
    AugmentReduceClassifier(bound="exact", tol=None, **EARLY),
    LDGSClassifier(n_iter_no_change=2, **EARLY),
    MemoirSVC(alpha=1e-4, **EARLY),
]


# Four passes are fewer than it takes to see that a score no longer rises.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", ON_LINE, ids=repr)
def test_held_out_rows_are_judged_by_their_weights(model):
    """With one class all but alone in weight, the score is that of its rows."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:600] / 16, y[:600]
    weight = np.where(y == 3, 1e4, 1e-4)
    model = clone(model).fit(X, y, weight)
    score = {
        "MemoirSVC": lambda: 10 * model.validation_scores_[-1],  # macro: of one class of ten
        "LDGSClassifier": lambda: model.validation_scores_[-1],
        "AugmentReduceClassifier": lambda: np.exp(model.validation_scores_[-1]),
    }[type(model).__name__]()
    assert score > 0.9

"""Our estimators inside scikit-learn's: calibration, one-vs-rest, ensembles, frozen, clones."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import TunedThresholdClassifierCV, cross_val_predict
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier

from sklearn_xc import (
    AugmentReduceClassifier,
    ImplicitSoftmaxRegressor,
    MemoirSVC,
    PPDSparseClassifier,
    predict_topk,
)
from sklearn_xc.model_selection import RareLabelKFold

ESTIMATORS = [
    AugmentReduceClassifier(max_iter=3, random_state=0),
    ImplicitSoftmaxRegressor(max_iter=3, random_state=0),
    MemoirSVC(max_iter=3, random_state=0),
    PPDSparseClassifier(random_state=0),
]
by_name = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda model: type(model).__name__)

FOLDS = RareLabelKFold(3, pin_singletons=False)


@by_name
def test_clone_has_the_parameters_and_nothing_else(bibtex, estimator):
    model = clone(estimator).fit(bibtex.X, bibtex.y)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        copy.predict(bibtex.X)
    np.testing.assert_array_equal(
        copy.fit(bibtex.X, bibtex.y).decision_function(bibtex.X), model.decision_function(bibtex.X)
    )


@pytest.mark.parametrize("estimator", ESTIMATORS[2:], ids=["memoir", "ppdsparse"])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibration(bibtex, estimator, method):
    model = CalibratedClassifierCV(clone(estimator), method=method, cv=FOLDS)
    probabilities = model.fit(bibtex.X, bibtex.y).predict_proba(bibtex.X)
    assert probabilities.shape == (300, 9)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-5)
    assert model.score(bibtex.X, bibtex.y) > 0.5


@by_name
def test_frozen(bibtex, estimator):
    fitted = clone(estimator).fit(bibtex.X, bibtex.y)
    frozen = FrozenEstimator(fitted)
    assert frozen.fit(bibtex.X[150:], bibtex.y[150:]).estimator is fitted
    np.testing.assert_array_equal(frozen.predict(bibtex.X), fitted.predict(bibtex.X))
    labels, scores = predict_topk(frozen, bibtex.X, 2)
    np.testing.assert_array_equal(labels, fitted.predict_topk(bibtex.X, 2)[0])
    np.testing.assert_array_equal(scores, fitted.predict_topk(bibtex.X, 2)[1])
    calibrated = CalibratedClassifierCV(frozen, cv=2).fit(bibtex.X, bibtex.y)
    assert calibrated.predict_proba(bibtex.X).shape == (300, 9)


def test_one_vs_rest_is_what_ppdsparse_does_at_once(bibtex):
    Y = sparse.csr_array(bibtex.Y[:, bibtex.Y.sum(axis=0) >= 8])
    exact = PPDSparseClassifier(tol=1e-6, max_iter=1000, pruning=0.0, random_state=0)
    several = OneVsRestClassifier(exact).fit(bibtex.X, Y)
    at_once = clone(exact).fit(bibtex.X, Y)
    assert len(several.estimators_) == Y.shape[1] > 3
    np.testing.assert_allclose(
        several.decision_function(bibtex.X), at_once.decision_function(bibtex.X), atol=0.02
    )


@by_name
def test_one_vs_rest_around_classes(bibtex, estimator):
    model = OneVsRestClassifier(clone(estimator)).fit(bibtex.X, bibtex.y)
    assert model.score(bibtex.X, bibtex.y) > 0.5


def test_voting_and_stacking(bibtex):
    hinge = [
        ("ppdsparse", PPDSparseClassifier(random_state=0)),
        ("memoir", MemoirSVC(max_iter=3, random_state=0)),
    ]
    softmax = [(name, AugmentReduceClassifier(max_iter=3, random_state=name)) for name in (0, 1)]
    softmax = [(f"seed {name}", model) for name, model in softmax]
    models = [
        VotingClassifier(hinge),
        VotingClassifier(softmax, voting="soft"),
        StackingClassifier(hinge, final_estimator=MemoirSVC(max_iter=3, random_state=0), cv=FOLDS),
        BaggingClassifier(PPDSparseClassifier(random_state=0), n_estimators=3, random_state=0),
    ]
    for model in models:
        assert model.fit(bibtex.X, bibtex.y).score(bibtex.X, bibtex.y) > 0.5
    with pytest.raises(AttributeError, match="predict_proba"):
        VotingClassifier(hinge, voting="soft").fit(bibtex.X, bibtex.y).predict_proba(bibtex.X)


def test_what_refuses_several_labels_a_sample(bibtex):
    Y = bibtex.Y.toarray()
    model = PPDSparseClassifier(random_state=0)
    for wrapper in (CalibratedClassifierCV(model), BaggingClassifier(model)):
        with pytest.raises(ValueError, match="y should be a 1d array"):
            wrapper.fit(bibtex.X, Y)
    with pytest.raises(NotImplementedError, match="Multilabel"):
        VotingClassifier([("ppdsparse", model)]).fit(bibtex.X, Y)
    with pytest.raises(TypeError, match="Sparse data was passed for y"):
        StackingClassifier([("ppdsparse", model)]).fit(bibtex.X, bibtex.Y)
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        TunedThresholdClassifierCV(model).fit(bibtex.X, Y)


def test_a_label_at_a_time(bibtex):
    Y = bibtex.Y[:, bibtex.Y.sum(axis=0) >= 25].toarray().astype(int)
    model = PPDSparseClassifier(random_state=0)
    assert ClassifierChain(model).fit(bibtex.X, Y).predict(bibtex.X).shape == Y.shape
    assert MultiOutputClassifier(model).fit(bibtex.X, Y).predict(bibtex.X).shape == Y.shape


def test_two_classes_with_a_tuned_threshold(bibtex):
    y = bibtex.y == "other"
    model = TunedThresholdClassifierCV(PPDSparseClassifier(random_state=0), cv=FOLDS, scoring="f1")
    assert model.fit(bibtex.X, y).best_score_ > 0.5


def largest_weights(model):
    """Operations that scikit-learn 1.6 cannot do itself where coef_ is sparse."""
    return abs(model.coef_).max(axis=0).toarray().ravel()


def test_features_are_selected_by_weight(bibtex):
    model = PPDSparseClassifier(random_state=0)
    chosen = SelectFromModel(model, importance_getter=largest_weights).fit(bibtex.X, bibtex.Y)
    assert 0 < chosen.transform(bibtex.X).shape[1] < bibtex.X.shape[1]


def test_cross_val_predict_wants_every_row_tested(bibtex):
    model = PPDSparseClassifier(random_state=0)
    assert (bibtex.Y.sum(axis=0) == 1).any()
    with pytest.raises(ValueError, match="only works for partitions"):
        cross_val_predict(model, bibtex.X, bibtex.Y, cv=RareLabelKFold(3))
    predicted = cross_val_predict(model, bibtex.X, bibtex.Y, cv=FOLDS)
    assert predicted.shape == bibtex.Y.shape

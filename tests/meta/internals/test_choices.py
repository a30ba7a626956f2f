"""Copies that are held out use what the fit on all samples has chosen, so that scores compare."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    RandomizedSearchCV,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from sklearn_xc import (
    PPDSparseClassifier,
    PPDSparseClassifierCV,
    TopKAbstainClassifier,
    TopKCalibratedClassifier,
    TopKThresholdClassifier,
)
from sklearn_xc.datasets import make_xc_classification
from sklearn_xc.model_selection._choices import choices_of, with_choices_of

X, Y = make_xc_classification(600, 200, 30, signal=0.3, random_state=0)
ONE, SEVERAL = Y, (Y[:, None] == np.arange(30)).astype(np.int8)
SEEN = []


class Recorder(ClassifierMixin, BaseEstimator):
    """A PPDSparseClassifier that notes the penalties of each fit."""

    def __init__(self, l1="auto", l2="auto"):
        self.l1 = l1
        self.l2 = l2

    def fit(self, X, y):
        self.model_ = PPDSparseClassifier(self.l1, self.l2, random_state=0).fit(X, y)
        self.classes_ = self.model_.classes_
        self.penalty_factors_ = self.model_.penalty_factors_
        self._choices = self.model_._choices
        SEEN.append((self.l1, self.l2, self.model_.penalty_factors_))
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def predict_topk(self, *args, **kwargs):
        return self.model_.predict_topk(*args, **kwargs)


@pytest.mark.parametrize(
    ("wrapper", "y"),
    [
        (TopKAbstainClassifier(target=0.5), ONE),
        (TopKCalibratedClassifier(), ONE),
        (TopKThresholdClassifier(), SEVERAL),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("piped", [False, True])
def test_folds_have_the_penalties_of_the_fit_on_all_samples(wrapper, y, piped):
    SEEN.clear()
    estimator = make_pipeline(MaxAbsScaler(), Recorder()) if piped else Recorder()
    wrapper.set_params(estimator=estimator, cv=3).fit(X, y)
    (_, _, chosen), *folds = SEEN
    assert len(folds) == 3
    assert {fold[:2] for fold in folds} == {tuple(f"{factor!r}*rows" for factor in chosen)}
    assert estimator.get_params() == wrapper.estimator.get_params()  # the one given stays


SEARCHES = {
    "grid": GridSearchCV(Recorder(), {"l2": ["rows", "3*rows"]}, cv=2),
    "random": RandomizedSearchCV(Recorder(), {"l2": ["rows", "3*rows"]}, n_iter=2, cv=2),
    "halving": HalvingGridSearchCV(Recorder(), {"l2": ["rows", "3*rows"]}, cv=2, min_resources=200),
}


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
@pytest.mark.parametrize("piped", [False, True])
def test_folds_train_with_what_a_search_of_the_fit_has_found(search, piped):
    SEEN.clear()
    estimator = make_pipeline(MaxAbsScaler(), search) if piped else search
    wrapper = TopKAbstainClassifier(estimator, target=0.5, cv=3).fit(X, ONE)
    found = wrapper.estimator_[-1] if piped else wrapper.estimator_
    *_, (_, _, (l1, _)), one, two, three = SEEN
    assert one[:2] == two[:2] == three[:2] == (f"{l1!r}*rows", found.best_params_["l2"])
    # The fit on all samples searches, and the folds do not: 3 fits are left for them.
    assert len(SEEN) == 3 + 1 + 2 * len(found.cv_results_["params"])


def test_a_search_that_uses_arguments_of_fit_is_copied_whole():
    SEEN.clear()
    search = GridSearchCV(Recorder("rows"), {"l2": ["rows", "3*rows"]}, cv=GroupKFold(2))
    TopKAbstainClassifier(search, target=0.5, cv=2).fit(X, ONE, groups=np.arange(600) % 5)
    assert len(SEEN) == 3 * (2 * 2 + 1)


def test_copies_for_a_calibration_have_the_penalties_of_the_fit(monkeypatch):
    seen = []
    fit = PPDSparseClassifier.fit

    def noted(self, *args, **kwargs):
        seen.append((self.l1, self.l2))
        return fit(self, *args, **kwargs)

    monkeypatch.setattr(PPDSparseClassifier, "fit", noted)
    model = PPDSparseClassifier("2*auto", calibration="sigmoid", calibration_cv=2, random_state=0)
    model.fit(X, ONE)
    l1, l2 = model.penalty_factors_
    assert seen == [("2*auto", "auto")] + [(f"{2 * l1!r}*rows", f"{l2!r}*rows")] * 2


def test_a_calibration_is_refused_before_penalties_are_chosen(monkeypatch):
    monkeypatch.setattr(
        "sklearn_xc.ppdsparse._classifier.choose_penalties", lambda *_: pytest.fail("chosen")
    )
    with pytest.raises(ValueError, match="one class a sample"):
        PPDSparseClassifier(calibration="top_label").fit(X, SEVERAL)


def test_chosen_penalties_are_those_of_the_fit():
    model = PPDSparseClassifier("2*auto", 0.7, random_state=0).fit(X, ONE)
    again = with_choices_of(PPDSparseClassifier("2*auto", 0.7, random_state=0), model)
    assert (again.l1, again.l2) == (f"{2 * model.penalty_factors_[0]!r}*rows", 0.7)
    np.testing.assert_array_equal(again.fit(X, ONE).coef_.data, model.coef_.data)


def test_who_has_chosen_and_who_has_not():
    plain = PPDSparseClassifier(random_state=0)
    names = {"l1", "l2"}
    assert set(choices_of(plain.fit(X, ONE))) == names
    piped = make_pipeline(MaxAbsScaler(), PPDSparseClassifier(random_state=0)).fit(X, ONE)
    assert set(choices_of(piped)) == {f"ppdsparseclassifier__{name}" for name in names}
    inside = TopKCalibratedClassifier(PPDSparseClassifier(random_state=0), cv=0.2).fit(X, ONE)
    assert set(choices_of(inside)) == {f"estimator__{name}" for name in names}
    default = TopKCalibratedClassifier(cv=0.2).fit(X, ONE)
    assert choices_of(default)["estimator"].l1 == choices_of(default.estimator_)["l1"]
    assert default.set_params(**choices_of(default)).fit(X, ONE).classes_.shape == (30,)
    searched = PPDSparseClassifierCV(["rows"], ["rows", "3*rows"], random_state=0).fit(X, ONE)
    assert choices_of(searched) == {"l1s": ["rows"], "l2s": [searched.best_params_["l2"]]}
    given = PPDSparseClassifier(0.1, "rows", random_state=0).fit(X, ONE)
    for fixed in (FrozenEstimator(plain), given, MaxAbsScaler()):
        assert choices_of(fixed) == {}

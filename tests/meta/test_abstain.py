"""Answers where the best class is sure enough: thresholds, labels in their place, files."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sklearn_xc import (
    PPDSparseClassifier,
    TopKAbstainClassifier,
    TopKCalibratedClassifier,
    TopKNeighborsClassifier,
    load,
    predict_topk,
)
from sklearn_xc.datasets import make_xc_classification
from sklearn_xc.model_selection import cross_val_topk

X, y = make_xc_classification(1600, 300, 30, signal=0.08, random_state=1)
TRAIN, TEST = slice(0, 1000), slice(1000, 1600)
BASE = PPDSparseClassifier(l1=0.01, l2=1.0, random_state=0)


@pytest.fixture(scope="module")
def fitted():
    return TopKAbstainClassifier(BASE, target=0.8).fit(X[TRAIN], y[TRAIN])


def test_threshold_is_the_lowest_that_is_right_often_enough():
    """Against a loop over all of them, on the out-of-fold scores."""
    fitted = TopKAbstainClassifier(PPDSparseClassifier(random_state=0), target=0.8)
    fitted.fit(X[TRAIN], y[TRAIN])
    # Copies train with the penalties of the fit on all samples.
    penalties = [f"{factor!r}*rows" for factor in fitted.estimator_.penalty_factors_]
    codes, scores, classes = cross_val_topk(
        PPDSparseClassifier(*penalties, random_state=0),
        X[TRAIN],
        y[TRAIN],
        k=1,
        cv=fitted._splits(X[TRAIN], y[TRAIN], fitted._labels, {}, None),
    )
    score, hit = scores[:, 0], classes[codes[:, 0]] == y[TRAIN]
    good = [s for s in np.unique(score) if hit[score >= s].mean() >= 0.8]
    answered = score >= fitted.best_threshold_
    np.testing.assert_array_equal(answered, score >= min(good))
    assert fitted.accuracy_ == pytest.approx(hit[answered].mean())
    assert fitted.coverage_ == pytest.approx(answered.mean())
    assert 0.1 < fitted.coverage_ < 0.9


def test_answers_are_right_about_as_often_as_asked_for():
    """Over draws of 300 answers and more, whose shares differ by 0.04 from one to the next."""
    shares = []
    for seed in range(1, 5):
        rows, classes = make_xc_classification(2600, 300, 30, signal=0.08, random_state=seed)
        model = TopKAbstainClassifier(BASE, target=0.8).fit(rows[TRAIN], classes[TRAIN])
        found, truth = model.predict(rows[1000:]), classes[1000:]
        answered = found != model.abstain_label_
        shares.append((found == truth)[answered].mean())
        assert (model.estimator_.predict(rows[1000:]) == truth).mean() < 0.7
    assert np.mean(shares) == pytest.approx(0.8, abs=0.03)


def test_samples_with_the_score_of_the_threshold_are_answered(fitted):
    found = fitted.predict(X[TEST])
    answered = found != fitted.abstain_label_
    labels, scores = fitted.predict_topk(X[TEST], 1)
    np.testing.assert_array_equal(answered, scores[:, 0] >= fitted.best_threshold_)
    np.testing.assert_array_equal(found[answered], labels[answered, 0])
    assert fitted.score(X[TEST], y[TEST]) == pytest.approx((found == y[TEST]).mean())
    nobody = np.full(600, fitted.abstain_label_)
    assert fitted.score(X[TEST], nobody) == pytest.approx(1 - answered.mean())


def test_a_share_of_the_rows(fitted):
    model = TopKAbstainClassifier(BASE, criterion="coverage", target=0.3).fit(X[TRAIN], y[TRAIN])
    assert model.coverage_ == pytest.approx(0.3, abs=2e-3)
    assert 0.2 < (model.predict(X[TEST]) != -1).mean() < 0.5  # by scores of fewer rows
    model.set_params(target=1.0).fit(X[TRAIN], y[TRAIN])
    assert model.best_threshold_ == -np.inf
    np.testing.assert_array_equal(model.predict(X[TEST]), fitted.estimator_.predict(X[TEST]))


def test_probabilities_decide_where_there_are_some():
    calibrated = TopKCalibratedClassifier(BASE, cv=0.2)
    model = TopKAbstainClassifier(calibrated, target=0.8, cv=0.2).fit(X[TRAIN], y[TRAIN])
    assert model.response_method_ == "predict_proba"
    assert 0.2 < model.best_threshold_ < 1
    found = model.predict(X[TEST])
    p = model.predict_topk(X[TEST], 1, scores="proba")[1][:, 0]
    np.testing.assert_array_equal(found != -1, p >= model.best_threshold_)
    model.set_params(response_method="decision_function").fit(X[TRAIN], y[TRAIN])
    assert model.response_method_ == "decision_function"


@pytest.mark.parametrize("response", ["decision_function", "predict_proba"])
def test_two_classes(response):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(400, 3))
    yes = np.where(Z[:, 0] + 0.7 * rng.normal(size=400) > 0, "yes", "no")
    base = PPDSparseClassifier(calibration="sigmoid", calibration_cv=0.3, random_state=0)
    model = TopKAbstainClassifier(base, target=0.95, response_method=response, cv=3).fit(Z, yes)
    found = model.predict(Z)
    assert set(found) == {"", "yes", "no"}
    answered = found != ""
    assert (found == yes)[answered].mean() >= 0.9 > (model.estimator_.predict(Z) == yes).mean()


def test_nothing_is_sure_enough():
    noise = np.random.default_rng(0).normal(size=(300, 4))
    with pytest.warns(UserWarning, match=r"held out .* are, of the surest \d.*% 0\.\d+\)"):
        model = TopKAbstainClassifier(BASE, target=1.0, cv=3).fit(noise, np.arange(300) % 30)
    assert (model.predict(noise) == -1).all()
    assert model.coverage_ == 0
    assert np.isnan(model.accuracy_)


LABELS = {
    "texts": (np.array(["a", "b", "c"]), None, "", "U1"),
    "a longer text": (np.array(["a", "b", "c"]), "none of these", "none of these", "U13"),
    "small numbers": (np.array([1, 2, 3], dtype=np.int8), None, -1, "i1"),
    "minus one": (np.array([-1, 0, 1]), None, -2, "i8"),
    "no signs": (np.array([1, 2, 3], dtype=np.uint16), None, -1, "i8"),
    "large numbers": (np.array([1, 2, 2**63 + 1], dtype=np.uint64), None, -1, "O"),
    "fractions": (np.array([1.0, 2.0, 3.0]), np.nan, np.nan, "f8"),
    "texts as pandas has them": (np.array(["a", "b", "c"], dtype=object), None, "", "O"),
    "dates as they are": (
        np.array(["2020-01-01", "2021-01-01", "2022-01-01"], "M8[D]"),
        None,
        None,
        "O",
    ),
    "texts and a number": (np.array(["a", "b", "c"]), -1, -1, "O"),
    "dates": (np.array(["2020-01-01", "2021-01-01", "2022-01-01"], "M8[D]"), "none", "none", "O"),
}


@pytest.mark.parametrize("name", LABELS)
def test_what_stands_for_no_answer(name, tmp_path):
    classes, given, expected, dtype = LABELS[name]
    rng = np.random.default_rng(0)
    codes = np.arange(300) % 3
    Z = np.eye(3)[codes] + 0.8 * rng.normal(size=(300, 3))
    model = TopKAbstainClassifier(BASE, target=0.9, abstain_label=given, cv=3)
    found = model.fit(Z, classes[codes]).predict(Z)
    assert found.dtype == np.dtype(dtype)
    labels, scores = model.predict_topk(Z, 1)
    answered = scores[:, 0] >= model.best_threshold_
    assert 0 < answered.sum() < 300
    np.testing.assert_array_equal(found[answered], labels[answered, 0])
    others = found[~answered].tolist()
    assert all(one == expected or (one != one and expected != expected) for one in others)
    model.save(tmp_path / "model")
    for mode in (None, "r"):
        np.testing.assert_array_equal(load(tmp_path / "model", mode).predict(Z), found)


def test_frozen_estimator_and_labels_that_it_does_not_know():
    plain = clone(BASE).fit(X[TRAIN], y[TRAIN])
    foreign = y[TEST].copy()
    foreign[::3] = 77
    for estimator, cv in ((FrozenEstimator(plain), 5), (plain, "prefit")):
        known = TopKAbstainClassifier(estimator, target=0.8, cv=cv).fit(X[TEST], y[TEST])
        some = TopKAbstainClassifier(estimator, target=0.5, cv=cv).fit(X[TEST], foreign)
        assert known.estimator_ is estimator
        assert some.accuracy_ >= 0.5
        assert some.coverage_ < 1


def test_in_pipelines_and_searches():
    texts = [f"w{i % 7} v{i % 7} u{i % 5}" for i in range(140)]
    names = np.array([f"class {i % 7}" for i in range(140)])
    model = TopKAbstainClassifier(make_pipeline(TfidfVectorizer(), BASE), cv=2)
    search = GridSearchCV(model, {"target": [0.5, 0.9]}, cv=2).fit(texts, names)
    assert predict_topk(search, ["w1 v1"], 2)[0][0, 0] == "class 1"
    assert search.predict(["", "w1 v1 u1"])[1] == "class 1"


def test_weights_are_repetitions():
    weight = np.random.default_rng(0).integers(0, 3, size=600).astype(float)
    rows = np.repeat(np.arange(600), weight.astype(int))
    plain = FrozenEstimator(clone(BASE).fit(X[TRAIN], y[TRAIN]))
    one = TopKAbstainClassifier(plain, target=0.8).fit(X[TEST], y[TEST], sample_weight=weight)
    other = TopKAbstainClassifier(plain, target=0.8).fit(X[TEST][rows], y[TEST][rows])
    assert one.best_threshold_ == other.best_threshold_
    assert one.accuracy_ == pytest.approx(other.accuracy_)
    assert one.coverage_ == pytest.approx(other.coverage_)


def test_refusals():
    with pytest.raises(ValueError, match="for one class a sample, and y is an indicator"):
        TopKAbstainClassifier().fit(np.eye(4), np.eye(4, dtype=int))
    with pytest.raises(ValueError, match="abstain_label='a' is one of the classes of y"):
        TopKAbstainClassifier(abstain_label="a").fit(np.eye(4), list("abab"))
    with pytest.raises(ValueError, match="abstain_label=-1 is one of the classes of y"):
        TopKAbstainClassifier(abstain_label=-1).fit(np.eye(4), [-1, 0, -1, 0])
    for wrong in ({"target": 0}, {"target": 1.5}, {"criterion": "f1"}, {"cv": 0.9}):
        with pytest.raises(ValueError, match=f"'{next(iter(wrong))}' parameter of TopKAbstain"):
            TopKAbstainClassifier(**wrong).fit(X, y)


@pytest.mark.parametrize("wrapper", [TopKAbstainClassifier, TopKCalibratedClassifier])
def test_a_frozen_model_that_has_grown_needs_another_fit(wrapper):
    rows, names = np.eye(6), np.repeat(["x", "y", "z"], 2)
    model = TopKNeighborsClassifier(random_state=0).fit(rows, names)
    wrapped = wrapper(FrozenEstimator(model)).fit(rows, names)
    model.partial_fit(rows[:2], ["a", "a"])
    with pytest.raises(ValueError, match=r"has 4 classes now, and had 3 in fit: fit TopK"):
        wrapped.predict(rows)
    assert set(wrapped.fit(rows, names).classes_) == {"a", "x", "y", "z"}

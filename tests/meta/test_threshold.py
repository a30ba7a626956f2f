"""Thresholds: the exact search against brute force, and the classifier around it."""

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import sklearn_xc
from sklearn_xc import PPDSparseClassifier, TopKCalibratedClassifier, TopKThresholdClassifier
from sklearn_xc.datasets import make_xc_classification

METRICS = ["micro_f1", "macro_f1", "example_f1"]
AVERAGE = {"micro_f1": "micro", "macro_f1": "macro", "example_f1": "samples"}


# --------------------------------------------------------------------------------- the estimator


@pytest.fixture(scope="module")
def data():
    X, Y = make_xc_classification(600, 300, 25, n_labels=2.5, signal=0.3, random_state=0)
    return X[:400], Y[:400], X[400:], Y[400:]


def base():
    return PPDSparseClassifier(l1=0.01, l2=1.0, random_state=0)


@pytest.mark.parametrize("metric", METRICS)
def test_better_than_zero(metric, data):
    X, Y, X_test, Y_test = data
    model = TopKThresholdClassifier(base(), metric=metric).fit(X, Y)
    plain = f1_score(
        Y_test, base().fit(X, Y).predict(X_test), average=AVERAGE[metric], zero_division=0
    )
    tuned = f1_score(Y_test, model.predict(X_test), average=AVERAGE[metric], zero_division=0)
    assert tuned > plain
    assert model.best_score_ == pytest.approx(tuned, abs=0.1)


def test_prediction_is_what_reaches_the_threshold(data):
    X, Y, X_test, _ = data
    for y in (Y, sparse.csr_array(Y), Y.toarray()):
        model = TopKThresholdClassifier(base(), cv=0.25, max_labels=3).fit(X, y)
        found = model.predict(X_test)
        assert type(found) is type(y)
        assert found.dtype == y.dtype
        codes, scores = model.predict_topk(X_test, k=3)
        expected = np.zeros(found.shape, dtype=int)
        np.put_along_axis(expected, codes, scores >= model.best_threshold_, axis=1)
        dense = found.toarray() if sparse.issparse(found) else found
        np.testing.assert_array_equal(dense, expected)
    assert expected.sum(axis=1).max() == model.max_labels_ == 3
    assert expected.sum(axis=1).min() < 3


def test_labels_without_a_positive_do_not_count(data):
    X, Y, X_test, _ = data
    few = Y[:, :6].toarray()
    few[:, [2, 4]] = 0
    for scope in ("global", "per_label"):
        model = TopKThresholdClassifier(base(), scope=scope, cv=0.25, beta=1000.0).fit(X, few)
        assert np.min(model.best_threshold_) > -10
        assert not model.predict(X_test)[:, [2, 4]].any()


def test_thresholds_per_label(data):
    X, Y, X_test, _ = data
    model = TopKThresholdClassifier(
        base(), scope="per_label", metric="macro_f1", min_positives=10
    ).fit(X, Y)
    assert model.best_threshold_.shape == (25,)
    assert len(np.unique(model.best_threshold_)) > 5
    codes, scores = model.predict_topk(X_test, k=model.max_labels_)
    expected = np.zeros((len(codes), 25), dtype=int)
    np.put_along_axis(expected, codes, scores >= model.best_threshold_[codes], axis=1)
    np.testing.assert_array_equal(model.predict(X_test).toarray(), expected)


def test_prefit_and_refit_as_in_scikit_learn(data):
    X, Y, X_test, Y_test = data
    fitted = base().fit(X, Y)
    prefit = TopKThresholdClassifier(fitted, cv="prefit", refit=False).fit(X_test, Y_test)
    assert prefit.estimator_ is fitted
    frozen = TopKThresholdClassifier(FrozenEstimator(fitted)).fit(X_test, Y_test)
    assert frozen.best_threshold_ == prefit.best_threshold_
    with pytest.raises(ValueError, match="When cv='prefit', refit cannot be True"):
        TopKThresholdClassifier(fitted, cv="prefit").fit(X, Y)
    with pytest.raises(NotFittedError):
        TopKThresholdClassifier(base(), cv="prefit", refit=False).fit(X, Y)
    with pytest.raises(ValueError, match="When cv has several folds, refit cannot be False"):
        TopKThresholdClassifier(base(), refit=False).fit(X, Y)
    split = [(np.arange(300), np.arange(300, 400))]
    kept = TopKThresholdClassifier(base(), cv=split, refit=False).fit(X, Y)
    again = TopKThresholdClassifier(base(), cv=split).fit(X, Y)
    assert kept.best_threshold_ == again.best_threshold_
    alone = base().fit(X[:300], Y[:300])
    np.testing.assert_array_equal(kept.estimator_.coef_.toarray(), alone.coef_.toarray())
    np.testing.assert_array_equal(again.estimator_.coef_.toarray(), fitted.coef_.toarray())


def test_two_classes_have_a_threshold_on_the_second():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.where(X[:, 0] + rng.normal(size=400) > 1.2, "yes", "no")
    model = TopKThresholdClassifier(base()).fit(X, y)
    scores = model.estimator_.decision_function(X)
    expected = np.where(scores >= model.best_threshold_, "yes", "no")
    np.testing.assert_array_equal(model.predict(X), expected)
    plain = f1_score(y, base().fit(X, y).predict(X), pos_label="yes")
    assert f1_score(y, model.predict(X), pos_label="yes") > plain
    per_label = TopKThresholdClassifier(base(), scope="per_label").fit(X, y)
    assert per_label.best_threshold_.tolist() == [model.best_threshold_]


def test_refusals(data):
    X, Y, *_ = data
    with pytest.raises(ValueError, match=r"Only binary classification is supported.*multiclass"):
        TopKThresholdClassifier(base()).fit(X, np.arange(400) % 3)
    with pytest.raises(ValueError, match="scope='per_label' goes with metric='micro_f1' or"):
        TopKThresholdClassifier(base(), scope="per_label", metric="example_f1").fit(X, Y)
    for name, value in [("metric", "f1"), ("beta", 0), ("max_labels", 0), ("cv", "all")]:
        with pytest.raises(ValueError, match=f"'{name}' parameter of TopKThreshold"):
            TopKThresholdClassifier(base(), **{name: value}).fit(X, Y)


def test_weights_names_and_pipelines(data):
    X, Y, X_test, _ = data
    weight = np.repeat([1, 5], 200)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = TopKThresholdClassifier(cv=0.25).fit(X, Y, sample_weight=weight)
    plain = TopKThresholdClassifier(cv=0.25).fit(X, Y, weight)
    assert routed.best_threshold_ == plain.best_threshold_
    assert plain.best_threshold_ != TopKThresholdClassifier(cv=0.25).fit(X, Y).best_threshold_
    texts = ["red apple", "green apple", "red car", "green car"] * 6
    labels = np.array([[1, 1, 0], [0, 1, 0], [1, 0, 1], [0, 0, 1]] * 6)
    model = TopKThresholdClassifier(make_pipeline(TfidfVectorizer(), base()), cv=2)
    model.fit(texts, labels)
    assert model.predict(["a red apple"]).tolist() == [[1, 1, 0]]
    assert model.predict_topk(["an apple"], k=1)[0].tolist() == [[1]]
    assert not hasattr(model, "predict_proba")
    calibrated = PPDSparseClassifier(random_state=0, calibration="sigmoid", calibration_cv=2)
    model = TopKThresholdClassifier(calibrated, cv=2).fit(X, Y)
    assert model.predict_proba(X_test).shape == (200, 25)


def test_failed_fit_leaves_nothing(data):
    X, Y, *_ = data
    model = TopKThresholdClassifier(cv=[])
    with pytest.raises(ValueError, match="cv holds out no sample"):
        model.fit(X, Y)
    assert not [name for name in vars(model) if name.endswith("_")]


# ------------------------------------------------------------------ probabilities or scores


def calibrated(**options):
    return TopKCalibratedClassifier(base(), cv=0.3, **options)


@pytest.mark.parametrize("scope", ["global", "per_label"])
@pytest.mark.parametrize("inner", ["wrapper", "parameter", "pipeline", "search"])
def test_thresholds_are_on_probabilities_where_there_are_any(inner, scope, data, tmp_path):
    X, Y, X_test, _ = data
    estimator = {
        "wrapper": calibrated(),
        "parameter": base().set_params(calibration="sigmoid", calibration_cv=0.3),
        "pipeline": make_pipeline("passthrough", calibrated()),
        "search": GridSearchCV(calibrated(), {"k": [10]}, cv=2, scoring=lambda *_: 0.0),
    }[inner]
    model = TopKThresholdClassifier(estimator, scope=scope, max_labels=5, cv=0.3).fit(X, Y)
    assert model.response_method_ == "predict_proba"
    threshold = np.ravel(model.best_threshold_)
    assert 0 < threshold.min() < 1
    assert threshold[np.isfinite(threshold)].max() < 1
    codes, p = model.predict_topk(X_test, 5, scores="proba")
    expected = np.zeros((len(codes), 25), dtype=int)
    above = p >= (threshold if scope == "global" else threshold[codes])
    np.put_along_axis(expected, codes, above, axis=1)
    np.testing.assert_array_equal(model.predict(X_test).toarray(), expected)
    if inner in ("wrapper", "parameter"):
        model.save(tmp_path / "model.sxc")
        loaded = sklearn_xc.load(tmp_path / "model.sxc")
        np.testing.assert_array_equal(loaded.predict(X_test).toarray(), expected)


def test_thresholds_on_scores_can_be_asked_for(data):
    X, Y, X_test, Y_test = data
    split = [(np.arange(300), np.arange(300, 400))]
    options = {"max_labels": 5, "cv": split, "refit": False}
    scores = TopKThresholdClassifier(calibrated(), response_method="decision_function", **options)
    plain = TopKThresholdClassifier(base(), **options)
    scores.fit(X, Y)
    plain.fit(X, Y)
    assert scores.response_method_ == plain.response_method_ == "decision_function"
    assert scores.best_threshold_ == plain.best_threshold_ < 0
    # a sigmoid rises with the score: the best decisions by either are the same
    p = TopKThresholdClassifier(calibrated(), **options).fit(X, Y)
    assert p.best_score_ == pytest.approx(scores.best_score_, abs=1e-12)
    assert f1_score(Y_test, p.predict(X_test), average="micro") == pytest.approx(
        f1_score(Y_test, scores.predict(X_test), average="micro"), abs=0.01
    )
    with pytest.raises((AttributeError, ValueError), match="calibration"):
        TopKThresholdClassifier(base(), response_method="predict_proba", **options).fit(X, Y)


def test_a_threshold_on_the_probability_of_the_second_class():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.where(X[:, 0] + rng.normal(size=400) > 1.2, "yes", "no")
    model = TopKThresholdClassifier(
        sklearn_xc.ImplicitSoftmaxRegressor(learning_rate=0.1, random_state=0)
    ).fit(X, y)
    assert 0 < model.best_threshold_ < 0.5
    p = model.predict_proba(X)[:, 1].astype(np.float32)
    np.testing.assert_array_equal(
        model.predict(X), np.where(p >= model.best_threshold_, "yes", "no")
    )


def test_a_calibration_of_fewer_labels_than_are_looked_at_warns(data):
    X, Y, *_ = data
    with pytest.warns(UserWarning, match=r"apart the 3 best labels .* use k=5 or more in TopKCal"):
        TopKThresholdClassifier(calibrated(k=3), max_labels=5, cv=0.3).fit(X, Y)
    inside = base().set_params(calibration="sigmoid", calibration_cv=0.3)
    with pytest.warns(UserWarning, match=r"the 10 best .* use a TopKCalibratedClassifier with a"):
        TopKThresholdClassifier(inside, max_labels=20, cv=0.3).fit(X, Y)
    TopKThresholdClassifier(
        calibrated(k=3), max_labels=5, cv=0.3, response_method="decision_function"
    ).fit(X, Y)

"""The report on labels: its parts after fit, and on held-out rows."""

import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_recall_fscore_support
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline

import sklearn_xc
from sklearn_xc import (
    AugmentReduceClassifier,
    LabelTextClassifier,
    MemoirSVC,
    PPDSparseClassifier,
    TopKCalibratedClassifier,
    TopKNeighborsClassifier,
    TopKStackingClassifier,
    TopKThresholdClassifier,
)
from sklearn_xc.inspection import (
    LabelFrequencyDisplay,
    LabelReport,
    LabelSupportDisplay,
    label_report,
)

ESTIMATORS = [
    PPDSparseClassifier(random_state=0),
    MemoirSVC(max_iter=2, random_state=0),
    AugmentReduceClassifier(max_iter=2, random_state=0),
    sklearn_xc.ImplicitSoftmaxRegressor(max_iter=2, learning_rate=0.1, random_state=0),
]
RNG = np.random.default_rng(0)
Y = sparse.csr_array((RNG.random((120, 6)) < 0.4).astype(np.int64))
MULTICLASS = np.array(["ant", "bee", "cow", "dog"])[RNG.integers(0, 4, 120)]
BINARY = np.array(["no", "yes"])[(RNG.random(120) < 0.3).astype(int)]
X = np.c_[Y.toarray(), MULTICLASS[:, None] == np.unique(MULTICLASS), BINARY == "yes"]
X = X + RNG.normal(scale=0.4, size=X.shape)


def ids(model):
    return type(model).__name__


@pytest.mark.parametrize("y", [MULTICLASS, BINARY], ids=["multiclass", "binary"])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=ids)
def test_after_fit(estimator, y):
    weight = RNG.integers(0, 2, 120)
    model = clone(estimator)
    assert not hasattr(model, "label_report_")
    with pytest.raises(NotFittedError):
        model.label_report_  # noqa: B018
    report = model.fit(X, y, sample_weight=weight).label_report_
    classes, counts = np.unique(y[weight > 0], return_counts=True)
    assert isinstance(report, LabelReport)
    assert report.labels.tolist() == classes.tolist()
    assert report.support.tolist() == counts.tolist()
    coef = model.coef_.toarray() if sparse.issparse(model.coef_) else model.coef_
    n_weights = np.broadcast_to((coef != 0).sum(axis=1), len(classes))
    assert report.n_weights.tolist() == n_weights.tolist()
    assert np.isnan([report.precision, report.recall, report.f1]).all()
    assert model.fit(X, y).label_report_.support.sum() == 120


def test_after_a_multilabel_fit():
    model = PPDSparseClassifier(random_state=0)
    for y in Y, Y.toarray():
        report = model.fit(X, y).label_report_
        assert report.support.tolist() == Y.sum(axis=0).tolist()
    weight = np.arange(120) % 3
    report = model.fit(X, Y, sample_weight=weight).label_report_
    assert report.support.tolist() == Y.toarray()[weight > 0].sum(axis=0).tolist()


@pytest.mark.parametrize("estimator", ESTIMATORS[1:], ids=ids)
def test_parts_of_the_data_are_added_up(estimator):
    model = clone(estimator)
    classes = ["ant", "bee", "cow", "dog", "unicorn"]
    for part in slice(0, 50), slice(50, 120):
        model.partial_fit(X[part], MULTICLASS[part], classes=classes)
    counts = np.unique(MULTICLASS, return_counts=True)[1]
    assert model.label_report_.support.tolist() == [*counts, 0]
    model.partial_fit(X, MULTICLASS, sample_weight=np.arange(120) < 10)
    assert model.label_report_.support.sum() == 130


@pytest.mark.parametrize(
    "estimator",
    [
        MemoirSVC(early_stopping=True, max_iter=100, random_state=0),
        AugmentReduceClassifier(early_stopping=True, max_iter=3, random_state=0),
        AugmentReduceClassifier(early_stopping=True, bound="exact", max_iter=3, random_state=0),
    ],
    ids=ids,
)
@pytest.mark.parametrize("y", [MULTICLASS, BINARY], ids=["multiclass", "binary"])
@pytest.mark.filterwarnings("ignore:the log-likelihood of the samples kept apart still rose")
def test_early_stopping_brings_held_out_rows(estimator, y):
    estimator = clone(estimator)
    report = estimator.fit(X, y).label_report_
    assert report.n_true.sum() == report.n_predicted.sum() == 12
    assert (report.n_hits <= np.minimum(report.n_true, report.n_predicted)).all()
    assert report.n_hits.sum() > 3
    seen = report.n_predicted > 0
    np.testing.assert_array_equal(np.isnan(report.precision), ~seen)
    estimator.partial_fit(X, y)  # another model: what was held out is trained on
    assert estimator.label_report_.n_true.sum() == 0
    estimator.fit(X, y)
    assert (
        clone(estimator).set_params(early_stopping=False).fit(X, y).label_report_.n_true.max() == 0
    )


def test_a_model_whose_training_samples_are_not_known():
    model = PPDSparseClassifier(random_state=0).fit(X, MULTICLASS)
    for support in None, np.ones(3, dtype=np.int64):
        model._support = support
        with pytest.raises(AttributeError, match="training samples of the labels are not known"):
            model.label_report_  # noqa: B018


# ------------------------------------------------------------------------------ held-out rows


@pytest.mark.parametrize("k", [None, 2])
@pytest.mark.parametrize("y", [MULTICLASS, BINARY, Y, Y.toarray()], ids=["K", "2", "csr", "array"])
def test_held_out_rows(y, k):
    model = PPDSparseClassifier(random_state=0).fit(X[:80], y[:80])
    report = label_report(model, X[80:], y[80:], k)
    classes, true = model.classes_, y[80:]
    if k is None:
        predicted = model.predict(X[80:])
    else:
        top = model.predict_topk(X[80:], k)[0]
        predicted = (top[:, :, None] == classes).any(axis=1)
        if np.ndim(true) == 1 and not sparse.issparse(true):
            true = true[:, None] == classes
    labels = None if getattr(predicted, "ndim", 1) == 2 else classes
    precision, recall, f1, n_true = precision_recall_fscore_support(
        true, predicted, labels=labels, zero_division=np.nan
    )
    np.testing.assert_array_equal(report.n_true, n_true)
    np.testing.assert_allclose(report.precision, precision)
    np.testing.assert_allclose(report.recall, recall)
    np.testing.assert_allclose(report.f1, f1)
    np.testing.assert_array_equal(report.support, model.label_report_.support)
    np.testing.assert_array_equal(report.n_weights, model.label_report_.n_weights)


def test_unknown_labels_are_predicted_wrongly_and_have_no_line():
    model = PPDSparseClassifier(random_state=0).fit(X, MULTICLASS)
    y = np.where(np.arange(120) < 60, "unicorn", MULTICLASS)
    report = label_report(model, X, y)
    assert report.labels.tolist() == ["ant", "bee", "cow", "dog"]
    assert report.n_predicted.sum() == 120
    assert report.n_true.sum() == 60
    assert report.n_hits.sum() == (model.predict(X[60:]) == y[60:]).sum()


def test_through_pipelines_and_searches():
    passages = ["sort an array", "sum of an array", "sort a list", "sum of squares"]
    names = ["sort", "sum", "sort", "sum"]
    model = make_pipeline(CountVectorizer(), PPDSparseClassifier(l1=0.01, random_state=0))
    search = GridSearchCV(model, {"ppdsparseclassifier__l2": [0.5, 1]}, cv=KFold(2))
    for fitted in model.fit(passages, names), search.fit(passages, names):
        for k in None, 1:
            report = label_report(fitted, ["sort it", "the sum"], ["sort", "sum"], k)
            assert report.support.tolist() == [2, 2]
            assert report.recall.tolist() == [1, 1]


class Reluctant(ClassifierMixin, BaseEstimator):
    """A meta-estimator with decisions of its own: never any label."""

    def fit(self, X, y):
        self.estimator_ = PPDSparseClassifier(random_state=0).fit(X, y)
        return self

    def predict(self, X):
        return sparse.csr_array((len(X), 6), dtype=np.int64)


def test_the_decisions_are_those_of_the_wrapper():
    report = label_report(Reluctant().fit(X, Y), X, Y)
    assert report.n_predicted.sum() == 0
    assert report.support.tolist() == report.n_true.tolist() == Y.sum(axis=0).tolist()
    assert np.isnan(report.precision).all()
    assert report.recall.tolist() == [0] * 6


def test_bad_input():
    model = PPDSparseClassifier(random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="y has 119 samples, but X has 120"):
        label_report(model, X, Y[:119])
    with pytest.raises(ValueError, match="y has 5 columns, but the model has 6 labels"):
        label_report(model, X, Y[:, :5])
    with pytest.raises(ValueError, match="k must be an integer from 1 to the number of classes, 6"):
        label_report(model, X, Y, 7)
    with pytest.raises(TypeError, match="LogisticRegression has no method predict_topk"):
        label_report(LogisticRegression(), X, Y)


# ----------------------------------------------------------------------------------- the text


def small_report():
    columns = [3, 20, 1], [5, 7, 9], [2, 4, 0], [1, 5, 0], [1, 3, 0]
    return LabelReport(np.array(["ant", "bee", "c" * 40]), *map(np.array, columns))


def test_text():
    assert repr(small_report()).splitlines() == [
        "3 labels, by falling support",
        "  label                           support  weights  precision  recall",
        "  bee                                  20        7      0.600   0.750",
        "  ant                                   3        5      1.000   0.500",
        "  cccccccccccccc...ccccccccccccc        1        9        nan     nan",
    ]
    many = LabelReport(np.arange(12), *np.ones((5, 12), dtype=int))
    assert repr(many).splitlines()[-1] == "  ... and 2 more"
    assert len(many) == 12


def test_frame(monkeypatch):
    report = small_report()
    frame = report.to_frame()
    names = ["support", "n_weights", "n_true", "n_predicted", "precision", "recall", "f1"]
    assert frame.columns.tolist() == names
    assert frame.index.tolist() == report.labels.tolist()
    assert frame.loc["bee"].tolist() == [20, 7, 4, 5, 0.6, 0.75, pytest.approx(2 / 3)]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="to_frame needs pandas"):
        report.to_frame()


TEXTS = ["ant hill", "bee hive", "ant bee", "cow milk", "dog bark"] * 8
LISTS = [["ant"], ["bee"], ["ant", "bee"], ["cow"], ["dog", "cow"]] * 8


@pytest.mark.parametrize("k", [None, 1])
def test_of_texts_and_lists_of_labels(k):
    model = LabelTextClassifier(PPDSparseClassifier(random_state=0)).fit(TEXTS, LISTS)
    report = label_report(model, TEXTS, [*LISTS[:-1], ["emu", "dog"]], k=k)
    assert report.labels.tolist() == ["ant", "bee", "cow", "dog"]
    np.testing.assert_array_equal(report.support, [16, 16, 16, 8])
    np.testing.assert_array_equal(report.n_true, [16, 16, 15, 8])
    assert report.n_weights.min() > 0
    if k == 1:
        assert report.n_predicted.sum() == 40
    else:
        predicted = [label for labels in model.predict(TEXTS) for label in labels]
        assert report.n_predicted.tolist() == [predicted.count(name) for name in report.labels]


@pytest.mark.parametrize("around", [TopKThresholdClassifier, TopKCalibratedClassifier])
def test_of_wrappers_around_texts_and_inside(around):
    base = PPDSparseClassifier(random_state=0)
    Y = np.array([[name in labels for name in ("ant", "bee")] for labels in LISTS]).astype(int)
    outside = around(LabelTextClassifier(base), cv=0.2).fit(TEXTS, Y)
    inside = LabelTextClassifier(around(base, cv=0.2)).fit(TEXTS, Y)
    for model in (outside, inside):
        np.testing.assert_array_equal(label_report(model, TEXTS, Y).support, [16, 16])


@pytest.mark.parametrize(
    "model",
    [
        LabelTextClassifier(),
        make_pipeline(CountVectorizer(), TopKStackingClassifier()),
        make_pipeline(CountVectorizer(), TopKCalibratedClassifier(TopKNeighborsClassifier())),
    ],
    ids=["LabelTextClassifier", "Pipeline", "TopKCalibratedClassifier"],
)
def test_without_a_linear_estimator_one_error_says_so(model):
    y = [labels[0] for labels in LISTS]
    model.fit(TEXTS, y)
    with pytest.raises(TypeError, match=r"training samples .*classification_report"):
        label_report(model, TEXTS, y)
    with pytest.raises(TypeError, match=r"does not know training samples .* from_labels\(y\)"):
        LabelSupportDisplay.from_estimator(model)
    with pytest.raises(TypeError, match=r"training samples .* as support"):
        LabelFrequencyDisplay.from_estimator(model, TEXTS, y)
    with pytest.raises(NotFittedError):
        label_report(clone(model), TEXTS, y)

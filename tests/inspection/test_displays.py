"""The displays: their numbers, and what they draw."""

import sys

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import calibration_curve
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sklearn_xc import AugmentReduceClassifier, PPDSparseClassifier, explain
from sklearn_xc.inspection import (
    ContributionsDisplay,
    CoverageDisplay,
    LabelFrequencyDisplay,
    PrecisionAtKDisplay,
    ReliabilityDisplay,
)
from sklearn_xc.metrics import coverage_curve, expected_calibration_error, precision_at_k

mpl.use("agg")

RNG = np.random.default_rng(0)
PREVALENCE = np.array([0.6, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02])
Y = sparse.csr_array((RNG.random((200, 7)) < PREVALENCE).astype(np.int64))
LABELS = np.array(["ant", "bee", "cow", "dog"])[RNG.integers(0, 4, 200)]
X = np.c_[Y.toarray(), LABELS[:, None] == np.unique(LABELS)]
X = X + RNG.normal(scale=0.5, size=X.shape)
MULTILABEL = PPDSparseClassifier(random_state=0).fit(X[:100], Y[:100])
MULTICLASS = AugmentReduceClassifier(max_iter=5, random_state=0).fit(X[:100], LABELS[:100])
CASES = [(MULTILABEL, Y), (MULTICLASS, LABELS)]
IDS = ["multilabel", "multiclass"]


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def texts(axes_texts):
    return [text.get_text() for text in axes_texts]


def legend(display):
    return texts(display.ax_.get_legend().get_texts())


# ------------------------------------------------------------------------------ precision at k


@pytest.mark.parametrize(("model", "y"), CASES, ids=IDS)
def test_precision_at_k_is_that_of_the_metric(model, y):
    n = len(model.classes_)
    display = PrecisionAtKDisplay.from_estimator(model, X[100:], y[100:])
    labels, _ = model.predict_topk(X[100:], n)
    expected = [precision_at_k(y[100:], labels, k=k) for k in range(1, n + 1)]
    np.testing.assert_allclose(display.precision, expected)
    assert (display.precision <= display.attainable + 1e-12).all()
    np.testing.assert_array_equal(display.line_.get_xdata(), np.arange(1, n + 1))
    np.testing.assert_array_equal(display.line_.get_ydata(), display.precision)
    assert legend(display) == ["perfect ranking", type(model).__name__]
    again = PrecisionAtKDisplay.from_predictions(y[100:], labels, name="mine")
    np.testing.assert_allclose(again.precision, expected)
    assert legend(again) == ["perfect ranking", "mine"]


def test_precision_at_k_of_scores_weights_and_few_ranks():
    scores = MULTILABEL.decision_function(X[100:])
    weight = RNG.random(100)
    display = PrecisionAtKDisplay.from_predictions(Y[100:], scores, k=3, sample_weight=weight)
    expected = [precision_at_k(Y[100:], scores, k=k, sample_weight=weight) for k in range(1, 4)]
    np.testing.assert_allclose(display.precision, expected)
    other = PrecisionAtKDisplay.from_estimator(
        MULTILABEL, X[100:], Y[100:], k=3, sample_weight=weight
    )
    np.testing.assert_allclose(other.precision, expected, atol=1e-7)


def test_attainable_precision():
    display = PrecisionAtKDisplay.from_predictions([[1, 1, 0], [0, 0, 0]], [[0, 2], [0, 1]])
    assert display.precision.tolist() == [0.5, 0.25]
    assert display.attainable.tolist() == [0.5, 0.5]


# -------------------------------------------------------------------------- frequency of labels


@pytest.mark.parametrize(("model", "y"), CASES, ids=IDS)
def test_head_and_tail_by_brute_force(model, y):
    weight = RNG.random(100)
    display = LabelFrequencyDisplay.from_estimator(
        model, X[100:], y[100:], k=2, bins=[1, 10, 40], sample_weight=weight
    )
    top = (model.predict_topk(X[100:], 2)[0][:, :, None] == model.classes_).any(axis=1)
    true = y[100:].toarray() > 0 if sparse.issparse(y) else y[100:, None] == model.classes_
    support = model.label_report_.support
    assert display.n_labels.sum() == len(support)
    for (low, high), n_labels, recall, precision in zip(
        display.bins, display.n_labels, display.recall, display.precision, strict=True
    ):
        inside = (low <= support) & (support <= high)
        hits = weight @ (true & top)[:, inside]
        assert n_labels == inside.sum()
        assert recall == pytest.approx(hits.sum() / (weight @ true[:, inside]).sum())
        assert precision == pytest.approx(hits.sum() / (weight @ top[:, inside]).sum())
    np.testing.assert_array_equal(display.line_.get_ydata(), display.recall)
    assert legend(display) == [type(model).__name__]


def test_labels_that_training_did_not_have():
    y = np.where(np.arange(200) >= 150, "unicorn", LABELS)
    y[199] = "zebra"
    display = LabelFrequencyDisplay.from_estimator(MULTICLASS, X[100:], y[100:], k=1)
    assert display.bins[-1].tolist() == [0, 0]
    assert display.n_labels[-1] == 2
    assert display.n_true[-1] == 50
    assert display.recall[-1] == 0
    assert np.isnan(display.precision[-1])
    assert display.n_predicted.sum() == 100
    assert texts(display.ax_.get_xticklabels())[-1] == "0\n(2)"


def test_default_bins_are_at_most_eight_that_hold_labels():
    for largest in 1, 2, 100, 5000, 10**9:
        support = np.unique(np.geomspace(1, largest, 200).astype(int))
        y_true = np.eye(len(support), dtype=int)
        y_pred = np.arange(len(support))[:, None]
        display = LabelFrequencyDisplay.from_predictions(y_true, y_pred, support=support, k=1)
        assert 1 <= len(display.bins) <= 8
        assert display.n_labels.sum() == len(support)
        assert (display.n_labels > 0).all()
        assert display.bins[0, 1] == largest
        assert (display.bins[1:, 1] == display.bins[:-1, 0] - 1).all() or largest == 10**9
        assert display.recall.tolist() == [1.0] * len(display.bins)
    nothing = LabelFrequencyDisplay.from_predictions([[1, 0]], [[0]], support=[0, 0], k=1)
    assert nothing.bins.tolist() == [[0, 0]]


def test_head_and_tail_of_sparse_scores_and_of_names():
    scores = sparse.csr_array(np.array([[0.9, 0.0, 0.5], [0.0, 0.0, 0.0]]))
    display = LabelFrequencyDisplay.from_predictions(
        ["a", "b"], scores, classes=["a", "b", "c"], support=[5, 1, 2], k=2, metric="precision"
    )
    assert display.bins.tolist() == [[5, 5], [2, 2], [1, 1]]
    assert display.recall.tolist() == [1, pytest.approx(np.nan, nan_ok=True), 0]
    np.testing.assert_array_equal(display.precision, [1, 0, np.nan])
    assert display.ax_.get_ylabel() == "precision at 2"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"support": [1, 2]}, r"support must have an entry for each of the 3 labels, .* \(2,\)"),
        ({"support": [1, 2, -1]}, "support must hold numbers of training samples"),
        ({"support": [1, 2, np.nan]}, "support must hold numbers of training samples"),
        ({"support": [1, 2, 3], "bins": [0, 5]}, "bins must be whole numbers from 1 on"),
        ({"support": [1, 2, 3], "bins": [1.5]}, "bins must be whole numbers from 1 on"),
        ({"support": [1, 2, 3], "metric": "f1"}, "metric must be 'recall' or 'precision'"),
        ({"support": [1, 2, 3], "k": 9}, "k=9 is larger than the number of columns"),
    ],
)
def test_bad_arguments_of_head_and_tail(arguments, message):
    with pytest.raises(ValueError, match=message):
        LabelFrequencyDisplay.from_predictions([[1, 0, 1]], [[0]], **{"k": 1, **arguments})


def test_names_are_needed_for_class_labels():
    with pytest.raises(ValueError, match="1-D y_true needs classes"):
        LabelFrequencyDisplay.from_predictions(["a"], [["a"]], support=[1], k=1)


# ----------------------------------------------------------------------------------- reliability


def test_reliability_of_one_best_class_is_that_of_scikit_learn():
    labels, probabilities = MULTICLASS.predict_topk(X[100:], 1, scores="proba")
    hits = labels[:, 0] == LABELS[100:]
    expected = calibration_curve(hits, probabilities[:, 0], n_bins=10)
    display = ReliabilityDisplay.from_estimator(MULTICLASS, X[100:], LABELS[100:], k=1, n_bins=10)
    np.testing.assert_allclose(display.prob_true, expected[0])
    np.testing.assert_allclose(display.prob_pred, expected[1], rtol=1e-6)
    assert display.weight.sum() == 100


def test_reliability_of_the_five_best():
    display = ReliabilityDisplay.from_estimator(MULTICLASS, X[100:], LABELS[100:])  # has four
    probabilities = MULTICLASS.predict_proba(X[100:])
    error = expected_calibration_error(
        LABELS[100:], probabilities, k=4, classes=MULTICLASS.classes_
    )
    assert display.error == pytest.approx(error, rel=1e-6)
    assert legend(display) == ["calibrated", f"AugmentReduceClassifier, error {error:.3f}"]
    assert len(display.points_.get_offsets()) == len(display.weight)


# --------------------------------------------------------------------------------- contributions

PASSAGES = ["sort an array", "sort a list", "sum of an array", "sum of squares"]
WORDS = make_pipeline(CountVectorizer(), PPDSparseClassifier(l1=0.01, l2=1.0, random_state=0))
WORDS.fit(PASSAGES, ["sort", "sort", "sum", "sum"])


def test_the_label_to_explain_and_an_explanation_at_hand():
    display = ContributionsDisplay.from_estimator(WORDS, ["sort"], label="sum", k=None)
    assert display.explanation.label == "sum"
    (found,) = explain(WORDS, ["nothing that is known"], "sum")
    display = ContributionsDisplay.from_explanation(found)
    assert texts(display.ax_.get_yticklabels()) == ["(intercept)"]


def test_one_row_and_one_explanation_only():
    with pytest.raises(ValueError, match="X must be one sample, got 4; explain all of them with"):
        ContributionsDisplay.from_estimator(WORDS, PASSAGES)
    with pytest.raises(TypeError, match="explanation must be one Explanation, got Explanations"):
        ContributionsDisplay.from_explanation(explain(WORDS, PASSAGES))


def test_long_names_are_cut():
    name = "a very long name of a feature that would leave no room for the bars"
    display = ContributionsDisplay.from_estimator(
        MULTILABEL, X[:1], label=0, feature_names=[name] * X.shape[1]
    )
    assert max(map(len, texts(display.ax_.get_yticklabels()))) == 40


# ------------------------------------------------------------------------------------ all of them


def test_through_a_pipeline():
    y = ["sort", "sort", "sum", "sum"]
    display = PrecisionAtKDisplay.from_estimator(WORDS, PASSAGES, y)
    assert display.precision.tolist() == [1.0, 0.5]
    display = LabelFrequencyDisplay.from_estimator(WORDS, PASSAGES, y)
    assert (display.k, display.bins.tolist()) == (2, [[2, 2]])
    model = make_pipeline(CountVectorizer(), clone(MULTICLASS)).fit(PASSAGES, y)
    display = ReliabilityDisplay.from_estimator(model, PASSAGES, y)
    assert display.weight.sum() == 8
    assert legend(display)[1].startswith("AugmentReduceClassifier")


def displays(ax=None):
    rows = X[100:], LABELS[100:]
    return [
        PrecisionAtKDisplay.from_estimator(MULTICLASS, *rows, ax=ax),
        LabelFrequencyDisplay.from_estimator(MULTICLASS, *rows, k=2, ax=ax),
        ReliabilityDisplay.from_estimator(MULTICLASS, *rows, ax=ax),
        ContributionsDisplay.from_estimator(WORDS, ["sort"], ax=ax),
    ]


def test_given_axes_are_used_and_labels_are_not_cut():
    for display in displays():
        assert display.figure_ is display.ax_.figure
        assert display.plot() is display  # a figure of its own again
        figure, ax = pyplot.subplots(layout="constrained")
        assert display.plot(ax).ax_ is ax
        assert display.figure_ is figure
        figure.draw_without_rendering()
        width, height = figure.get_size_inches()
        box = figure.get_tightbbox()
        assert min(box.x0, box.y0) >= 0
        assert box.x1 <= width
        assert box.y1 <= height


@pytest.mark.parametrize("number", range(3))
def test_curves_share_axes(number):
    _, ax = pyplot.subplots()
    display = displays()[number]
    display.plot(ax, name="one")
    n_lines = len(ax.lines)
    first = display.line_
    display.plot(ax, name="other")
    assert len(ax.lines) == n_lines + 1  # the line to compare with is drawn once
    assert first.get_color() != display.line_.get_color()
    assert [name.partition(",")[0] for name in legend(display)][-2:] == ["one", "other"]
    display.plot(ax, color="black", label="black", linestyle=":")
    assert display.line_.get_color() == "black"
    assert legend(display)[-1] == "black"


def test_matplotlib_is_needed(monkeypatch):
    some = displays()
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for display in some:
        with pytest.raises(ImportError, match=rf"{type(display).__name__}.plot needs matplotlib"):
            display.plot()


# ------------------------------------------------------------------------------------- coverage


def test_coverage_is_that_of_the_metric():
    labels, p = MULTICLASS.predict_topk(X[100:], 1, scores="proba")
    coverage, accuracy, _ = coverage_curve(LABELS[100:], labels, p)
    display = CoverageDisplay.from_estimator(MULTICLASS, X[100:], LABELS[100:])
    drawn = coverage >= 0.2  # fewer than twenty rows are chance
    np.testing.assert_allclose(display.line_.get_xdata(), coverage[drawn])
    np.testing.assert_allclose(display.line_.get_ydata(), accuracy[drawn])
    assert legend(display) == [f"AugmentReduceClassifier, mean {display.area:.3f}"]
    assert display.area > accuracy[-1]
    again = CoverageDisplay.from_estimator(
        MULTILABEL, X[100:], Y[100:], scores="decision", ax=display.ax_, name="labels"
    )
    assert again.ax_ is display.ax_
    assert again.line_.get_color() != display.line_.get_color()

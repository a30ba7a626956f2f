"""Confusion of labels, support, frequency: their numbers, and what they draw."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot
from scipy import sparse

from sklearn_xc import PPDSparseClassifier
from sklearn_xc.inspection import (
    LabelConfusionDisplay,
    LabelFrequencyDisplay,
    LabelSupportDisplay,
)

mpl.use("agg")
RNG = np.random.default_rng(0)
PREVALENCE = np.array([0.6, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02])
Y = sparse.csr_array((RNG.random((200, 7)) < PREVALENCE).astype(np.int64))
LABELS = np.array(["ant", "bee", "cow", "dog"])[RNG.integers(0, 4, 200)]
X = np.c_[Y.toarray(), LABELS[:, None] == np.unique(LABELS)]
X = X + RNG.normal(scale=0.5, size=X.shape)
MULTILABEL = PPDSparseClassifier(random_state=0).fit(X[:100], Y[:100])
MULTICLASS = PPDSparseClassifier(calibration="sigmoid", calibration_cv=0.2, random_state=0).fit(
    X[:100], LABELS[:100]
)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


# ---------------------------------------------------------------------------------- confusion


def pairs_by_hand(sets, best, weight):
    """Pair -> number, row by row."""
    found = {}
    for truth, labels, w in zip(sets, best, weight, strict=True):
        counted = list(labels[: len(truth)])
        wrong = [label for label in counted if label not in truth]
        for missed in set(truth) - set(counted):
            for other in wrong:
                found[missed, other] = found.get((missed, other), 0) + w / len(wrong)
    return found


def pairs_of(display):
    return dict(zip(zip(display.true, display.suggested, strict=True), display.number, strict=True))


def test_pairs_are_those_counted_row_by_row():
    weight = RNG.random(100)
    best, _ = MULTILABEL.predict_topk(X[100:], 7)
    sets = [row.nonzero()[0].tolist() for row in Y[100:].toarray()]
    expected = pairs_by_hand(sets, best.tolist(), weight)
    for display in (
        LabelConfusionDisplay.from_estimator(MULTILABEL, X[100:], Y[100:], sample_weight=weight),
        LabelConfusionDisplay.from_predictions(Y[100:], best, sample_weight=weight),
        LabelConfusionDisplay.from_predictions(sets, best, sample_weight=weight),
    ):
        found = pairs_of(display)
        assert found.keys() == expected.keys()
        assert all(found[pair] == pytest.approx(expected[pair]) for pair in expected)
        assert (np.diff(display.number) <= 0).all()
        n_true = {k: weight @ Y[100:].toarray()[:, k] for k in range(7)}
        np.testing.assert_allclose(display.n_true, [n_true[k] for k in display.true])


def test_of_one_class_a_row_it_is_the_confusion_matrix_without_its_diagonal():
    from sklearn.metrics import confusion_matrix

    predicted = MULTICLASS.predict(X[100:])
    matrix = confusion_matrix(LABELS[100:], predicted, labels=MULTICLASS.classes_)
    display = LabelConfusionDisplay.from_estimator(MULTICLASS, X[100:], LABELS[100:])
    names = MULTICLASS.classes_.tolist()
    found = np.zeros((4, 4))
    for (true, other), number in pairs_of(display).items():
        found[names.index(true), names.index(other)] = number
    np.testing.assert_allclose(found, matrix - np.diag(np.diag(matrix)))


def test_labels_that_training_lacks_are_missed_too():
    display = LabelConfusionDisplay.from_estimator(MULTICLASS, X[:3], ["new", "new", LABELS[2]])
    assert set(display.true.tolist()) == {"(not in training)"}
    assert display.number.sum() == 2


def test_bars_have_names_and_shares():
    display = LabelConfusionDisplay.from_predictions(
        ["a" * 50, "a" * 50, "b"], [["b"], ["b"], ["b"]], n_pairs=1
    )
    (name,) = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert name.endswith("\u2192 b")
    assert len(name) < 40
    assert len(display.bars_) == 1
    assert [text.get_text() for text in display.ax_.texts] == ["100%"]
    empty = LabelConfusionDisplay.from_predictions(["a"], [["a"]])
    assert len(empty.number) == len(empty.bars_) == 0


# ------------------------------------------------------------------------------------ support


def test_support_is_that_of_training():
    expected = np.sort(np.asarray(Y[:100].sum(axis=0)).ravel())[::-1]
    for display in (
        LabelSupportDisplay.from_estimator(MULTILABEL, name="mine"),
        LabelSupportDisplay.from_labels(Y[:100], name="mine"),
        LabelSupportDisplay.from_labels(Y[:100].toarray(), name="mine"),
    ):
        np.testing.assert_array_equal(display.support, expected[expected > 0])
        assert display.n_empty == (expected == 0).sum()
        assert display.ax_.get_xscale() == display.ax_.get_yscale() == "log"
        assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["mine"]
    display = LabelSupportDisplay.from_labels(LABELS)
    assert display.support.sum() == 200


# ---------------------------------------------------------------------------------- frequency


def test_frequency_takes_lists_of_labels():
    best, _ = MULTILABEL.predict_topk(X[100:], 3)
    sets = [row.nonzero()[0].tolist() for row in Y[100:].toarray()]
    support = np.asarray(Y[:100].sum(axis=0)).ravel()
    options = {"support": support, "k": 3, "classes": np.arange(7)}
    one = LabelFrequencyDisplay.from_predictions(Y[100:], best, **options)
    other = LabelFrequencyDisplay.from_predictions(sets, best, **options)
    np.testing.assert_array_equal(one.recall, other.recall)
    sets[0] = [*sets[0], "new"]
    more = LabelFrequencyDisplay.from_predictions(sets, best, **options)
    assert more.bins[-1].tolist() == [0, 0]
    assert more.n_true.sum() == one.n_true.sum() + 1

"""The learning curve: its fits, its numbers, and what it draws."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sklearn_xc import MemoirSVC, PPDSparseClassifier
from sklearn_xc.datasets import make_xc_classification
from sklearn_xc.metrics import precision_at_k
from sklearn_xc.model_selection import TopKLearningCurveDisplay

mpl.use("agg")
X, Y = make_xc_classification(400, 300, 20, n_labels=2, random_state=0)
MODEL = PPDSparseClassifier(l1=0.01, l2=1.0, random_state=0)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def test_numbers_are_those_of_fits_on_more_and_more_samples():
    display = TopKLearningCurveDisplay.from_estimator(
        MODEL, X, Y, train_sizes=[50, 1.0, 0.5], k=[1, 3], random_state=0
    )
    order = np.random.RandomState(0).permutation(400)
    test, train = np.sort(order[:80]), order[80:]
    assert display.train_sizes.tolist() == [50, 160, 320]
    for size, found in zip(display.train_sizes, display.precision, strict=True):
        rows = np.sort(train[:size])
        best, _ = (
            PPDSparseClassifier(l1=0.01, l2=1.0, random_state=0)
            .fit(X[rows], Y[rows])
            .predict_topk(X[test], 3)
        )
        np.testing.assert_allclose(found, [precision_at_k(Y[test], best, k) for k in (1, 3)])
    assert not hasattr(MODEL, "coef_")
    assert [line.get_label() for line in display.lines_] == [
        "PPDSparseClassifier, at 1",
        "PPDSparseClassifier, at 3",
    ]
    np.testing.assert_array_equal(display.lines_[0].get_ydata(), display.precision[:, 0])


def test_classes_texts_and_tables():
    y = np.array([f"class {row.indices[0]}" if row.nnz else "none" for row in Y])
    texts = pd.Series([" ".join(f"w{j}" for j in row.indices) for row in X])
    pipeline = make_pipeline(
        CountVectorizer(), PPDSparseClassifier(l1=0.01, l2=1.0, random_state=0)
    )
    display = TopKLearningCurveDisplay.from_estimator(
        pipeline, texts, pd.Series(y), train_sizes=[0.3, 1.0], random_state=0, name="words"
    )
    assert display.precision.shape == (2, 3)
    again = MemoirSVC(max_iter=2, random_state=0)
    TopKLearningCurveDisplay.from_estimator(again, X, y, random_state=0, k=[1], ax=display.ax_)
    assert len(display.ax_.lines) == 4


def test_few_classes_in_a_small_part_lower_precision_at_k():
    y = np.arange(400) % 4
    display = TopKLearningCurveDisplay.from_estimator(
        MODEL, X, y, train_sizes=[200], k=[4, 8], random_state=0
    )
    np.testing.assert_allclose(display.precision, [[0.25, 0.125]])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"train_sizes": [0.0]}, "train_sizes must be shares above 0"),
        ({"train_sizes": [321]}, "numbers from 1 to 320, got 321"),
        ({"train_sizes": [True]}, "train_sizes must be shares"),
        ({"train_sizes": []}, "train_sizes must name a size"),
        ({"k": [0]}, "k must be integers from 1 on"),
        ({"k": []}, "k must be integers from 1 on"),
        ({"test_size": 1}, "test_size must be above 0 and below 1"),
    ],
)
def test_bad_parameters_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        TopKLearningCurveDisplay.from_estimator(MODEL, X, Y, **options)


@pytest.mark.parametrize("cv", [3, "five"])
def test_cv_is_refused_before_anything_is_fitted(cv):
    class NeverFitted(PPDSparseClassifier):
        def fit(self, X, y):
            raise AssertionError("fitted")

    with pytest.raises(TypeError, match=f"^cv={cv!r} is not possible: .* is test_size"):
        TopKLearningCurveDisplay.from_estimator(NeverFitted(), X, Y, cv=cv)

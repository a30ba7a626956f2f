"""Functions inside of what `inspection/test_displays.py` tests from outside."""

import matplotlib as mpl
import pytest
from matplotlib import pyplot
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sklearn_xc import PPDSparseClassifier
from sklearn_xc.inspection import (
    ContributionsDisplay,
    _display,
)

mpl.use("agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def texts(axes_texts):
    return [text.get_text() for text in axes_texts]


PASSAGES = ["sort an array", "sort a list", "sum of an array", "sum of squares"]
WORDS = make_pipeline(CountVectorizer(), PPDSparseClassifier(l1=0.01, l2=1.0, random_state=0))
WORDS.fit(PASSAGES, ["sort", "sort", "sum", "sum"])


def test_bars_add_up_to_the_score():
    display = ContributionsDisplay.from_estimator(WORDS, ["sort an array of squares"], k=2)
    widths = [bar.get_width() for bar in display.bars_]
    shown = display.explanation
    assert sum(widths) == pytest.approx(shown.score)
    assert widths[:2] == pytest.approx(shown.contributions.tolist())
    names = texts(display.ax_.get_yticklabels())
    assert names[:2] == shown.feature_names.tolist()
    assert names[2:] == [f"({shown.n_rest} more features)", "(intercept)"]
    assert display.ax_.yaxis_inverted()
    assert display.ax_.get_title().startswith(f"{shown.label}: score {shown.score:+.3g}")
    colours = [mpl.colors.to_hex(bar.get_facecolor()) for bar in display.bars_]
    by_sign = [_display.BLUE if width > 0 else _display.VERMILION for width in widths[:2]]
    assert colours == by_sign + [_display.GREY] * 2

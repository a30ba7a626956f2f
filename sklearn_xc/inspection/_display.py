"""What the displays share."""

from .._base import predict_topk
from .._inner import find_inner
from .._optional import optional_import

# Blue and vermilion are told apart by colour-blind readers too (Okabe and Ito's palette).
BLUE, VERMILION, GREY = "#0072b2", "#d55e00", "#8c8c8c"


def axes_for(display, ax):
    """Set ``ax_`` and ``figure_`` of a display; a new figure without ax."""
    pyplot = optional_import("matplotlib.pyplot", f"{type(display).__name__}.plot")
    if ax is None:
        _, ax = pyplot.subplots(layout="constrained")
    display.ax_, display.figure_ = ax, ax.figure
    return ax


def ranked(estimator, X, k, most):
    """The k best labels of each row, by default at most `most`, and the model's classes."""
    inner, _ = find_inner(estimator, "predict_topk")
    if k is None:
        k = min(most, len(inner.classes_))
    return predict_topk(estimator, X, k)[0], inner


def name_of(estimator, name):
    """The name in the legend: the one given, or the class of the estimator that predicts."""
    return type(find_inner(estimator, "predict_topk")[0]).__name__ if name is None else name


def names_for(y, inner):
    """`classes` for a ranking: the model's for an indicator, none needed for class labels."""
    return inner.classes_ if len(getattr(y, "shape", ())) == 2 else None

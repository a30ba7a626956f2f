"""Plotting helpers shared by the displays."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..topk._predict import predict_topk
from ..utils._optional_import import optional_import
from ..utils._typing import LabelsLike, MatrixLike
from ..utils._unwrap import find_inner

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
else:  # matplotlib is optional: without it there are names for the annotations
    Axes = Line2D = Any

# Colours that colour-blind readers tell apart too (Okabe and Ito's palette).
BLUE, VERMILION, GREY = "#0072b2", "#d55e00", "#8c8c8c"
COLOURS = BLUE, VERMILION, "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "black"
CURVE = "sklearn_xc curve"  # marks the curve of a model among the lines of axes


class DrawsOnAxes:
    """Mixin of displays, whose ``ax_`` and ``figure_`` are those that they were drawn on last."""

    def _axes(self, ax: Axes | None) -> Axes:
        """Return the axes to draw on; those of a new figure without ax."""
        pyplot = optional_import("matplotlib.pyplot", f"{type(self).__name__}.plot")
        if ax is None:
            _, ax = pyplot.subplots(layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        return ax


class DrawsCurve(DrawsOnAxes, ABC):
    """Mixin of displays with a `name` and a curve, which ``_draw(ax, name, given)`` draws."""

    name: str | None

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            By default those of a new figure. Several displays can share one.
        name : str, default=None
            By default the one the display was made with.
        **kwargs : dict
            For ``ax.plot``.

        Returns
        -------
        display : object
            self, with the attributes.
        """
        self._draw(self._axes(ax), self.name if name is None else name, kwargs)
        return self

    @abstractmethod
    def _draw(self, ax: Axes, name: str | None, given: dict[str, Any]) -> None:
        """Draw on the axes; `given` is for ``ax.plot``, in the place of the usual one."""


def ranked(estimator: Any, X: MatrixLike, k: int | None, most: int) -> tuple[np.ndarray, Any]:
    """Return the k best labels of each sample, by default at most `most`, and the inner model."""
    inner = find_inner(estimator, "predict_topk").estimator
    if k is None:
        k = min(most, len(inner.classes_))
    return predict_topk(estimator, X, k)[0], inner


def default_k(y_pred: LabelsLike, most: int) -> int:
    """Return the k where none is given: `most`, or the number of columns of the predictions."""
    shape = np.shape(y_pred)
    return min(most, shape[1]) if len(shape) == 2 else most


def name_of(estimator: Any, name: str | None) -> str:
    """Return the name in the legend: the one given, or the class of the estimator that predicts."""
    if name is None:
        name = type(find_inner(estimator, "predict_topk").estimator).__name__
    return name


def names_for(y: LabelsLike, inner: Any) -> np.ndarray | None:
    """Return `classes` for a ranking: the model's for an indicator, None for class labels."""
    # Labels go by their names; only the columns of an indicator need some.
    return inner.classes_ if len(getattr(y, "shape", ())) == 2 else None


def draw_curve(ax: Axes, x: np.ndarray, y: np.ndarray, **style: Any) -> Line2D:
    """Draw the curve of a model, in another colour than those already there."""
    # Not matplotlib's own cycle: other lines in the axes, such as diagonals, take no colour.
    n_before = sum(line.get_gid() == CURVE for line in ax.lines)
    colour = {} if "c" in style else {"color": COLOURS[n_before % len(COLOURS)]}
    (line,) = ax.plot(x, y, **{**colour, "gid": CURVE, **style})
    return line


def has_curves(ax: Axes) -> bool:
    """Return whether another display has drawn into the axes before."""
    return any(line.get_gid() == CURVE for line in ax.lines)

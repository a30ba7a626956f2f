"""How frequent labels are."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from ..metrics._ranking import true_labels
from ..utils._typing import LabelsLike
from ._display import Axes, DrawsCurve, draw_curve
from ._training import report_of_training


class LabelSupportDisplay(DrawsCurve):
    """Training samples of the labels, from the most frequent to the rarest, on logarithmic axes.

    Most sets with many labels are nearly a line: few labels have most samples, most labels few.

    Parameters
    ----------
    support : ndarray of int64, shape (n_labels,)
        Samples of the labels, falling; labels without any are left out.
    n_empty : int
        Labels without samples.
    name : str, default=None
        Of the data, in the legend.

    Attributes
    ----------
    line_ : matplotlib Line2D
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    LabelFrequencyDisplay : How good a model is on frequent and rare labels.

    Examples
    --------
    >>> from sklearn_xc.inspection import LabelSupportDisplay
    >>> display = LabelSupportDisplay.from_labels(["a", "b", "a", "c", "a", "b"])
    >>> display.support.tolist(), display.n_empty
    ([3, 2, 1], 0)
    """

    def __init__(self, support: np.ndarray, n_empty: int = 0, *, name: str | None = None) -> None:
        self.support = support
        self.n_empty = n_empty
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, name: str | None = None, ax: Axes | None = None, **kwargs: Any
    ) -> Self:
        """Draw what a fitted estimator was trained on.

        Parameters
        ----------
        estimator : estimator
            Fitted: a linear estimator of this package, or a Pipeline or search around one.
        name : str, default=None
        ax : matplotlib Axes, default=None
            By default those of a new figure.
        **kwargs : dict
            For ``ax.plot``.

        Returns
        -------
        display : LabelSupportDisplay
        """
        report = report_of_training(estimator, "give the labels of the samples, from_labels(y)")
        return cls._of_counts(report.support, name).plot(ax, **kwargs)

    @classmethod
    def from_labels(
        cls, y: LabelsLike, *, name: str | None = None, ax: Axes | None = None, **kwargs: Any
    ) -> Self:
        """Draw the labels of some samples.

        Parameters
        ----------
        y : array-like of shape (n_samples,), or indicator of shape (n_samples, n_labels)
        name : str, default=None
        ax : matplotlib Axes, default=None
            By default those of a new figure.
        **kwargs : dict
            For ``ax.plot``.

        Returns
        -------
        display : LabelSupportDisplay
        """
        # Labels of a list do not name those without samples; an indicator has a column for each.
        labels = true_labels(y, "y", grades=True)
        if labels.ndim == 1:
            counts = np.unique(labels, return_counts=True)[1]
        else:
            counts = np.bincount(sparse.csr_array(labels).indices, minlength=labels.shape[1])
        return cls._of_counts(counts, name).plot(ax, **kwargs)

    @classmethod
    def _of_counts(cls, counts: ArrayLike, name: str | None) -> Self:
        """Return the display of these numbers of samples."""
        # Zeros are last, and have no place on a logarithmic axis.
        counts = np.sort(np.asarray(counts, dtype=np.int64))[::-1]
        n = int(np.count_nonzero(counts))
        return cls(counts[:n], len(counts) - n, name=name)

    def _draw(self, ax: Axes, name: str | None, given: dict[str, Any]) -> None:
        places = np.arange(1, len(self.support) + 1)
        style = {"label": name, "drawstyle": "steps-mid", **given}
        self.line_ = draw_curve(ax, places, self.support, **style)
        ax.set(xscale="log", yscale="log")
        for axis in (ax.xaxis, ax.yaxis):  # 1, 10, 100, without powers
            axis.set_major_formatter("{x:,g}")
            axis.set_minor_formatter("")
        # Below 1, so that the tail of labels with one sample does not lie on the frame.
        ax.set_ylim(bottom=0.8)
        ax.set_xlabel("labels, the most frequent first")
        ax.set_ylabel("samples of the label")
        ax.grid(alpha=0.3)
        if ax.get_legend_handles_labels()[1]:
            ax.legend()

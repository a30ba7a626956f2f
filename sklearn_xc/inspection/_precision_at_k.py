"""Precision among the k best labels, against k."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..metrics._ranking import Ranking, rank
from ..utils._typing import LabelsLike, MatrixLike
from ._display import (
    GREY,
    Axes,
    DrawsCurve,
    default_k,
    draw_curve,
    has_curves,
    name_of,
    names_for,
    ranked,
)

MOST = 10  # ranks drawn where the user says nothing


class PrecisionAtKDisplay(DrawsCurve):
    """Precision at k against k, and the best that any ranking could reach.

    Samples with fewer than k true labels keep precision at k below one even for a perfect ranking:
    the grey line is the precision of that.

    Parameters
    ----------
    precision : ndarray of shape (n_ranks,)
        Precision at k = 1, 2, ..., n_ranks.
    attainable : ndarray of shape (n_ranks,), default=None
        Precision at k of a perfect ranking.
    name : str, default=None
        Of the model, in the legend.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The curve.
    attainable_ : matplotlib Line2D or None
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    sklearn_xc.metrics.precision_at_k : One of its points.

    Examples
    --------
    >>> from sklearn_xc.inspection import PrecisionAtKDisplay
    >>> y_true = [[1, 0, 1, 0], [0, 1, 0, 0]]
    >>> display = PrecisionAtKDisplay.from_predictions(y_true, [[0, 1], [1, 3]])
    >>> display.precision.tolist(), display.attainable.tolist()
    ([1.0, 0.5], [1.0, 0.75])
    """

    def __init__(
        self,
        precision: np.ndarray,
        attainable: np.ndarray | None = None,
        *,
        name: str | None = None,
    ) -> None:
        self.precision = precision
        self.attainable = attainable
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: MatrixLike,
        y: LabelsLike,
        *,
        k: int | None = None,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Display precision at 1 to k of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            One that :func:`sklearn_xc.predict_topk` accepts, such as a Pipeline.
        X : array-like, sparse, or whatever the first step of a pipeline takes
        y : array-like of shape (n_samples,), or indicator of shape (n_samples, n_classes)
            True labels.
        k : int, default=None
            Largest k; by default 10, or the number of classes.
        sample_weight : array-like of shape (n_samples,), default=None
        name : str, default=None
            By default that of the estimator's class.
        ax : matplotlib Axes, default=None
            By default those of a new figure.
        **kwargs : dict
            For ``ax.plot``.

        Returns
        -------
        display : PrecisionAtKDisplay
        """
        labels, inner = ranked(estimator, X, k, MOST)
        ranking = rank(
            y, labels, labels.shape[1], names_for(y, inner), sample_weight, from_predict_topk=True
        )
        return cls._of_ranking(ranking, name_of(estimator, name)).plot(ax, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: LabelsLike,
        y_pred: LabelsLike,
        *,
        k: int | None = None,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Display precision at 1 to k of predictions.

        Parameters
        ----------
        y_true : array-like of shape (n,), or array-like or sparse matrix of shape (n, K)
            Class labels, or an indicator of zeros and ones.
        y_pred : array-like of shape (n, m) with m >= k, or array-like or sparse of shape (n, K)
            Top-k labels, best first; or scores. See :mod:`sklearn_xc.metrics`.
        k : int, default=None
            Largest k; by default 10, or the number of columns of `y_pred`.
        classes : array-like of shape (K,), default=None
            Names of the columns; required for 1-D y_true with scores.
        sample_weight : array-like of shape (n,), default=None
        name : str, default=None
        ax : matplotlib Axes, default=None
        **kwargs : dict
            For ``ax.plot``.

        Returns
        -------
        display : PrecisionAtKDisplay
        """
        if k is None:
            k = default_k(y_pred, MOST)
        ranking = rank(y_true, y_pred, k, classes, sample_weight)
        return cls._of_ranking(ranking, name).plot(ax, **kwargs)

    @classmethod
    def _of_ranking(cls, ranking: Ranking, name: str | None) -> Self:
        """Return the display of a ranking, for each k up to its own."""
        k = np.arange(1, ranking.k + 1)
        weight = ranking.weight / ranking.weight.sum()
        # Hits among the first k of a sample; a perfect ranking has min(n_true, k) of them.
        hits = weight @ ranking.hits.cumsum(axis=1)
        true = [weight @ np.minimum(ranking.n_true, cut) for cut in k]
        return cls(hits / k, np.array(true) / k, name=name)

    def _draw(self, ax: Axes, name: str | None, given: dict[str, Any]) -> None:
        k = np.arange(1, len(self.precision) + 1)
        self.attainable_ = None
        # Once in the axes: displays that share them are taken to be of the same samples.
        if self.attainable is not None and not has_curves(ax):
            dashed: dict[str, Any] = {"color": GREY, "linestyle": "--", "linewidth": 1}
            (self.attainable_,) = ax.plot(k, self.attainable, label="perfect ranking", **dashed)
        style: dict[str, Any] = {
            "marker": "o",
            "markersize": 4,
            "label": name,
        }
        self.line_ = draw_curve(ax, k, self.precision, **{**style, **given})
        ax.set(xlabel="k, labels looked at", ylabel="precision at k")
        ax.set_ylim(0, 1.02)
        # Every k, or about ten of them, with whole numbers between.
        ax.set_xticks(k if len(k) <= 12 else k[:: -(-len(k) // 10)])
        ax.grid(alpha=0.3)
        if ax.get_legend_handles_labels()[1]:
            ax.legend()

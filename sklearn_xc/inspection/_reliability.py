"""Predicted probabilities against the frequencies that follow."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..metrics import reliability_curve
from ..topk._predict import predict_topk
from ..utils._typing import LabelsLike, MatrixLike
from ..utils._unwrap import find_inner
from ._display import GREY, Axes, DrawsCurve, draw_curve, has_curves, name_of, names_for

N_BINS = 15  # as in expected_calibration_error
SMALLEST, LARGEST = 12, 120  # areas of the points, in square points


class ReliabilityDisplay(DrawsCurve):
    """Reliability diagram of the k best labels: share of true ones against their probability.

    Points on the diagonal are calibrated; below it, probabilities are too high. The area of a
    point grows with the number of predictions in its bin.

    Parameters
    ----------
    prob_true : ndarray of shape (n_bins,)
        Share of true labels among the predictions in each bin.
    prob_pred : ndarray of shape (n_bins,)
        Their mean probability.
    weight : ndarray of shape (n_bins,)
        Their number, or the sum of their weights.
    k : int, default=5
        Best labels of each sample that were looked at.
    name : str, default=None
        Of the model, in the legend.

    Attributes
    ----------
    error : float
        Expected calibration error: the mean distance of the points from the diagonal, by weight.
    line_ : matplotlib Line2D
    points_ : matplotlib PathCollection
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    sklearn_xc.metrics.reliability_curve : The numbers.
    sklearn.calibration.CalibrationDisplay : For the probabilities of one class.

    Examples
    --------
    >>> from sklearn_xc.inspection import ReliabilityDisplay
    >>> y_true = [[1, 0, 1], [0, 1, 0]]
    >>> labels, probabilities = [[0, 1], [1, 2]], [[0.9, 0.3], [0.8, 0.3]]
    >>> display = ReliabilityDisplay.from_predictions(y_true, labels, probabilities, k=2)
    >>> round(display.error, 3)
    0.225
    """

    def __init__(
        self,
        prob_true: np.ndarray,
        prob_pred: np.ndarray,
        weight: np.ndarray,
        *,
        k: int = 5,
        name: str | None = None,
    ) -> None:
        self.prob_true = prob_true
        self.prob_pred = prob_pred
        self.weight = weight
        self.k = k
        self.name = name

    @property
    def error(self) -> float:
        """Expected calibration error over these bins."""
        distance = np.abs(self.prob_true - self.prob_pred)
        return float(self.weight @ distance / self.weight.sum())

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: MatrixLike,
        y: LabelsLike,
        *,
        k: int = 5,
        n_bins: int = N_BINS,
        strategy: str = "uniform",
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Display the reliability of a fitted estimator with ``predict_topk(X, k,
        scores="proba")``.

        Parameters
        ----------
        estimator : estimator
            One with probabilities, also inside a Pipeline or a search.
        X : array-like, sparse, or whatever the first step of a pipeline takes
        y : array-like of shape (n_samples,), or indicator of shape (n_samples, n_classes)
            True labels.
        k : int, default=5
            Best labels of each sample to look at; all of them where there are fewer.
        n_bins : int, default=15
        strategy : {"uniform", "quantile"}, default="uniform"
            Bins of equal width, or of about equal numbers of predictions.
        sample_weight : array-like of shape (n_samples,), default=None
        name : str, default=None
            By default that of the estimator's class.
        ax : matplotlib Axes, default=None
            By default those of a new figure.
        **kwargs : dict
            For ``ax.plot``.

        Returns
        -------
        display : ReliabilityDisplay
        """
        inner = find_inner(estimator, "predict_topk").estimator
        n_ranks = min(k, len(inner.classes_))
        labels, probabilities = predict_topk(estimator, X, n_ranks, scores="proba")
        return cls.from_predictions(
            y,
            labels,
            probabilities,
            k=k,
            n_bins=n_bins,
            strategy=strategy,
            classes=names_for(y, inner),
            sample_weight=sample_weight,
            name=name_of(estimator, name),
            ax=ax,
            **kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: LabelsLike,
        y_pred: LabelsLike,
        y_prob: ArrayLike | None = None,
        *,
        k: int = 5,
        n_bins: int = N_BINS,
        strategy: str = "uniform",
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Display the reliability of predicted probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n,), or array-like or sparse matrix of shape (n, K)
            Class labels, or an indicator of zeros and ones.
        y_pred : array-like of shape (n, m), or array-like or sparse matrix of shape (n, K)
            With `y_prob` the labels predicted for each sample, best first; without it the
            probabilities of all labels, or a sparse matrix of some.
        y_prob : array-like of shape (n, m), default=None
            The probabilities of the labels in `y_pred`.
        k : int, default=5
            Best labels of each sample to look at; all of them where there are fewer.
        n_bins : int, default=15
        strategy : {"uniform", "quantile"}, default="uniform"
            Bins of equal width, or of about equal numbers of predictions.
        classes : array-like of shape (K,), default=None
            Names of the columns; required for 1-D y_true without `y_prob`.
        sample_weight : array-like of shape (n,), default=None
        name : str, default=None
        ax : matplotlib Axes, default=None
        **kwargs : dict
            For ``ax.plot``.

        Returns
        -------
        display : ReliabilityDisplay
        """
        curve = reliability_curve(
            y_true,
            y_pred,
            y_prob,
            k,
            n_bins=n_bins,
            strategy=strategy,
            classes=classes,
            sample_weight=sample_weight,
        )
        return cls(*curve, k=k, name=name).plot(ax, **kwargs)

    def _draw(self, ax: Axes, name: str | None, given: dict[str, Any]) -> None:
        # The diagonal once, whatever number of displays share the axes.
        if not has_curves(ax):
            ax.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1, label="calibrated")
        label = f"error {self.error:.3f}" if name is None else f"{name}, error {self.error:.3f}"
        style = {"label": label, **given}
        self.line_ = draw_curve(ax, self.prob_pred, self.prob_true, **style)
        # The area of a point, not its width, is what a reader compares.
        areas = SMALLEST + (LARGEST - SMALLEST) * self.weight / self.weight.max()
        colour = self.line_.get_color()
        self.points_ = ax.scatter(self.prob_pred, self.prob_true, areas, color=colour, zorder=3)
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        ax.set_xlabel(f"mean probability of labels among the {self.k} best")
        ax.set_ylabel("share of true labels")
        ax.grid(alpha=0.3)
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), frameon=False)  # hides no point

"""Accuracy of the answers against the share of samples that are answered."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..metrics._coverage import coverage_curve
from ..topk._predict import predict_topk
from ..utils._typing import LabelsLike, MatrixLike
from ..utils._unwrap import find_inner
from ._display import Axes, DrawsCurve, draw_curve, name_of, names_for

LEAST = 20  # samples answered, of which an accuracy is drawn


class CoverageDisplay(DrawsCurve):
    """Accuracy of the surest answers against the share of samples that they are.

    To read off: how many samples a model can answer by itself with an accuracy of, say, 0.9, the
    rest being left to a person. The start of the curve, up to 20 samples, is chance and not drawn.

    Parameters
    ----------
    coverage : ndarray of shape (n_thresholds,)
        Share of the samples that are answered, rising to 1.
    accuracy : ndarray of shape (n_thresholds,)
        Share of the right ones among them.
    thresholds : ndarray of shape (n_thresholds,)
        The least scores of the answers.
    name : str, default=None
        Of the model, in the legend.

    Attributes
    ----------
    area : float
        Mean accuracy over all shares, the area below the curve: the accuracy of all samples for
        scores that say nothing, and more for those that know.
    line_ : matplotlib Line2D
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    sklearn_xc.metrics.coverage_curve : The numbers.
    sklearn_xc.TopKAbstainClassifier : Answers or abstains by a threshold.

    Examples
    --------
    >>> from sklearn_xc.inspection import CoverageDisplay
    >>> display = CoverageDisplay.from_predictions(["a", "b"] * 20, ["a", "b"] * 20, [0.9] * 40)
    >>> display.area
    1.0
    """

    def __init__(
        self,
        coverage: np.ndarray,
        accuracy: np.ndarray,
        thresholds: np.ndarray,
        *,
        name: str | None = None,
    ) -> None:
        self.coverage = coverage
        self.accuracy = accuracy
        self.thresholds = thresholds
        self.name = name

    @property
    def area(self) -> float:
        """Mean accuracy over all shares."""
        # The accuracy of each share times what it adds to the share before.
        return float(np.diff(self.coverage, prepend=0.0) @ self.accuracy)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: MatrixLike,
        y: LabelsLike,
        *,
        scores: str = "auto",
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Return coverage of a fitted estimator with ``predict_topk``.

        Parameters
        ----------
        estimator : estimator
            Also inside a Pipeline or a search.
        X : array-like, sparse, or whatever the first step of a pipeline takes
        y : array-like of shape (n_samples,), or indicator of shape (n_samples, n_classes)
            True labels.
        scores : {"auto", "decision", "proba"}, default="auto"
            By which of them samples are ordered; "auto" is probabilities where there are some.
        sample_weight : array-like of shape (n_samples,), default=None
        name : str, default=None
            By default that of the estimator's class.
        ax : matplotlib Axes, default=None
            By default those of a new figure.
        **kwargs : dict
            For ``ax.plot``.

        Returns
        -------
        display : CoverageDisplay
        """
        if scores == "auto":
            scores = "proba" if hasattr(estimator, "predict_proba") else "decision"
        inner = find_inner(estimator, "predict_topk").estimator
        labels, values = predict_topk(estimator, X, 1, scores)
        return cls.from_predictions(
            y,
            labels,
            values,
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
        y_pred: ArrayLike,
        y_score: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Return coverage of predictions and their scores.

        Parameters
        ----------
        y_true : array-like of shape (n,), or array-like or sparse matrix of shape (n, K)
            Class labels, or an indicator of zeros and ones.
        y_pred, y_score : array-like of shape (n,) or (n, m)
            Labels, best first, and their scores or probabilities.
        classes : array-like of shape (K,), default=None
            Names of the columns of an indicator.
        sample_weight : array-like of shape (n,), default=None
        name : str, default=None
        ax : matplotlib Axes, default=None
        **kwargs : dict
            For ``ax.plot``.

        Returns
        -------
        display : CoverageDisplay
        """
        curve = coverage_curve(
            y_true, y_pred, y_score, classes=classes, sample_weight=sample_weight
        )
        display = cls(*curve, name=name)
        # Only here is the number of samples known; the curve itself has shares.
        display._least = LEAST / len(np.asarray(y_score))
        return display.plot(ax, **kwargs)

    _least = 0.0  # share of samples from which the curve is drawn

    def _draw(self, ax: Axes, name: str | None, given: dict[str, Any]) -> None:
        label = f"mean {self.area:.3f}" if name is None else f"{name}, mean {self.area:.3f}"
        # At least its end, where there are fewer samples than that.
        drawn = self.coverage >= min(self._least, 1.0)
        style = {"label": label, **given}
        self.line_ = draw_curve(ax, self.coverage[drawn], self.accuracy[drawn], **style)
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        ax.set_xlabel("share of the samples that are answered")
        ax.set_ylabel("share of right answers")
        ax.grid(alpha=0.3)
        ax.legend(loc="lower left", frameon=False)

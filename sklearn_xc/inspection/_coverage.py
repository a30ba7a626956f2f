"""How many rows can be answered, and how many of the answers are right."""

import numpy as np

from ..metrics._ranking import rank
from ..topk._predict import predict_topk
from ..utils._unwrap import find_inner
from ._display import GREY, axes_for, draw_curve, has_curves, name_of, names_for


class CoverageDisplay:
    """Share of right answers against the share of rows answered, where the unsure ones are not.

    Rows come by falling score of their best label. A threshold answers the first of them and leaves
    the others to a person: the curve says what share of the answers is then right. It ends at the
    share that is right where all rows are answered.

    Parameters
    ----------
    coverage : ndarray of float64, shape (n_points,)
        Share of the rows that are answered, rising to 1.
    precision : ndarray of float64, shape (n_points,)
        Share of them whose best label is true.
    threshold : ndarray of float64, shape (n_points,)
        The least score that is answered.
    name : str, default=None
        Of the model, in the legend.

    Attributes
    ----------
    line_ : matplotlib Line2D
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    ReliabilityDisplay : Whether probabilities are what they say.

    Examples
    --------
    >>> from sklearn_xc.inspection import CoverageDisplay
    >>> y_true, best = ["a", "b", "b", "a"], ["a", "b", "b", "b"]
    >>> display = CoverageDisplay.from_predictions(y_true, best, [0.9, 0.8, 0.7, 0.4])
    >>> display.coverage.tolist(), display.precision.tolist()
    ([0.25, 0.5, 0.75, 1.0], [1.0, 1.0, 1.0, 0.75])
    >>> display.coverage_at(0.9), display.threshold_at(0.9)
    (0.75, 0.7)
    """

    def __init__(self, coverage, precision, threshold, *, name=None):
        self.coverage = coverage
        self.precision = precision
        self.threshold = threshold
        self.name = name

    def _place(self, precision):
        places = np.flatnonzero(self.precision >= precision)
        return places[-1] if len(places) else None

    def coverage_at(self, precision):
        """Return the largest share of the rows that can be answered with this share right, or 0."""
        place = self._place(precision)
        return 0.0 if place is None else float(self.coverage[place])

    def threshold_at(self, precision):
        """Return the threshold that does so, infinity if there is none."""
        place = self._place(precision)
        return np.inf if place is None else float(self.threshold[place])

    @classmethod
    def from_estimator(
        cls, estimator, X, y, *, scores="auto", sample_weight=None, name=None, ax=None, **kwargs
    ):
        """Compute and draw the curve of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            One that :func:`sklearn_xc.predict_topk` accepts, such as a Pipeline.
        X : array-like, sparse, or whatever the first step of a pipeline takes
        y : array-like of shape (n_samples,), or indicator of shape (n_samples, n_classes)
            True labels.
        scores : {"auto", "decision", "proba"}, default="auto"
            By what rows are put in order; "auto" takes probabilities where the estimator has them.
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
        inner = find_inner(estimator, "predict_topk").estimator
        if scores == "auto":
            scores = "proba" if hasattr(inner, "predict_proba") else "decision"
        labels, values = predict_topk(estimator, X, 1, scores=scores)
        return cls.from_predictions(
            y, labels, values[:, 0], classes=names_for(y, inner), sample_weight=sample_weight,
            name=name_of(estimator, name), ax=ax, **kwargs,
        )  # fmt: skip

    @classmethod
    def from_predictions(
        cls, y_true, y_pred, y_score, *, classes=None, sample_weight=None, name=None, ax=None,
        **kwargs,
    ):  # fmt: skip
        """Compute and draw the curve of predictions.

        Parameters
        ----------
        y_true : array-like of shape (n,), or array-like or sparse matrix of shape (n, K)
            Class labels, a list of labels for each row, or an indicator of zeros and ones.
        y_pred : array-like of shape (n,) or (n, m)
            The best label of each row, or top-k labels, of which the first counts.
        y_score : array-like of shape (n,)
            Its score or probability.
        classes : array-like of shape (K,), default=None
            Names of the columns of an indicator; by default their numbers.
        sample_weight : array-like of shape (n,), default=None
        name : str, default=None
        ax : matplotlib Axes, default=None
            By default those of a new figure.
        **kwargs : dict
            For ``ax.plot``.

        Returns
        -------
        display : CoverageDisplay
        """
        best = np.asarray(y_pred)
        best = best.reshape(len(best), -1)[:, :1]
        ranking = rank(y_true, best, 1, classes, sample_weight, from_predict_topk=True)
        score = np.asarray(y_score, dtype=np.float64)
        if score.shape != (len(best),) or np.isnan(score).any():
            raise ValueError(
                f"y_score must have a number for each of the {len(best)} rows, got shape "
                f"{score.shape}" + " with NaN" * bool(np.isnan(score).any())
            )
        order = np.argsort(-score, kind="stable")
        weight, score = ranking.weight[order], score[order]
        answered = np.cumsum(weight)
        right = np.cumsum(weight * ranking.hits[order, 0])
        # a threshold answers all rows of one score
        last = np.append(score[1:] != score[:-1], True) & (answered > 0)
        coverage = answered[last] / answered[-1]
        precision = right[last] / answered[last]
        return cls(coverage, precision, score[last], name=name).plot(ax, **kwargs)

    def plot(self, ax=None, *, name=None, **kwargs):
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
        display : CoverageDisplay
            self, with the attributes.
        """
        ax = axes_for(self, ax)
        if not has_curves(ax):
            ax.axhline(self.precision[-1], color=GREY, linestyle="--", linewidth=1)
        style = {"label": self.name if name is None else name, **kwargs}
        self.line_ = draw_curve(ax, self.coverage, self.precision, **style)
        ax.set(xlim=(0, 1), ylim=(0, 1.02))
        ax.set_xlabel("share of the rows answered")
        ax.set_ylabel("share of the answers that are right")
        ax.grid(alpha=0.3)
        if ax.get_legend_handles_labels()[1]:
            ax.legend()
        return self

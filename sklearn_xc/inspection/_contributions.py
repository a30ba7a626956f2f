"""Display of the features' contributions to one prediction."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..base._explain import explain
from ..base._explanation import INTERCEPT, Explanation, shortened
from ..utils._typing import MatrixLike
from ._display import BLUE, GREY, VERMILION, Axes, DrawsOnAxes

LONGEST_NAME = 40  # characters of a feature's name


class ContributionsDisplay(DrawsOnAxes):
    """The features that raised and lowered the score of a label on one sample, as bars.

    The bars add up to the score: those of the largest contributions, one for all other features of
    the sample, and the intercept.

    Parameters
    ----------
    explanation : Explanation

    Attributes
    ----------
    bars_ : matplotlib BarContainer
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    sklearn_xc.explain : Explanations of many samples and labels.

    Examples
    --------
    >>> from sklearn_xc import PPDSparseClassifier
    >>> from sklearn_xc.datasets import make_xc_classification
    >>> from sklearn_xc.inspection import ContributionsDisplay
    >>> X, Y = make_xc_classification(n_samples=400, n_features=500, n_classes=20, random_state=0)
    >>> model = PPDSparseClassifier(random_state=0).fit(X, Y)
    >>> display = ContributionsDisplay.from_estimator(model, X[:1], k=3)
    >>> len(display.explanation.contributions)
    3
    """

    def __init__(self, explanation: Explanation) -> None:
        self.explanation = explanation

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: MatrixLike,
        *,
        label: Any = None,
        k: int | None = 10,
        feature_names: ArrayLike | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Explain one prediction of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            One that :func:`sklearn_xc.explain` accepts, such as a Pipeline.
        X : array-like, sparse, or whatever the first step of a pipeline takes
            One sample.
        label : object, default=None
            Entry of ``classes_``, by default the best predicted one.
        k : int or None, default=10
            Features that get a bar of their own; None gives one to all.
        feature_names : array-like of shape (n_features,), default=None
            As in :func:`sklearn_xc.explain`.
        ax : matplotlib Axes, default=None
            By default those of a new figure.
        **kwargs : dict
            For ``ax.barh``.

        Returns
        -------
        display : ContributionsDisplay

        Raises
        ------
        ValueError
            If X has more than one sample.
        """
        labels = None if label is None else [label]
        explanations = explain(estimator, X, labels, k, feature_names=feature_names)
        # Explanations are in the order of the samples: the last one tells how many there are.
        if explanations[-1].row > 0:
            raise ValueError(
                f"X must be one sample, got {explanations[-1].row + 1}; explain all of them with "
                "sklearn_xc.explain and draw one with ContributionsDisplay.from_explanation"
            )
        return cls.from_explanation(explanations[0], ax=ax, **kwargs)

    @classmethod
    def from_explanation(
        cls, explanation: Explanation, *, ax: Axes | None = None, **kwargs: Any
    ) -> Self:
        """Draw an explanation.

        Parameters
        ----------
        explanation : Explanation
            An entry of what ``explain`` returns.
        ax : matplotlib Axes, default=None
            By default those of a new figure.
        **kwargs : dict
            For ``ax.barh``.

        Returns
        -------
        display : ContributionsDisplay
        """
        if not isinstance(explanation, Explanation):
            raise TypeError(
                f"explanation must be one Explanation, got {type(explanation).__name__}; index "
                "the result of explain"
            )
        return cls(explanation).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            By default those of a new figure, as tall as the bars need.
        **kwargs : dict
            For ``ax.barh``.

        Returns
        -------
        display : ContributionsDisplay
            self, with the attributes.
        """
        shown = self.explanation
        names = [shortened(name, LONGEST_NAME, "\u2026") for name in shown.feature_names]
        parts = list(shown.contributions)
        colours = [BLUE if part > 0 else VERMILION for part in parts]
        if shown.n_rest:
            names.append(shown.rest_label)
            parts.append(shown.rest)
        names.append(INTERCEPT)
        parts.append(shown.intercept)
        # The rest and the intercept are no features.
        colours += [GREY] * (len(parts) - len(colours))

        new = ax is None
        ax = self._axes(ax)
        if new:
            self.figure_.set_figheight(1.2 + 0.3 * len(parts))
        places = np.arange(len(parts))
        self.bars_ = ax.barh(places, parts, **{"color": colours, "height": 0.7, **kwargs})
        ax.bar_label(self.bars_, [f"{part:+.3g}" for part in parts], padding=3, fontsize="small")
        ax.set_yticks(places, names)
        ax.invert_yaxis()
        ax.axvline(0, color="black", linewidth=0.8)
        # Space for the numbers behind the bars, on both sides of zero.
        ax.margins(x=0.15)
        ax.set_xlabel("contribution to the score")
        label = shortened(shown.label, LONGEST_NAME, "\u2026")
        ax.set_title(f"{label}: score {shown.score:+.3g}")
        ax.spines[["top", "right"]].set_visible(False)
        return self

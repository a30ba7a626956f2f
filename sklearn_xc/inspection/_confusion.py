"""Which labels are mixed up."""

from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..base._explanation import shortened
from ..metrics._label_sets import label_sets
from ..metrics._ranking import rank, true_labels
from ..utils._typing import LabelsLike, MatrixLike
from ._display import VERMILION, Axes, DrawsOnAxes, ranked

MOST_RANKS = 10  # best labels of a sample that are looked at
LONGEST_NAME = 28  # characters of a label's name
UNKNOWN = "(not in training)"


class LabelConfusionDisplay(DrawsOnAxes):
    """The pairs of labels that are mixed up most: one is true and missed, the other suggested.

    Of a sample with t true labels the t best suggestions count. Each true label that is not among
    them is shared out evenly to those of them that are wrong, so that a pair's number is how often
    the second label was answered instead of the first. Nothing of size (K, K) is built.

    Parameters
    ----------
    true : ndarray of shape (n_pairs,)
        The label that was missed, in pairs by falling number.
    suggested : ndarray of shape (n_pairs,)
        The label in its place.
    number : ndarray of float64, shape (n_pairs,)
        How often, each sample counted with its weight.
    n_true : ndarray of float64, shape (n_pairs,)
        How often the missed label is true.

    Attributes
    ----------
    bars_ : matplotlib BarContainer
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    label_report : Precision and recall of each label.

    Examples
    --------
    >>> from sklearn_xc.inspection import LabelConfusionDisplay
    >>> y_true = ["cat", "cat", "cat", "dog", "fox"]
    >>> y_pred = [["dog"], ["dog"], ["cat"], ["dog"], ["dog"]]
    >>> display = LabelConfusionDisplay.from_predictions(y_true, y_pred)
    >>> display.true.tolist(), display.suggested.tolist(), display.number.tolist()
    (['cat', 'fox'], ['dog', 'dog'], [2.0, 1.0])
    """

    def __init__(
        self, true: np.ndarray, suggested: np.ndarray, number: np.ndarray, n_true: np.ndarray
    ) -> None:
        self.true = true
        self.suggested = suggested
        self.number = number
        self.n_true = n_true

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: MatrixLike,
        y: LabelsLike,
        *,
        n_pairs: int = 12,
        sample_weight: ArrayLike | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Find and draw the pairs of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            One that :func:`sklearn_xc.predict_topk` accepts, such as a Pipeline.
        X : array-like, sparse, or whatever the first step of a pipeline takes
        y : array-like of shape (n_samples,), or indicator of shape (n_samples, n_classes)
            True labels, or a list of labels for each sample.
        n_pairs : int, default=12
            Pairs to draw; the display keeps all.
        sample_weight : array-like of shape (n_samples,), default=None
        ax : matplotlib Axes, default=None
            By default those of a new figure.
        **kwargs : dict
            For ``ax.barh``.

        Returns
        -------
        display : LabelConfusionDisplay
        """
        labels, inner = ranked(estimator, X, None, MOST_RANKS)
        pairs = _pairs(y, labels, inner.classes_, sample_weight)
        return cls(*pairs).plot(ax, n_pairs=n_pairs, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: LabelsLike,
        y_pred: LabelsLike,
        *,
        n_pairs: int = 12,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Find and draw the pairs of predictions.

        Parameters
        ----------
        y_true : array-like of shape (n,), or array-like or sparse matrix of shape (n, K)
            Class labels, a list of labels for each sample, or an indicator of zeros and ones.
        y_pred : array-like of shape (n, m)
            Top-k labels, best first.
        n_pairs : int, default=12
            Pairs to draw; the display keeps all.
        classes : array-like of shape (K,), default=None
            Names of the columns of an indicator, and the labels that can be predicted. By default
            column numbers, or all labels that occur.
        sample_weight : array-like of shape (n,), default=None
        ax : matplotlib Axes, default=None
            By default those of a new figure.
        **kwargs : dict
            For ``ax.barh``.

        Returns
        -------
        display : LabelConfusionDisplay
        """
        if classes is None:
            classes = _labels_of(y_true, y_pred)
        pairs = _pairs(
            y_true, y_pred, np.asarray(getattr(classes, "classes_", classes)), sample_weight
        )
        return cls(*pairs).plot(ax, n_pairs=n_pairs, **kwargs)

    def plot(self, ax: Axes | None = None, *, n_pairs: int = 12, **kwargs: Any) -> Self:
        """Draw the most frequent pairs as bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            By default those of a new figure, as tall as the bars need.
        n_pairs : int, default=12
        **kwargs : dict
            For ``ax.barh``.

        Returns
        -------
        display : LabelConfusionDisplay
            self, with the attributes.
        """
        # Axes that are given keep their size; they may be one of several in a figure.
        new = ax is None
        ax = self._axes(ax)
        n = min(n_pairs, len(self.number))
        if new:
            self.figure_.set_figheight(1.2 + 0.3 * max(n, 1))
        names = [
            f"{shortened(one, LONGEST_NAME, '…')} → {shortened(other, LONGEST_NAME, '…')}"
            for one, other in zip(self.true[:n], self.suggested[:n], strict=True)
        ]
        places, style = np.arange(n), {"color": VERMILION, "height": 0.7, **kwargs}
        self.bars_ = ax.barh(places, self.number[:n], **style)
        shares = self.number[:n] / self.n_true[:n]
        ax.bar_label(self.bars_, [f"{share:.0%}" for share in shares], padding=3, fontsize="small")
        ax.set_yticks(places, names)
        ax.invert_yaxis()
        # Space for the shares behind the bars.
        ax.margins(x=0.12)
        ax.set_xlabel("samples (share of those of the first)")
        ax.set_title("true → suggested in its place")
        ax.spines[["top", "right"]].set_visible(False)
        return self


def _labels_of(y_true: LabelsLike, y_pred: LabelsLike) -> list | np.ndarray:
    """Return all labels that occur, or the column numbers of an indicator."""
    predicted = set(np.asarray(y_pred).ravel().tolist())
    sets = label_sets(y_true)
    if sets is not None:
        return sorted(predicted | set(chain.from_iterable(sets)))
    truth = true_labels(y_true, "y_true", grades=True)
    if truth.ndim == 2:
        return np.arange(truth.shape[1])
    return sorted(predicted | set(truth.tolist()))


def _pairs(
    y_true: LabelsLike, y_pred: LabelsLike, classes: np.ndarray, sample_weight: ArrayLike | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return missed and suggested labels, how often, and how often the missed ones are true."""
    n_ranks = min(MOST_RANKS, np.shape(y_pred)[1])
    ranking = rank(y_true, y_pred, n_ranks, classes, sample_weight, from_predict_topk=True)
    # The last column of the truth holds labels that the model does not know.
    truth, n_classes = ranking.truth, ranking.truth.shape[1] - 1
    # Of a sample with t true labels the first t suggestions count.
    counted = np.arange(ranking.columns.shape[1]) < ranking.n_true[:, None]
    wrong = counted & ~ranking.hits & (ranking.columns >= 0)
    # Pairs of a sample and a label as single numbers, to look up true ones among the hits.
    rows, ranks = np.nonzero(counted & ranking.hits)
    hit_pairs = rows * (n_classes + 1) + ranking.columns[rows, ranks]
    row_of = np.repeat(np.arange(truth.shape[0]), ranking.n_true)
    is_missed = ~np.isin(row_of * (n_classes + 1) + truth.indices, hit_pairs)
    # Without a wrong suggestion there is nothing in the place of a missed label.
    is_missed &= wrong.any(axis=1)[row_of]
    missed_rows, missed = row_of[is_missed], truth.indices[is_missed]
    # Each missed label meets each wrong suggestion of its sample: these lie in `others` from
    # starts[sample] on, and `within` counts them from 0 for every missed label.
    n_wrong = wrong.sum(axis=1)
    starts = np.append(0, np.cumsum(n_wrong))
    others = ranking.columns[wrong]
    repeats = n_wrong[missed_rows]
    within = np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    suggested = others[np.repeat(starts[missed_rows], repeats) + within]
    # A missed label is shared out evenly. Pairs of labels are numbers once more, so that equal ones
    # can be summed without a matrix of all pairs.
    keys = np.repeat(missed.astype(np.int64), repeats) * (n_classes + 1) + suggested
    weights = np.repeat(ranking.weight[missed_rows] / repeats, repeats)
    keys, inverse = np.unique(keys, return_inverse=True)
    number = np.bincount(inverse, weights=weights, minlength=len(keys))
    # Stable: pairs of equal number stand in the order of the classes.
    order = np.argsort(-number, kind="stable")
    keys, number = keys[order], number[order]
    names = np.array([*classes.tolist(), UNKNOWN], dtype=object)
    n_true = np.bincount(truth.indices, np.repeat(ranking.weight, ranking.n_true), n_classes + 1)
    true, other = keys // (n_classes + 1), keys % (n_classes + 1)
    return names[true], names[other], number, n_true[true]

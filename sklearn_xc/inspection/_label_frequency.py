"""Performance on frequent and on rare labels."""

from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..base._label_counts import share_of
from ..metrics._label_sets import label_sets
from ..metrics._ranking import rank, true_labels
from ..utils._typing import LabelsLike, MatrixLike
from ._display import Axes, DrawsOnAxes, default_k, draw_curve, has_curves, name_of, ranked
from ._training import report_of_training

MOST_BINS = 8  # without that of labels never seen: more would not leave room for their names
K = 5  # best labels looked at where the user says nothing
WIDEST_SPAN = 7  # characters of a bin's name on one line
BASES = 2, 4, 10, 100, 1000, 2**62  # the last gives two bins


class LabelFrequencyDisplay(DrawsOnAxes):
    """How good the k best labels are for frequent labels (the head) and for rare ones (the tail).

    Labels with similar numbers of training samples are taken together in a bin. Of the true labels
    of all samples that belong to it, `recall` is the share found among the k best labels of their
    sample; of its labels among the k best of any sample, `precision` is the share that is true.

    Parameters
    ----------
    bins : ndarray of int64, shape (n_bins, 2)
        Least and largest number of training samples of the labels in each bin, head first.
    n_labels : ndarray of int64, shape (n_bins,)
        Labels in it. A bin of 0 training samples also has the labels that the model does not know.
    n_true : ndarray of float64, shape (n_bins,)
        How often they are true, in all samples, each counted with its weight.
    n_predicted : ndarray of float64, shape (n_bins,)
        How often they are among the k best.
    n_hits : ndarray of float64, shape (n_bins,)
        How often both.
    k : int
    name : str, default=None
        Of the model, in the legend.

    Attributes
    ----------
    recall : ndarray of shape (n_bins,)
        nan where no label of the bin is true anywhere.
    precision : ndarray of shape (n_bins,)
        nan where none is among the k best anywhere.
    line_ : matplotlib Line2D
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn_xc.inspection import LabelFrequencyDisplay
    >>> y_true = [[1, 0, 1, 0], [0, 1, 0, 0]]
    >>> display = LabelFrequencyDisplay.from_predictions(
    ...     y_true, [[0, 1], [1, 3]], support=[9, 6, 1, 0], k=2)
    >>> display.bins.tolist()
    [[9, 9], [5, 8], [1, 1], [0, 0]]
    >>> display.recall.tolist()
    [1.0, 1.0, 0.0, nan]
    """

    def __init__(
        self,
        bins: np.ndarray,
        n_labels: np.ndarray,
        n_true: np.ndarray,
        n_predicted: np.ndarray,
        n_hits: np.ndarray,
        *,
        k: int,
        name: str | None = None,
    ) -> None:
        self.bins = bins
        self.n_labels = n_labels
        self.n_true = n_true
        self.n_predicted = n_predicted
        self.n_hits = n_hits
        self.k = k
        self.name = name

    @property
    def recall(self) -> np.ndarray:
        """Share of the true labels of each bin that were found."""
        return share_of(self.n_hits, self.n_true)

    @property
    def precision(self) -> np.ndarray:
        """Share of the predictions of each bin's labels that were true."""
        return share_of(self.n_hits, self.n_predicted)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: MatrixLike,
        y: LabelsLike,
        *,
        k: int | None = None,
        metric: str = "recall",
        support: ArrayLike | None = None,
        bins: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Display head and tail of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            One that :func:`sklearn_xc.predict_topk` accepts, such as a Pipeline.
        X : array-like, sparse, or whatever the first step of a pipeline takes
        y : array-like of shape (n_samples,), or indicator of shape (n_samples, n_classes)
            True labels.
        k : int, default=None
            Best labels of each sample to look at; by default 5, or the number of classes.
        metric : {"recall", "precision"}, default="recall"
            What to draw.
        support : array-like of shape (n_classes,), default=None
            Training samples of each label, by default those of the estimator's ``label_report_``.
        bins : array-like of int, default=None
            Least support of each bin but that of 0. By default 1, 2, 3, 5, 9, ... (each as wide as
            all before), or coarser, so that at most 8 of them hold labels.
        sample_weight : array-like of shape (n_samples,), default=None
        name : str, default=None
            By default that of the estimator's class.
        ax : matplotlib Axes, default=None
            By default those of a new figure.
        **kwargs : dict
            For ``ax.plot``.

        Returns
        -------
        display : LabelFrequencyDisplay
        """
        _check_metric(metric)
        labels, inner = ranked(estimator, X, k, K)
        k = labels.shape[1]
        # The inner model may be a wrapper; the counts of its training are with the linear one.
        if support is None:
            support = report_of_training(estimator, "give their numbers as support").support
        counts = counts_by_frequency(
            y, labels, k, inner.classes_, sample_weight, support, bins, True
        )
        return cls(*counts, k=k, name=name_of(estimator, name)).plot(ax, metric=metric, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: LabelsLike,
        y_pred: LabelsLike,
        *,
        support: ArrayLike,
        k: int | None = None,
        metric: str = "recall",
        bins: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Display head and tail of predictions.

        Parameters
        ----------
        y_true : array-like of shape (n,), or array-like or sparse matrix of shape (n, K)
            Class labels, a list of labels for each sample, or an indicator of zeros and ones.
        y_pred : array-like of shape (n, m) with m >= k, or array-like or sparse of shape (n, K)
            Top-k labels, best first; or scores. See :mod:`sklearn_xc.metrics`.
        support : array-like of shape (K,)
            Training samples of each label.
        k : int, default=None
            Best labels of each sample to look at; by default 5, or the number of columns of
            `y_pred`.
        metric : {"recall", "precision"}, default="recall"
            What to draw.
        bins : array-like of int, default=None
            As in :meth:`from_estimator`.
        classes : array-like of shape (K,), default=None
            Names of the columns, in the order of `support`; required for 1-D y_true.
        sample_weight : array-like of shape (n,), default=None
        name : str, default=None
        ax : matplotlib Axes, default=None
        **kwargs : dict
            For ``ax.plot``.

        Returns
        -------
        display : LabelFrequencyDisplay
        """
        _check_metric(metric)
        if k is None:
            k = default_k(y_pred, K)
        counts = counts_by_frequency(
            y_true, y_pred, k, classes, sample_weight, support, bins, False
        )
        return cls(*counts, k=k, name=name).plot(ax, metric=metric, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        metric: str = "recall",
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw recall or precision, bin by bin.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            By default those of a new figure. Displays with the same bins can share one.
        metric : {"recall", "precision"}, default="recall"
        name : str, default=None
            By default the one the display was made with.
        **kwargs : dict
            For ``ax.plot``.

        Returns
        -------
        display : LabelFrequencyDisplay
            self, with the attributes.
        """
        _check_metric(metric)
        ax = self._axes(ax)
        places, values = np.arange(len(self.bins)), getattr(self, metric)
        # As high as this curve or those drawn before need, and not so low that noise fills it.
        top = max(1.08 * np.nan_to_num(values).max(), 0.1, ax.get_ylim()[1] * has_curves(ax))
        style = {"marker": "o", "markersize": 4, "label": self.name if name is None else name}
        self.line_ = draw_curve(ax, places, values, **{**style, **kwargs})
        ax.set_xticks(places, _ticks(self.bins, self.n_labels))
        ax.set_xlim(-0.3, len(self.bins) - 0.7)
        ax.set_xlabel("training samples of the label (number of labels)")
        ax.set_ylabel(f"{metric} at {self.k}")
        ax.set_ylim(0, top)
        ax.grid(axis="y", alpha=0.3)
        if ax.get_legend_handles_labels()[1]:
            ax.legend()
        return self


def _ticks(bins: np.ndarray, n_labels: np.ndarray) -> list[str]:
    """Return the texts below the bins, none so wide that it runs into the next."""
    spans = [f"{low}" if low == high else f"{low}\u2013{high}" for low, high in bins]
    # If one is too wide, all of them break after the dash.
    if max(map(len, spans)) > WIDEST_SPAN:
        spans = [span.replace("\u2013", "\u2013\n") for span in spans]
    return [f"{span}\n({n})" for span, n in zip(spans, n_labels, strict=True)]


def _check_metric(metric: str) -> None:
    """Raise ValueError unless the metric is one that can be drawn."""
    if metric not in ("recall", "precision"):
        raise ValueError(f"metric must be 'recall' or 'precision', got {metric!r}")


def counts_by_frequency(
    y_true: LabelsLike,
    y_pred: LabelsLike,
    k: int,
    classes: ArrayLike | None,
    sample_weight: ArrayLike | None,
    support: ArrayLike,
    bins: ArrayLike | None,
    from_predict_topk: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return bins, and what is in each: labels, true ones, predicted ones, hits."""
    # An indicator has a column for every label; names may be of labels that `support` lacks.
    given = _labels_given(y_true)
    if given is not None and classes is None:
        raise ValueError("1-D y_true needs classes, the label of each entry of support")
    ranking = rank(y_true, y_pred, k, classes, sample_weight, from_predict_topk=from_predict_topk)
    n_classes = ranking.truth.shape[1] - 1
    support = _checked_support(support, n_classes)
    n_unknown = 0
    if given is not None:
        names = getattr(classes, "classes_", classes)
        n_unknown = len(given - set(np.asarray(names).tolist()))
    bins = _bins(support, n_unknown, bins)
    # The last column holds all labels that the model does not know, which have no training sample.
    # Bins fall, and a search needs them rising: both are negated.
    of_label = np.searchsorted(-bins[:, 1], -np.append(support, 0), side="right") - 1
    columns, retrieved = ranking.columns, ranking.columns >= 0
    weight = np.broadcast_to(ranking.weight[:, None], columns.shape)

    def per_bin(labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return np.bincount(of_label[labels], weights=weights, minlength=len(bins))

    n_true = per_bin(ranking.truth.indices, np.repeat(ranking.weight, ranking.n_true))
    n_predicted = per_bin(columns[retrieved], weight[retrieved])
    n_hits = per_bin(columns[ranking.hits], weight[ranking.hits])
    n_labels = np.bincount(of_label[:-1], minlength=len(bins))
    # One column stood for all of them; with any, the last bin is that of support 0.
    if n_unknown:
        n_labels[-1] += n_unknown
    return bins, n_labels, n_true, n_predicted, n_hits


def _labels_given(y_true: LabelsLike) -> set | None:
    """Return the labels of 1-D y_true, one a sample or a list a sample; None of an indicator."""
    sets = label_sets(y_true)
    if sets is not None:
        return set(chain.from_iterable(sets))
    truth = true_labels(y_true, "y_true", grades=True)
    return set(truth.tolist()) if truth.ndim == 1 else None


def _checked_support(support: ArrayLike, n_classes: int) -> np.ndarray:
    """Return the support as int64, one number for each label."""
    support = np.asarray(support)
    if support.shape != (n_classes,):
        raise ValueError(
            f"support must have an entry for each of the {n_classes} labels, got shape "
            f"{support.shape}"
        )
    if support.dtype.kind not in "iufb" or not (support >= 0).all():
        raise ValueError("support must hold numbers of training samples, zero or more")
    return support.astype(np.int64)


def _bins(support: np.ndarray, n_unknown: int, lower: ArrayLike | None) -> np.ndarray:
    """Return the least and largest support of bins that hold labels, (n_bins, 2), head first."""
    if lower is None:
        # The finest that leaves no more bins than have space for their names.
        bins = next(b for base in BASES if len(b := _non_empty(support, base)) <= MOST_BINS)
    else:
        lower = np.asarray(lower)
        if lower.dtype.kind not in "iu" or lower.ndim != 1 or not (lower >= 1).all():
            raise ValueError("bins must be whole numbers from 1 on, the least support of each bin")
        bins = _between(support, np.union1d([1], lower))
    if n_unknown or (support == 0).any():
        bins = np.vstack([bins, [[0, 0]]])
    return bins


def _non_empty(support: np.ndarray, base: int) -> np.ndarray:
    """Return the bins 1, 2 to base, base + 1 to base^2, ... that hold labels."""
    # Ends at powers of the base: with base 2 each bin is as wide as all before it.
    lower = [1, 2, base + 1]
    while lower[-1] <= support.max(initial=1):
        lower.append((lower[-1] - 1) * base + 1)
    return _between(support, np.array(lower))


def _between(support: np.ndarray, lower: np.ndarray) -> np.ndarray:
    """Return the bins, by their least supports, that hold labels, head first."""
    # A bin ends before the next one begins, and the last one at the most frequent label.
    upper = np.append(lower[1:] - 1, max(lower[-1], support.max(initial=1)))
    held = np.unique(np.searchsorted(lower, support[support > 0], side="right") - 1)
    bins = np.column_stack([lower, np.minimum(upper, support.max(initial=1))])
    return bins[held][::-1]

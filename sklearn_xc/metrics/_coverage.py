"""Accuracy of the samples that a model answers, by their share: what abstaining buys."""

import numpy as np
from numpy.typing import ArrayLike

from ..utils._typing import LabelsLike
from ._ranking import rank


def coverage_curve(
    y_true: LabelsLike,
    y_pred: ArrayLike,
    y_score: ArrayLike,
    *,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return accuracy of the surest answers, by the share of samples that they are.

    Samples are answered by falling score of their best label, those with equal scores at once.
    Where the accuracy falls slowly, a model knows what it does not know; the curve of selective
    classification [1]_.

    Parameters
    ----------
    y_true : array-like of shape (n,), or array-like or sparse matrix of shape (n, K)
        Class labels, or an indicator of zeros and ones: an answer is right if it is among them.
    y_pred : array-like of shape (n, m)
        The labels predicted for each sample, best first, as ``predict_topk`` returns them; only the
        first column is looked at. Also of shape (n,).
    y_score : array-like of shape (n, m)
        Their scores, or probabilities. Also of shape (n,).
    classes : array-like of shape (K,), default=None
        Names of the columns of an indicator.
    sample_weight : array-like of shape (n,), default=None
        Weights of the samples.

    Returns
    -------
    coverage : ndarray of float64, shape (n_thresholds,)
        Share of the samples with a score of at least each threshold, rising to 1.
    accuracy : ndarray of float64, shape (n_thresholds,)
        Share of the right ones among them.
    thresholds : ndarray of float64, shape (n_thresholds,)
        The different scores, falling.

    Raises
    ------
    ValueError
        If the shapes do not fit together, a score is not finite, or no sample has a weight.

    References
    ----------
    .. [1] R. El-Yaniv and Y. Wiener. "On the foundations of noise-free selective classification".
       Journal of Machine Learning Research 11, 2010.

    Examples
    --------
    >>> from sklearn_xc.metrics import coverage_curve
    >>> coverage, accuracy, thresholds = coverage_curve(
    ...     ["a", "b", "b", "a"], ["a", "b", "a", "b"], [0.9, 0.8, 0.8, 0.1]
    ... )
    >>> coverage.tolist(), accuracy.round(3).tolist(), thresholds.tolist()
    ([0.25, 0.75, 1.0], [1.0, 0.667, 0.5], [0.9, 0.8, 0.1])
    """
    y_pred, y_score = np.asarray(y_pred), np.asarray(y_score, dtype=np.float64)
    if y_pred.shape != y_score.shape or y_pred.ndim not in (1, 2) or 0 in y_pred.shape[1:]:
        raise ValueError(
            "y_pred and y_score must have the same shape, (n,) or (n, m), got "
            f"{y_pred.shape} and {y_score.shape}"
        )
    if y_pred.ndim == 1:
        y_pred, y_score = y_pred[:, None], y_score[:, None]
    best = y_pred[:, :1]
    # class labels that are floats, which elsewhere are taken for scores
    if best.dtype.kind == "f":
        best = best.astype(object)
    ranking = rank(y_true, best, 1, classes, sample_weight, from_predict_topk=True)
    hits, weight = ranking.hits[:, 0], np.asarray(ranking.weight, dtype=np.float64)
    score = y_score[:, 0]
    if not np.isfinite(score).all():
        raise ValueError("y_score holds NaN or infinity")
    if not weight.sum() > 0:
        raise ValueError("no sample has a weight above zero: there is nothing to measure")
    return curve_of(score, hits, weight)


def curve_of(
    score: np.ndarray, hits: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute :func:`coverage_curve` of checked arrays of one dimension."""
    counted = weight > 0
    score, hits, weight = score[counted], hits[counted], weight[counted]
    order = np.argsort(-score, kind="stable")
    score = score[order]
    # a threshold answers all samples of its score at once: one point at the last of them
    last = np.append(score[1:] != score[:-1], True)
    answered, right = np.cumsum(weight[order]), np.cumsum((weight * hits)[order])
    return answered[last] / answered[-1], right[last] / answered[last], score[last]

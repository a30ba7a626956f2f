"""How far predicted probabilities are from the frequencies that follow: reliability, its error."""

import numbers

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ..utils._typing import LabelsLike, Matrix, MatrixLike
from ._ranking import canonical_csr, check_k, rank


def reliability_curve(
    y_true: LabelsLike,
    y_pred: MatrixLike,
    y_prob: ArrayLike | None = None,
    k: int = 5,
    *,
    n_bins: int = 10,
    strategy: str = "uniform",
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the frequency of true labels among the k best predictions, by predicted probability.

    The k best predictions of all samples are pooled and put into bins by their probability. Where
    probabilities are calibrated, a share of about p of the predictions of probability p is true,
    and the curve is the diagonal. It is drawn as a reliability diagram [1]_.

    Parameters
    ----------
    y_true : array-like of shape (n,), or array-like or sparse matrix of shape (n, K)
        Class labels, or an indicator of zeros and ones.
    y_pred : array-like of shape (n, m), or array-like or sparse matrix of shape (n, K)
        With `y_prob` the labels predicted for each sample, best first, as ``predict_topk`` returns
        them. Without it the probabilities of all labels, or a sparse matrix that stores some:
        what is not stored was not predicted.
    y_prob : array-like of shape (n, m), default=None
        The probabilities of the labels in `y_pred`, from 0 to 1.
    k : int, default=5
        Number of predictions of each sample looked at; all of them where there are fewer.
    n_bins : int, default=10
        Number of bins, at least 1.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width in [0, 1], or of about equal numbers of predictions.
    classes : array-like of shape (K,), default=None
        Names of the columns; required for 1-D y_true without `y_prob`. A matrix `y_pred` has none
        itself: without them the columns of a DataFrame `y_true` go by their places.
    sample_weight : array-like of shape (n,), default=None
        Weights of the samples.

    Returns
    -------
    prob_true : ndarray of float64, shape (n_kept,)
        Share of true labels in each bin; bins without predictions are left out.
    prob_pred : ndarray of float64, shape (n_kept,)
        Mean probability in each bin, ascending.
    weight : ndarray of float64, shape (n_kept,)
        Sum of the weights of the predictions in each bin: their number without `sample_weight`.

    Raises
    ------
    ValueError
        If a probability is outside [0, 1], nothing at all is predicted, a parameter is out of its
        range, or the input is contradictory.

    See Also
    --------
    expected_calibration_error : The distance from the diagonal as one number.
    sklearn.calibration.calibration_curve : For the probabilities of one class.

    References
    ----------
    .. [1] A. Niculescu-Mizil, R. Caruana, "Predicting good probabilities with supervised
       learning", ICML 2005.

    Examples
    --------
    >>> from sklearn_xc.metrics import reliability_curve
    >>> y_true = [[1, 0, 1], [0, 1, 0]]
    >>> labels, probabilities = [[0, 1], [1, 2]], [[0.9, 0.3], [0.8, 0.3]]
    >>> prob_true, prob_pred, weight = reliability_curve(y_true, labels, probabilities, n_bins=2)
    >>> prob_true.tolist(), prob_pred.round(2).tolist(), weight.tolist()
    ([0.0, 1.0], [0.3, 0.85], [2.0, 2.0])
    """
    hits, probability, weight = _pairs(y_true, y_pred, y_prob, k, classes, sample_weight)
    true, predicted, weight = _bins(hits, probability, weight, n_bins, strategy)
    return true / weight, predicted / weight, weight


def expected_calibration_error(
    y_true: LabelsLike,
    y_pred: MatrixLike,
    y_prob: ArrayLike | None = None,
    k: int = 5,
    *,
    n_bins: int = 15,
    strategy: str = "uniform",
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Return the mean distance of probabilities from frequencies, over the k best predictions of
    every sample.

    .. math:: ECE@k = \sum_b \frac{w_b}{\sum_c w_c} \left| \bar{p}_b - \bar{y}_b \right|

    with :math:`\bar{p}_b` the mean probability, :math:`\bar{y}_b` the share of true labels and
    :math:`w_b` the weight of the predictions in bin b of `reliability_curve` [1]_. For one label a
    sample and k = 1 this is the usual error of the confidence [2]_.

    Parameters
    ----------
    y_true : array-like of shape (n,), or array-like or sparse matrix of shape (n, K)
        Class labels, or an indicator of zeros and ones.
    y_pred : array-like of shape (n, m), or array-like or sparse matrix of shape (n, K)
        With `y_prob` the labels predicted for each sample, best first; without it the
        probabilities.
    y_prob : array-like of shape (n, m), default=None
        The probabilities of the labels in `y_pred`, from 0 to 1.
    k : int, default=5
        Number of predictions of each sample looked at; all of them where there are fewer.
    n_bins : int, default=15
        Number of bins, as in [2]_. More bins show more of the error, and more chance.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width in [0, 1], or of about equal numbers of predictions.
    classes : array-like of shape (K,), default=None
        Names of the columns; required for 1-D y_true without `y_prob`. A matrix `y_pred` has none
        itself: without them the columns of a DataFrame `y_true` go by their places.
    sample_weight : array-like of shape (n,), default=None
        Weights of the samples.

    Returns
    -------
    error : float
        From 0, calibrated, to 1.

    Raises
    ------
    ValueError
        As `reliability_curve`.

    References
    ----------
    .. [1] M. P. Naeini, G. F. Cooper, M. Hauskrecht, "Obtaining well calibrated probabilities
       using Bayesian binning", AAAI 2015.
    .. [2] C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, "On calibration of modern neural networks",
       ICML 2017.

    Examples
    --------
    >>> from sklearn_xc.metrics import expected_calibration_error
    >>> y_true = [[1, 0, 1], [0, 1, 0]]
    >>> labels, probabilities = [[0, 1], [1, 2]], [[0.9, 0.3], [0.8, 0.3]]
    >>> round(expected_calibration_error(y_true, labels, probabilities), 3)
    0.225
    """
    hits, probability, weight = _pairs(y_true, y_pred, y_prob, k, classes, sample_weight)
    true, predicted, weight = _bins(hits, probability, weight, n_bins, strategy)
    return float(np.abs(true - predicted).sum() / weight.sum())


def _pairs(
    y_true: LabelsLike,
    y_pred: MatrixLike,
    y_prob: ArrayLike | None,
    k: int,
    classes: ArrayLike | None,
    sample_weight: ArrayLike | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return hit, probability and weight of each of the k best predictions of all samples, 1-D."""
    if y_prob is None:
        matrix = canonical_csr(y_pred, "y_pred") if sp.issparse(y_pred) else np.asarray(y_pred)
        if matrix.dtype.kind not in "fb" and not sp.issparse(matrix):
            raise ValueError(
                "y_pred holds labels, so that y_prob must give their probabilities (without it "
                f"y_pred must hold probabilities as floats; its dtype is {matrix.dtype})"
            )
        # `rank` refuses a k above the number of columns; here fewer are as many as there are
        width = matrix.shape[1] if matrix.ndim == 2 else 1
        ranking = rank(y_true, matrix, min(check_k(k), width), classes, sample_weight)
        probability = _at(matrix, ranking.columns)
    else:
        ranking = rank(y_true, y_pred, k, classes, sample_weight, from_predict_topk=True)
        probability = np.asarray(y_prob, dtype=np.float64)
        if probability.shape != np.shape(y_pred):
            raise ValueError(
                f"y_prob must have the shape of y_pred, {np.shape(y_pred)}, got {probability.shape}"
            )
        probability = probability[:, : ranking.columns.shape[1]]
    weight = np.broadcast_to(ranking.weight[:, None], probability.shape)
    # ranks without a prediction, where a sparse row stores fewer than k
    kept = (ranking.columns >= 0) & (weight > 0)
    probability = probability[kept]
    if not ((probability >= 0) & (probability <= 1)).all():
        wrong = probability[~((probability >= 0) & (probability <= 1))][0]
        name = "y_pred" if y_prob is None else "y_prob"
        raise ValueError(f"{name} must hold probabilities from 0 to 1, found {wrong:g}")
    if not len(probability):
        raise ValueError("y_pred predicts nothing for any sample: there is nothing to calibrate")
    return ranking.hits[kept], probability, weight[kept]


def _at(matrix: Matrix, columns: np.ndarray) -> np.ndarray:
    """Return entries (i, columns[i, r]) of a matrix, 0 where the column is -1."""
    places = columns.clip(0)
    if not sp.issparse(matrix):
        return np.take_along_axis(matrix, places, axis=1).astype(np.float64)
    # One key for each stored entry, which ascend in canonical CSR: bisection finds all at once. The
    # 0 at the end is for keys beyond the last.
    row = np.arange(matrix.shape[0], dtype=np.int64)
    stored = np.repeat(row, np.diff(matrix.indptr)) * matrix.shape[1] + matrix.indices
    found = np.searchsorted(stored, row[:, None] * matrix.shape[1] + places)
    values = np.append(matrix.data, 0).astype(np.float64)
    return np.where(columns >= 0, values[found], 0)


def _bins(
    hits: np.ndarray, probability: np.ndarray, weight: np.ndarray, n_bins: int, strategy: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return sums of hits, probabilities and weights in the bins that hold any."""
    if isinstance(n_bins, bool) or not isinstance(n_bins, numbers.Integral) or n_bins < 1:
        raise ValueError(f"n_bins must be an integer of at least 1, got {n_bins!r}")
    if strategy == "uniform":
        inner = np.linspace(0, 1, n_bins + 1)[1:-1]
    elif strategy == "quantile":
        inner = np.quantile(probability, np.linspace(0, 1, n_bins + 1)[1:-1])
    else:
        raise ValueError(f"strategy must be 'uniform' or 'quantile', got {strategy!r}")
    # bins (a, b], the first of them with 0; equal quantiles leave bins empty
    which = np.searchsorted(inner, probability)
    sums = [np.bincount(which, value, n_bins) for value in (weight * hits, weight * probability)]
    total = np.bincount(which, weight, n_bins)
    return *(value[total > 0] for value in sums), total[total > 0]

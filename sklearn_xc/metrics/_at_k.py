"""Metrics of the k best predictions of every sample."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ..utils._typing import LabelsLike, MatrixLike
from ._gains import discounts, ndcg_of_rows
from ._propensities import check_propensities
from ._ranking import Ranking, rank
from ._top_columns import top_columns


def precision_at_k(
    y_true: LabelsLike,
    y_pred: MatrixLike,
    k: int = 5,
    *,
    classes: Any = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Return the share of true labels among the k best predictions, averaged over the samples.

    .. math:: P@k = \frac{1}{n} \sum_i \frac{|T_i^k \cap Y_i|}{k}

    with :math:`Y_i` the true labels of sample i and :math:`T_i^k` its k best predictions. A sample
    with fewer than k true labels can not reach 1; a sample without true labels counts as zero.

    Parameters
    ----------
    y_true : array-like of shape (n,), or array-like or sparse matrix of shape (n, K)
        Class labels, an indicator of zeros and ones, or a list of labels for each sample. Labels
        that are not among the classes count as true and are not found.
    y_pred : array-like of shape (n, m) with m >= k, or array-like or sparse matrix of shape (n, K)
        Top-k labels, best first; or scores (floats, or a sparse matrix). See `sklearn_xc.metrics`.
    k : int, default=5
        Number of predictions looked at: at least 1, at most the columns of y_pred. 5 is the
        largest k of the published tables.
    classes : array-like of shape (K,) or estimator, default=None
        Names of the columns, or the estimator that has them; required for 1-D y_true with scores.
    sample_weight : array-like of shape (n,), default=None
        Weights of the samples in the average.

    Returns
    -------
    score : float
        Between 0 and 1.

    Raises
    ------
    ValueError
        If the input is ambiguous or contradictory, k is out of range, lengths differ, a score is
        NaN, or y_pred holds a label twice for a sample.

    References
    ----------
    .. [1] K. Bhatia et al., "The extreme classification repository: multi-label datasets and
       code", 2016. http://manikvarma.org/downloads/XC/XMLRepository.html

    Examples
    --------
    >>> from sklearn_xc.metrics import precision_at_k
    >>> y_true = [[1, 0, 1, 0], [0, 1, 0, 0]]
    >>> top = [[0, 1], [1, 3]]
    >>> precision_at_k(y_true, top, k=1)
    1.0
    >>> precision_at_k(y_true, top, k=2)
    0.5
    """
    return precision(rank(y_true, y_pred, k, classes, sample_weight))


def recall_at_k(
    y_true: LabelsLike,
    y_pred: MatrixLike,
    k: int = 5,
    *,
    classes: Any = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Return the share of a sample's true labels found among the k best predictions, averaged over
    the samples.

    .. math:: R@k = \frac{1}{|\{i: Y_i \ne \emptyset\}|} \sum_{i: Y_i \ne \emptyset}
              \frac{|T_i^k \cap Y_i|}{|Y_i|}

    Samples without true labels are left out, as there is nothing to find; 0 if no sample has any.

    Parameters
    ----------
    y_true : array-like of shape (n,), or array-like or sparse matrix of shape (n, K)
        Class labels, an indicator of zeros and ones, or a list of labels for each sample. Labels
        that are not among the classes count as true and are not found.
    y_pred : array-like of shape (n, m) with m >= k, or array-like or sparse matrix of shape (n, K)
        Top-k labels, best first; or scores (floats, or a sparse matrix). See `sklearn_xc.metrics`.
    k : int, default=5
        Number of predictions looked at: at least 1, at most the columns of y_pred.
    classes : array-like of shape (K,) or estimator, default=None
        Names of the columns, or the estimator that has them; required for 1-D y_true with scores.
    sample_weight : array-like of shape (n,), default=None
        Weights of the samples in the average.

    Returns
    -------
    score : float
        Between 0 and 1.

    Raises
    ------
    ValueError
        As `precision_at_k`.

    References
    ----------
    .. [1] C. D. Manning, P. Raghavan, H. Schütze, "Introduction to Information Retrieval",
       Cambridge University Press, 2008, section 8.4.

    Examples
    --------
    >>> from sklearn_xc.metrics import recall_at_k
    >>> recall_at_k([[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]], [[0, 1], [1, 3], [2, 3]], k=2)
    0.75
    """
    return recall(rank(y_true, y_pred, k, classes, sample_weight))


def ndcg_at_k(
    y_true: LabelsLike,
    y_pred: MatrixLike,
    k: int = 5,
    *,
    classes: Any = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Return the normalised discounted cumulative gain of the k best predictions, averaged over
    the samples.

    .. math:: nDCG@k = \frac{1}{n} \sum_i
              \frac{\sum_{r=1}^{k} [t_{ir} \in Y_i] / \log_2(r + 1)}
                    {\sum_{r=1}^{\min(k, |Y_i|)} 1 / \log_2(r + 1)}

    with :math:`t_{ir}` the label predicted at rank r. The denominator is the gain of the best
    ranking, so every sample with a true label can reach 1; a sample without counts as zero.

    Parameters
    ----------
    y_true : array-like of shape (n,), or array-like or sparse matrix of shape (n, K)
        Class labels, an indicator of zeros and ones, or a list of labels for each sample. Labels
        that are not among the classes count as true and are not found.
    y_pred : array-like of shape (n, m) with m >= k, or array-like or sparse matrix of shape (n, K)
        Top-k labels, best first; or scores (floats, or a sparse matrix). See `sklearn_xc.metrics`.
    k : int, default=5
        Number of predictions looked at: at least 1, at most the columns of y_pred.
    classes : array-like of shape (K,) or estimator, default=None
        Names of the columns, or the estimator that has them; required for 1-D y_true with scores.
    sample_weight : array-like of shape (n,), default=None
        Weights of the samples in the average.

    Returns
    -------
    score : float
        Between 0 and 1.

    Raises
    ------
    ValueError
        As `precision_at_k`.

    References
    ----------
    .. [1] K. Järvelin, J. Kekäläinen, "Cumulated gain-based evaluation of IR techniques", ACM
       Transactions on Information Systems 20(4), 2002.

    Examples
    --------
    >>> from sklearn_xc.metrics import ndcg_at_k
    >>> top = [["tea", "milk"], ["milk", "tea"]]
    >>> round(ndcg_at_k(["tea", "tea"], top, k=2), 4)
    0.8155
    """
    return ndcg(rank(y_true, y_pred, k, classes, sample_weight))


def psprecision_at_k(
    y_true: LabelsLike,
    y_pred: MatrixLike,
    k: int = 5,
    *,
    propensities: ArrayLike,
    classes: Any = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Return precision at k in which rare labels count for more, relative to the best attainable.

    .. math:: PSP@k = \frac{\sum_i \sum_{l \in T_i^k \cap Y_i} 1 / p_l}
                           {\sum_i \max_{T \subseteq Y_i, |T| \le k} \sum_{l \in T} 1 / p_l}

    with :math:`p_l` the propensity of label l, the probability that it is recorded where it is
    true. Both sums run over all samples before the division, as in the scripts of the extreme
    classification repository [2]_; a sample without true labels adds nothing to either. 0 if no
    sample has a true label.

    Parameters
    ----------
    y_true : array-like of shape (n,), or array-like or sparse matrix of shape (n, K)
        Class labels, an indicator of zeros and ones, or a list of labels for each sample. Labels
        that are not among the classes count as true and are not found.
    y_pred : array-like of shape (n, m) with m >= k, or array-like or sparse matrix of shape (n, K)
        Top-k labels, best first; or scores (floats, or a sparse matrix). See `sklearn_xc.metrics`.
    k : int, default=5
        Number of predictions looked at: at least 1, at most the columns of y_pred.
    propensities : array-like of shape (K,)
        Propensities of the columns, each in (0, 1]; see `propensities`.
    classes : array-like of shape (K,), default=None
        Names of the columns and of the propensities; required for 1-D y_true.
    sample_weight : array-like of shape (n,), default=None
        Weights of the samples in both sums.

    Returns
    -------
    score : float
        Between 0 and 1.

    Raises
    ------
    ValueError
        As `precision_at_k`; if a propensity is outside (0, 1] or their number is not K; or if a
        true label is not in `classes`, since its propensity is then unknown.

    References
    ----------
    .. [1] H. Jain, Y. Prabhu, M. Varma, "Extreme multi-label loss functions for recommendation,
       tagging, ranking and other missing label applications", KDD 2016.
    .. [2] K. Bhatia et al., "The extreme classification repository: multi-label datasets and
       code", 2016. http://manikvarma.org/downloads/XC/XMLRepository.html

    Examples
    --------
    >>> from sklearn_xc.metrics import psprecision_at_k
    >>> y_true = [[1, 0, 0], [0, 0, 1]]
    >>> psprecision_at_k(y_true, [[0], [0]], k=1, propensities=[0.5, 0.5, 0.25])
    0.3333333333333333
    """
    return psprecision(rank(y_true, y_pred, k, classes, sample_weight), propensities)


def psndcg_at_k(
    y_true: LabelsLike,
    y_pred: MatrixLike,
    k: int = 5,
    *,
    propensities: ArrayLike,
    classes: Any = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Return discounted cumulative gain in which rare labels count for more, relative to the best.

    .. math:: PSnDCG@k = \frac{\sum_i \sum_{r=1}^{k} [t_{ir} \in Y_i] / (p_{t_{ir}} \log_2(r+1))}
                              {\sum_i \sum_{r=1}^{\min(k, |Y_i|)} 1 / (p_{b_{ir}} \log_2(r+1))}

    with :math:`b_{i1}, b_{i2}, \ldots` the true labels of sample i by rising propensity: the best
    ranking. Both sums run over all samples before the division, as in [1]_ and in the scripts of
    the extreme classification repository [2]_. (Some other code first divides every sample by its
    unweighted ideal gain, which gives samples with few labels more weight.) A sample without true
    labels adds nothing to either sum; 0 if no sample has a true label.

    Parameters
    ----------
    y_true : array-like of shape (n,), or array-like or sparse matrix of shape (n, K)
        Class labels, an indicator of zeros and ones, or a list of labels for each sample. Labels
        that are not among the classes count as true and are not found.
    y_pred : array-like of shape (n, m) with m >= k, or array-like or sparse matrix of shape (n, K)
        Top-k labels, best first; or scores (floats, or a sparse matrix). See `sklearn_xc.metrics`.
    k : int, default=5
        Number of predictions looked at: at least 1, at most the columns of y_pred.
    propensities : array-like of shape (K,)
        Propensities of the columns, each in (0, 1]; see `propensities`.
    classes : array-like of shape (K,), default=None
        Names of the columns and of the propensities; required for 1-D y_true.
    sample_weight : array-like of shape (n,), default=None
        Weights of the samples in both sums.

    Returns
    -------
    score : float
        Between 0 and 1.

    Raises
    ------
    ValueError
        As `psprecision_at_k`.

    References
    ----------
    .. [1] H. Jain, Y. Prabhu, M. Varma, "Extreme multi-label loss functions for recommendation,
       tagging, ranking and other missing label applications", KDD 2016.
    .. [2] K. Bhatia et al., "The extreme classification repository: multi-label datasets and
       code", 2016. http://manikvarma.org/downloads/XC/XMLRepository.html

    Examples
    --------
    >>> from sklearn_xc.metrics import psndcg_at_k
    >>> y_true = [[1, 0, 1]]
    >>> psndcg_at_k(y_true, [[2, 0]], k=2, propensities=[0.5, 0.5, 0.25])
    1.0
    >>> round(psndcg_at_k(y_true, [[0, 2]], k=2, propensities=[0.5, 0.5, 0.25]), 4)
    0.8597
    """
    return psndcg(rank(y_true, y_pred, k, classes, sample_weight), propensities)


def top_k_accuracy(
    y_true: LabelsLike,
    y_pred: MatrixLike,
    k: int = 5,
    *,
    classes: Any = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Return the share of samples with a true label among the k best predictions.

    .. math:: \frac{1}{n} \sum_i [T_i^k \cap Y_i \ne \emptyset]

    With one true label a sample this is the usual top-k accuracy, and recall at k. A sample without
    true labels counts as a miss.

    Parameters
    ----------
    y_true : array-like of shape (n,), or array-like or sparse matrix of shape (n, K)
        Class labels, an indicator of zeros and ones, or a list of labels for each sample. Labels
        that are not among the classes count as true and are not found.
    y_pred : array-like of shape (n, m) with m >= k, or array-like or sparse matrix of shape (n, K)
        Top-k labels, best first; or scores (floats, or a sparse matrix). See `sklearn_xc.metrics`.
    k : int, default=5
        Number of predictions looked at: at least 1, at most the columns of y_pred.
    classes : array-like of shape (K,) or estimator, default=None
        Names of the columns, or the estimator that has them; required for 1-D y_true with scores.
    sample_weight : array-like of shape (n,), default=None
        Weights of the samples in the average.

    Returns
    -------
    score : float
        Between 0 and 1.

    Raises
    ------
    ValueError
        As `precision_at_k`.

    References
    ----------
    .. [1] M. Lapin, M. Hein, B. Schiele, "Top-k multiclass SVM", NIPS 2015.

    Examples
    --------
    >>> from sklearn_xc.metrics import top_k_accuracy
    >>> scores = [[0.2, 0.7, 0.1], [0.5, 0.3, 0.2]]
    >>> top_k_accuracy(["a", "c"], scores, k=2, classes=["a", "b", "c"])
    0.5
    """
    return hit_rate(rank(y_true, y_pred, k, classes, sample_weight))


def precision(ranking: Ranking) -> float:
    """Return P@k of a `Ranking`."""
    return ranking.mean(ranking.hits.sum(axis=1), out_of=ranking.k)


def recall(ranking: Ranking) -> float:
    """Return R@k of a `Ranking`."""
    # samples without true labels are left out of the mean, in which there is nothing to find
    has_true = ranking.n_true > 0
    total = ranking.weight[has_true].sum()
    if total == 0:
        return 0.0
    found = ranking.hits.sum(axis=1)[has_true] / ranking.n_true[has_true]
    return float(ranking.weight[has_true] @ found / total)


def ndcg(ranking: Ranking) -> float:
    """Return nDCG@k of a `Ranking`."""
    return ranking.mean(ndcg_of_rows(ranking.hits, ranking.n_true, ranking.k))


def hit_rate(ranking: Ranking) -> float:
    """Return top-k accuracy of a `Ranking`."""
    return ranking.mean(ranking.hits.any(axis=1))


def psprecision(ranking: Ranking, propensities: ArrayLike) -> float:
    """Return PSP@k of a `Ranking`."""
    return _relative_gain(ranking, propensities, np.ones(ranking.k))


def psndcg(ranking: Ranking, propensities: ArrayLike) -> float:
    """Return PSnDCG@k of a `Ranking`."""
    return _relative_gain(ranking, propensities, discounts(ranking.k))


def _relative_gain(ranking: Ranking, propensities: ArrayLike, discounts: np.ndarray) -> float:
    """Return the gain of the hits, 1 / p_l times a discount, over that of the best ranking."""
    truth = ranking.truth
    unknown = truth.shape[1] - 1
    if not ranking.named:
        raise ValueError(
            "propensities of 1-D labels need classes, the class label of every propensity"
        )
    # no propensity is known for the last column, of true labels that are not among the classes
    inverse = 1 / check_propensities(propensities, unknown)
    if (truth.indices == unknown).any():
        row = np.flatnonzero(truth.indices == unknown)[0]
        raise ValueError(
            f"y_true[{row}] is not in classes, so that its propensity is unknown; classes and "
            "propensities must cover all true labels (a label that does not occur in training "
            "has a propensity too)"
        )
    # The best ranking of a sample has its true labels by falling 1 / p: `top_columns` of a matrix
    # of the gains. No sample has more of them than the largest n_true, 1 at least for an array.
    gains = sp.csr_array((inverse[truth.indices], truth.indices, truth.indptr), shape=truth.shape)
    best = top_columns(gains, min(ranking.k, max(1, ranking.n_true.max())))
    # columns of -1 read the last propensity, and are no hits
    gain = np.where(ranking.hits, inverse[ranking.columns], 0)
    attained = gain @ discounts[: gain.shape[1]]
    attainable = np.where(best >= 0, inverse[best], 0) @ discounts[: best.shape[1]]
    total = ranking.weight @ attainable
    # The two sums may round apart by a last digit where the ranking is the best.
    return min(1.0, float(ranking.weight @ attained / total)) if total > 0 else 0.0

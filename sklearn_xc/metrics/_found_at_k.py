"""Metrics of the ranks of the true labels among the k best predictions."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..utils._typing import LabelsLike, MatrixLike
from ._ranking import Ranking, rank


def mrr_at_k(
    y_true: LabelsLike,
    y_pred: MatrixLike,
    k: int = 5,
    *,
    classes: Any = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Return the reciprocal rank of the first true label among the k best, averaged over samples.

    .. math:: MRR@k = \frac{1}{n} \sum_i \max_{r \le k} \frac{[t_{ir} \in Y_i]}{r}

    with :math:`t_{ir}` the label predicted at rank r [1]_. A sample of which none is found counts
    as zero. Recommenders call it MRR, or with one true label a sample the reciprocal hit rank.

    Parameters
    ----------
    y_true, y_pred, k, classes, sample_weight : object
        As of `precision_at_k`.

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
    .. [1] E. M. Voorhees, "The TREC-8 question answering track report", TREC 1999.

    Examples
    --------
    >>> from sklearn_xc.metrics import mrr_at_k
    >>> mrr_at_k(["tea", "tea"], [["tea", "milk"], ["milk", "tea"]], k=2)
    0.75
    """
    return reciprocal_rank(rank(y_true, y_pred, k, classes, sample_weight))


def map_at_k(
    y_true: LabelsLike,
    y_pred: MatrixLike,
    k: int = 5,
    *,
    classes: Any = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Return the mean average precision of the k best predictions.

    .. math:: MAP@k = \frac{1}{n} \sum_i \frac{1}{\min(k, |Y_i|)}
              \sum_{r=1}^{k} [t_{ir} \in Y_i] \, P_i@r

    with :math:`P_i@r` the share of true labels among the first r of sample i [1]_. The denominator
    lets every sample with a true label reach 1; a sample without counts as zero.

    Parameters
    ----------
    y_true, y_pred, k, classes, sample_weight : object
        As of `precision_at_k`.

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
    >>> from sklearn_xc.metrics import map_at_k
    >>> map_at_k([["a", "c"], ["b"]], [["a", "b", "c"], ["a", "b", "c"]], k=3)
    0.6666666666666666
    """
    return average_precision(rank(y_true, y_pred, k, classes, sample_weight))


def f1_at_k(
    y_true: LabelsLike,
    y_pred: MatrixLike,
    k: int = 5,
    *,
    classes: Any = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Return the F1 of the k best predictions of each sample, averaged over the samples.

    .. math:: F1@k = \frac{1}{n} \sum_i \frac{2 |T_i^k \cap Y_i|}{k + |Y_i|}

    The harmonic mean of the precision and the recall of each sample, as Annif has it; that of the
    two averages is another number.

    Parameters
    ----------
    y_true, y_pred, k, classes, sample_weight : object
        As of `precision_at_k`.

    Returns
    -------
    score : float
        Between 0 and 1.

    Raises
    ------
    ValueError
        As `precision_at_k`.

    Examples
    --------
    >>> from sklearn_xc.metrics import f1_at_k
    >>> f1_at_k([[1, 0, 1], [0, 1, 0]], [[0, 1], [1, 0]], k=1)
    0.8333333333333333
    """
    return f1(rank(y_true, y_pred, k, classes, sample_weight))


def reciprocal_rank(ranking: Ranking) -> float:
    """Return MRR@k of a `Ranking`."""
    # argmax is 0 where there is no hit, too
    first = np.argmax(ranking.hits, axis=1)
    return ranking.mean(np.where(ranking.hits.any(axis=1), 1 / (first + 1), 0))


def average_precision(ranking: Ranking) -> float:
    """Return MAP@k of a `Ranking`."""
    ranks = np.arange(1, ranking.hits.shape[1] + 1)
    # hits so far by ranks so far is the precision at each rank
    gains = (ranking.hits * ranking.hits.cumsum(axis=1) / ranks).sum(axis=1)
    # n_true is raised to 1 for samples without true labels, whose gain is 0
    return ranking.mean(gains / np.clip(ranking.n_true, 1, ranking.k))


def f1(ranking: Ranking) -> float:
    """Return F1@k of a `Ranking`."""
    return ranking.mean(2 * ranking.hits.sum(axis=1) / (ranking.k + ranking.n_true))

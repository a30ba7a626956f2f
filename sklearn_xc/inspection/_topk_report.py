"""All measures of a fitted model on samples, as numbers and as a text."""

from typing import Any

from ..metrics._label_sets import label_sets
from ..metrics._ranking import true_labels
from ..utils._given_labels import names_of_columns
from ..utils._typing import LabelsLike, MatrixLike
from ..utils._unwrap import find_inner
from ._measures import measured, table


class TopKReport(dict):
    """Measures of a model by their names; printed, they are a table."""

    def __repr__(self) -> str:
        return table(self)


def topk_report(
    estimator: Any,
    X: MatrixLike,
    y_true: LabelsLike,
    *,
    threshold: float | None = None,
    n_train: int | None = None,
) -> TopKReport:
    """Measure a fitted model on samples that it has not seen, also by frequency of the labels.

    Labels that the model does not know count as true, and are never found.

    Parameters
    ----------
    estimator : estimator, fitted
        One with ``predict_topk``, or a Pipeline, search or calibration around one.
    X : array-like, sparse or texts, of n_samples
        Whatever the estimator takes.
    y_true : array-like of shape (n_samples,), indicator or list of lists
        True labels. An indicator has a column for each of ``classes_``, and a DataFrame goes by the
        names of its columns; these, and lists, may hold labels that the model does not know.
    threshold : float, default=None
        Probability (or score, without ``predict_proba``) from which on a label is in the answer,
        for F1 of sets. By default F1 is that of the best label, where samples have one label.
    n_train : int, default=None
        Samples of training, for measures weighted by propensities (PSP); without it these are left
        out.

    Returns
    -------
    report : dict
        With ``"samples"``, ``"labels"``, ``"P@1"``, ``"nDCG@5"`` and the like, ``"micro-F1"``
        and ``"macro-F1"``, and ``"by frequency"``, a list of dicts with the recall among the five
        best for labels of so many training samples. ``print(report)`` shows a table.

    Raises
    ------
    ValueError
        If there are no samples, or an indicator lacks columns.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_xc import PPDSparseClassifier
    >>> from sklearn_xc.inspection import topk_report
    >>> X, y = np.eye(4), np.array(["ash", "ash", "oak", "fir"])
    >>> report = topk_report(PPDSparseClassifier().fit(X, y), X, y)
    >>> report["P@1"]
    1.0
    >>> print(report)  # doctest: +NORMALIZE_WHITESPACE
    4 samples, 3 labels known
    measure       at 1    at 3
    P            1.000   0.333
    nDCG         1.000   1.000
    F1           1.000   0.500
    micro-F1 1.000, macro-F1 1.000
    training samples of a label    labels  recall
      2                                 1   1.000
      1                                 2   1.000
    """
    classes = find_inner(estimator, "predict_topk").estimator.classes_
    truth = label_sets(y_true)
    if truth is None:
        given, names = true_labels(y_true, "y_true", True), names_of_columns(y_true, classes)
        if given.ndim == 1:
            truth = [[label] for label in given.tolist()]
        elif given.shape[1] != len(names):
            raise ValueError(
                f"y_true has {given.shape[1]} columns, and the model {len(classes)} classes; give "
                "lists of labels for labels that the model does not know"
            )
        else:
            labels = names[given.indices].tolist()
            truth = [labels[a:b] for a, b in zip(given.indptr, given.indptr[1:], strict=False)]
    return TopKReport(measured(estimator, [(X, truth)], n_train, threshold))

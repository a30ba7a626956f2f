"""How a fitted model does on each label."""

from typing import Any

import numpy as np
from scipy import sparse

from ..base._label_counts import LabelReport
from ..metrics._label_sets import label_sets, truth_of_sets
from ..metrics._ranking import codes, true_labels
from ..topk._predict import predict_topk
from ..utils._given_labels import in_order_of
from ..utils._typing import LabelsLike, MatrixLike
from ._training import report_of_training

INSTEAD = (
    "give a model with one of these inside, or measure the predictions by "
    "sklearn.metrics.classification_report"
)


def label_report(estimator: Any, X: MatrixLike, y: LabelsLike, k: int | None = None) -> LabelReport:
    """Report training samples, weights and accuracy on held-out samples of every label.

    Parameters
    ----------
    estimator : estimator
        Fitted: a linear estimator of this package, or a Pipeline, search or other wrapper around
        one, such as :class:`~sklearn_xc.LabelTextClassifier`, which then makes the predictions. A
        stack or a model of neighbours has no weights of single labels.
    X : array-like, sparse, or whatever the first step of a pipeline takes
        Samples that the estimator was not trained on.
    y : array-like of shape (n_samples,), indicator of shape (n_samples, n_classes), or list of \
            n_samples lists of labels
        Their true labels; the columns of a DataFrame go by their names. One that the model does
        not know has no line in the report. Of grades those that are not 0 are true.
    k : int, default=None
        Count the k best labels of each sample as predicted. By default those that `predict` gives.

    Returns
    -------
    report : LabelReport

    Raises
    ------
    TypeError
        If there is no linear estimator of this package in `estimator`.
    ValueError
        If y does not fit X or the model, or k is not from 1 to the number of classes.

    Examples
    --------
    >>> from sklearn_xc import PPDSparseClassifier
    >>> from sklearn_xc.datasets import make_xc_classification
    >>> from sklearn_xc.inspection import label_report
    >>> X, Y = make_xc_classification(n_samples=600, n_features=500, n_classes=20, random_state=0)
    >>> model = PPDSparseClassifier(random_state=0).fit(X[:400], Y[:400])
    >>> report = label_report(model, X[400:], Y[400:])
    >>> report.support.shape, bool((report.n_hits <= report.n_predicted).all())
    ((20,), True)
    """
    # The outer estimator predicts: a wrapper may choose other labels than its linear model.
    known = report_of_training(estimator, INSTEAD)
    predicted = estimator.predict(X) if k is None else predict_topk(estimator, X, k)[0]
    y = in_order_of(y, known.labels, missing="zero", unknown="dropped")
    truth = _indicator(y, known.labels, "y", grades=True)
    predicted = _indicator(predicted, known.labels, "the prediction", top=k is not None)
    if truth.shape[0] != predicted.shape[0]:
        raise ValueError(f"y has {truth.shape[0]} samples, but X has {predicted.shape[0]}")
    # True, predicted, and both at once, label by label.
    counts = [
        np.asarray(pattern.sum(axis=0), dtype=np.int64).ravel()
        for pattern in (truth, predicted, truth.multiply(predicted))
    ]
    return LabelReport(known.labels, known.support, known.n_weights, *counts)


def _indicator(
    y: LabelsLike, classes: np.ndarray, name: str, top: bool = False, grades: bool = False
) -> sparse.csr_array:
    """Return labels, an indicator, or (`top`) the best labels of each sample, as an indicator."""
    # Labels that the model does not know share one more column, which is cut off in the end.
    table = {label: place for place, label in enumerate(classes.tolist())}
    if not top and (sets := label_sets(y, name)) is not None:
        return truth_of_sets(sets, table)[:, : len(classes)].astype(np.int64)
    if not top:
        y = true_labels(y, name, grades)
    if y.ndim == 2 and not top:
        if y.shape[1] != len(classes):
            raise ValueError(
                f"{name} has {y.shape[1]} columns, but the model has {len(classes)} labels"
            )
        return y.astype(np.int64)
    columns = codes(y.reshape(y.shape[0], -1), table)
    n_rows, per_row = columns.shape
    columns = np.where(columns < 0, len(classes), columns).ravel()
    parts = np.ones(len(columns), dtype=np.int64), columns, np.arange(n_rows + 1) * per_row
    return sparse.csr_array(parts, shape=(n_rows, len(classes) + 1))[:, : len(classes)]

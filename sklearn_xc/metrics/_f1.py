"""F1 of predicted sets of labels, on sparse indicators."""

import numbers
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ..utils._given_labels import in_order_of, label_names
from ..utils._typing import LabelsLike
from ._label_sets import Table, distinct_labels, sets_of_both, truth_of_sets
from ._ranking import (
    check_sample_weight,
    codes,
    distinct,
    one_per_row,
    table_of,
    true_labels,
    truth_in_columns,
)

# The labels of each sample of y_true and of y_pred; None for one without lists.
Lists: TypeAlias = tuple[list[list] | None, list[list] | None]


def macro_f1(
    y_true: LabelsLike,
    y_pred: LabelsLike,
    *,
    classes: Any = None,
    sample_weight: ArrayLike | None = None,
    zero_division: float = 0.0,
) -> float:
    r"""Return the F1 of every label, averaged over the labels.

    .. math:: \frac{1}{K} \sum_l \frac{2\,tp_l}{2\,tp_l + fp_l + fn_l}

    Every label counts the same, however rare it is.
    The result is that of scikit-learn's ``f1_score(average="macro")``.

    Parameters
    ----------
    y_true, y_pred : array-like or sparse of shape (n,) or (n, K), or list of n lists of labels
        Both class labels, both indicators of zeros and ones, or both lists of labels, as
        :class:`~sklearn_xc.LabelTextClassifier` predicts them. The labels of 1-D input and of
        lists are those that occur in either; those of an indicator are its columns. Of two tables
        the names of the columns decide; a matrix has none, and goes by the places of columns: give
        `classes`. Lists go with the other forms too, with an indicator by `classes`.
    classes : array-like of shape (K,) or fitted estimator, default=None
        Names of the columns of `y_pred`. A DataFrame `y_true` is then put in their order, and may
        have further columns. True labels that are not among the classes count as missed, together
        as one label more; predicted ones are refused.
    sample_weight : array-like of shape (n,), default=None
        Weights of the samples.
    zero_division : {0.0, 1.0, nan}, default=0.0
        F1 of a label that neither occurs nor is predicted; nan leaves such labels out. The default
        is scikit-learn's.

    Returns
    -------
    score : float
        Between 0 and 1; nan if `zero_division` is nan and leaves nothing.

    Raises
    ------
    ValueError
        If y_true and y_pred differ in form or shape, a 2-D one is not an indicator, or
        `sample_weight` or `zero_division` is not as above.

    References
    ----------
    .. [1] D. D. Lewis, Y. Yang, T. G. Rose, F. Li, "RCV1: a new benchmark collection for text
       categorization research", JMLR 5, 2004.

    Examples
    --------
    >>> from sklearn_xc.metrics import macro_f1
    >>> macro_f1([[1, 0, 1], [0, 1, 0]], [[1, 0, 0], [0, 1, 0]])
    0.6666666666666666
    """
    tp, n_true, n_pred = _label_totals(y_true, y_pred, sample_weight, classes)
    f1 = _f1(tp, n_true + n_pred, _check_zero_division(zero_division))
    # labels that zero_division=nan leaves out
    kept = f1[~np.isnan(f1)]
    return float(kept.mean()) if len(kept) else float("nan")


def micro_f1(
    y_true: LabelsLike,
    y_pred: LabelsLike,
    *,
    classes: Any = None,
    sample_weight: ArrayLike | None = None,
    zero_division: float = 0.0,
) -> float:
    r"""Return the F1 of all pairs of sample and label taken together.

    .. math:: \frac{2 \sum_l tp_l}{\sum_l (2\,tp_l + fp_l + fn_l)}

    Every pair counts the same, so frequent labels dominate; for 1-D labels it is the accuracy.
    The result is that of scikit-learn's ``f1_score(average="micro")``.

    Parameters
    ----------
    y_true, y_pred : array-like or sparse of shape (n,) or (n, K), or list of n lists of labels
        As in `macro_f1`.
    classes : array-like of shape (K,) or fitted estimator, default=None
        As in `macro_f1`; each true label that is not among the classes counts as missed.
    sample_weight : array-like of shape (n,), default=None
        Weights of the samples.
    zero_division : {0.0, 1.0, nan}, default=0.0
        The result if there is neither a true nor a predicted label. The default is scikit-learn's.

    Returns
    -------
    score : float
        Between 0 and 1, or `zero_division`.

    Raises
    ------
    ValueError
        As `macro_f1`.

    References
    ----------
    .. [1] D. D. Lewis, Y. Yang, T. G. Rose, F. Li, "RCV1: a new benchmark collection for text
       categorization research", JMLR 5, 2004.

    Examples
    --------
    >>> from sklearn_xc.metrics import micro_f1
    >>> micro_f1([[1, 0, 1], [0, 1, 0]], [[1, 0, 0], [0, 1, 0]])
    0.8
    """
    tp, n_true, n_pred = _label_totals(y_true, y_pred, sample_weight, classes)
    total = np.array([n_true.sum() + n_pred.sum()])
    return float(_f1(tp.sum(keepdims=True), total, _check_zero_division(zero_division))[0])


def example_f1(
    y_true: LabelsLike,
    y_pred: LabelsLike,
    *,
    classes: Any = None,
    sample_weight: ArrayLike | None = None,
    zero_division: float = 0.0,
) -> float:
    r"""Return the F1 of the set of labels of each sample, averaged over the samples.

    .. math:: \frac{1}{n} \sum_i \frac{2 |P_i \cap Y_i|}{|P_i| + |Y_i|}

    Every sample counts the same. The result is that of scikit-learn's
    ``f1_score(average="samples")``, and what :class:`~sklearn_xc.TopKThresholdClassifier` maximises
    with ``metric="example_f1"``.

    Parameters
    ----------
    y_true, y_pred : array-like or sparse of shape (n,) or (n, K), or list of n lists of labels
        As in `macro_f1`.
    classes : array-like of shape (K,) or fitted estimator, default=None
        As in `macro_f1`; each true label that is not among the classes counts as missed.
    sample_weight : array-like of shape (n,), default=None
        Weights of the samples.
    zero_division : {0.0, 1.0, nan}, default=0.0
        F1 of a sample that has neither true nor predicted labels; nan leaves such samples out.

    Returns
    -------
    score : float
        Between 0 and 1; nan if `zero_division` is nan and leaves nothing.

    Raises
    ------
    ValueError
        As `macro_f1`.

    Examples
    --------
    >>> from sklearn_xc.metrics import example_f1
    >>> example_f1([[1, 0, 1], [0, 1, 0]], [[1, 0, 0], [0, 1, 0]])
    0.8333333333333333
    """
    y_true, y_pred, weight = _sets_of_labels(y_true, y_pred, sample_weight, classes)
    n_labels = np.diff(y_true.indptr) + np.diff(y_pred.indptr)
    # the product of two indicators is the indicator of the labels in both
    both = np.diff(y_true.multiply(y_pred).tocsr().indptr)
    of_row = _f1(both, n_labels, _check_zero_division(zero_division))
    kept = ~np.isnan(of_row) & (weight > 0)
    return float(np.average(of_row[kept], weights=weight[kept])) if kept.any() else float("nan")


def _f1(tp: np.ndarray, total: np.ndarray, zero_division: float) -> np.ndarray:
    """Return 2 tp / total, `total` being the number of true plus the number of predicted labels."""
    return np.divide(2 * tp, total, out=np.full(len(tp), zero_division), where=total > 0)


def _label_totals(
    y_true: LabelsLike, y_pred: LabelsLike, sample_weight: ArrayLike | None, classes: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the weights of the samples in which each label is both, is true, is predicted."""
    y_true, y_pred, weight = _sets_of_labels(y_true, y_pred, sample_weight, classes)
    both = y_true.multiply(y_pred).tocsr()
    tp, n_true, n_pred = (_column_weights(matrix, weight) for matrix in (both, y_true, y_pred))
    return tp, n_true, n_pred


def _sets_of_labels(
    y_true: LabelsLike, y_pred: LabelsLike, sample_weight: ArrayLike | None, classes: Any
) -> tuple[sp.csr_array, sp.csr_array, np.ndarray]:
    """Return both as indicators in CSR of one shape, and the weights of the samples."""
    lists = sets_of_both(y_true, y_pred)
    if classes is None and lists != (None, None):
        classes = label_names(y_pred if lists[1] is None else y_true)
    if classes is not None:
        # a model or a MultiLabelBinarizer stands for its classes
        given = getattr(classes, "classes_", classes)
        truth, predicted = _in_columns_of(y_true, y_pred, lists, given)
    elif lists != (None, None):
        truth, predicted = _of_lists(y_true, y_pred, lists)
    else:
        truth, predicted = _in_one_form(y_true, y_pred)
    if truth.shape != predicted.shape:
        raise ValueError(
            "y_true and y_pred must both be 1-D labels, both indicators or both lists of labels, "
            f"of the same shape; got {truth.shape} and {predicted.shape}"
        )
    if truth.shape[0] == 0:
        raise ValueError("y_true has no samples; a metric needs at least one")
    if truth.ndim == 1:
        table = distinct(truth, predicted)
        truth = one_per_row(codes(truth, table), len(table))
        predicted = one_per_row(codes(predicted, table), len(table))
    return truth, predicted, check_sample_weight(sample_weight, truth.shape[0])


def _in_one_form(
    y_true: LabelsLike, y_pred: LabelsLike
) -> tuple[np.ndarray | sp.csr_array, np.ndarray | sp.csr_array]:
    """Return both as class labels or as indicators; a table's columns are those of y_true."""
    if (names := label_names(y_true)) is not None:
        y_pred = in_order_of(y_pred, names, "y_pred")
    return true_labels(y_true, "y_true", grades=True), true_labels(y_pred, "y_pred")


def _of_lists(y_true: LabelsLike, y_pred: LabelsLike, lists: Lists) -> Iterator[sp.csr_array]:
    """Return both as indicators of the labels in either, of which one at least has lists."""
    sets = []
    for found, y, name in zip(lists, (y_true, y_pred), ("y_true", "y_pred"), strict=True):
        if found is None:
            labels = true_labels(y, name)
            if labels.ndim == 2:
                raise ValueError(
                    f"{name} is an indicator, and the other one holds lists of labels: give "
                    f"classes, the names of the columns of {name}"
                )
            found = [[label] for label in labels.tolist()]
        sets.append(found)
    table = distinct_labels([*sets[0], *sets[1]])
    return (truth_of_sets(one, table)[:, : len(table)] for one in sets)


def _in_columns_of(
    y_true: LabelsLike, y_pred: LabelsLike, lists: Lists, classes: ArrayLike
) -> Iterator[sp.csr_array]:
    """Return both in columns of the classes, and one more if there are true labels of no class."""
    table = table_of(classes)
    true_sets, predicted_sets = lists
    truth = truth_of_sets(true_sets, table) if true_sets else truth_in_columns(y_true, table)
    predicted = _predicted_in_columns(y_pred, predicted_sets, table, np.asarray(classes))
    # true labels of no class are one label more, only where there are any: else its F1 of 0 / 0
    # would be in the mean
    width = len(table) + bool((truth.indices == len(table)).any())
    return (
        sp.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], width))
        for matrix in (truth, predicted)
    )


def _predicted_in_columns(
    y_pred: LabelsLike, sets: list[list] | None, table: Table, classes: np.ndarray
) -> sp.csr_array:
    """Return predictions as an indicator of the classes; ValueError for a label of no class."""
    if sets is None:
        predicted = true_labels(in_order_of(y_pred, classes, "y_pred"), "y_pred")
        if predicted.ndim == 2:
            return predicted
        sets = [[label] for label in predicted.tolist()]
    strange = next((label for labels in sets for label in labels if label not in table), None)
    if strange is not None:
        raise ValueError(f"y_pred holds the label {strange!r}, which is not one of the classes")
    return truth_of_sets(sets, table)[:, : len(table)]


def _column_weights(indicator: sp.csr_array, weight: np.ndarray) -> np.ndarray:
    """Sum up, for each label, the weights of the samples that have it."""
    per_entry = np.repeat(weight, np.diff(indicator.indptr))
    return np.bincount(indicator.indices, per_entry, minlength=indicator.shape[1])


def _check_zero_division(value: Any) -> float:
    """Check the result for 0 / 0: 0.0, 1.0 or nan."""
    if not isinstance(value, numbers.Real) or not (value in (0, 1) or np.isnan(value)):
        raise ValueError(f"zero_division must be 0.0, 1.0 or nan, got {value!r}")
    return float(value)

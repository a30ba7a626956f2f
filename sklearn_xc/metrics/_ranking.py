"""From true labels and predictions, in any accepted form, to the hits at ranks 1..k.

`sklearn_xc.metrics` documents the accepted forms. Here they become one thing, a `Ranking`:
the column number predicted at every rank of every sample and whether it is a true label. Nothing
of size (n, K) is built and no loop runs over samples.
"""

import numbers
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ..utils._given_labels import label_names, plain_indicator
from ..utils._matrix import checked_csr
from ..utils._typing import LabelsLike, Matrix, MatrixLike, SparseMatrix
from ._label_sets import Table, distinct_labels, label_sets, truth_of_columns, truth_of_sets
from ._top_columns import top_columns


@dataclass(frozen=True, eq=False)
class Ranking:
    """First ranks of every sample, compared with the true labels."""

    k: int  # of the metric; there may be fewer ranks
    columns: np.ndarray  # int64 (n, n_ranks), best first; -1 where nothing was retrieved
    hits: np.ndarray  # bool (n, n_ranks), whether the column is a true label of the sample
    truth: sp.csr_array  # (n, K + 1); column K holds a true label that is not among the classes
    weight: np.ndarray  # float64 (n,), with a positive sum
    # Whether the user knows the numbers of the columns: false for class labels that were numbered
    # as they appeared.
    named: bool

    @property
    def n_true(self) -> np.ndarray:
        """Number of true labels of every sample."""
        return np.diff(self.truth.indptr)

    def mean(self, values: ArrayLike, out_of: int = 1) -> float:
        """Return the weighted mean over the samples of values / out_of, which lie in [0, 1]."""
        # Where all values are the highest, rounding may lift the quotient above 1.
        return min(1.0, float(self.weight @ values / (self.weight.sum() * out_of)))


def rank(
    y_true: LabelsLike,
    y_pred: Any,
    k: int,
    classes: Any = None,
    sample_weight: ArrayLike | None = None,
    *,
    from_predict_topk: bool = False,
) -> Ranking:
    """Compare the k best predictions of every sample with its true labels.

    `from_predict_topk` says that y_pred holds labels whatever its dtype (class labels may be
    floats) and may have fewer than k columns (a training fold may have fewer than k classes).
    """
    k = check_k(k)
    # of cross_val_topk, by which samples may never have been tested: they do not count
    if hasattr(y_pred, "tested"):
        return _of_tested(y_true, y_pred, k, classes, sample_weight)
    given = getattr(classes, "classes_", classes)
    names = None if given is None else table_of(given)
    truth, own = _truth(y_true, names)
    names = own if names is None else names
    named = truth.ndim == 2 or names is not None
    if truth.shape[0] == 0:
        raise ValueError("y_true has no samples; a metric needs at least one")
    scores, labels = _prediction(y_pred, truth.shape[0], from_predict_topk)
    n_columns = (labels if scores is None else scores).shape[1]
    if k > n_columns and not from_predict_topk:
        raise ValueError(f"k={k} is larger than the number of columns of y_pred, {n_columns}")
    if scores is None:
        truth, columns = _columns_of_labels(truth, labels, names)
        columns = columns[:, :k]
    else:
        truth = _match_score_columns(truth, names, n_columns)
        columns = top_columns(scores, k)
    weight = check_sample_weight(sample_weight, truth.shape[0])
    return Ranking(k, columns, _hits(truth, columns), truth, weight, named)


def _of_tested(
    y_true: LabelsLike, predicted: Any, k: int, classes: Any, sample_weight: ArrayLike | None
) -> Ranking:
    """Rank the samples that `cross_val_topk` has tested."""
    if classes is not None and not np.array_equal(
        np.asarray(getattr(classes, "classes_", classes)), predicted.classes
    ):
        raise ValueError("the result of cross_val_topk has classes of its own; leave classes out")
    rows = np.flatnonzero(predicted.tested)
    if not len(rows):
        raise ValueError("y_pred tests no sample")
    table = table_of(predicted.classes)
    truth = truth_in_columns(y_true, table)
    if truth.shape[0] != len(predicted.tested):
        raise ValueError(f"y_true has {truth.shape[0]} samples and y_pred {len(predicted.tested)}")
    truth = truth[rows]
    columns = predicted.codes[rows, :k].astype(np.int64)
    columns[columns == len(table)] = -1  # of a fold with fewer classes than k
    weight = check_sample_weight(sample_weight, len(predicted.tested))[rows]
    return Ranking(k, columns, _hits(truth, columns), truth, weight, True)


class Sets(NamedTuple):
    """True labels as a list for each sample."""

    rows: list

    @property
    def ndim(self) -> int:
        """Number of dimensions, as of an array of class labels."""
        return 1

    @property
    def shape(self) -> tuple[int]:
        """Number of samples, as of an array of class labels."""
        return (len(self.rows),)


class Placed(NamedTuple):
    """True labels of a table as CSR (n, K + 1), in the columns of the classes and a last one."""

    matrix: sp.csr_array

    @property
    def ndim(self) -> int:
        """Number of dimensions, as of an indicator."""
        return 2

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of samples and classes, as of an indicator."""
        return self.matrix.shape[0], self.matrix.shape[1] - 1


# Class labels in an array, `Sets`, an indicator in CSR, or `Placed`; `ndim` tells which.
Truth: TypeAlias = Any


def _truth(y_true: LabelsLike, names: Table | None) -> tuple[Truth, Table | None]:
    """Return true labels, and the names that a table has itself."""
    sets = label_sets(y_true)
    if sets is not None:
        return Sets(sets), None
    own = column_names(y_true, None)
    truth = true_labels(y_true, "y_true", grades=True)
    if own is None or names is None or truth.ndim == 1 or own == names:
        return truth, own
    # Columns that are numbered from 0 on have no names, in the table or among the classes: they go
    # by their places.
    numbers = list(range(len(own)))
    if len(own) == len(names) and numbers in (list(own), list(names)):
        return truth, own
    # Columns of a table that the classes do not name hold true labels that cannot be found.
    places = np.array([names.get(name, len(names)) for name in own])
    if (places == len(names)).all():
        raise ValueError(
            f"none of the columns of y_true, such as {next(iter(own))!r}, is among the classes, "
            f"such as {next(iter(names))!r}"
        )
    return Placed(truth_of_columns(truth, places, len(names))), own


def _hits(truth: sp.csr_array, columns: np.ndarray) -> np.ndarray:
    """Return whether each entry of columns is a true label of its sample."""
    # By bisection for row * width + column in the keys of all true labels, which ascend in
    # canonical CSR: memory follows the labels and ranks, not n * K.
    row = np.arange(truth.shape[0], dtype=np.int64)
    true_keys = np.repeat(row, np.diff(truth.indptr)) * truth.shape[1] + truth.indices
    # nothing to bisect, and no last key to clip to
    if len(true_keys) == 0:
        return np.zeros(columns.shape, dtype=bool)
    keys = row[:, None] * truth.shape[1] + columns
    found = np.searchsorted(true_keys, keys)
    return (true_keys[found.clip(max=len(true_keys) - 1)] == keys) & (columns >= 0)


# Forms of labels and predictions


def true_labels(y: LabelsLike, name: str, grades: bool = False) -> np.ndarray | sp.csr_array:
    """Return labels as a canonical CSR indicator (2-D input), or as a 1-D array of class labels.

    With `grades`, values of an indicator between 0 and 1 are grades, and their labels true.
    """
    if sp.issparse(y):
        y = canonical_csr(y, name)
    else:
        y = _as_array(plain_indicator(y), name)
        if y.ndim == 1:
            return _check_label_vector(y, name)
        if y.ndim != 2:
            raise ValueError(f"{name} must be 1-D labels or a 2-D indicator, got shape {y.shape}")
        if y.dtype.kind not in "biuf":
            raise ValueError(
                f"{name} is 2-D and of dtype {y.dtype}; a 2-D {name} must be an indicator of "
                "zeros and ones (MultiLabelBinarizer(sparse_output=True) makes one from lists "
                "of labels)"
            )
        y = sp.csr_array(y)
    if grades and ((y.data >= 0) & (y.data <= 1)).all():
        y = sp.csr_array(((y.data > 0).astype(np.uint8), y.indices, y.indptr), shape=y.shape)
    wrong = np.flatnonzero((y.data != 1) & (y.data != 0))
    if len(wrong):
        raise ValueError(
            f"{name} is 2-D and must be an indicator of zeros and ones, found "
            f"{y.data[wrong[0]]} in column {y.indices[wrong[0]]} "
            "(MultiLabelBinarizer(sparse_output=True) makes an indicator from lists of labels)"
        )
    # stored zeros; of a copy, since the arrays may be the caller's
    if not y.data.all():
        y = y.copy()
        y.eliminate_zeros()
    return y


def canonical_csr(matrix: SparseMatrix, name: str) -> sp.csr_array:
    """Return CSR with sorted indices and duplicates summed; the caller's matrix is unchanged."""
    if matrix.ndim != 2:
        raise ValueError(f"{name} must be 2-D if it is sparse, got shape {matrix.shape}")
    matrix = sp.csr_array(checked_csr(matrix, name))
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def codes(labels: np.ndarray, table: Table) -> np.ndarray:
    """Return numbers of labels in the dict `table`, -1 for a label that is not there, int64."""
    # A dict keeps 1 apart from "1", which a comparison of NumPy arrays of mixed kinds may not.
    numbers = map(table.get, labels.ravel().tolist(), [-1] * labels.size)
    return np.fromiter(numbers, np.int64, labels.size).reshape(labels.shape)


def distinct(*label_arrays: np.ndarray) -> Table:
    """Return the table label -> number over all labels that occur, in order of appearance."""
    seen = {}
    for labels in label_arrays:
        seen |= dict.fromkeys(labels.ravel().tolist())
    return {label: number for number, label in enumerate(seen)}


def one_per_row(columns: np.ndarray, n_columns: int) -> sp.csr_array:
    """Return the CSR indicator of samples that have one label each."""
    n = len(columns)
    parts = (np.ones(n, dtype=np.int8), columns, np.arange(n + 1))
    return sp.csr_array(parts, shape=(n, n_columns))


def column_names(y_true: LabelsLike, classes: ArrayLike | None) -> Table | None:
    """Return the table label -> column of `classes`, or of the columns of a table, or None."""
    if classes is None:
        classes = label_names(y_true)
    return None if classes is None else table_of(classes)


def table_of(classes: ArrayLike) -> Table:
    """Return the table label -> column of the names of columns."""
    given = _as_array(classes, "classes")
    if given.ndim != 1 or len(given) == 0:
        raise ValueError(f"classes must be 1-D and not empty, got shape {given.shape}")
    names = {name: column for column, name in enumerate(given.tolist())}
    if len(names) != len(given):
        raise ValueError(f"classes must be distinct, got {len(given)} with {len(names)} distinct")
    return names


def _columns_of_labels(
    truth: Truth, labels: np.ndarray, names: Table | None
) -> tuple[sp.csr_array, np.ndarray]:
    """Return true labels as (n, K + 1) CSR and predicted labels as columns, by one numbering."""
    if truth.ndim == 1:
        _check_kinds(truth, labels)
    # class labels without names are numbered as they appear, in both
    if truth.ndim == 1 and names is None:
        names = (
            distinct_labels([*truth.rows, labels.ravel().tolist()])
            if isinstance(truth, Sets)
            else distinct(truth, labels)
        )
    truth = _with_all_columns(truth, names)
    n_columns = truth.shape[1] - 1
    if names is not None:
        columns = codes(labels, names)
        allowed = "one of the classes"
    elif labels.dtype.kind in "iu":
        columns = np.where((labels >= 0) & (labels < n_columns), labels, -1).astype(np.int64)
        allowed = f"a column number of y_true, 0 to {n_columns - 1}"
    else:
        raise ValueError(
            f"y_pred holds labels of dtype {labels.dtype}, but nothing names the columns of "
            "y_true: give their names as classes, or column numbers in y_pred"
        )
    if (columns < 0).any():
        row, place = np.argwhere(columns < 0)[0]
        raise ValueError(f"y_pred[{row}, {place}] is {labels[row, place]!r}, not {allowed}")
    _check_no_repeats(columns, labels)
    return truth, columns


def _check_kinds(truth: Truth, labels: np.ndarray) -> None:
    """Refuse texts as true labels where predictions are numbers, so that none could be right."""
    if labels.dtype.kind not in "iu":
        return
    rows = truth.rows if isinstance(truth, Sets) else [truth.tolist()]
    first = next(chain.from_iterable(rows), None)
    if first is None or not all(isinstance(label, str) for label in chain.from_iterable(rows)):
        return
    raise ValueError(
        f"y_true holds texts, such as {first!r}, and y_pred numbers, such as "
        f"{labels.ravel()[0]}; if these are columns of an indicator, give names of the columns, "
        "binarizer.classes_[y_pred]"
    )


def _match_score_columns(truth: Truth, names: Table | None, n_columns: int) -> sp.csr_array:
    """Return the true labels as (n, K + 1) CSR, with the columns of the scores."""
    check_number_of_names(names, n_columns, "y_pred")
    if truth.ndim == 1:
        if names is None:
            raise ValueError(
                "y_true holds class labels, and y_pred scores or the indicator of predict: "
                "classes must name the columns of y_pred, or give predict_topk(model, X, k)[0] "
                "(top-k labels that are floats are taken for scores; give them as "
                "y_pred.astype(object))"
            )
        return _with_all_columns(truth, names)
    if truth.shape[1] != n_columns:
        raise ValueError(
            f"y_true has {truth.shape[1]} columns and the scores in y_pred have {n_columns}; they "
            "must have the same (top-k labels that are floats are taken for scores)"
        )
    return _with_all_columns(truth, names)


def _with_all_columns(truth: Truth, names: Table | None) -> sp.csr_array:
    """Return true labels of any form as (n, K + 1) CSR, with labels without a name in column K."""
    if isinstance(truth, Placed):
        return truth.matrix
    if truth.ndim == 2:
        check_number_of_names(names, truth.shape[1], "y_true")
        return _with_column_for_unknown(truth)
    # Callers have refused class labels without a table, or made one of the labels.
    table = cast(Table, names)
    return (
        truth_of_sets(truth.rows, table) if isinstance(truth, Sets) else _encode_truth(truth, table)
    )


def truth_in_columns(y_true: LabelsLike, table: Table) -> sp.csr_array:
    """Return true labels of any form as (n, K + 1) CSR by a table of the K columns."""
    return _with_all_columns(_truth(y_true, table)[0], table)


def _encode_truth(labels: np.ndarray, names: Table) -> sp.csr_array:
    """Return class labels as (n, K + 1) CSR, with a label without a name in column K."""
    columns = codes(labels, names)
    return one_per_row(np.where(columns < 0, len(names), columns), len(names) + 1)


def _with_column_for_unknown(truth: sp.csr_array) -> sp.csr_array:
    """Return an indicator with an empty column K, of labels that are not among the classes."""
    n, n_columns = truth.shape
    return sp.csr_array((truth.data, truth.indices, truth.indptr), shape=(n, n_columns + 1))


def _prediction(y_pred: MatrixLike, n: int, labels_of_any_dtype: bool) -> tuple[Matrix | None, Any]:
    """Return y_pred as (scores, None) or (None, labels), both 2-D with n rows."""
    is_sparse = sp.issparse(y_pred)
    if not is_sparse:
        _refuse_sets(y_pred)
    y_pred = canonical_csr(y_pred, "y_pred") if is_sparse else _as_array(y_pred, "y_pred")
    if y_pred.ndim != 2:
        raise ValueError(
            f"y_pred must be 2-D: top-k labels (n, m) or scores (n, K); got shape {y_pred.shape}"
        )
    if y_pred.shape[0] != n:
        raise ValueError(f"y_true has {n} samples and y_pred {y_pred.shape[0]}; they must be equal")
    # a dense array of booleans is neither labels nor scores, but for a model of the classes False
    # and True
    booleans = y_pred.dtype.kind == "b" and not is_sparse
    if y_pred.dtype.kind == "c" or (booleans and not labels_of_any_dtype):
        raise ValueError(
            f"y_pred is of dtype {y_pred.dtype}; it must hold top-k labels or real scores"
        )
    if labels_of_any_dtype or not (is_sparse or y_pred.dtype.kind == "f"):
        return None, y_pred
    if y_pred.dtype.kind != "f":
        y_pred = y_pred.astype(np.float64)
    # min() carries a NaN along and needs no temporary array.
    if np.isnan((y_pred.data if is_sparse else y_pred).min(initial=np.inf)):
        raise ValueError("y_pred has scores that are NaN; every score must be a number")
    return y_pred, None


def _refuse_sets(y_pred: Any) -> None:
    """Refuse lists of labels of different lengths in place of the k best labels."""
    if getattr(y_pred, "ndim", 1) != 1 or not hasattr(y_pred, "__iter__"):
        return
    if len({len(row) for row in y_pred if isinstance(row, (list, tuple, set, frozenset))}) > 1:
        raise ValueError(
            "y_pred has lists of different lengths, such as the sets of labels of predict, which "
            "have no order; metrics of the k best need as many labels for each sample, best first "
            "(predict_topk(model, X, k)[0]), while example_f1, micro_f1 and macro_f1 take lists"
        )


# Checks


def check_k(k: Any) -> int:
    """Check k, an int of at least 1."""
    if isinstance(k, bool | np.bool_) or not isinstance(k, numbers.Integral) or k < 1:
        raise ValueError(f"k must be an integer of at least 1, got {k!r}")
    return int(k)


def check_sample_weight(sample_weight: ArrayLike | None, n: int) -> np.ndarray:
    """Check weights: float64 of shape (n,); ones for None."""
    if sample_weight is None:
        return np.ones(n)
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n,):
        raise ValueError(f"sample_weight must have shape ({n},), got {weight.shape}")
    if not (np.isfinite(weight).all() and (weight >= 0).all() and weight.any()):
        raise ValueError("sample_weight must be finite, not negative, and not zero throughout")
    return weight


def check_number_of_names(names: Table | None, n_columns: int, of: str) -> None:
    """Refuse a table of names that does not fit the columns."""
    if names is not None and len(names) != n_columns:
        raise ValueError(
            f"classes must name the columns of {of}: got {len(names)} names for {n_columns} columns"
        )


def _check_no_repeats(columns: np.ndarray, labels: np.ndarray) -> None:
    """Refuse a label predicted twice for a sample: it would be counted twice."""
    # equal columns are neighbours once they are sorted
    ordered = np.sort(columns, axis=1)
    repeated = ordered[:, 1:] == ordered[:, :-1]
    if repeated.any():
        row, place = np.argwhere(repeated)[0]
        label = labels[row][columns[row] == ordered[row, place]][0]
        raise ValueError(
            f"row {row} of y_pred holds the label {label!r} more than once; the top-k labels of a "
            "row are distinct (an array of integers is taken for labels, scores must be floats)"
        )


def _as_array(values: ArrayLike, name: str) -> np.ndarray:
    """Return values as an array, with an error of ours for lists of different lengths."""
    try:
        return np.asarray(values)
    except ValueError as error:
        raise ValueError(
            f"{name} has rows of different lengths; it must be an array (use "
            "MultiLabelBinarizer(sparse_output=True) to turn lists of labels into an indicator)"
        ) from error


def _check_label_vector(y: np.ndarray, name: str) -> np.ndarray:
    """Refuse 1-D arrays of lists, and labels that are missing."""
    if y.dtype.kind == "O":
        types = set(map(type, y.tolist()))
        if types & {list, tuple, set, frozenset, np.ndarray}:
            raise ValueError(
                f"{name} holds lists of labels; use MultiLabelBinarizer(sparse_output=True) to "
                "turn them into an indicator"
            )
        # NaN is the only value that differs from itself
        missing = type(None) in types or (float in types and (y != y).any())
    else:
        missing = y.dtype.kind in "fc" and np.isnan(y).any()
    if missing:
        raise ValueError(f"{name} has labels that are missing (None or NaN)")
    return y

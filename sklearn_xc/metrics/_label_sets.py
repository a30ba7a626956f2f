"""True labels as a list of labels for each sample, or as a table with columns of its own."""

from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from ..utils._given_labels import is_missing

Table: TypeAlias = dict[Any, int]  # label -> column

NESTED = list, tuple, set, frozenset, np.ndarray


def label_sets(y: Any, name: str = "y_true", or_indicator: bool = True) -> list[list] | None:
    """Return the labels of each sample, each once, where y is a list of lists; None for other y.

    A list of lists of 0 and 1, all of one length above 0, is an indicator unless `or_indicator` is
    false. ValueError, which calls y by `name`, if only some samples have lists, or a label is
    missing.
    """
    if sp.issparse(y) or getattr(y, "ndim", 1) != 1:
        return None
    if hasattr(y, "to_list"):  # of pandas, or of polars
        rows = y.to_list()
    elif hasattr(y, "to_pylist"):  # of Arrow
        rows = y.to_pylist()
    elif isinstance(y, np.ndarray):
        rows = y.tolist()
    else:
        rows = y
    if not isinstance(rows, (list, tuple)) or not any(isinstance(row, NESTED) for row in rows):
        return None
    if not all(isinstance(row, NESTED) for row in rows):
        raise ValueError(f"{name} mixes labels and lists of labels; give a list for each sample")
    if or_indicator and isinstance(y, (list, tuple)) and _is_indicator(rows):
        return None
    rows = [row.tolist() if isinstance(row, np.ndarray) else row for row in rows]
    if any(is_missing(label) for row in rows for label in row):
        raise ValueError(f"{name} has labels that are missing (None or NaN)")
    try:
        # in a dict labels are distinct and keep their order
        return [list(dict.fromkeys(row)) for row in rows]
    except TypeError as error:
        raise ValueError(f"{name} holds lists in lists of labels: {error}") from error


def _is_indicator(rows: list | tuple) -> bool:
    """Return whether lists in lists are numbers of an indicator."""
    # sets have no order, hence no columns
    if any(isinstance(row, (set, frozenset)) for row in rows):
        return False
    # samples without a label, all of them, have no columns either
    if len(set(map(len, rows))) != 1 or not len(rows[0]):
        return False
    numbers = bool, int, float, np.number, np.bool_
    values = chain.from_iterable(rows)
    return all(isinstance(value, numbers) and 0 <= value <= 1 for value in values)


def sets_of_both(y_true: Any, y_pred: Any) -> tuple[list[list] | None, list[list] | None]:
    """Return the labels of each sample of both, None for one that holds no lists of labels.

    Lists of 0 and 1 beside lists of labels are lists of labels too.
    """
    truth, predicted = label_sets(y_true), label_sets(y_pred, "y_pred")
    if truth is None and predicted is not None:
        truth = label_sets(y_true, or_indicator=False)
    elif predicted is None and truth is not None:
        predicted = label_sets(y_pred, "y_pred", or_indicator=False)
    return truth, predicted


def distinct_labels(sets: list[list]) -> Table:
    """Return the table label -> number over all labels of the samples, in order of appearance."""
    seen = dict.fromkeys(chain.from_iterable(sets))
    return {label: number for number, label in enumerate(seen)}


def truth_of_sets(sets: list[list], names: Table) -> sp.csr_array:
    """Return the labels of each sample as CSR (n, K + 1), column K for labels without a column."""
    # Column K has an entry for each of them: all count as true, and none can be found.
    indptr = np.append(0, np.cumsum([len(row) for row in sets], dtype=np.int64))
    unknown = len(names)
    columns = np.fromiter(
        (names.get(label, unknown) for label in chain.from_iterable(sets)),
        dtype=np.int64,
        count=indptr[-1],
    )
    return _sorted(columns, indptr, unknown + 1)


def truth_of_columns(truth: sp.csr_array, places: np.ndarray, n_columns: int) -> sp.csr_array:
    """Return an indicator with its columns at other places, as CSR (n, n_columns + 1).

    `places` has `n_columns` for columns that are unknown.
    """
    return _sorted(places[truth.indices], truth.indptr, n_columns + 1)


def _sorted(columns: np.ndarray, indptr: np.ndarray, width: int) -> sp.csr_array:
    """Return CSR with the columns of each row in order; one may be there several times."""
    row = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    order = np.lexsort((columns, row))
    data = np.ones(len(columns), dtype=np.int8)
    found = sp.csr_array((len(indptr) - 1, width), dtype=np.int8)
    found.data, found.indices, found.indptr = data, columns[order], np.asarray(indptr)
    return found

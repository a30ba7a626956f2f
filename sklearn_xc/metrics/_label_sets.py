"""True labels as a list of labels for each row, or as a table with columns of its own."""

from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from ..utils._given_labels import is_missing

Table: TypeAlias = dict[Any, int]  # label -> column

NESTED = list, tuple, set, frozenset, np.ndarray


def label_sets(y: Any) -> list[list] | None:
    """Return the labels of each row, where y holds a list of labels a row; None for any other y.

    A list of lists of 0 and 1, all of one length, is an indicator.

    Parameters
    ----------
    y : object

    Returns
    -------
    sets : list of list, or None
        Each label of a row once.

    Raises
    ------
    ValueError
        If some rows are no lists, or a label is missing.
    """
    if sp.issparse(y) or getattr(y, "ndim", 1) != 1:
        return None
    if hasattr(y, "to_list"):  # of pandas, or of polars
        rows = y.to_list()
    elif isinstance(y, np.ndarray):
        rows = y.tolist()
    else:
        rows = y
    if not isinstance(rows, (list, tuple)) or not any(isinstance(row, NESTED) for row in rows):
        return None
    if not all(isinstance(row, NESTED) for row in rows):
        raise ValueError("y_true mixes labels and lists of labels; give a list for each row")
    if isinstance(y, (list, tuple)) and _is_indicator(rows):
        return None
    rows = [row.tolist() if isinstance(row, np.ndarray) else row for row in rows]
    if any(is_missing(label) for row in rows for label in row):
        raise ValueError("y_true has labels that are missing (None or NaN)")
    try:
        return [list(dict.fromkeys(row)) for row in rows]
    except TypeError as error:
        raise ValueError(f"y_true holds lists in lists of labels: {error}") from error


def _is_indicator(rows: list | tuple) -> bool:
    """Return whether lists in lists are numbers of an indicator."""
    if any(isinstance(row, (set, frozenset)) for row in rows):
        return False
    if len(set(map(len, rows))) != 1:
        return False
    numbers = bool, int, float, np.number, np.bool_
    values = chain.from_iterable(rows)
    return all(isinstance(value, numbers) and 0 <= value <= 1 for value in values)


def distinct_labels(sets: list[list]) -> Table:
    """Return the table label -> number over all labels of the rows, in order of appearance."""
    seen = dict.fromkeys(chain.from_iterable(sets))
    return {label: number for number, label in enumerate(seen)}


def truth_of_sets(sets: list[list], names: Table) -> sp.csr_array:
    """Return the labels of each row as CSR (n, K + 1).

    Parameters
    ----------
    sets : list of list
    names : dict
        Label -> column.

    Returns
    -------
    truth : csr_array
        Column K has an entry for each label of the row that has no column: as many as there are,
        since each counts as true and none can be found.
    """
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

    Parameters
    ----------
    truth : csr_array (n, n_given)
    places : ndarray of int (n_given,)
        Of each column, `n_columns` for those that are unknown.
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

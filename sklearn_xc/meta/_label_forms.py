"""Labels of samples in the forms that a user of texts has them, joined by those of label texts."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from ..base._labels import is_indicator
from ..base._new_classes import append_names
from ..utils._given_labels import given_classes, holds_lists, label_names, plain_labels
from ..utils._typing import Matrix

LISTS = "lists"
OF_A_ROW = list, tuple, set, frozenset, np.ndarray


class Targets(NamedTuple):
    """Labels of samples, and all labels there are.

    The form is "classes", "lists" or "indicator". Labels of classes are sorted, and those of lists
    at first; new ones of lists come after those of the model.
    """

    form: str
    y: Matrix
    labels: np.ndarray


def read_targets(
    y: Any,
    texts: dict,
    n_rows: int,
    classifier: BaseEstimator,
    known: np.ndarray | None = None,
    form: str | None = None,
) -> Targets:
    """Read y together with texts of labels, label -> list.

    The parameter `label_names` of the classifier may name the columns of an indicator. In a later
    call `known` are the labels of the model and `form` is that of y so far. ValueError if y is of
    another form or length, or texts name a label that an indicator lacks.
    """
    if holds_lists(y):
        y = y.to_pylist() if hasattr(y, "to_pylist") else y.to_list()
    n_labelled = y.shape[0] if hasattr(y, "shape") else len(y)
    if n_labelled != n_rows:
        raise ValueError(f"X has {n_rows} texts, but y has labels for {n_labelled} samples")
    found = _form_of(y)
    if form is not None and found != form:
        raise ValueError(f"y was in the form of {form} before, and now of {found}")
    if found == LISTS:
        return _of_lists(y, texts, known)
    if found == "indicator":
        return _of_indicator(y, texts, classifier, known)
    y = np.asarray(plain_labels(y))
    labels = [*y.ravel().tolist(), *texts]
    if known is not None:
        labels += known.tolist()
    return Targets("classes", y, _sorted(labels))


def _form_of(y: Any) -> str:
    """Return the form of y: "classes", "lists" or "indicator"."""
    # Lists of 0 and 1, all of one length, may be lists of labels too: as scikit-learn reads them,
    # they are an indicator. Sets have no order, so no columns.
    if sparse.issparse(y) or getattr(y, "ndim", 1) == 2:
        return "indicator"
    plain = getattr(y, "dtype", None) is None or y.dtype == object
    if plain:
        _require_one_form(y)
    if plain and len(y) and all(isinstance(row, OF_A_ROW) for row in y):
        square = not any(isinstance(row, (set, frozenset)) for row in y)
        return "indicator" if square and _is_square_of_numbers(y) else LISTS
    return "indicator" if is_indicator(y) else "classes"


def _require_one_form(y: Any) -> None:
    """Refuse lists of labels next to labels that stand alone."""
    single = next((row for row in y if not isinstance(row, OF_A_ROW)), None)
    several = next((row for row in y if isinstance(row, OF_A_ROW)), None)
    if single is not None and several is not None:
        raise ValueError(
            f"y holds the label {single!r:.60} and a list of labels, {several!r:.60}: give one "
            "label for each sample, or a list for each"
        )


def _is_square_of_numbers(y: Any) -> bool:
    """Say whether lists of labels are rows of an indicator: 0 and 1, as many in each."""
    width = {len(row) for row in y}
    if len(width) != 1 or width == {0}:
        return False
    return all(not isinstance(value, str) and value in (0, 1) for row in y for value in row)


def _sorted(labels: list) -> np.ndarray:
    """Return labels, each once, as a sorted array."""
    # Scalars of NumPy as Python's: np.str_ and str, np.int64 and int are one kind of label.
    labels = [label.item() if isinstance(label, np.generic) else label for label in labels]
    if len(set(map(type, labels))) > 1 and any(isinstance(label, str) for label in labels):
        texts = [label for label in labels if isinstance(label, str)]
        others = [label for label in labels if not isinstance(label, str)]
        raise ValueError(
            f"y and label_texts hold texts such as {texts[0]!r} and other labels such as "
            f"{others[0]!r}; convert the labels"
        )
    return given_classes(sorted(set(labels)))


def _of_lists(y: Any, texts: dict, known: np.ndarray | None) -> Targets:
    """Return targets of lists of labels, as an indicator."""
    # A label that a list names twice counts once; fromkeys keeps the order.
    rows = [list(dict.fromkeys(row.tolist() if isinstance(row, np.ndarray) else row)) for row in y]
    named = [label for row in rows for label in row]
    labels = _sorted([*named, *texts]) if named or texts else np.empty(0, dtype=object)
    # Columns of the labels of the model stay where they are.
    if known is not None:
        new = [label for label in labels.tolist() if label not in set(known.tolist())]
        labels = append_names(known, _sorted(new)) if new else known
    if not len(labels):
        raise ValueError("y holds no label, and label_texts none")
    place = {label: i for i, label in enumerate(labels.tolist())}
    indices = np.array([place[label] for label in named], dtype=np.int32)
    indptr = np.append(0, np.cumsum([len(row) for row in rows])).astype(np.int32)
    Y = sparse.csr_array(
        (np.ones(len(indices), np.uint8), indices, indptr), shape=(len(rows), len(labels))
    )
    Y.sort_indices()
    return Targets(LISTS, Y, labels)


def _of_indicator(
    y: Any, texts: dict, classifier: BaseEstimator, known: np.ndarray | None
) -> Targets:
    """Return targets of an indicator, whose columns have names or numbers."""
    names = label_names(y)
    if names is None and known is not None:
        names = known
    if names is None:
        given = getattr(classifier, "label_names", None)
        width = y.shape[1] if hasattr(y, "shape") else len(y[0])
        names = np.arange(width) if given is None else np.asarray(plain_labels(given))
    there = set(names.tolist())
    if unknown := [label for label in texts if label not in there]:
        raise ValueError(f"label_texts names {unknown[0]!r}, which is no column of y")
    return Targets("indicator", y, names)

"""New labels of a one-vs-rest model, trained in addition to those it has."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..base._classifier import BaseXCClassifier
from ..base._labels import LabelEncoding, encode_indicator
from ..base._multiclass import known_codes
from ..base._new_classes import append_names, merge_labels, rows_in_places
from ..topk._weight_store import store_of


class WeightColumns(NamedTuple):
    """Weights and reports of a one-vs-rest model by class; a binary model has two columns here."""

    coef: sparse.csr_array
    intercept: np.ndarray
    gap: np.ndarray
    n_active: np.ndarray
    dual: sparse.csr_array | None  # (n_classes, n_samples)


def columns_of(model: BaseXCClassifier) -> WeightColumns:
    """Return the columns of a fitted model, two of them for two classes."""
    coef, dual = store_of(model.coef_).checked().csr(), vars(model).get("dual_coef_")
    columns = WeightColumns(coef, model.intercept_, model.dual_gap_, model.n_active_, dual)
    if model._encoding.kind != "binary":
        return columns
    return WeightColumns(
        # The problem of the first of two classes is that of the second with all y_i turned round: w
        # and b are opposite, and equation 10 has the same dual variables.
        sparse.vstack([-coef, coef], format="csr"),
        np.concatenate([-columns.intercept, columns.intercept]),
        np.repeat(columns.gap, 2),
        np.repeat(columns.n_active, 2),
        None if dual is None else sparse.vstack([dual, dual], format="csr"),
    )


def join_columns(
    columns: WeightColumns, places: np.ndarray, result: dict[str, Any], same_rows: bool
) -> WeightColumns:
    """Return the columns of a model at their places among those just solved, whose others are new.

    `result` is that of `fit_classes`, in which the columns at `places` are empty; `same_rows` says
    whether dual variables of as many samples are of the same ones.
    """
    n_columns = len(result["intercept"])
    dual = columns.dual
    if same_rows and dual is not None and dual.shape[1] == result["dual"].shape[1]:
        # A sum joins disjoint rows: each class is empty in one of the two.
        dual = rows_in_places(dual, places, n_columns) + result["dual"]
    else:  # of other samples
        dual = None
    joined = WeightColumns(
        rows_in_places(columns.coef, places, n_columns) + result["coef"],
        result["intercept"].copy(),
        result["gap"].copy(),
        result["n_active"].copy(),
        dual,
    )
    joined.intercept[places] = columns.intercept
    joined.gap[places] = columns.gap
    joined.n_active[places] = columns.n_active
    return joined


def encode_added(
    encoding: LabelEncoding, y: np.ndarray | sparse.csr_array, names: np.ndarray | None, grades: str
) -> tuple[LabelEncoding, np.ndarray, sparse.csr_array]:
    """Encode labels that join those of a model: classes of the samples, or an indicator.

    Returns the encoding of old and new labels, the places of the old ones there, and the positives
    of the new labels, (n_samples, n_old_and_new), where the columns of the old ones are empty.
    """
    if encoding.kind == "multilabel":
        return _encode_added_columns(encoding, y, names, grades)
    if y.ndim == 2 and y.shape[1] == 1 and not sparse.issparse(y):
        y = y.ravel()
    if y.ndim != 1:
        raise ValueError(
            f"fit's y held one class a sample, Y_new has shape {y.shape}: give the classes of the "
            "samples, 1-D, with new ones among them"
        )
    if names is not None:
        raise ValueError("names are for the columns of an indicator; here Y_new holds the classes")
    classes, places = merge_labels(encoding.classes_, y)
    if len(classes) == len(encoding.classes_):
        raise ValueError("Y_new holds no class that the model does not have already")
    # Samples of old classes are negatives of the new ones: rows without a positive.
    codes = known_codes(y, classes)
    is_new = np.ones(len(classes), dtype=bool)
    is_new[places] = False
    indptr = np.append(0, np.cumsum(is_new[codes]))
    codes = codes[is_new[codes]]
    parts = np.ones(len(codes), dtype=np.uint8), codes, indptr.astype(np.int32)
    Y = sparse.csr_array(parts, shape=(len(y), len(classes)))
    return LabelEncoding("multiclass", classes, classes.dtype), places, Y


def _encode_added_columns(
    encoding: LabelEncoding, y: np.ndarray | sparse.csr_array, names: np.ndarray | None, grades: str
) -> tuple[LabelEncoding, np.ndarray, sparse.csr_array]:
    """Encode an indicator of new labels, behind the columns that there are."""
    if y.ndim != 2:
        raise ValueError(
            f"fit's y was an indicator, Y_new has shape {y.shape}: give an indicator of the new "
            "labels, one column each (of a single label, reshape it to (-1, 1))"
        )
    new = encode_indicator(y, None, grades)[1]
    n_old, n_new = encoding.n_classes, new.shape[1]
    classes = append_columns([encoding.classes_, names], [n_old, n_new], "Y_new")
    Y = sparse.hstack([sparse.csr_array((y.shape[0], n_old), dtype=new.dtype), new], format="csr")
    grown = LabelEncoding("multilabel", classes, encoding.dtype, encoding.container)
    return grown, np.arange(n_old), Y


def append_columns(
    names: Sequence[np.ndarray | None], numbers: Sequence[int], what: str
) -> np.ndarray:
    """Return names of the columns of several indicators side by side; numbers where they have none.

    `numbers` counts the columns of each; errors call the second and later ones `what`.
    """
    named = [not _are_numbers(n, number) for n, number in zip(names, numbers, strict=True)]
    if not any(named):
        return np.arange(sum(numbers))
    if not all(named):
        raise ValueError(
            f"either all label columns have names or none: the first has {_described(named[0])}, "
            f"{what} has {_described(not named[0])}"
        )
    joined, *others = (n for n in names if n is not None)  # all have names
    for more, number in zip(others, numbers[1:], strict=True):
        if more.shape != (number,):
            raise ValueError(
                f"names must be one for each of the {number} columns, got shape {more.shape}"
            )
        joined = append_names(joined, more)
    # One by one, to name the label that is there twice.
    seen = set()
    for name in joined.tolist():
        if name in seen:
            raise ValueError(f"the label {name!r} is there twice; labels must be disjoint")
        seen.add(name)
    return joined


def _are_numbers(names: np.ndarray | None, number: int) -> bool:
    """Return whether names of columns are none but their numbers."""
    return names is None or (names.dtype.kind in "iu" and np.array_equal(names, np.arange(number)))


def _described(named: bool) -> str:
    """Return what an error says of columns with or without names."""
    return "names" if named else "numbers only"

"""Labels as users have them: columns of a table and their names, numbers of pandas and Arrow."""

from contextlib import suppress
from itertools import compress
from typing import Any, Literal

import numpy as np
from scipy import sparse

from ._label_places import check_names
from ._typing import LabelsLike

MISSING = {"NAType", "NaTType"}  # pandas.NA and pandas.NaT, without an import of pandas
# A text takes the room of the longest in NumPy. Texts stay Python's where that is so much more than
# all of them take, and at least so many bytes.
WASTE, LEAST_WASTE = 8, 2**26


def is_missing(label: Any) -> bool:
    """Return whether a label stands for none: None, NaN, NaT, pandas.NA."""
    if label is None or type(label).__name__ in MISSING:
        return True
    return isinstance(label, (float, np.floating, np.datetime64)) and bool(label != label)


def label_names(y: Any) -> np.ndarray | None:
    """Return the column names of a table as an array, None for any other y.

    Raises ValueError if a name is missing, a tuple or there twice: no answer could be told by it.
    """
    # By attributes, not by types: no package of tables need be installed or imported. `columns` of
    # Arrow are the data.
    if hasattr(y, "column_names"):
        names = np.empty(len(y.column_names), dtype=object)
        names[:] = y.column_names
    elif hasattr(y, "columns"):
        names = np.asarray(y.columns)
    else:
        return None
    if names.ndim != 1:
        return None
    what = "the columns of y"
    return require_names(names, what)


def require_names(names: np.ndarray, what: str) -> np.ndarray:
    """Return the names of labels, which must not be missing, tuples or there twice.

    Errors begin with `what`.
    """
    if names.dtype.kind in "mM" and np.isnat(names).any():
        raise ValueError(f"{what} have a name that is missing (NaT); give each label a name")
    if names.dtype.kind == "f" and np.isnan(names).any():
        raise ValueError(f"{what} have a name that is missing (NaN); give each label a name")
    if names.dtype.kind == "O":
        items = names.tolist()
        if any(map(is_missing, items)):
            raise ValueError(
                f"{what} have a name that is missing (NaN or None); rename or drop that column, "
                "such as the one that pandas.get_dummies(dummy_na=True) makes"
            )
        if any(isinstance(item, tuple) for item in items):
            raise ValueError(
                f"{what} have tuples for names, such as those of a MultiIndex; join them to texts: "
                "y.columns = [' / '.join(map(str, name)) for name in y.columns]"
            )
    check_names(names, len(names), what)
    return names


def in_order_of(
    y: LabelsLike,
    classes: np.ndarray,
    what: str = "y",
    missing: Literal["refused", "zero"] = "refused",
    unknown: Literal["refused", "dropped"] = "refused",
) -> LabelsLike:
    """Return a table of labels with the columns of a model's labels, in their order.

    Any other y comes back as it is. `missing` says what becomes of labels of the model without a
    column, `unknown` what becomes of columns that are no labels of the model; errors call y `what`.
    """
    names = label_names(y)
    if names is None or (len(names) == len(classes) and _same(names, classes)):
        return y
    if len(names) == len(classes) and names_of_columns(y, classes) is classes:
        return y
    known = set(classes.tolist())
    # -1 for a label without a column, which stays zero below
    place = {name: i for i, name in enumerate(names.tolist())}
    order = [place.get(label, -1) for label in classes.tolist()]
    if missing == "refused" and -1 in order:
        label = classes.tolist()[order.index(-1)]
        raise ValueError(
            f"{what} has no column {label!r}, which the model was fitted on; its columns are "
            f"matched by their names, such as {names.tolist()[0]!r}"
        )
    if unknown == "refused" and (strange := [n for n in names.tolist() if n not in known]):
        raise ValueError(f"{what} has the column {strange[0]!r}, which the model was not fitted on")
    values = np.asarray(plain_indicator(y))
    found = np.zeros((len(values), len(order)), dtype=values.dtype)
    there = np.array(order) >= 0
    found[:, there] = values[:, list(compress(order, there))]
    return found


def names_of_columns(y: LabelsLike, classes: np.ndarray) -> np.ndarray:
    """Return the names of the columns of a table, or `classes` where it has none."""
    names = label_names(y)
    if names is None:
        return classes
    # Names decide if both have some. Numbers from 0 on are no names, in a table or in a model:
    # such columns go by their places, unless they are the very labels in another order.
    known = set(classes.tolist())
    nameless = is_numbered(names) or (is_numbered(classes) and known != set(names.tolist()))
    return classes if nameless else names


def _same(names: np.ndarray, classes: np.ndarray) -> bool:
    """Return whether labels are equal one by one; as Python's, since NumPy casts 1 to "1"."""
    return names.tolist() == classes.tolist()


def is_numbered(names: np.ndarray) -> bool:
    """Say whether names of columns are their numbers, that is, no names."""
    return names.dtype.kind in "iu" and (names == np.arange(len(names))).all()


def plain_labels(y: LabelsLike) -> LabelsLike:
    """Return one class a sample as NumPy has it: whole numbers of pandas and Arrow stay whole.

    Indicators come back as they are, but for those of polars as an array.
    """
    # scikit-learn would make floats of nullable integers, and round what has more than 53 bits.
    if sparse.issparse(y):
        return y
    if is_polars_frame(y):
        one = y.shape[1] == 1
        return np.asarray(plain_labels(y.to_series(0)))[:, None] if one else y.to_numpy()
    if isinstance(y, (list, tuple)):
        return _not_widened(y)
    dtype = getattr(y, "dtype", None)
    if hasattr(y, "iloc") and getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:
        return np.asarray(plain_labels(y.iloc[:, 0]))[:, None]
    if getattr(y, "ndim", 1) != 1 or dtype is None:
        return y
    if isinstance(dtype, np.dtype):
        if dtype.kind == "O":
            return _whole_numbers(y)
        return y.astype(object) if dtype.kind == "T" else y  # texts of any length, since NumPy 2
    if not hasattr(y, "to_numpy"):
        return y
    # Nullable integers come out as objects, since NumPy has no integer that is missing.
    plain = np.asarray(y.to_numpy())
    kind = getattr(dtype, "kind", "O")
    if plain.dtype.kind == "O" and kind in ("i", "u", "b"):
        plain = plain.astype({"i": np.int64, "u": np.uint64, "b": bool}[kind])
    return plain


def holds_lists(y: Any) -> bool:
    """Say whether y is a column of polars or Arrow whose items are lists."""
    kind = str(getattr(y, "dtype", getattr(y, "type", "")))
    return kind.lower().startswith(("list", "large_list", "array("))


def is_polars_frame(y: Any) -> bool:
    """Say whether y is a table that has neither `ndim` nor `iloc`, as one of polars."""
    return hasattr(y, "columns") and hasattr(y, "to_series") and not hasattr(y, "iloc")


def plain_indicator(y: LabelsLike) -> LabelsLike:
    """Return an indicator as numbers: not of objects, nor of columns that differ, nor float16."""
    if isinstance(y, tuple):  # which SciPy takes for the parts of a matrix
        return list(y)
    if isinstance(y, np.ndarray) and y.ndim == 2 and y.dtype in (np.dtype(object), np.float16):
        with suppress(ValueError, TypeError):  # of texts: said by those who need numbers
            return y.astype(np.float64)
    if hasattr(y, "iloc") and y.ndim == 2 and y.shape[1] > 1:
        kinds = {getattr(dtype, "kind", "O") for dtype in y.dtypes}
        # objects, which these columns would become together, are not recognised as an indicator
        plain = len(kinds) == 1 and all(isinstance(dtype, np.dtype) for dtype in y.dtypes)
        if kinds <= set("biufO") and (not plain or kinds == {"O"}):
            with suppress(ValueError, TypeError):
                return y.to_numpy(dtype=np.float64, na_value=np.nan)
    return y


def _whole_numbers(y: Any) -> Any:
    """Return Python's integers in an object array as NumPy's, if all labels are integers."""
    values = np.asarray(y)
    if not len(values) or not all(
        isinstance(label, (int, np.integer)) and not isinstance(label, bool) for label in values
    ):
        return y
    plain = np.array(values.tolist())  # of 64 bits, or objects where these do not do
    return plain if plain.dtype.kind in "iu" else y


def _not_widened(y: list | tuple) -> list | tuple | np.ndarray:
    """Return a list of labels, as an object array if they are texts of which one is far longer."""
    if not len(y) or not all(isinstance(label, str) for label in y):
        return y
    lengths = np.fromiter(map(len, y), dtype=np.int64, count=len(y))
    if not wastes(lengths.max(), lengths.sum(), len(y)):
        return y
    plain = np.empty(len(y), dtype=object)
    plain[:] = y
    return plain


def wastes(longest: int, total: int, n: int) -> bool:
    """Return whether n texts of `total` letters would waste memory, as wide as the longest."""
    # NumPy keeps 4 bytes a letter, and each text as wide as the longest
    room = 4 * int(longest) * n
    return room > LEAST_WASTE and room > WASTE * 4 * int(total)


def given_classes(classes: LabelsLike) -> np.ndarray:
    """Return the labels that `classes` of a call of partial_fit names, distinct and in order."""
    if isinstance(classes, (set, frozenset)):
        classes = list(classes)
    plain = np.asarray(plain_labels(classes))
    if plain.ndim == 2 and plain.shape[1] == 1:
        plain = plain.ravel()
    if plain.ndim != 1:
        raise ValueError(f"classes must be a sequence of labels, got {classes!r:.80}")
    if plain.dtype.kind in "Of" and any(map(is_missing, plain.tolist())):
        raise ValueError("classes holds NaN or None, which is no label")
    try:
        return np.unique(plain)
    except TypeError as error:
        raise ValueError(f"classes cannot be sorted: {error}") from error

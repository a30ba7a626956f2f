"""Classes that join a model which is already fitted: the union of labels, and the new places."""

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from ..utils._given_labels import wastes

NAMES = {"b": "booleans", "i": "numbers", "u": "numbers", "f": "numbers", "U": "strings"}


def merge_labels(known: np.ndarray, labels: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted union of a model's classes and other labels, wide enough for both.

    Parameters
    ----------
    known : ndarray of shape (n_known,)
        Sorted, each once.
    labels : ndarray of shape (n_labels,)
        In any order, with repetitions.

    Returns
    -------
    merged : ndarray of shape (n_merged,)
        `known` itself where nothing is new. Strings take the length of the longest; whole floats
        join whole numbers as such, and objects stay objects.
    places : ndarray of int64 (n_known,)
        The place of each known class in `merged`; ascending.

    Raises
    ------
    ValueError
        If the labels are of another kind than the classes, are not whole numbers, or do not sort.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_xc.base._new_classes import merge_labels
    >>> merged, places = merge_labels(np.array(["cat", "owl"]), np.array(["dolphin", "cat"]))
    >>> merged.tolist(), places.tolist()
    (['cat', 'dolphin', 'owl'], [0, 2])
    """
    labels = np.asarray(labels).ravel()
    if not labels.size:
        return known, np.arange(len(known))
    labels = _as_kind_of(known, labels)
    if _are_known(known, labels):
        return known, np.arange(len(known))
    if known.dtype.kind == "O" or labels.dtype.kind == "O" or _would_waste(known, labels):
        merged = _union_of_objects(known, labels)
    else:
        merged = np.union1d(known, labels)
        # NumPy joins int64 and uint64 in float64, which rounds labels above 2**53: two become one.
        if merged.dtype.kind == "f" and known.dtype.kind != "f":
            raise ValueError(f"labels of {labels.dtype} do not fit among classes of {known.dtype}")
    if len(merged) == len(known):
        return known, np.arange(len(known))
    return merged, np.searchsorted(merged, known)


def grown_classes(
    known: np.ndarray, y: np.ndarray, classes: ArrayLike | None, may_add: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes of a model after a call, and the new places of the classes it had.

    `classes` names all classes from now on; None takes in those of y, if it may add some.
    """
    if classes is None and may_add:
        return merge_labels(known, y)
    grown, places = known, np.arange(len(known))
    if classes is not None:
        grown, places = merge_labels(known, classes)
        left_out = np.setdiff1d(grown, classes)
        if len(left_out):
            raise ValueError(
                f"classes leaves out {left_out.tolist()[0]!r}, which an earlier call named: "
                "classes can be added, not taken away"
            )
    # A union refuses labels of another kind, such as texts among numbers, with an error of its own.
    with_y = merge_labels(grown, y)[0]
    if len(with_y) > len(grown):
        unknown = np.setdiff1d(with_y, grown).tolist()[0]
        raise ValueError(f"y holds {unknown!r}, which is not in classes")
    return grown, places


def _are_known(known: np.ndarray, labels: np.ndarray) -> bool:
    """Return whether all labels are classes, if that can be told without a copy of the classes."""
    # A part of a stream seldom has a new label, and a million classes would be merged at each call.
    # Longer texts than any class, or another dtype, would have NumPy convert all classes.
    texts = known.dtype.kind == labels.dtype.kind == "U"
    fits = labels.dtype.itemsize <= known.dtype.itemsize if texts else known.dtype == labels.dtype
    if not fits or known.dtype.kind not in "iuU" or not len(known):
        return False
    places = np.minimum(np.searchsorted(known, labels), len(known) - 1)
    return bool((known[places] == labels).all())


def _as_kind_of(known: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the labels, of the same kind as the classes; refuses other kinds."""
    # NumPy would join numbers and texts as texts, and 1 and "1" were one class.
    if labels.dtype.kind == "b" and known.dtype.kind in "iuf":
        labels = labels.astype(known.dtype)
    kinds = _kind(known), _kind(labels)
    if kinds[0] != kinds[1]:
        raise ValueError(
            f"y or classes holds {kinds[1]} such as {labels.tolist()[0]!r}, but the classes of "
            f"this model are {kinds[0]} such as {known.tolist()[0]!r}; convert the labels"
        )
    if labels.dtype.kind == "f" and (labels != np.trunc(labels)).any():
        example = labels[labels != np.trunc(labels)][0]
        raise ValueError(f"Unknown label type: continuous. y or classes holds {example!s}")
    if known.dtype.kind in "iu" and labels.dtype.kind == "f":
        # Out of range, the conversion gives some number and a warning: the comparison finds it.
        with np.errstate(invalid="ignore"):
            whole = labels.astype(np.int64)
        if (whole != labels).any():
            raise ValueError(f"{labels[whole != labels][0]!s} does not fit among whole numbers")
        return whole
    return labels


def _kind(labels: np.ndarray) -> str:
    """Return the word of an error message for the kind of these labels."""
    if labels.dtype.kind != "O":
        return NAMES.get(labels.dtype.kind, f"{labels.dtype} values")
    types = {type(label) for label in labels.tolist()}
    if all(issubclass(t, str) for t in types):
        return "strings"
    if all(issubclass(t, Real) for t in types):
        return "booleans" if types == {bool} else "numbers"
    return "objects of " + ", ".join(sorted(t.__name__ for t in types))


def _union_of_objects(known: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the sorted union of labels as Python's own values."""
    try:
        ordered = sorted({*known.tolist(), *labels.tolist()})
    except TypeError as error:
        raise ValueError(f"the labels cannot be sorted among the classes: {error}") from error
    # An array of texts takes for each as much as for the longest: one sentence among a million
    # words would take gigabytes. Objects take a pointer.
    is_wide = all(isinstance(label, str) for label in ordered) and wastes(
        max(map(len, ordered)), sum(map(len, ordered)), len(ordered)
    )
    return np.array(ordered, dtype=object if known.dtype.kind == "O" or is_wide else None)


def _would_waste(known: np.ndarray, labels: np.ndarray) -> bool:
    """Return whether new texts would make all known ones as wide as the longest."""
    if known.dtype.kind != "U" or labels.dtype.kind != "U":
        return False
    # Characters, of 4 bytes each in NumPy's arrays.
    total = (known.nbytes + labels.nbytes) // 4
    return wastes(max(known.itemsize, labels.itemsize) // 4, total, len(known) + len(labels))


def append_names(known: np.ndarray, names: np.ndarray) -> np.ndarray:
    """Return the column names behind others, in one array that cuts none of them short."""
    if known.dtype.kind == names.dtype.kind:
        return np.concatenate([known, names])
    joined = np.empty(len(known) + len(names), dtype=object)
    joined[:] = [*known.tolist(), *names.tolist()]
    return joined


def rows_in_places(rows: sparse.csr_array, places: ArrayLike, n_rows: int) -> sparse.csr_array:
    """Return a sparse matrix with its rows in other places, and empty rows in between."""
    coo = rows.tocoo()
    placed = sparse.coo_array(
        (coo.data, (np.asarray(places)[coo.row], coo.col)), shape=(n_rows, rows.shape[1])
    ).tocsr()
    placed.sort_indices()
    return placed

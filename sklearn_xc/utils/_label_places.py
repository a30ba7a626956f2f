"""Labels that a user names, as places in `classes_`: for all samples, or for each its own."""

from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse

from ._matrix import checked_csr, normalise
from ._typing import LabelsLike


class Named(NamedTuple):
    """Labels as places in `classes_`, distinct for each sample, in the order they were named."""

    starts: np.ndarray | None  # int64 (n_rows + 1,), of each sample; None: all have the same places
    places: np.ndarray  # int64


# Bytes of labels, as wide as the classes, that are looked up at once.
LABELS_AT_ONCE = 2**24
LONGEST_SHOWN = 80  # letters of a label in a message


def named_labels(
    labels: LabelsLike,
    classes: np.ndarray,
    n_rows: int,
    name: str = "labels",
    missing: Literal["refused", "left out"] = "refused",
) -> Named:
    """Return labels that a user names, as places in `classes`.

    `labels` is a label, a sequence of labels, a sequence of labels a sample, or a sparse indicator;
    errors call it `name`. `missing` says what becomes of labels that are not in `classes`; numbers
    among texts are always refused. Memory follows the labels and the classes, however long a single
    label is.
    """
    if sparse.issparse(labels):
        return _of_indicator(checked_csr(labels, name), n_rows, classes, name)
    labels = _as_list(labels, name)
    if not isinstance(labels, list):
        labels = [labels]
    # a tuple is a list by now: no label of ours is one, so that lists in a list are rows
    nested = [isinstance(row, list) for row in labels]
    if not any(nested):
        return _found(labels, classes, None, name, missing)
    if not all(nested):
        raise ValueError(f"{name} mixes labels and lists of labels; give one list for each sample")
    if len(labels) != n_rows:
        raise ValueError(f"{name} has lists for {len(labels)} samples, but X has {n_rows} samples")
    starts = np.append(0, np.cumsum([len(row) for row in labels], dtype=np.int64))
    return _found(list(chain.from_iterable(labels)), classes, starts, name, missing)


def _as_list(labels: Any, name: str) -> Any:
    """Convert arrays, tuples and so on to nested lists of objects; leave a single label."""
    if hasattr(labels, "to_numpy"):
        labels = labels.to_numpy()
    if isinstance(labels, (np.ndarray, np.generic)):
        if labels.ndim > 2:
            raise ValueError(f"{name} must have at most 2 dimensions, got shape {labels.shape}")
        labels = labels.tolist()
    if isinstance(labels, (list, tuple, set, frozenset, range)):
        return [_as_list(label, name) for label in labels]
    return labels


def _found(
    labels: list, classes: np.ndarray, starts: np.ndarray | None, name: str, missing: str
) -> Named:
    """Return places of a flat list of labels; `starts` says where each sample begins."""
    # A table takes a pass over all classes, for which the request of one sample would wait.
    places = _by_bisection(labels, classes)
    if places is None:
        places = _by_table(labels, classes, starts, name, missing)
    if missing == "left out" and len(places) and places.min() < 0:
        starts, places, labels = _kept(starts, places, labels, places >= 0)
    again = _repeats(starts, places, len(classes))
    if not len(again):
        return Named(starts, places)
    # A history holds what was seen twice; it is left out once. Repeats for all samples may be one
    # label for each sample, and repeats of 0 and 1 alone an indicator that is not sparse.
    if missing == "left out" and starts is not None and not set(labels) <= {0, 1}:
        first = np.ones(len(places), dtype=bool)
        first[again] = False
        return Named(*_kept(starts, places, labels, first)[:2])
    raise ValueError(
        f"{name} names {_shown(labels[again[0]])} twice{_where(starts, again[0])}; for one label "
        "each sample, such as the result of predict, give an array of shape (n_samples, 1), and an "
        "indicator as a sparse matrix"
    )


def _kept(
    starts: np.ndarray | None, places: np.ndarray, labels: list, kept: np.ndarray
) -> tuple[np.ndarray | None, np.ndarray, list]:
    """Return where samples begin, places and labels without those that are not kept."""
    # row r begins after as many kept labels as stand before its first one
    if starts is not None:
        starts = np.append(0, np.cumsum(kept))[starts]
    labels = [label for label, is_kept in zip(labels, kept, strict=True) if is_kept]
    return starts, places[kept], labels


def _repeats(starts: np.ndarray | None, places: np.ndarray, n_classes: int) -> np.ndarray:
    """Return where a label stands that its sample has named before."""
    # one number for each pair of row and class: equal ones are neighbours once they are sorted
    keys = places + n_classes * _row_of(starts)
    order = np.argsort(keys, kind="stable")
    return order[1:][np.diff(keys[order]) == 0]


def _by_bisection(labels: list, classes: np.ndarray) -> np.ndarray | None:
    """Return places in sorted classes, at a cost that grows with the labels only; None if one is
    missing.
    """
    if not labels or not len(classes):
        return np.empty(0, dtype=np.int64) if not labels else None
    if isinstance(classes[0], str) != all(isinstance(label, str) for label in labels):
        return None
    if classes.dtype.kind == "U":
        return _by_bisection_of_texts(labels, classes)
    try:
        # by assignment: np.array(labels) would make texts of numbers among texts
        wanted = np.empty(len(labels), dtype=object)
        wanted[:] = labels
        wanted = wanted if classes.dtype.kind == "O" else np.asarray(labels)
        return _bisected(wanted, classes)
    except (TypeError, ValueError, OverflowError):  # labels of other kinds than the classes
        return None


def _by_bisection_of_texts(labels: list[str], classes: np.ndarray) -> np.ndarray | None:
    """Find texts of one length by bisection; a longer label is none of them."""
    longest = classes.dtype.itemsize // 4
    if max(map(len, labels)) > longest or any(label.endswith("\0") for label in labels):
        return None  # NumPy would cut the one, or make the classes as wide, and drop the other
    at_once = max(1, LABELS_AT_ONCE // max(1, classes.dtype.itemsize))
    parts = []
    for start in range(0, len(labels), at_once):
        wanted = np.array(labels[start : start + at_once], dtype=classes.dtype)
        if (places := _bisected(wanted, classes)) is None:
            return None
        parts.append(places)
    return np.concatenate(parts)


def _bisected(wanted: np.ndarray, classes: np.ndarray) -> np.ndarray | None:
    """Return places of labels in sorted classes, None if one is not found."""
    places = np.minimum(np.searchsorted(classes, wanted), len(classes) - 1)
    # Each place is compared with its label, so that classes in another order lead to None at worst.
    # The comparison of labels of another kind may be a single False.
    found = np.asarray(classes[places] == wanted)
    return places if found.shape == places.shape and found.all() else None


def _by_table(
    labels: list, classes: np.ndarray, starts: np.ndarray | None, name: str, missing: str
) -> np.ndarray:
    """Return places of labels by a table of all classes, -1 or an error for one that is missing."""
    table = {label: place for place, label in enumerate(classes.tolist())}
    places = np.empty(len(labels), dtype=np.int64)
    for i, label in enumerate(labels):
        try:
            place = table.get(label)
        except TypeError:  # not hashable, hence no label
            place = None
        if place is None and (missing == "refused" or not _could_be(label, classes)):
            # whoever gives 0 and 1 may mean an indicator, which as an array are labels
            hint = "; an indicator has to be a sparse matrix" if label in (0, 1) else ""
            raise ValueError(
                f"{name} names {_shown(label)}{_where(starts, i)}, which is not in classes_{hint}"
            )
        places[i] = -1 if place is None else place
    return places


def _could_be(label: Any, classes: np.ndarray) -> bool:
    """Return whether a label that is not there is of the kind of those that are: texts, or
    others.
    """
    return len(classes) > 0 and isinstance(label, str) == isinstance(classes[0], str)


def _shown(label: Any) -> str:
    """Return a label in a message, which has room for its beginning."""
    text = repr(label[: 2 * LONGEST_SHOWN] if isinstance(label, str) else label)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def _row_of(starts: np.ndarray | None) -> np.ndarray | int:
    """Return the sample of each label; 0 for all where they are for every sample."""
    return 0 if starts is None else np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def _where(starts: np.ndarray | None, i: int) -> str:
    """Return the sample that the label at place i is for, in words."""
    return "" if starts is None else f" for sample {np.searchsorted(starts, i, side='right') - 1}"


def _of_indicator(labels: sparse.csr_array, n_rows: int, classes: np.ndarray, name: str) -> Named:
    """Return the labels of each sample of an indicator; stored zeros are none."""
    shape = n_rows, len(classes)
    if labels.shape != shape:
        raise ValueError(
            f"{name} is sparse, hence an indicator with a row for each sample of X and a column "
            f"for each class, and must have the shape {shape}; got {labels.shape}"
            f"{_of_all_items(labels.shape, shape, classes, name)}"
        )
    labels = normalise(labels, name).astype(bool)  # a copy
    labels.eliminate_zeros()
    return Named(labels.indptr.astype(np.int64), labels.indices.astype(np.int64))


def _of_all_items(
    given: tuple[int, int], shape: tuple[int, int], classes: np.ndarray, name: str
) -> str:
    """Return a hint where columns may number items of which the model does not know all."""
    if given[0] != shape[0] or given[1] < shape[1]:
        return ""
    if classes.dtype.kind in "OU" and name == "exclude":
        return (
            "; lists of labels, one for each sample, may hold labels that the model does not know, "
            "such as items that nobody took next"
        )
    if classes.dtype.kind not in "iu":
        return ""
    if not len(classes) or classes.min() < 0 or classes.max() >= given[1]:
        return ""
    return (
        "; if its columns are numbers of items, of which classes_ has those that the model knows, "
        f"give {name}=seen[:, model.classes_], where seen is this matrix in CSR or CSC"
    )


def check_names(names: np.ndarray, n_classes: int, argument: str = "names") -> None:
    """Refuse names that are not one for each label, or name two alike; errors say `argument`."""
    if names.shape != (n_classes,):
        raise ValueError(
            f"{argument} must be 1-D with a name for each of the {n_classes} labels, got shape "
            f"{names.shape}"
        )
    seen = set()
    for name in names.tolist():
        if name in seen:
            n_more = n_classes - len(set(names.tolist()))
            hint = (
                f"; {n_more} of {n_classes} repeat one before them: name labels by ids, or leave "
                "label_names out and give names= to predict_topk"
            )
            raise ValueError(
                f"{argument} names two labels {_shown(name)}"
                f"{hint if argument == 'label_names' else ''}"
            )
        seen.add(name)

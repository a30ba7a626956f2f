"""Classes that a user lists with the samples, of which some may have none."""

import numpy as np
from scipy import sparse
from sklearn.utils.validation import column_or_1d

from ..utils._given_labels import is_missing, plain_labels
from ..utils._label_places import check_names
from ..utils._typing import LabelsLike, Matrix
from ._labels import KEPT, LabelEncoding, encode_codes
from ._new_classes import grown_classes


def read_classes(classes: LabelsLike) -> np.ndarray:
    """Return classes as a user lists them: a vector, each once, two at least."""
    if isinstance(classes, (set, frozenset)):
        raise ValueError("classes is a set, which has no order: give a list")
    classes = np.asarray(plain_labels(classes))
    check_names(classes, classes.shape[0] if classes.ndim else 0, "classes")
    if len(classes) < 2:
        raise ValueError(f"classes must name at least two classes, got {classes.tolist()!r}")
    # NaN is not equal to itself: the labels of its samples would never be found.
    if classes.dtype.kind in "Of" and any(map(is_missing, classes.tolist())):
        raise ValueError("classes holds NaN or None, which is no label")
    return classes


def sorted_classes(classes: np.ndarray) -> np.ndarray:
    """Return classes in ascending order."""
    try:
        return np.unique(classes)
    except TypeError as error:
        raise ValueError(f"classes cannot be sorted: {error}") from error


def encoding_of(classes: np.ndarray) -> LabelEncoding:
    """Return the encoding of sorted classes, one a sample."""
    return LabelEncoding("binary" if len(classes) == 2 else "multiclass", classes, classes.dtype)


def encode_among(
    y: Matrix, classes: LabelsLike, label_names: LabelsLike | None, grades: str
) -> tuple[LabelEncoding, sparse.csr_array]:
    """Encode a validated y of one class a sample among the classes that the user names.

    They may be in any order, and y may hold one of them alone. `label_names` is the parameter; it,
    and `grades`, are for an indicator. The result is as of `_labels.encode`.
    """
    if sparse.issparse(y) or (y.ndim == 2 and y.shape[1] > 1):
        raise ValueError("classes is for y of one class a sample; y is an indicator")
    if label_names is not None:
        raise ValueError(
            "label_names is for the columns of an indicator; classes has names already"
        )
    if grades == KEPT:
        raise ValueError("graded=True is for an indicator y, but y has one class a sample")
    y = column_or_1d(y, warn=True)
    named = sorted_classes(read_classes(classes))
    # Merged, not compared: labels of another kind (numbers among texts) are refused there by name,
    # and texts that are longer than any class are not cut.
    grown_classes(named, y, None, may_add=False)
    return encoding_of(named), encode_codes(np.searchsorted(named, y), len(named))

"""y, label_features and estimators of a stack, checked."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import column_or_1d

from ..base._classifier import check_parameters
from ..base._label_texts import require_lines
from ..base._labels import DROPPED, KEPT, LabelEncoding, check_labels, encode_indicator
from ..base._named_classes import encoding_of, read_classes, sorted_classes
from ..base._new_classes import merge_labels
from ..base._validation import with_label_names
from ..metrics._ranking import codes as codes_in
from ..metrics._ranking import one_per_row
from ..model_selection._out_of_fold import Labels, read_labels
from ..utils._given_labels import label_names, plain_labels
from ..utils._matrix import checked_csr
from ..utils._typing import LabelsLike, MatrixLike
from ..utils._validation import check_sample_weight
from ._fit_parts import PartData, require_same_rows
from ._label_facts import shares_of


def read_data(
    stack: BaseEstimator,
    X: MatrixLike,
    y: LabelsLike,
    sample_weight: ArrayLike | None,
    label_features: MatrixLike | None,
    classes: ArrayLike | None,
) -> tuple[Labels, PartData, list[sparse.csr_array]]:
    """Check parameters and arguments of fit; return labels, data of the parts, and texts.

    Texts are for `LabelFacts`: none where they are no sparse matrices in the columns of X.
    """
    check_parameters(stack)
    require_estimators(stack.estimators)
    if y is None:
        raise ValueError("TopKStackingClassifier requires y to be passed, but the target y is None")
    labels, order = _labels(y, classes)
    if stack.label_names is not None:
        encoding = with_label_names(labels.encoding, stack.label_names, label_names(y))
        labels = replace(labels, encoding=encoding, classes=encoding.classes_)
    truth = sparse.csr_array(labels.truth[:, : len(labels.classes)])
    if labels.kind == "multilabel":
        y = _values(y)
    else:
        y = column_or_1d(np.asarray(plain_labels(y)), warn=True)
    require_same_rows(X, y)
    weight = None
    if sample_weight is not None:
        weight = check_sample_weight(sample_weight, truth.shape[0])
    if label_features is not None:
        label_features = _in_order(label_features, len(labels.classes), order, classes)
    data = PartData(X, y, truth, weight, label_features, labels.classes)
    return labels, data, _texts(label_features, X)


def require_estimators(estimators: Sequence | None) -> None:
    """Refuse what is no list of parts with names of their own."""
    if estimators is None:
        return
    pairs = all(isinstance(e, (tuple, list)) and len(e) == 2 for e in estimators)
    if not pairs or not len(estimators):
        raise ValueError(
            "estimators must be a list of pairs (name, estimator), at least one, or None for the "
            f"default parts; got {estimators!r:.200}"
        )
    # Names are prefixes of parameters, name__parameter, and keys of scores, next to "stack".
    names = [name for name, _ in estimators]
    for name in names:
        if not isinstance(name, str) or not name or "__" in name or name == "stack":
            raise ValueError(
                f"estimators has the name {name!r}: names are texts without '__', and 'stack' is "
                "that of the whole"
            )
    if len(set(names)) < len(names):
        again = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"estimators has the name {again!r} twice; names must differ")
    for name, estimator in estimators:
        if not hasattr(estimator, "fit") or not hasattr(estimator, "get_params"):
            raise ValueError(f"part {name!r} is {estimator!r:.100}, which is no estimator")


def _labels(y: LabelsLike, classes: ArrayLike | None) -> tuple[Labels, np.ndarray | None]:
    """Return labels, and the place in `classes` of each of the sorted ones."""
    if classes is None:
        return read_labels(y), None
    check_labels(y, DROPPED)
    plain = plain_labels(y)
    plain = plain if sparse.issparse(plain) else np.asarray(plain)
    if sparse.issparse(plain) or (plain.ndim == 2 and plain.shape[1] > 1):
        raise ValueError("classes is for y of one class a sample; y is an indicator")
    named = read_classes(classes)
    found = sorted_classes(named)
    codes = codes_in(column_or_1d(plain), {c: i for i, c in enumerate(found.tolist())})
    if (codes < 0).any():
        unknown = np.setdiff1d(merge_labels(found, plain.ravel())[0], found).tolist()[0]
        raise ValueError(f"y holds {unknown!r}, which is not in classes")
    encoding = encoding_of(found)
    encoding = LabelEncoding(encoding.kind, encoding.classes_, encoding.dtype)
    # Encodings are sorted; label_features come in the order of `classes`.
    order = np.argsort(np.searchsorted(found, named))
    return Labels(encoding, found, one_per_row(codes, len(found) + 1)), order


def _values(y: LabelsLike) -> sparse.csr_array:
    """Return an indicator as parts take it, grades too."""
    # Grades stay only where there are any: floats of whole numbers are memberships.
    plain = y if sparse.issparse(y) else np.asarray(plain_labels(y))
    if plain.dtype.kind == "f" and ((plain.data if sparse.issparse(plain) else plain) % 1).any():
        return sparse.csr_array(encode_indicator(plain, None, KEPT)[1])
    return sparse.csr_array(encode_indicator(plain, None, DROPPED)[1])


def _in_order(
    label_features: Any, n_labels: int, order: np.ndarray | None, classes: ArrayLike | None
) -> Any:
    """Return label_features in the order of the sorted classes."""
    # A list of matrices is several texts a label; a list of lists of numbers is one matrix.
    several = isinstance(label_features, (list, tuple)) and all(
        sparse.issparse(part) or getattr(part, "ndim", 0) == 2 for part in label_features
    )
    if several and not label_features:
        raise ValueError("label_features is an empty sequence; give at least one matrix, or None")
    parts = list(label_features) if several else [label_features]
    found = []
    for part in parts:
        part = checked_csr(part, "label_features") if sparse.issparse(part) else np.asarray(part)
        if part.ndim != 2:
            raise ValueError(
                "label_features must be a matrix of two dimensions, one row a label; got shape "
                f"{part.shape}"
            )
        require_lines(part.shape[0], n_labels, "there are" if classes is None else "classes names")
        numbers = part.data if sparse.issparse(part) else part
        if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
            raise ValueError("label_features holds NaN or infinity")
        found.append(part if order is None else part[order])
    return found if several else found[0]


def _texts(label_features: MatrixLike | None, X: MatrixLike) -> list[sparse.csr_array]:
    """Return texts whose words can be looked for in rows, as `LabelFacts` keeps them."""
    if label_features is None or not sparse.issparse(X):
        return []
    parts = label_features if isinstance(label_features, list) else [label_features]
    for part in parts:
        if part.shape[1] != X.shape[1]:
            raise ValueError(
                f"label_features has {part.shape[1]} columns, but X has {X.shape[1]} features: "
                "texts of labels are rows in the columns of X"
            )
        # Without signs only: shares of a sum that may be zero, or below, mean nothing.
        if not sparse.issparse(part) or (len(part.data) and part.data.min() < 0):
            return []
    texts = []
    for part in parts:
        text = sparse.csr_array(part, copy=True, dtype=np.float32)
        text.sum_duplicates()
        text.eliminate_zeros()
        text.indices, text.indptr = (a.astype(np.int32) for a in (text.indices, text.indptr))
        texts.append(text)
    return shares_of(texts)

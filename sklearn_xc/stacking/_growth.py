"""Labels that join a fitted stack by their texts."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator

from ..base._label_texts import read_texts
from ..model_selection._out_of_fold import Labels
from ..neighbors._classifier import TopKNeighborsClassifier
from ..neighbors._input import with_new_labels
from ..utils._rows import Rows
from ..utils._typing import MatrixLike
from ._label_facts import LabelFacts, shares_of
from ._parts import StackPart, codes_of_part


class GrownStack(NamedTuple):
    """Labels, parts and facts of a stack with more labels."""

    labels: Labels
    parts: list[StackPart]
    estimators: list[tuple[str, BaseEstimator]]
    facts: LabelFacts


def grown(stack: BaseEstimator, label_features: MatrixLike, names: ArrayLike | None) -> GrownStack:
    """Return the records of a stack with more labels; the stack stays as it is."""
    # The second stage needs nothing new: its features of a label are scores, the number of samples,
    # here none, and the text. It has met labels without samples, which were hidden in its fit.
    able = [isinstance(estimator, TopKNeighborsClassifier) for _, estimator in stack.estimators_]
    if not any(able):
        raise ValueError(
            "add_labels: none of the parts "
            f"{[name for name, _ in stack.estimators_]} takes labels by their texts alone; "
            "TopKNeighborsClassifier does"
        )
    n_features = getattr(stack, "n_features_in_", None)
    rows, line_of, n_new = read_texts(label_features, n_features)
    if not n_new:
        raise ValueError("label_features has no rows; give one for each new label")
    labels, places, new = _labels_after(stack._labels, n_new, names)
    n_known = len(stack._labels.classes)
    own_names = None if names is None else np.asarray(names)
    parts, estimators = [], []
    for part, (name, estimator), takes in zip(stack._parts, stack.estimators_, able, strict=True):
        if takes:
            # A part that numbers its labels counts on; of others the new labels have names.
            numbered = estimator._encoding.kind == "multilabel" and np.array_equal(
                estimator.classes_, np.arange(len(estimator.classes_))
            )
            estimator = _copied(estimator).add_labels(
                label_features, None if numbered else own_names
            )
            codes = None
            if part.codes is not None:
                codes = codes_of_part(name, estimator, labels.classes)
        else:
            # Its labels stay; those of the stack may have moved among sorted ones.
            codes = places if part.codes is None else places[part.codes]
        estimators.append((name, estimator))
        parts.append(part.with_codes(None if codes is None else codes.astype(np.int32)))
    frequencies = np.zeros(n_known + n_new)
    frequencies[places] = stack._facts.frequencies
    shares = _more_texts(stack._facts.shares, rows, line_of, places, new)
    return GrownStack(labels, parts, estimators, LabelFacts(frequencies, shares))


def _copied(estimator: BaseEstimator) -> BaseEstimator:
    """Return a copy that can be changed; what never changes is shared."""
    # A shallow one: add_labels puts new records in place of old ones. If a later part fails, the
    # stack still has the old estimators.
    other = object.__new__(type(estimator))
    estimator._read_all()
    vars(other).update(vars(estimator))
    return other


def _labels_after(
    labels: Labels, n_new: int, names: ArrayLike | None
) -> tuple[Labels, np.ndarray, np.ndarray]:
    """Return the labels after growth, the places of the previous ones, and of the new ones."""
    encoding = replace(labels.encoding, classes_=labels.classes)
    encoding, places, new = with_new_labels(encoding, n_new, names)
    return replace(labels, encoding=encoding, classes=encoding.classes_), places, new


def _more_texts(
    shares: list[sparse.csr_array],
    rows: Rows,
    line_of: np.ndarray,
    places: np.ndarray,
    new: np.ndarray,
) -> list[sparse.csr_array]:
    """Return the texts of all labels, as `LabelFacts` has them."""
    if not shares:
        return []
    n_lines = len(new)
    matrix = sparse.csr_array(rows.as_sparse().matrix())
    texts = [sparse.csr_array(matrix[i : i + n_lines]) for i in range(0, len(line_of), n_lines)]
    # Known texts, then new ones, as one matrix; its rows go to the places of their labels. A label
    # that has fewer texts than another has an empty row.
    order = np.argsort(np.concatenate([places, new]), kind="stable")
    found = []
    for i in range(max(len(shares), len(texts))):
        old = shares[i] if i < len(shares) else sparse.csr_array(shares[0].shape, dtype=np.float32)
        more = shares_of([texts[i]])[0] if i < len(texts) else None
        if more is None:
            more = sparse.csr_array((n_lines, old.shape[1]), dtype=np.float32)
        both = sparse.csr_array(sparse.vstack([old, more], format="csr")[order])
        both.indices, both.indptr = (a.astype(np.int32) for a in (both.indices, both.indptr))
        found.append(both)
    return found

"""Texts of labels that a user gives with the samples: matrices of one row a label.

Estimators that are trained take each text as a further training row, whose one positive is its
label. It is no sample: counts of labels, rules that read the labels, and held-out samples are of
the samples alone.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from ..utils._csr import narrow_pointers
from ..utils._given_labels import plain_labels
from ..utils._matrix import as_rows, checked_csr, normalise
from ..utils._rows import Rows
from ..utils._stacked_rows import stacked
from ..utils._typing import LabelsLike, Matrix, MatrixLike


class Texts(NamedTuple):
    """Texts of labels as training rows, to stand below the samples.

    None of the `rows` is zero. `labels` are the places of their labels in ``classes_`` (int32), and
    `weight` is that of each text, as a sample weight.
    """

    rows: Rows | None = None
    labels: np.ndarray = np.empty(0, dtype=np.int32)
    weight: float = 1.0

    @property
    def n(self) -> int:
        """Number of texts."""
        return len(self.labels)

    def below(self, rows: Rows, empty: Callable[..., np.ndarray] = np.empty) -> Rows:
        """Return the samples with the texts below them; as they are if there are no texts."""
        return rows if self.rows is None or not self.n else stacked(rows, self.rows, empty)

    def labels_below(self, Y: Matrix, binary: bool) -> Matrix:
        """Return the labels of the samples and those of the texts.

        Y is as `_labels.encode` or `_labels.codes_of` returns it; `binary` says whether it has the
        one column of two classes.
        """
        if not self.n:
            return Y
        if Y.ndim == 1:
            return np.append(Y, self.labels).astype(Y.dtype)
        # A text of the first of two classes is a row without an entry in their one column.
        positive = self.labels > 0 if binary else np.ones(self.n, dtype=bool)
        columns = np.zeros_like(self.labels) if binary else self.labels
        indptr = np.append(Y.indptr, Y.indptr[-1] + np.cumsum(positive))
        parts = (
            np.append(Y.data, np.ones(np.count_nonzero(positive), dtype=Y.dtype)),
            np.append(Y.indices, columns[positive]).astype(np.int32),
            narrow_pointers(indptr.astype(np.int64)),
        )
        return sparse.csr_array(parts, shape=(Y.shape[0] + self.n, Y.shape[1]))

    def weights_below(
        self, sample_weight: np.ndarray | None, n_samples: int, factors: np.ndarray | None = None
    ) -> np.ndarray | None:
        """Return the weights of the samples and those of the texts, None if all are 1.

        The weights of the samples are multiplied by the `factors` of their labels already.
        """
        if not self.n or (sample_weight is None and factors is None and self.weight == 1):
            return sample_weight
        if sample_weight is None:
            sample_weight = np.ones(n_samples, dtype=np.float32)
        of_texts = np.full(self.n, self.weight)
        if factors is not None:
            of_texts = of_texts * factors[self.labels]
        return np.append(sample_weight, of_texts.astype(np.float32))

    def join(
        self,
        rows: Rows,
        labels: Matrix,
        sample_weight: np.ndarray | None,
        binary: bool = False,
        factors: np.ndarray | None = None,
    ) -> tuple[Rows, Matrix, np.ndarray | None]:
        """Return rows, labels and weights of the samples with the texts below them."""
        sample_weight = self.weights_below(sample_weight, rows.shape[0], factors)
        return self.below(rows), self.labels_below(labels, binary), sample_weight


NO_TEXTS = Texts()


def texts_of(
    estimator: BaseEstimator,
    label_features: MatrixLike | None,
    n_features: int,
    dense: bool,
    classes: LabelsLike | None = None,
) -> Texts:
    """Return the texts that a call of a classifier is given, whose classes are known already.

    `classes` are the labels in the order of the texts; by default that of ``classes_``. The rows
    are `dense` if those of the samples are.
    """
    if label_features is None:
        return NO_TEXTS
    rows, line_of, n_lines = read_texts(label_features, n_features, dense)
    places = places_of_lines(n_lines, estimator.classes_, classes)
    return _texts(estimator, rows, places[line_of])


def texts_of_new(
    estimator: BaseEstimator,
    label_features: MatrixLike | None,
    n_features: int,
    dense: bool,
    is_new: np.ndarray,
) -> Texts:
    """Return the texts of labels that join a model, one row each, in the order of ``classes_``.

    `is_new` says of each class of the model whether it joins.
    """
    if label_features is None:
        return NO_TEXTS
    rows, line_of, n_lines = read_texts(label_features, n_features, dense)
    new = np.flatnonzero(is_new)
    require_lines(n_lines, len(new), "the new labels are")
    return _texts(estimator, rows, new[line_of])


def _texts(estimator: BaseEstimator, rows: Rows, labels: np.ndarray) -> Texts:
    """Return the rows that are not zero, as texts of these labels."""
    # No word of a zero row is among the features: it would only push the intercept of its label.
    there = np.flatnonzero(rows.squared_norms() > 0)
    weight = float(np.float32(estimator.label_feature_weight))
    if not len(there) or not weight > 0:
        return NO_TEXTS
    if len(there) < len(labels):
        rows = rows.take(there)
    return Texts(rows, labels[there].astype(np.int32), weight)


def params_of_parts(
    estimator: BaseEstimator, label_features: MatrixLike | None, classes: LabelsLike | None
) -> dict[str, Any]:
    """Return what fits of some of the samples are given, so that all know the same labels."""
    if label_features is None and classes is None:
        return {}
    params = {} if label_features is None else {"label_features": label_features}
    if estimator._encoding.kind != "multilabel":
        params["classes"] = estimator.classes_ if classes is None else classes
    return params


def read_texts(
    label_features: Any, n_features: int | None, dense: bool | None = None
) -> tuple[Rows, np.ndarray, int]:
    """Return the texts of labels as rows, the line of each in its matrix, and the number of lines.

    There must be `n_features` columns, any number of them for None. Rows are `dense` or not, for
    None as the texts are. Raises ValueError if a matrix has no two dimensions, another number of
    columns than X or of lines than the others, or holds what is no finite number.
    """
    # A list of lists of numbers is one matrix; a list of matrices is several.
    several = isinstance(label_features, (list, tuple)) and all(
        sparse.issparse(part) or getattr(part, "ndim", 0) == 2 for part in label_features
    )
    if several and not label_features:
        raise ValueError("label_features is an empty sequence; give at least one matrix, or None")
    parts = label_features if several else [label_features]
    names = [f"label_features[{i}]" for i in range(len(parts))] if several else ["label_features"]
    matrices = [_matrix(part, name) for part, name in zip(parts, names, strict=True)]
    for matrix, name in zip(matrices, names, strict=True):
        n_features = matrix.shape[1] if n_features is None else n_features
        if matrix.shape[1] != n_features:
            raise ValueError(
                f"{name} has {matrix.shape[1]} columns, but X has {n_features} features: texts of "
                "labels are rows in the columns of X"
            )
        if matrix.shape[0] != matrices[0].shape[0]:
            raise ValueError(
                f"{name} has {matrix.shape[0]} rows, but label_features[0] has "
                f"{matrices[0].shape[0]}: each has one row a label"
            )
    if dense is None:
        dense = not any(sparse.issparse(matrix) for matrix in matrices)
    # Matrix below matrix, so that line i of each is of the same label.
    joined = _stacked(matrices, dense)
    n_lines = matrices[0].shape[0]
    return as_rows(normalise(joined)), np.tile(np.arange(n_lines), len(matrices)), n_lines


def _stacked(matrices: list[Matrix], dense: bool) -> Matrix:
    """Return matrices one below the other, dense or as CSR."""
    if dense:
        return np.concatenate([m.toarray() if sparse.issparse(m) else m for m in matrices])
    return sparse.vstack([sparse.csr_array(m) for m in matrices], format="csr")


def _matrix(values: MatrixLike, name: str) -> Matrix:
    """Return one matrix of texts, float32, finite."""
    if not sparse.issparse(values):
        try:
            values = np.asarray(values)
        except ValueError as error:
            raise ValueError(f"{name} must be a matrix, one row a label: {error}") from error
    if values.ndim != 2 or values.shape[1] == 0:
        hint = ""
        if values.dtype.kind in "UO":
            hint = "; texts go through the vectorizer of the rows, or into LabelTextClassifier"
        raise ValueError(
            f"{name} must be a matrix of two dimensions, one row a label; got shape "
            f"{values.shape}{hint}"
        )
    # Before any conversion, which follows indices without a check.
    if sparse.issparse(values):
        values = checked_csr(values, name)
    numbers = values.data if sparse.issparse(values) else values
    if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
        raise ValueError(f"{name} holds NaN or infinity")
    return normalise(values, name)


def require_lines(n_lines: int, n_labels: int, what: str) -> None:
    """Refuse texts that are not one line for each label."""
    if n_lines != n_labels:
        raise ValueError(
            f"label_features has {n_lines} rows, one for each label, but {what} {n_labels}"
        )


def places_of_lines(n_lines: int, labels: np.ndarray, named: LabelsLike | None) -> np.ndarray:
    """Return which label each line of a matrix of texts is of.

    `named` are the `labels` of the model in the order of the lines; None for their own order. With
    it, `labels` are sorted.
    """
    if named is None:
        require_lines(n_lines, len(labels), "there are")
        return np.arange(n_lines)
    if isinstance(named, (set, frozenset)):
        raise ValueError("classes is a set, which has no order: give a list with label_features")
    named = np.asarray(plain_labels(named))
    require_lines(n_lines, len(named), "classes names")
    return np.searchsorted(labels, named)

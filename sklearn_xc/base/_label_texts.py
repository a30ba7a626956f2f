"""Texts of labels that a user gives beside the rows: matrices of one row a label."""

import numpy as np
from scipy import sparse

from ..utils._given_labels import plain_labels
from ..utils._matrix import as_rows, checked_csr, normalise


def read_texts(label_features, n_features: int | None, dense: bool | None = None):
    """Return the texts of labels as rows, and the line of each in its matrix.

    Parameters
    ----------
    label_features : array-like or sparse (n_labels, n_features), or list or tuple of these
    n_features : int or None
        That there must be; None for any number.
    dense : bool or None
        Form of the rows; None for that of the texts.

    Returns
    -------
    rows : Rows
    line_of : ndarray of int64 (n_texts,)
    n_lines : int

    Raises
    ------
    ValueError
        If a matrix has no two dimensions, another number of columns than X or of lines than the
        others, or holds what is no finite number.
    """
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
    joined = _stacked(matrices, dense)
    n_lines = matrices[0].shape[0]
    return as_rows(normalise(joined)), np.tile(np.arange(n_lines), len(matrices)), n_lines


def _stacked(matrices, dense):
    if dense:
        return np.concatenate([m.toarray() if sparse.issparse(m) else m for m in matrices])
    return sparse.vstack([sparse.csr_array(m) for m in matrices], format="csr")


def _matrix(values, name):
    """Return one matrix of texts, float32, finite."""
    if not sparse.issparse(values):
        try:
            values = np.asarray(values)
        except ValueError as error:
            raise ValueError(f"{name} must be a matrix, one row a label: {error}") from error
    if values.ndim != 2 or values.shape[1] == 0:
        raise ValueError(
            f"{name} must be a matrix of two dimensions, one row a label; got shape {values.shape}"
        )
    if sparse.issparse(values):
        values = checked_csr(values, name)
    numbers = values.data if sparse.issparse(values) else values
    if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
        raise ValueError(f"{name} holds NaN or infinity")
    return normalise(values, name)


def require_lines(n_lines: int, n_labels: int, what: str):
    """Refuse texts that are not one line for each label."""
    if n_lines != n_labels:
        raise ValueError(
            f"label_features has {n_lines} rows, one for each label, but {what} {n_labels}"
        )


def places_of_lines(n_lines: int, labels: np.ndarray, named) -> np.ndarray:
    """Return which label each line of a matrix of texts is of.

    Parameters
    ----------
    n_lines : int
    labels : ndarray (n_labels,)
        Of the model; sorted where `named` is given.
    named : array-like of the same labels, or None
        In the order of the lines; None for that of `labels`.
    """
    if named is None:
        require_lines(n_lines, len(labels), "there are")
        return np.arange(n_lines)
    named = np.asarray(plain_labels(named))
    require_lines(n_lines, len(named), "classes names")
    return np.searchsorted(labels, named)

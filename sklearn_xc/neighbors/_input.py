"""Texts and classes that a user gives beside the rows: checked, and put into their places."""

import numpy as np
from scipy import sparse
from sklearn.utils.validation import column_or_1d, validate_data

from ..base._labels import LabelEncoding, check_labels
from ..base._multiclass import known_codes
from ..base._new_classes import append_names, merge_labels
from ..base._validation import check_parameters
from ..utils._label_places import check_names
from ..utils._matrix import as_rows, checked_csr, in_checked_csr, normalise
from ..utils._rows import Rows
from ..utils._validation import check_sample_weight


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


def read_classes(classes) -> np.ndarray:
    """Return classes as a user lists them: a vector, each once."""
    classes = np.asarray(classes)
    check_names(classes, classes.shape[0] if classes.ndim else 0, "classes")
    if len(classes) < 2:
        raise ValueError(f"classes must name at least two classes, got {classes.tolist()!r}")
    return classes


def sorted_classes(classes: np.ndarray) -> np.ndarray:
    """Return classes in ascending order."""
    try:
        return np.unique(classes)
    except TypeError as error:
        raise ValueError(f"classes cannot be sorted: {error}") from error


def grown_classes(known: np.ndarray, y, classes):
    """Return the classes of a model after a call, and the places of those before.

    Parameters
    ----------
    known : ndarray (n_known,)
    y : ndarray (n_samples,)
        Classes of the samples.
    classes : ndarray (n_classes,), or None
        All classes from now on; None takes in those of y.
    """
    if classes is None:
        return merge_labels(known, y)
    grown, places = merge_labels(known, classes)
    left_out = np.setdiff1d(grown, classes)
    if len(left_out):
        raise ValueError(
            f"classes leaves out {left_out.tolist()[0]!r}, which the rows or an earlier call "
            "named: classes can be added, not taken away"
        )
    with_y = merge_labels(grown, y)[0]
    if len(with_y) > len(grown):
        unknown = np.setdiff1d(with_y, grown).tolist()[0]
        raise ValueError(f"y holds {unknown!r}, which is not in classes")
    return grown, places


def validate_with_classes(estimator, X, y, sample_weight, classes):
    """Check parameters and data of a fit whose classes are named, as `validate_fit` does.

    y may hold any of the classes, one alone too. Sets the classes and what scikit-learn records of
    X.

    Returns
    -------
    rows : Rows
    Y : csr_array of uint8 (n_samples, n_classes)
    sample_weight : ndarray of float32 (n_samples,), or None
    """
    check_parameters(estimator)
    check_labels(y)
    X, y = in_checked_csr(X, "X"), in_checked_csr(y, "y")
    X, y = validate_data(estimator, X, y, accept_sparse="csr", multi_output=True)
    if sparse.issparse(y) or (y.ndim == 2 and y.shape[1] > 1):
        raise ValueError("classes is for y of one class a row; y is an indicator")
    if estimator.label_names is not None:
        raise ValueError(
            "label_names is for the columns of an indicator; classes has names already"
        )
    y = column_or_1d(y, warn=True)
    if sample_weight is not None:
        sample_weight = check_sample_weight(sample_weight, X.shape[0])
    named = sorted_classes(read_classes(classes))
    if len(merge_labels(named, y)[0]) > len(named):
        unknown = np.setdiff1d(merge_labels(named, y)[0], named).tolist()[0]
        raise ValueError(f"y holds {unknown!r}, which is not in classes")
    estimator._require_size(len(named), X.shape[1])
    estimator._encoding = encoding_of(named)
    estimator.classes_ = named
    vars(estimator).pop("_share_with_labels", None)
    Y = indicator_of(known_codes(y, named), len(named))
    return as_rows(normalise(X)), Y, sample_weight


def encoding_of(classes: np.ndarray) -> LabelEncoding:
    """Return the encoding of sorted classes, one a row."""
    return LabelEncoding("binary" if len(classes) == 2 else "multiclass", classes, classes.dtype)


def wider_encoding(encoding: LabelEncoding, n_labels: int, names) -> LabelEncoding:
    """Return the encoding of an indicator with more columns.

    Parameters
    ----------
    encoding : LabelEncoding
    n_labels : int
        Columns from now on.
    names : ndarray (n_labels,), or None
        Of all columns; None where they are numbers.
    """
    known = encoding.classes_
    n_known = len(known)
    if n_labels < n_known:
        raise ValueError(f"y has {n_labels} columns, but the model has {n_known} labels")
    numbers = known.dtype.kind in "iu" and np.array_equal(known, np.arange(n_known))
    if names is not None:
        check_names(names, n_labels, "classes")
        if not np.array_equal(names[:n_known], known):
            raise ValueError(
                f"the names of the columns must begin with the {n_known} labels of the model, "
                f"such as {known.tolist()[0]!r}; got {names.tolist()[0]!r}"
            )
        grown = append_names(known, names[n_known:]) if n_labels > n_known else known
    elif n_labels == n_known:
        return encoding
    elif numbers:
        grown = np.arange(n_labels)
    else:
        raise ValueError(
            f"y has {n_labels} columns, but the model has {n_known} labels with names: name all "
            "columns with classes, or give a DataFrame"
        )
    return LabelEncoding("multilabel", grown, encoding.dtype, encoding.container)


def indicator_of(codes: np.ndarray, n_labels: int) -> sparse.csr_array:
    """Return one class a row as an indicator of uint8."""
    parts = np.ones(len(codes), np.uint8), codes.astype(np.int32), np.arange(len(codes) + 1)
    return sparse.csr_array(parts, shape=(len(codes), n_labels))


def without_rows(rows: Rows, Y: sparse.csr_array, kept: np.ndarray):
    """Return rows and labels with nothing in those that are not kept."""
    if rows.dense:
        rows = as_rows(np.where(kept[:, None], rows.matrix(), np.float32(0)))
    else:
        keep = np.repeat(kept, np.diff(rows.indptr))
        lengths = np.where(kept, np.diff(rows.indptr), 0)
        starts = np.append(0, np.cumsum(lengths))
        rows = rows._replace(indptr=starts, indices=rows.indices[keep], data=rows.data[keep])
    keep = np.repeat(kept, np.diff(Y.indptr))
    starts = np.append(0, np.cumsum(np.where(kept, np.diff(Y.indptr), 0)))
    return rows, sparse.csr_array((Y.data[keep], Y.indices[keep], starts), shape=Y.shape)

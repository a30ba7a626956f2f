"""The classes or labels in y as columns of a sparse 0/1 pattern, and the way back."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import accuracy_score

from ..utils._csr import LARGEST_INDEX
from ..utils._given_labels import (
    holds_lists,
    in_order_of,
    is_missing,
    is_polars_frame,
    plain_indicator,
    plain_labels,
)
from ..utils._matrix import checked_csr, narrow_indices
from ..utils._records import is_a, is_labels, is_one_of, record
from ..utils._typing import LabelsLike, Matrix

REFUSED, DROPPED, KEPT = "refused", "dropped", "kept"  # grades, see `encode`
SMALLEST_GRADE = 1e-6  # so that float32 holds its inverse, also times other weights
NESTED = list, tuple, set, frozenset, np.ndarray
LABEL_LISTS = (
    "y holds a list of labels for each sample, which is ambiguous; turn the lists into an "
    "indicator matrix with sklearn.preprocessing.MultiLabelBinarizer(sparse_output=True)"
)


@record(
    kind=is_one_of("binary", "multiclass", "multilabel"),
    classes_=is_labels,
    dtype=is_a(np.dtype),
    container=is_one_of(None, sparse.csr_matrix, sparse.csr_array),
)
@dataclass(frozen=True, eq=False)
class LabelEncoding:
    """Form of fit's y, so that predictions can be given back in the same form."""

    kind: str  # "binary", "multiclass" or "multilabel"
    # The sorted labels; of a multilabel y its column names (DataFrame) or column numbers.
    classes_: np.ndarray
    dtype: np.dtype  # of y
    container: type | None = None  # of a multilabel y, csr_matrix or csr_array; None when dense

    def _check_record(self) -> None:
        """Raise ValueError for what no call of `encode` makes (see `utils/_records.record`)."""
        # Predictions index classes_ by 0 and 1 in a binary model, by column in the others.
        least = {"binary": 2, "multiclass": 3, "multilabel": 1}[self.kind]
        if len(self.classes_) < least or (self.kind == "binary" and len(self.classes_) != 2):
            raise ValueError(f"{len(self.classes_)} classes of a {self.kind} problem")

    @property
    def n_classes(self) -> int:
        """Number of classes or labels."""
        return len(self.classes_)

    @property
    def n_columns(self) -> int:
        """Columns of Y, hence rows of coef_: one for two classes."""
        return 1 if self.kind == "binary" else self.n_classes

    def indicator(self, pattern: sparse.csr_array) -> np.ndarray | Any:
        """Return a CSR pattern of predicted labels in the container and dtype of fit's y.

        In a csr_array if scikit-learn is configured so.
        """
        if self.container is None:
            return pattern.astype(self.dtype).toarray()
        # scikit-learn 1.9 has `set_config(sparse_interface=...)`. Its default, "spmatrix", does not
        # tell whether somebody has chosen it, so that only "sparray" changes what is returned.
        as_array = get_config().get("sparse_interface") == "sparray"
        return (sparse.csr_array if as_array else self.container)(pattern.astype(self.dtype))


def check_labels(y: Any, grades: str = REFUSED) -> None:
    """Raise ValueError for a raw y that scikit-learn's own validation would trip over, or misname.

    These are a tuple of arrays, a y without columns, a sparse one of one dimension, missing labels
    (None, NaN, pandas.NA), and one list of labels for each sample. Lists of equal length above one
    that hold only 0 and 1, or grades, are an indicator and pass.
    """
    # The results of two functions of ours, which are often passed on as a whole.
    if isinstance(y, tuple) and any(getattr(part, "ndim", 0) for part in y):
        raise ValueError(
            f"y is a tuple of {len(y)} arrays, not the labels. If it comes from first_label, write "
            "`labels, has_label = first_label(Y)` and give X[has_label] and labels[has_label] to "
            "fit; if from repeat_per_label, `X, y, rows = repeat_per_label(X, Y)`"
        )
    if len(getattr(y, "shape", ())) == 2 and y.shape[1] == 0:
        raise ValueError(f"y has no columns (shape {y.shape}): at least one class is required")
    if is_polars_frame(y):
        if sum(_count_missing(column) for column in y):
            raise ValueError("Input y contains NaN: every sample needs a label")
        return
    if sparse.issparse(y):
        if y.ndim == 1:
            raise ValueError("a sparse y must be an indicator matrix; give 1d labels as an array")
        return
    if getattr(y, "ndim", 1) != 1:
        return
    if holds_lists(y):
        raise ValueError(LABEL_LISTS)
    if _has_missing(y):
        raise ValueError("Input y contains NaN: every sample needs a label")
    if isinstance(y, (list, tuple)) or getattr(getattr(y, "dtype", None), "kind", None) == "O":
        _check_items(y, grades)


def _has_missing(y: Any) -> bool:
    """Return whether a Series or an array of dates says that labels are missing."""
    if hasattr(y, "isna"):
        return bool(y.isna().any())
    if hasattr(y, "null_count"):
        return bool(_count_missing(y))
    return getattr(getattr(y, "dtype", None), "kind", None) in ("m", "M") and np.isnat(y).any()


def _count_missing(y: Any) -> int:
    """Return the labels that a column of polars or Arrow lacks."""
    return y.null_count() if callable(y.null_count) else y.null_count


def is_indicator(y: Any) -> bool:
    """Return whether a raw y that has passed :func:`check_labels` is an indicator of labels."""
    if sparse.issparse(y):
        return True
    if hasattr(y, "shape"):
        return len(y.shape) == 2 and y.shape[1] > 1
    return isinstance(y, (list, tuple)) and len(y) > 0 and isinstance(y[0], NESTED)


def _check_items(y: Sequence | np.ndarray, grades: str) -> None:
    """Refuse missing labels and lists of labels in a list or an object array."""
    if any(map(is_missing, y)):
        raise ValueError("Input y contains NaN or None: every sample needs a label")
    rows = [row for row in y if isinstance(row, NESTED)]
    if not rows:
        _check_texts(y)
        return
    # One container for each sample, of one length, with a value for each label: all else is lists
    # of labels, also where their lengths happen to be equal.
    indicator = (
        len(rows) == len(y)
        and not any(isinstance(row, (set, frozenset)) for row in rows)
        and len({len(row) for row in rows}) == 1
        and len(rows[0]) > 1
        and all(_is_entry(value, grades) for row in rows for value in row)
    )
    if not indicator:
        raise ValueError(LABEL_LISTS)


def _check_texts(y: Sequence | np.ndarray) -> None:
    """Refuse texts that an array of texts would cut: two labels would be one."""
    if isinstance(y, (list, tuple)):
        cut = next((text for text in y if isinstance(text, str) and text.endswith("\0")), None)
        if cut is not None:
            raise ValueError(
                f"y holds {cut!r:.60}, whose last character is NUL, which NumPy's arrays of texts "
                "drop: give it without, or y as an array of dtype object"
            )


def _is_entry(value: Any, grades: str) -> bool:
    """Return whether a value can stand in an indicator."""
    if not isinstance(value, (Real, np.bool_)):
        return False
    return value in (0, 1) if grades == REFUSED else bool(0 <= value <= 1)


def labels_to_score(model: BaseEstimator, y: LabelsLike) -> Matrix:
    """Return true labels as scikit-learn's `score` takes them: columns by name, no grades."""
    if model._encoding.kind == "multilabel":
        check_labels(y, DROPPED)  # lists of labels, of which scikit-learn's error names no way out
        y = plain_indicator(in_order_of(y, model.classes_))
    y = plain_labels(y)
    return without_grades(y) if getattr(model, "graded", False) else y


def accuracy(
    model: BaseEstimator, X: Any, y: LabelsLike, sample_weight: ArrayLike | None = None
) -> float:
    """Return the share of samples whose labels are all predicted, as scikit-learn's `score`.

    `accuracy_score` refuses a sparse indicator of one column, which is compared as an array, and
    labels that are neither texts nor numbers, which are compared by their places.
    """
    found = model.predict(X)
    if sparse.issparse(y):  # by the rules of fit, also where an entry is in parts
        y = encode_indicator(y, None, REFUSED)[1]
    if sparse.issparse(y) and y.shape[1] == 1 and sparse.issparse(found):
        y, found = y.toarray().ravel() > 0, found.toarray().ravel() > 0
    # scikit-learn knows neither dates, UUIDs, decimals and bytes, nor bool as Python's objects
    if getattr(getattr(found, "dtype", None), "kind", None) in ("O", "S") and not is_indicator(y):
        check_labels(y)
        place: dict[Any, int] = {}
        y, found = (
            [place.setdefault(label, len(place)) for label in np.asarray(labels).ravel().tolist()]
            for labels in (y, found)
        )
    return float(accuracy_score(y, found, sample_weight=sample_weight))


def codes_of(Y: sparse.csr_array) -> np.ndarray:
    """Return the class number of each sample from the pattern of `_labels.encode`."""
    # Of two classes the one column has an entry for the second: its count in a row is the number.
    if Y.shape[1] == 1:
        return np.diff(Y.indptr).astype(np.int32)
    return Y.indices.astype(np.int32)


def encode(
    y: Matrix, names: np.ndarray | None = None, grades: str = REFUSED
) -> tuple[LabelEncoding, sparse.csr_array]:
    """Encode a validated y: labels of any dtype that sorts, or an indicator of any numeric dtype.

    Parameters
    ----------
    names : ndarray of shape (n_classes,), default=None
        Column names of an indicator; the column numbers by default.
    grades : {REFUSED, DROPPED, KEPT}
        What becomes of an indicator with values between 0 and 1: an error, the pattern of the
        values that are not 0, or these values themselves.

    Returns
    -------
    encoding : LabelEncoding
    Y : csr_array of uint8, shape (n_samples, n_columns); of float32 where grades are kept
        Pattern of the positives with sorted int32 indices: one column for two classes (the samples
        of the greater label), otherwise one a class.

    Raises
    ------
    ValueError
        If y has fewer than two classes, holds continuous values or labels that do not sort, or is
        an indicator with values other than 0 and 1, or grades, or with more than 2**31 - 1
        columns; where grades are kept, if y is no indicator.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_xc.base._labels import encode
    >>> encoding, Y = encode(np.array(["b", "a", "c", "a"]))
    >>> encoding.kind, encoding.classes_.tolist(), Y.indices.tolist()
    ('multiclass', ['a', 'b', 'c'], [1, 0, 2, 0])
    """
    if sparse.issparse(y):
        return encode_indicator(y, names, grades)
    # A column is taken for classes, as scikit-learn takes it, not for an indicator of one label.
    if y.ndim == 2 and y.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape "
            "of y to (n_samples,), for example using ravel(); an indicator of one label has to "
            "be sparse.",
            DataConversionWarning,
            stacklevel=4,
        )
        y = y.ravel()
    if y.ndim == 1:
        if grades == KEPT:
            raise ValueError(
                "graded=True is for an indicator y, whose values weigh its labels, but y has one "
                "class a sample: give sample_weight"
            )
        return _encode_classes(y)
    return encode_indicator(y, names, grades)


def _encode_classes(y: np.ndarray) -> tuple[LabelEncoding, sparse.csr_array]:
    """Encode one class a sample."""
    if y.dtype.kind == "f" and (y != np.trunc(y)).any():
        example = y[y != np.trunc(y)][0]
        raise ValueError(
            f"Unknown label type: continuous. y holds {example!s}; labels must be whole numbers, "
            "strings or booleans. Maybe you are trying to fit a classifier to a regression target"
        )
    try:
        classes, codes = (
            _unique_objects(y) if y.dtype.kind == "O" else np.unique(y, return_inverse=True)
        )
    except TypeError as error:
        raise ValueError(f"the labels in y cannot be sorted into classes: {error}") from error
    if len(classes) < 2:
        raise ValueError(
            f"y holds 1 class, {classes.tolist()[0]!r}; a classifier needs at least two classes"
        )
    kind = "binary" if len(classes) == 2 else "multiclass"
    return LabelEncoding(kind, classes, y.dtype), encode_codes(codes, len(classes))


def encode_codes(codes: np.ndarray, n_classes: int) -> sparse.csr_array:
    """Return numbers of classes, one a sample, as the pattern that :func:`encode` returns."""
    if n_classes > 2:
        return _pattern(codes, np.arange(len(codes) + 1), n_classes)
    # Samples of the second class have the one entry that a row can have.
    indptr = np.concatenate([[0], np.cumsum(codes)])
    return _pattern(np.zeros(indptr[-1], dtype=np.int32), indptr, 1)


def _unique_objects(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find distinct objects, sorted, and the place of each sample's among them."""
    # Hashing a million strings is much faster than sorting them; only the distinct ones are sorted.
    labels = y.tolist()
    ordered = sorted(set(labels))
    place = {label: code for code, label in enumerate(ordered)}
    codes = np.fromiter((place[label] for label in labels), dtype=np.int64, count=len(labels))
    return np.fromiter(ordered, dtype=y.dtype, count=len(ordered)), codes


def encode_indicator(
    y: Matrix, names: np.ndarray | None, grades: str
) -> tuple[LabelEncoding, sparse.csr_array]:
    """Encode an indicator of any width, as :func:`encode` does."""
    n_samples, n_classes = y.shape
    if n_classes > LARGEST_INDEX:
        raise ValueError(f"y has {n_classes} columns; at most {LARGEST_INDEX} are supported")
    if sparse.issparse(y):
        csr = checked_csr(y, "y")
        container = sparse.csr_array if isinstance(y, sparse.sparray) else sparse.csr_matrix
        # An entry in parts adds up, as SciPy reads it; on a copy, since y is the user's.
        if not csr.has_canonical_format:
            csr = csr.copy()
            csr.sum_duplicates()
        _require_entries(csr.data, y.shape, grades)
        Y = _sparse_pattern(csr)
        values = csr.data[csr.data != 0] if grades == KEPT else None
    else:
        container = None
        _require_entries(y, y.shape, grades)
        rows, columns = np.nonzero(y)
        indptr = np.searchsorted(rows, np.arange(n_samples + 1))
        Y = _pattern(columns, indptr, n_classes)
        values = y[rows, columns] if grades == KEPT else None
    if values is not None:
        Y = sparse.csr_array((values.astype(np.float32), Y.indices, Y.indptr), shape=Y.shape)
    dtype = np.dtype(np.int64) if y.dtype.kind == "O" else y.dtype
    # Predictions come in the dtype of y, and sparse matrices have no float16.
    if dtype == np.float16:
        dtype = np.dtype(np.float32)
    labels = np.arange(n_classes) if names is None else told_from_numbers(names)
    return LabelEncoding("multilabel", labels, dtype, container), Y


def told_from_numbers(names: np.ndarray) -> np.ndarray:
    """Return names of columns that cannot be taken for the numbers of columns."""
    # Whole numbers become objects, unless they are those of the columns: metrics then require
    # `classes`, where they would take numbers for columns, of other labels, and say nothing.
    if names.dtype.kind in "iu" and (names != np.arange(len(names))).any():
        return names.astype(object)
    return names


def _require_entries(values: np.ndarray, shape: tuple[int, ...], grades: str) -> None:
    """Raise ValueError for values that no indicator holds, and say what to do with them."""
    # texts among objects cannot be compared with numbers
    numbers = Real, np.bool_
    texts = values.dtype.kind == "O" and [v for v in values.flat if not isinstance(v, numbers)]
    if texts or values.dtype.kind not in "biufO":
        wrong = texts or values.flat[:1]
    elif grades == REFUSED:
        wrong = values[(values != 0) & (values != 1)]
    else:
        wrong = values[~((values == 0) | ((values >= SMALLEST_GRADE) & (values <= 1)))]
    if not len(wrong):
        return
    if grades == KEPT:
        raise ValueError(
            f"graded=True: y of shape {shape} must be an indicator of values from "
            f"{SMALLEST_GRADE:g} to 1, and 0 for labels that are not there, but holds {wrong[0]!s}"
        )
    what = "for lists of labels use sklearn.preprocessing.MultiLabelBinarizer(sparse_output=True)"
    if values.dtype.kind == "f" and 0 < wrong[0] < 1:
        what = "weights of labels are for graded=True of PPDSparseClassifier and LDGSClassifier"
    if wrong[0] in (2, 3, 4):
        what = f"pairs of row and label that are given twice add up, Y != 0 has each once; {what}"
    raise ValueError(
        f"Unknown label type: y of shape {shape} must be an indicator of 0 and 1, but holds "
        f"{wrong[0]!s}; {what}"
    )


def _sparse_pattern(csr: sparse.csr_array) -> sparse.csr_array:
    """Return the non-zero places of a CSR without duplicates."""
    data, indices, indptr = csr.data, csr.indices, csr.indptr
    # A stored zero is no label. Of the running count of entries kept, indptr picks the new starts.
    if not data.all():
        keep = data != 0
        kept = np.concatenate([[0], np.cumsum(keep)])
        indices, indptr = indices[keep], kept[indptr]
    return _pattern(indices, indptr, csr.shape[1])


def without_grades(y: LabelsLike) -> Matrix:
    """Return the pattern of a raw indicator, csr_array of uint8; 1-D y as it is."""
    check_labels(y, DROPPED)
    y = y if sparse.issparse(y) else np.asarray(plain_labels(y))
    return encode_indicator(y, None, DROPPED)[1] if y.ndim == 2 else y


def pattern_of(Y: sparse.csr_array) -> sparse.csr_array:
    """Return the positives in what :func:`encode` returns, without their grades."""
    if Y.dtype == np.uint8:
        return Y
    parts = np.ones(Y.nnz, dtype=np.uint8), Y.indices, Y.indptr
    return sparse.csr_array(parts, shape=Y.shape)


def _pattern(indices: np.ndarray, indptr: np.ndarray, n_columns: int) -> sparse.csr_array:
    """Return a CSR of ones, with int32 indices where they are wide enough."""
    parts = np.ones(len(indices), dtype=np.uint8), indices, np.asarray(indptr)
    return narrow_indices(sparse.csr_array(parts, shape=(len(indptr) - 1, n_columns)))


def refuse_indicator(estimator: BaseEstimator, y: Matrix) -> None:
    """Raise ValueError for a validated y of several labels a sample."""
    # Validated, so that no container is missed: DataFrames of several columns and lists of lists
    # are arrays by now, and a sparse matrix is an indicator at any width.
    if sparse.issparse(y) or (y.ndim == 2 and y.shape[1] > 1):
        what = "a sparse matrix" if sparse.issparse(y) else "an array"
        raise ValueError(
            f"{type(estimator).__name__} takes one class a sample, but y is {what} of shape "
            f"{y.shape}: "
            "use sklearn_xc.datasets.first_label or repeat_per_label, or PPDSparseClassifier, "
            "which takes several labels a sample. Multioutput target data is not supported"
        )

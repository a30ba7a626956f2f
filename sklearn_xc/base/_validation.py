"""Parameters and data of an estimator checked, and its attributes kept safe meanwhile.

The only module that touches private names of scikit-learn.
"""

import os
from dataclasses import replace
from numbers import Integral, Real
from threading import get_ident
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    Options,
    RealNotInt,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.validation import validate_data

from .._kernels.common._whole_changes import WholeChange, begun, changing
from ..training._class_weight import times_class_weight
from ..utils._callbacks import STATE
from ..utils._given_labels import label_names, plain_labels, require_names
from ..utils._label_places import check_names
from ..utils._matrix import as_rows, in_checked_csr, normalise
from ..utils._rows import Rows
from ..utils._typing import LabelsLike, Matrix, MatrixLike
from ..utils._validation import check_sample_weight, require_two_classes
from ._label_texts import Texts, texts_of
from ._labels import (
    KEPT,
    REFUSED,
    LabelEncoding,
    check_labels,
    codes_of,
    encode,
    pattern_of,
    refuse_indicator,
    told_from_numbers,
)
from ._named_classes import encode_among
from ._used_columns import n_columns_to_pay

__all__ = [
    "OF_EARLY_STOPPING",
    "OF_TRAINING",
    "HasMethods",
    "Interval",
    "Options",
    "RealNotInt",
    "StrOptions",
    "all_or_nothing",
    "as_it_is",
    "check_parameters",
    "validate_fit",
    "validate_more",
    "validate_with_texts",
]


Estimator = TypeVar("Estimator")

# The ranges of parameters that several estimators share.
OF_TRAINING: dict[str, list[Any]] = {
    "class_weight": [StrOptions({"balanced", "propensity"}), dict, None],
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
    "warm_start": ["boolean"],
    # float32 holds its products with other weights
    "label_feature_weight": [Interval(Real, 0, 1e6, closed="both")],
}
OF_EARLY_STOPPING: dict[str, list[Any]] = {
    "early_stopping": ["boolean"],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
}

# Other threads do not live on in a forked child: nobody would ever end the fits that they had
# begun.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=changing.clear)


def all_or_nothing(estimator: BaseEstimator) -> WholeChange:
    """Return a context that restores all attributes of an estimator if its block fails.

    What belongs to callbacks, which end after the fit, stays. On entry it raises RuntimeError if
    another thread is changing the estimator.
    """
    # Training needs in memory what is still in a mapped file; what a failure restores is then in
    # memory as well.
    estimator._read_all()
    return WholeChange(estimator, STATE)


def as_it_is(estimator: Estimator) -> Estimator:
    """Return an estimator with the attributes of one moment, before or after a change, not in it.

    A prediction that begins while another thread fits the estimator is by the model of before.
    Within a fit it is the estimator itself.
    """
    while True:
        # The text of a counter shows where it stands, and does not count.
        n_begun = repr(begun)
        now = object.__new__(type(estimator))
        vars(now).update(vars(estimator))
        trained_by, before = changing.get(id(estimator), (None, None))
        if trained_by == get_ident():
            return estimator
        if trained_by is not None:
            now.__dict__ = dict(before)
            return now
        # Attributes are copied one by one. If no change of any estimator has begun since the
        # counter was read, none can have begun and ended between two of them; otherwise again.
        if repr(begun) == n_begun:
            return now


def check_parameters(estimator: BaseEstimator) -> None:
    """Check all parameters of an estimator against its ``_parameter_constraints``."""
    validate_parameter_constraints(
        estimator._parameter_constraints, estimator.get_params(deep=False), type(estimator).__name__
    )
    if "search_params" in estimator._parameter_constraints:
        search_params(estimator)


def search_params(estimator: BaseEstimator) -> dict[str, Any]:
    """Return the entries of the parameter `search_params`, with defaults for those left out.

    ``estimator._search_params`` has a default and constraints for each name. Raises ValueError for
    an entry of another name, or a value out of range.
    """
    allowed, given = estimator._search_params, estimator.search_params or {}
    unknown = [name for name in given if name not in allowed]
    if unknown:
        raise ValueError(
            f"search_params={given!r} holds {unknown[0]!r}; "
            f"{type(estimator).__name__} knows {', '.join(map(repr, allowed))}"
        )
    constraints = {name: allowed[name][1] for name in given}
    validate_parameter_constraints(
        constraints, given, f"search_params of {type(estimator).__name__}"
    )
    return {key: given.get(key, default) for key, (default, _) in allowed.items()}


def validate_fit(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: LabelsLike,
    sample_weight: ArrayLike | None = None,
    classes: LabelsLike | None = None,
) -> tuple[Rows, sparse.csr_array, np.ndarray | None]:
    """Check parameters and data of a fit; return rows of X, Y encoded, and the weights.

    Sets classes_, what scikit-learn records of X, and what is counted of the labels. With one class
    a sample, `classes` are all classes, of which y may hold one alone too. Rows are in float32 (see
    `utils/_matrix.py`), Y is as of `_labels.encode`, weights are float32 (n_samples,), or None.
    """
    # Cheap checks first. Raw labels before scikit-learn sees them: it would name a list of lists by
    # its shape, and take a tuple of two arrays for samples.
    check_parameters(estimator)
    grades = grades_of(estimator)
    check_labels(y, grades)
    names, y = label_names(y), plain_labels(y)
    refuse_texts(X)
    # Structure before conversions, which follow indices without a check, also scikit-learn's.
    X, y = in_checked_csr(X, "X"), in_checked_csr(y, "y")
    X, y = validate_data(estimator, X, y, accept_sparse="csr", multi_output=True)
    if not estimator._multilabel:
        refuse_indicator(estimator, y)
    # Before labels are encoded: an indicator of 10**9 columns costs nothing, names for it do.
    if y.ndim == 2:
        estimator._require_size(y.shape[1], _n_columns_to_pay(estimator, X))
    given = getattr(estimator, "label_names", None)
    if classes is not None:
        encoding, Y = encode_among(y, classes, given, grades)
    else:
        encoding, Y = encode(y, names, grades)
        if given is not None:
            encoding = with_label_names(encoding, given, names)
    # Again, of labels that stand one a sample and were counted only now.
    estimator._require_size(encoding.n_classes, _n_columns_to_pay(estimator, X))
    weight = _checked_weight(estimator, sample_weight, X.shape[0])
    if weight is not None and encoding.kind != "multilabel" and classes is None:
        require_two_classes(Y, weight, encoding.classes_)
    estimator._set_labels(encoding, pattern_of(Y), weight)
    if getattr(estimator, "_weighs_samples_by_class", False):
        weight = _times_class_weight(estimator, Y, weight)
    return as_rows(normalise(X)), Y, weight


def _checked_weight(
    estimator: BaseEstimator, sample_weight: ArrayLike | None, n_samples: int
) -> np.ndarray | None:
    """Return sample weights as float32, each within the range that the estimator allows."""
    if sample_weight is None:
        return None
    return check_sample_weight(sample_weight, n_samples, estimator._range_of_weights)


def _n_columns_to_pay(estimator: BaseEstimator, X: Matrix) -> int:
    """Return how many columns a fit on this X, checked, has weights of."""
    indices = X.indices if sparse.issparse(X) else None
    return n_columns_to_pay(estimator, indices, X.shape[1], first=True)


def _times_class_weight(
    estimator: BaseEstimator, Y: sparse.csr_array, sample_weight: np.ndarray | None
) -> np.ndarray | None:
    """Return the weights of samples of one class each, times those of their classes."""
    if estimator._encoding.kind != "multilabel":
        return times_class_weight(estimator, codes_of(Y), sample_weight)
    if estimator.class_weight is not None:
        raise ValueError(
            f"class_weight of {type(estimator).__name__} is a factor on samples of one class "
            "each, but y is an indicator of labels: use PPDSparseClassifier, whose class_weight is "
            "one on the positives of each label"
        )
    return sample_weight


def validate_with_texts(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: LabelsLike,
    sample_weight: ArrayLike | None,
    label_features: MatrixLike | None,
    classes: LabelsLike | None,
) -> tuple[Rows, sparse.csr_array, np.ndarray | None, Texts]:
    """Check parameters and data of a fit, and texts of its labels.

    Returns rows, Y and weights of the samples as `validate_fit` does, and the texts.
    """
    rows, Y, weight = validate_fit(estimator, X, y, sample_weight, classes)
    texts = texts_of(estimator, label_features, rows.shape[1], rows.dense, classes)
    if classes is not None:
        _require_two_classes_with_rows(estimator, codes_of(Y), weight, texts)
    return rows, Y, weight, texts


def _require_two_classes_with_rows(
    estimator: BaseEstimator, codes: np.ndarray, sample_weight: np.ndarray | None, texts: Texts
) -> None:
    """Refuse a fit of which all samples and texts are of one class."""
    counted = codes if sample_weight is None else codes[sample_weight > 0]
    present = np.union1d(counted, texts.labels)
    if len(present) < 2:
        raise ValueError(
            f"y holds 1 class, {estimator.classes_[present].tolist()[0]!r}, and no other has a "
            "text in label_features; a classifier needs samples or texts of at least two classes"
        )


def _is_word(value: Any) -> bool:
    """Return whether a value is a text that is no number."""
    if not isinstance(value, str):
        return False
    try:
        float(value)
    except ValueError:
        return True
    return False


def refuse_texts(X: Any) -> None:
    """Raise ValueError for texts where numbers are needed."""
    # NumPy's own message, that a text is no float, does not say what a text needs: a vectorizer.
    known = isinstance(X, (list, tuple, np.ndarray)) or hasattr(X, "to_numpy")
    if not known or getattr(X, "ndim", 1) > 2:
        return
    # Only the first item is looked at: others would cost a pass, and scikit-learn refuses them too.
    kind = getattr(getattr(X, "dtype", None), "kind", "O")
    if isinstance(X, (list, tuple)):
        first = X[0] if len(X) else None
    elif kind not in "biuf" and getattr(X, "ndim", 1) == 1:
        first = next(iter(X), None)
    elif hasattr(X, "columns"):
        first = next((value for value in np.asarray(X[:1]).ravel() if _is_word(value)), None)
    else:
        first = X[0][0] if kind in "US" and getattr(X, "size", 0) > 0 else None
    if isinstance(first, (str, bytes)):
        raise ValueError(
            f"X holds texts, such as {str(first)!r:.60}, and has to hold numbers: put a vectorizer "
            "before the estimator, make_pipeline(TfidfVectorizer(), ...)"
        )


def validate_warm_start(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: LabelsLike,
    sample_weight: ArrayLike | None,
    label_features: MatrixLike | None,
    classes: LabelsLike | None,
) -> tuple[Rows, Matrix, np.ndarray | None, Texts, Any]:
    """Check parameters and data of a fit that `warm_start` lets go on from the one before.

    Returns the four results of `validate_with_texts` and the start weights, by
    ``_start_weights()``, None for a cold start. An estimator of one class a sample gets class
    numbers (int32) instead of Y.
    """
    known, start = None, None
    if estimator.warm_start and estimator.__sklearn_is_fitted__():
        estimator._check_state()
        # Taken before the checks of the new data set classes_ and n_features_in_ to theirs.
        known, start = _labels_and_columns(estimator), estimator._start_weights()
    rows, Y, weight, texts = validate_with_texts(
        estimator, X, y, sample_weight, label_features, classes
    )
    # An X without names goes by the places of its columns, also after one with names.
    if known is not None and not all(
        before is None or now is None or np.array_equal(before, now)
        for before, now in zip(known, _labels_and_columns(estimator), strict=True)
    ):
        raise ValueError(
            "warm_start=True needs the classes and features of the fit before, in their order; set "
            "warm_start=False to start again"
        )
    return rows, Y if estimator._multilabel else codes_of(Y), weight, texts, start


def _labels_and_columns(estimator: BaseEstimator) -> tuple[np.ndarray, int, np.ndarray | None]:
    """Return classes, number of features and their names, None where X has none, of a fit."""
    names = getattr(estimator, "feature_names_in_", None)
    return estimator.classes_, estimator.n_features_in_, names


def grades_of(estimator: BaseEstimator) -> str:
    """Return how an estimator treats grades in y (see `_labels.encode`)."""
    return KEPT if getattr(estimator, "graded", False) else REFUSED


def with_label_names(
    encoding: LabelEncoding, given: LabelsLike, of_frame: np.ndarray | None
) -> LabelEncoding:
    """Return the encoding with the names that the parameter `label_names` gives."""
    if encoding.kind != "multilabel":
        raise ValueError(
            f"label_names is for the columns of an indicator, but y has one of "
            f"{encoding.n_classes} classes a sample, which are names themselves"
        )
    # Each once, and none missing: predictions by name would be ambiguous otherwise.
    given = np.asarray(plain_labels(given))
    check_names(given, encoding.n_classes, "label_names")
    require_names(given, "label_names")
    if of_frame is not None and not np.array_equal(of_frame, given):
        raise ValueError(
            f"label_names begins with {given.tolist()[0]!r}, but y is a DataFrame with other "
            f"names, such as {of_frame.tolist()[0]!r}: leave one of them out"
        )
    return replace(encoding, classes_=told_from_numbers(given))


def validate_more(
    estimator: BaseEstimator, X: MatrixLike, y: LabelsLike, sample_weight: ArrayLike | None = None
) -> tuple[Rows, Matrix, np.ndarray | None]:
    """Check parameters and data that come after a fit, as `validate_fit`; y is not encoded."""
    check_parameters(estimator)
    check_labels(y, grades_of(estimator))
    X, y = in_checked_csr(X, "X"), in_checked_csr(plain_labels(y), "y")
    X, y = validate_data(estimator, X, y, accept_sparse="csr", multi_output=True, reset=False)
    weight = _checked_weight(estimator, sample_weight, X.shape[0])
    return as_rows(normalise(X)), y, weight

"""Parameters and data of an estimator checked, and its attributes kept safe meanwhile.

The only module that touches private names of scikit-learn.
"""

import os
from dataclasses import replace
from numbers import Real
from threading import get_ident

import numpy as np
from scipy import sparse
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
from ..utils._validation import check_sample_weight, require_two_classes
from ._label_texts import texts_of
from ._labels import (
    KEPT,
    REFUSED,
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
    "WEIGHT_OF_TEXTS",
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


# The range of `label_feature_weight`: float32 holds its products with other weights.
WEIGHT_OF_TEXTS = [Interval(Real, 0, 1e6, closed="both")]

if hasattr(os, "register_at_fork"):  # other threads do not live on in a child
    os.register_at_fork(after_in_child=changing.clear)


def all_or_nothing(estimator):
    """Return a context that restores all attributes of an estimator if its block fails.

    What belongs to callbacks, which end after the fit, stays.

    Raises
    ------
    RuntimeError
        On entry, if another thread is changing the estimator.
    """
    estimator._read_all()
    return WholeChange(estimator, STATE)


def as_it_is(estimator):
    """Return an estimator with the attributes of one moment, before or after a change, not during
    it.

    A prediction that begins while another thread fits the estimator is by the model of before.
    Within a fit it is the estimator itself.
    """
    while True:
        n_begun = repr(begun)
        now = object.__new__(type(estimator))
        vars(now).update(vars(estimator))
        trained_by, before = changing.get(id(estimator), (None, None))
        if trained_by == get_ident():
            return estimator
        if trained_by is not None:
            now.__dict__ = dict(before)
            return now
        if repr(begun) == n_begun:  # no change can have begun and ended in between
            return now


def check_parameters(estimator):
    """Check all parameters of an estimator against its ``_parameter_constraints``."""
    validate_parameter_constraints(
        estimator._parameter_constraints, estimator.get_params(deep=False), type(estimator).__name__
    )
    if "search_params" in estimator._parameter_constraints:
        search_params(estimator)


def search_params(estimator):
    """Return the entries of the parameter `search_params`, and the defaults of those that it leaves
    out.

    Parameters
    ----------
    estimator : estimator
        Its ``_search_params`` are the entries that there are: name -> (default, constraints).

    Returns
    -------
    params : dict

    Raises
    ------
    ValueError
        If there is an entry of another name, or a value out of range.
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


def validate_fit(estimator, X, y, sample_weight=None, classes=None):
    """Check parameters and data of a fit.

    Sets classes_, what scikit-learn records of X, and what is counted of the labels.

    Parameters
    ----------
    estimator : BaseXCClassifier
    X : array-like or sparse, shape (n_samples, n_features)
    y : array-like or sparse, shape (n_samples,) or (n_samples, n_classes)
    sample_weight : array-like of shape (n_samples,), default=None
    classes : array-like of shape (n_classes,), default=None
        With one class a sample: all classes, of which y may hold one alone too.

    Returns
    -------
    rows : Rows
        Of X in float32, see `utils/_matrix.py`.
    Y : csr_array of uint8 (n_samples, n_columns) (see `_labels.encode`), or float32 with grades
    sample_weight : ndarray of float32 (n_samples,), or None
    """
    check_parameters(estimator)
    grades = grades_of(estimator)
    check_labels(y, grades)
    names, y = label_names(y), plain_labels(y)
    refuse_texts(X)
    X, y = in_checked_csr(X, "X"), in_checked_csr(y, "y")
    X, y = validate_data(estimator, X, y, accept_sparse="csr", multi_output=True)
    if not estimator._multilabel:
        refuse_indicator(estimator, y)
    if y.ndim == 2:
        estimator._require_size(y.shape[1], _n_columns_to_pay(estimator, X))
    given = getattr(estimator, "label_names", None)
    if classes is not None:
        encoding, Y = encode_among(y, classes, given, grades)
    else:
        encoding, Y = encode(y, names, grades)
        if given is not None:
            encoding = with_label_names(encoding, given, names)
    estimator._require_size(encoding.n_classes, _n_columns_to_pay(estimator, X))
    if sample_weight is not None:
        sample_weight = check_sample_weight(sample_weight, X.shape[0], estimator._range_of_weights)
        if encoding.kind != "multilabel" and classes is None:
            require_two_classes(Y, sample_weight, encoding.classes_)
    estimator._set_labels(encoding, pattern_of(Y), sample_weight)
    if getattr(estimator, "_weighs_samples_by_class", False):
        sample_weight = _times_class_weight(estimator, Y, sample_weight)
    return as_rows(normalise(X)), Y, sample_weight


def _n_columns_to_pay(estimator, X):
    """Return how many columns a fit on this X, checked, has weights of."""
    indices = X.indices if sparse.issparse(X) else None
    return n_columns_to_pay(estimator, indices, X.shape[1], first=True)


def _times_class_weight(estimator, Y, sample_weight):
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


def validate_with_texts(estimator, X, y, sample_weight, label_features, classes):
    """Check parameters and data of a fit, and texts of its labels.

    Parameters
    ----------
    estimator : BaseXCClassifier
        With the parameter `label_feature_weight`.
    X, y, sample_weight, classes : as of `validate_fit`
    label_features : array-like or sparse (n_classes, n_features), list or tuple of these, or None

    Returns
    -------
    rows, Y, sample_weight : as `validate_fit` returns them
        Of the samples.
    texts : Texts
    """
    rows, Y, sample_weight = validate_fit(estimator, X, y, sample_weight, classes)
    texts = texts_of(estimator, label_features, rows.shape[1], rows.dense, classes)
    if classes is not None:
        _require_two_classes_with_rows(estimator, codes_of(Y), sample_weight, texts)
    return rows, Y, sample_weight, texts


def _require_two_classes_with_rows(estimator, codes, sample_weight, texts):
    """Refuse a fit of which all rows are of one class."""
    counted = codes if sample_weight is None else codes[sample_weight > 0]
    present = np.union1d(counted, texts.labels)
    if len(present) < 2:
        raise ValueError(
            f"y holds 1 class, {estimator.classes_[present].tolist()[0]!r}, and no other has a "
            "text in label_features; a classifier needs rows or texts of at least two classes"
        )


def refuse_texts(X):
    """Raise ValueError for texts in the place of rows of numbers."""
    known = isinstance(X, (list, tuple, np.ndarray)) or hasattr(X, "to_numpy")
    if not known or getattr(X, "ndim", 1) > 2:
        return
    kind = getattr(getattr(X, "dtype", None), "kind", "O")
    if isinstance(X, (list, tuple)):
        first = X[0] if len(X) else None
    elif kind not in "biuf" and getattr(X, "ndim", 1) == 1:
        first = next(iter(X), None)
    else:
        first = X[0][0] if kind in "US" and getattr(X, "size", 0) else None
    if isinstance(first, (str, bytes)):
        raise ValueError(
            f"X holds texts, such as {str(first)!r:.60}, and has to hold numbers: put a vectorizer "
            "before the estimator, make_pipeline(TfidfVectorizer(), ...)"
        )


def validate_warm_start(estimator, X, y, sample_weight, label_features=None, classes=None):
    """Check parameters and data of a fit that `warm_start` lets go on from the one before.

    Parameters
    ----------
    estimator : BaseXCClassifier
        With ``_start_weights()``.
    X, y, sample_weight, label_features, classes : as in fit

    Returns
    -------
    rows : Rows
        Of the samples.
    codes : ndarray of int32 (n_samples,)
        Numbers of the samples' classes in ``classes_``.
    sample_weight : ndarray of float32 (n_samples,), or None
    texts : Texts
    weights : object
        Those to start from, None for a cold start.
    """
    warm = estimator.warm_start and estimator.__sklearn_is_fitted__()
    before = None
    if warm:
        estimator._check_state()
        before = estimator.classes_, estimator.n_features_in_, estimator._start_weights()
    rows, Y, sample_weight, texts = validate_with_texts(
        estimator, X, y, sample_weight, label_features, classes
    )
    if not warm:
        return rows, codes_of(Y), sample_weight, texts, None
    require_same_data(estimator, *before[:2])
    return rows, codes_of(Y), sample_weight, texts, before[2]


def require_same_data(estimator, classes, n_features):
    """Refuse to go on from a fit with other classes or features than this one has."""
    if not np.array_equal(classes, estimator.classes_) or n_features != estimator.n_features_in_:
        raise ValueError(
            "warm_start=True needs the classes and features of the fit before; set "
            "warm_start=False to start anew"
        )


def grades_of(estimator):
    """Return how an estimator treats grades in y (see `_labels.encode`)."""
    return KEPT if getattr(estimator, "graded", False) else REFUSED


def with_label_names(encoding, given, of_frame):
    """Return the encoding with the names that the parameter `label_names` gives."""
    if encoding.kind != "multilabel":
        raise ValueError(
            f"label_names is for the columns of an indicator, but y has one of "
            f"{encoding.n_classes} classes a sample, which are names themselves"
        )
    given = np.asarray(plain_labels(given))
    check_names(given, encoding.n_classes, "label_names")
    require_names(given, "label_names")
    if of_frame is not None and not np.array_equal(of_frame, given):
        raise ValueError(
            f"label_names begins with {given.tolist()[0]!r}, but y is a DataFrame with other "
            f"names, such as {of_frame.tolist()[0]!r}: leave one of them out"
        )
    return replace(encoding, classes_=told_from_numbers(given))


def validate_more(estimator, X, y, sample_weight=None):
    """Check parameters and data that come after a fit, as `validate_fit`; y is not encoded."""
    check_parameters(estimator)
    check_labels(y, grades_of(estimator))
    X, y = in_checked_csr(X, "X"), in_checked_csr(plain_labels(y), "y")
    X, y = validate_data(estimator, X, y, accept_sparse="csr", multi_output=True, reset=False)
    if sample_weight is not None:
        sample_weight = check_sample_weight(sample_weight, X.shape[0], estimator._range_of_weights)
    return as_rows(normalise(X)), y, sample_weight

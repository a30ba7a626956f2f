"""Parameters and data of an estimator checked, and its attributes kept safe meanwhile.

The only module that touches private names of scikit-learn.
"""

from contextlib import contextmanager

from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    Options,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.validation import validate_data

from ..inspection._label_counts import training_support
from ..utils._callbacks import STATE
from ..utils._matrix import normalise
from ..utils._validation import check_sample_weight, require_two_classes
from ._labels import check_labels, encode, label_names, refuse_indicator
from ._nearly_empty import count_rows_with_labels

__all__ = [
    "HasMethods",
    "Interval",
    "Options",
    "StrOptions",
    "all_or_nothing",
    "check_parameters",
    "validate_fit",
    "validate_more",
]


@contextmanager
def all_or_nothing(estimator):
    """Restore all attributes of an estimator if what stands inside fails or is interrupted."""
    estimator._read_all()
    before = vars(estimator).copy()
    try:
        yield
    except BaseException:
        callbacks = {name: vars(estimator)[name] for name in STATE if name in vars(estimator)}
        vars(estimator).clear()
        vars(estimator).update(before, **callbacks)
        raise


def check_parameters(estimator):
    """Check all parameters of an estimator against its ``_parameter_constraints``."""
    validate_parameter_constraints(
        estimator._parameter_constraints, estimator.get_params(deep=False), type(estimator).__name__
    )


def validate_fit(estimator, X, y, sample_weight=None):
    """Check parameters and data of a fit.

    Sets classes_, what scikit-learn records of X, and what is counted of the labels.

    Parameters
    ----------
    estimator : BaseXCClassifier
    X : array-like or sparse, shape (n_samples, n_features)
    y : array-like or sparse, shape (n_samples,) or (n_samples, n_classes)
    sample_weight : array-like of shape (n_samples,), default=None

    Returns
    -------
    X : C-contiguous ndarray or csr_array, float32 (see `utils._matrix.normalise`)
    Y : csr_array of uint8 (n_samples, n_columns) (see `_labels.encode`)
    sample_weight : ndarray of float32 (n_samples,), or None
    """
    check_parameters(estimator)
    check_labels(y)
    names = label_names(y)
    X, y = validate_data(estimator, X, y, accept_sparse="csr", multi_output=True)
    if not estimator._multilabel:
        refuse_indicator(estimator, y)
    estimator._encoding, Y = encode(y, names)
    estimator.classes_ = estimator._encoding.classes_
    is_multilabel = estimator._encoding.kind == "multilabel"
    if sample_weight is not None:
        sample_weight = check_sample_weight(sample_weight, X.shape[0])
        if not is_multilabel:
            require_two_classes(Y, sample_weight, estimator.classes_)
    estimator._set_support(training_support(Y, sample_weight, len(estimator.classes_)))
    if is_multilabel:
        count_rows_with_labels(estimator, Y, sample_weight)
    return normalise(X), Y, sample_weight


def validate_more(estimator, X, y, sample_weight=None):
    """Check parameters and data that come after a fit; y is not encoded."""
    check_parameters(estimator)
    check_labels(y)
    X, y = validate_data(estimator, X, y, accept_sparse="csr", multi_output=True, reset=False)
    if sample_weight is not None:
        sample_weight = check_sample_weight(sample_weight, X.shape[0])
    return normalise(X), y, sample_weight

"""What the estimators share that take one class a sample: their labels, partial_fit."""

import numpy as np
from sklearn.utils._param_validation import validate_parameter_constraints
from sklearn.utils.validation import validate_data

from ._base import BaseXCClassifier, _check_sample_weight
from ._labels import LabelEncoding, check_labels
from ._rows import normalise


class BaseMulticlassClassifier(BaseXCClassifier):
    """Base of the classifiers whose y has one class a sample.

    A subclass implements ``_partial_fit(X, codes, sample_weight, first)`` and, for `warm_start`,
    ``_start_weights()``.
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = False
        return tags

    def _validate_multiclass(self, X, y, sample_weight=None):
        """Check parameters and data of a fit.

        Returns
        -------
        X : C-contiguous ndarray or csr_array, float32
        codes : ndarray of int32 (n_samples,)
            Numbers of the samples' classes in ``classes_``.
        sample_weight : ndarray of float32 (n_samples,), or None
        """
        _refuse_multilabel(self, y)
        X, Y, sample_weight = self._validate_fit(X, y, sample_weight)
        return X, _codes(Y), sample_weight

    def _validate_warm_start(self, X, y, sample_weight):
        """:meth:`_validate_multiclass`, and the weights to start from, None for a cold start."""
        warm = self.warm_start and self.__sklearn_is_fitted__()
        before = (self.classes_, self.n_features_in_, self._start_weights()) if warm else None
        data = self._validate_multiclass(X, y, sample_weight)
        if not warm:
            return *data, None
        classes, n_features, weights = before
        if not np.array_equal(classes, self.classes_) or n_features != self.n_features_in_:
            raise ValueError(
                "warm_start=True needs the classes and features of the fit before; set "
                "warm_start=False to start anew"
            )
        return *data, weights

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Go on training with one pass over more samples.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like of shape (n_classes,), default=None
            All classes that any call will see; required at the first call, where no fit came
            before, and the same afterwards.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If ``classes`` is missing at the first call or differs later, or y holds other labels.
        """
        with self._all_or_nothing():
            first = not self.__sklearn_is_fitted__()
            _refuse_multilabel(self, y)
            X, codes, sample_weight = validate_part(self, X, y, classes, sample_weight)
            self._partial_fit(X, codes, sample_weight, first)
        return self


def validate_part(estimator, X, y, classes, sample_weight):
    """Check parameters and data of a `partial_fit` with one class a sample.

    Sets classes_ and what scikit-learn records of X at the first call, and returns what
    ``_validate_multiclass`` does.
    """
    validate_parameter_constraints(
        estimator._parameter_constraints, estimator.get_params(deep=False), type(estimator).__name__
    )
    check_labels(y)
    first = not estimator.__sklearn_is_fitted__()
    X, y = validate_data(estimator, X, y, accept_sparse="csr", reset=first)
    if first:
        if classes is None:
            raise ValueError("classes must be given at the first call of partial_fit")
        classes = np.unique(np.asarray(classes))
        if len(classes) < 2:
            raise ValueError(f"classes must name at least two classes, got {classes!r}")
        kind = "binary" if len(classes) == 2 else "multiclass"
        estimator._encoding = LabelEncoding(kind, classes, classes.dtype)
        estimator.classes_ = classes
    elif classes is not None and not np.array_equal(np.unique(classes), estimator.classes_):
        raise ValueError("classes must be the same in every call of partial_fit")
    codes = known_codes(y, estimator.classes_)
    if (codes < 0).any():
        raise ValueError(f"y holds {y[codes < 0].tolist()[0]!r}, which is not in classes")
    if sample_weight is not None:
        sample_weight = _check_sample_weight(sample_weight, X.shape[0])
    return normalise(X), codes, sample_weight


def _refuse_multilabel(estimator, y):
    shape = getattr(y, "shape", ())
    if len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"{type(estimator).__name__} takes one class a sample, but y has shape {shape}: "
            "use sklearn_xc.datasets.first_label or repeat_per_label, or PPDSparseClassifier, "
            "which takes several labels a sample. Multioutput target data is not supported"
        )


def _codes(Y):
    """The class number of each sample from the pattern of `_labels.encode`."""
    if Y.shape[1] == 1:
        return np.diff(Y.indptr).astype(np.int32)
    return Y.indices.astype(np.int32)


def known_codes(y, classes):
    """The place of each label in sorted `classes`, -1 where it is not there."""
    y = y.ravel()
    places = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    return np.where(classes[places] == y, places, -1).astype(np.int32)


def held_out_samples(codes, fraction, rng):
    """Samples kept from training, at random; a class keeps at least one of its samples."""
    order = rng.permutation(len(codes))
    _, first = np.unique(codes[order], return_index=True)
    free = np.delete(order, first)
    held_out = np.zeros(len(codes), dtype=bool)
    held_out[free[: int(fraction * len(codes))]] = True
    return held_out

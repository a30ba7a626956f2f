"""What the estimators share that take one class a sample: their labels, partial_fit."""

import numpy as np
from scipy import sparse
from sklearn.utils.validation import column_or_1d, validate_data

from ..inspection._label_counts import summed_support
from ..utils._matrix import normalise
from ..utils._validation import check_sample_weight
from ._classifier import BaseXCClassifier, check_parameters
from ._labels import LabelEncoding, check_labels
from ._new_classes import merge_labels


class BaseMulticlassClassifier(BaseXCClassifier):
    """Base of the classifiers whose y has one class a sample.

    A subclass implements ``_partial_fit(X, codes, sample_weight, first)``; for `warm_start`,
    ``_start_weights()``; and for classes that come later, ``_place_classes(places)``: with
    ``classes_`` already grown, bring all that the solver keeps of the classes before to these
    places, and start the others as a fit would.
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
        X, Y, sample_weight = self._validate_fit(X, y, sample_weight)
        return X, _codes(Y), sample_weight

    def _check_validated_labels(self, y):
        refuse_indicator(self, y)

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
        """Go on training with one pass over more samples, whose classes may be new.

        A label that no call before has named becomes a class: ``classes_`` stays sorted, and the
        weights of the new class start as those of a fit do. See the user guide for how far this
        equals naming all classes at the first call.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Of the same kind (numbers, strings) in every call.
        classes : array-like of shape (n_classes,), default=None
            Required at the first call, where no fit came before: the classes to begin with, two at
            least. Later, all classes from this call on: those of before, and any new ones, with or
            without samples; then y may hold no others.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If ``classes`` is missing at the first call, leaves out a class of before, or does not
            name a label of y; if labels are of another kind than the classes.
        MemoryError
            If there is no room for the weights of the new classes.

        Notes
        -----
        Whatever ends the call early leaves the estimator as it was.
        """
        with self._all_or_nothing():
            first = not self.__sklearn_is_fitted__()
            X, codes, sample_weight = validate_part(self, X, y, classes, sample_weight)
            self._partial_fit(X, codes, sample_weight, first)
        return self


def validate_part(estimator, X, y, classes, sample_weight):
    """Check parameters and data of a `partial_fit` with one class a sample.

    Sets classes_ and what scikit-learn records of X at the first call, takes in new classes later,
    and returns what ``_validate_multiclass`` does.
    """
    check_parameters(estimator)
    check_labels(y)
    first = not estimator.__sklearn_is_fitted__()
    before = None if first else (estimator.classes_, estimator._support)
    X, y = validate_data(estimator, X, y, accept_sparse="csr", multi_output=True, reset=first)
    refuse_indicator(estimator, y)
    y = column_or_1d(y, warn=True)
    if first:
        if classes is None:
            raise ValueError("classes must be given at the first call of partial_fit")
        classes = np.unique(np.asarray(classes))
        if len(classes) < 2:
            raise ValueError(f"classes must name at least two classes, got {classes!r}")
        _set_classes(estimator, classes)
    if sample_weight is not None:
        sample_weight = check_sample_weight(sample_weight, X.shape[0])
    _grow(estimator, y, None if first else classes, may_add=not first and classes is None)
    codes = known_codes(y, estimator.classes_)
    estimator._set_support(summed_support(estimator.classes_, codes, sample_weight, before))
    return normalise(X), codes, sample_weight


def _set_classes(estimator, classes):
    kind = "binary" if len(classes) == 2 else "multiclass"
    estimator._encoding = LabelEncoding(kind, classes, classes.dtype)
    estimator.classes_ = classes


def _grow(estimator, y, classes, may_add):
    """Take in the new classes of `classes` and, where it may add some, of y."""
    grown, places = estimator.classes_, np.arange(len(estimator.classes_))
    if classes is not None:
        classes = np.asarray(classes)
        grown, places = merge_labels(grown, classes)
        left_out = np.setdiff1d(grown, classes.ravel())
        if len(left_out):
            raise ValueError(
                f"classes leaves out {left_out.tolist()[0]!r}, which an earlier call named: "
                "classes can be added, not taken away"
            )
    with_y, places_with_y = merge_labels(grown, y)
    if may_add:
        grown, places = with_y, places_with_y
    elif len(with_y) > len(grown):
        unknown = np.setdiff1d(with_y, grown).tolist()[0]
        raise ValueError(f"y holds {unknown!r}, which is not in classes")
    if len(grown) > len(estimator.classes_):
        _set_classes(estimator, grown)
        estimator._place_classes(places)


def refuse_indicator(estimator, y):
    """Raise for a validated y of several labels a sample.

    Parameters
    ----------
    estimator : estimator
    y : ndarray or sparse
        As scikit-learn's validation returns it, so that no container of an indicator is missed:
        arrays and DataFrames of several columns, lists of lists, sparse matrices of any width.
    """
    if sparse.issparse(y) or (y.ndim == 2 and y.shape[1] > 1):
        what = "a sparse matrix" if sparse.issparse(y) else "an array"
        raise ValueError(
            f"{type(estimator).__name__} takes one class a sample, but y is {what} of shape "
            f"{y.shape}: "
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


def held_out_samples(codes, fraction, rng, sample_weight=None):
    """Samples kept from training, at random; a class keeps at least one of its samples.

    Parameters
    ----------
    codes : ndarray of int (n_samples,)
    fraction : float
    rng : RandomState
    sample_weight : ndarray (n_samples,), default=None
        Samples of weight zero are neither drawn nor counted; None or of size 0 for weights of 1.

    Returns
    -------
    held_out : ndarray of bool (n_samples,)
    """
    counted = np.arange(len(codes))
    if sample_weight is not None and len(sample_weight):
        counted = np.flatnonzero(sample_weight > 0)
    order = counted[rng.permutation(len(counted))]
    _, first = np.unique(codes[order], return_index=True)
    free = np.delete(order, first)
    held_out = np.zeros(len(codes), dtype=bool)
    held_out[free[: int(fraction * len(counted))]] = True
    return held_out

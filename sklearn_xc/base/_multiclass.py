"""One class a sample: `partial_fit`, labels of its calls, samples kept from training."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import column_or_1d, validate_data

from ..topk._weight_store import store_of
from ..training._class_weight import times_class_weight
from ..training._waiting import Waiting, beginning_of, ended_beginning, with_beginning
from ..utils._given_labels import given_classes, plain_labels
from ..utils._matrix import as_rows, in_checked_csr, normalise
from ..utils._typing import LabelsLike, Matrix, MatrixLike
from ..utils._validation import check_sample_weight
from ._label_counts import summed_support
from ._label_texts import Texts, texts_of
from ._labels import LabelEncoding, check_labels, refuse_indicator
from ._new_classes import grown_classes
from ._used_columns import n_columns_to_pay
from ._validation import check_parameters


class TrainsInParts:
    """Mixin of `partial_fit` with one class a sample.

    An estimator with it has

    * ``_partial_fit(X, codes, sample_weight, first)``;
    * ``_needs_a_beginning()``, which says whether what it has learnt depends on the sizes of
      columns;
    * for classes that come later, ``_place_classes(places)``: with ``classes_`` already grown,
      bring all that the solver keeps of the classes before to these places, and start the others
      as a fit would;
    * if samples wait for a mini-batch, ``_tables()`` and ``_put_back(*tables)``, which return and
      set what a step changes.
    """

    _waiting = None  # samples on which no lasting step was taken: a `Waiting`
    _beginning = None  # the first samples of all, as long as there are few of them

    def partial_fit(
        self,
        X: MatrixLike,
        y: LabelsLike,
        classes: LabelsLike | None = None,
        sample_weight: ArrayLike | None = None,
        label_features: MatrixLike | None = None,
    ) -> Self:
        """Go on training with one pass over more samples, whose classes may be new.

        A label that no call before has named becomes a class: ``classes_`` stays sorted, and the
        weights of the new class start as those of a fit do. How far this equals naming all
        classes at the first call: see the page "Growing: new labels, smaller models, merged
        models".

        Where steps depend on the sizes of columns, the first samples are kept: until there are a
        hundred, each call trains on all of them from the start, since fewer say little, and up to
        800 each by which their number has grown by a quarter, or when they begin to come again.

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
        label_features : array-like or sparse, shape (n_classes, n_features), or sequence of \
                these, default=None
            Texts of the labels, as in `fit`: further rows of this call, after the samples. They are
            of `classes` in its order, or of all classes after the call, sorted.

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
            # Before anything is trained: what is wrong with the call is said now.
            given = X, y, classes, sample_weight, label_features
            X, codes, sample_weight = self._validate_part(*given)
            samples = X, labels_of(codes), sample_weight
            # The samples begin to come again: a last time all of them are trained on from the
            # start, since the latest have been trained on in one pass only. It is no call of the
            # user's.
            again = None if first else ended_beginning(self._beginning, self._tables, X)
            if again is not None:
                n_calls = self.n_iter_
                self._partial_fit(again[0], again[1][1], again[2], True)
                self.n_iter_ = n_calls
            samples, first, known = with_beginning(self._beginning, self._tables, samples, first)
            X, (_, codes, _), sample_weight = samples
            self._partial_fit(X, codes, sample_weight, first)
            known = known if self._needs_a_beginning() else None
            self._beginning = beginning_of(self._tables, known, first)
        return self

    def _validate_part(
        self,
        X: MatrixLike,
        y: LabelsLike,
        classes: LabelsLike | None,
        sample_weight: ArrayLike | None,
        label_features: MatrixLike | None = None,
    ) -> tuple[Matrix, np.ndarray, np.ndarray | None]:
        """Check parameters and data of a `partial_fit` with one class a sample.

        Sets classes_ and what scikit-learn records of X at the first call, takes in new classes
        later, and returns X as `utils._matrix.normalise` does, the classes' numbers and the
        weights; texts of labels are the last rows.
        """
        check_parameters(self)
        check_labels(y)
        first = not self.__sklearn_is_fitted__()
        if not first:
            self._check_state()
        before = None if first else (self.classes_, self._support)
        X, y = in_checked_csr(X, "X"), in_checked_csr(plain_labels(y), "y")
        X, y = validate_data(self, X, y, accept_sparse="csr", multi_output=True, reset=first)
        refuse_indicator(self, y)
        y = column_or_1d(y, warn=True)
        indices = X.indices if sparse.issparse(X) else None
        n_columns = n_columns_to_pay(self, indices, X.shape[1], first)
        if first:
            if classes is None:
                raise ValueError("classes must be given at the first call of partial_fit")
            named = given_classes(classes)
            if len(named) < 2:
                raise ValueError(f"classes must name at least two classes, got {named!r}")
            # Sizes before anything is made of them, here and after new classes have joined.
            self._require_size(len(named), n_columns)
            self._set_classes(named)
        weight = None
        if sample_weight is not None:
            weight = check_sample_weight(sample_weight, X.shape[0], self._range_of_weights)
        self._grow(y, None if first else classes, may_add=not first and classes is None)
        self._require_size(len(self.classes_), n_columns)
        # Texts are no samples: they join below, after the samples were counted.
        codes = known_codes(y, self.classes_)
        self._set_support(summed_support(self.classes_, codes, weight, before))
        if getattr(self, "_weighs_samples_by_class", False):
            weight = times_class_weight(self, codes, weight, part=True)
        X = normalise(X)
        texts = texts_of(self, label_features, X.shape[1], not sparse.issparse(X), classes)
        return with_texts(self, X, codes, weight, texts)

    def _set_classes(self, classes: np.ndarray) -> None:
        """Become a model of these classes, which are sorted."""
        kind = "binary" if len(classes) == 2 else "multiclass"
        self._set_encoding(LabelEncoding(kind, classes, classes.dtype))

    def _grow(self, y: np.ndarray, classes: LabelsLike | None, may_add: bool) -> None:
        """Take in the new classes of `classes` and, where it may add some, of y."""
        classes = None if classes is None else given_classes(classes)
        grown, places = grown_classes(self.classes_, y, classes, may_add)
        # In this order: `_place_classes` starts the weights of the new classes, for which it has to
        # know how many there are.
        if len(grown) > len(self.classes_):
            self._set_classes(grown)
            self._place_classes(places)
            if self._beginning is not None:
                self._beginning = self._beginning.placed(places, self._tables())

    def _tables(self) -> tuple[np.ndarray, ...]:
        """Return what a step changes: by default the arrays of the weights."""
        return *store_of(self.coef_).arrays(), self.intercept_

    def _take_back(self) -> Waiting | None:
        """Undo the step on samples that wait; return them, or None without any."""
        waiting, tables = self._waiting, None if self._waiting is None else self._tables()
        # Of other weights, put in place since, there is no step to undo.
        if waiting is not None and not waiting.is_of(tables):
            waiting = None
        elif waiting is not None and waiting.has_replaced:
            self._put_back(*waiting.before(tables))
            waiting = waiting.placed(np.arange(len(self.classes_)), self._tables())
        self._waiting = waiting
        return waiting


def labels_of(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return one class a sample as `Waiting` has labels: starts, classes, and no grades."""
    return np.arange(len(codes) + 1, dtype=np.int64), codes, np.empty(0, dtype=np.float32)


def with_texts(
    estimator: BaseEstimator,
    X: Matrix,
    labels: Matrix,
    sample_weight: np.ndarray | None,
    texts: Texts,
) -> tuple[Matrix, Matrix, np.ndarray | None]:
    """Return samples, labels and weights of a part with the texts of labels below them."""
    if not texts.n:
        return X, labels, sample_weight
    by_counts = getattr(estimator, "class_weight", None)
    if isinstance(by_counts, str):
        raise ValueError(
            f"class_weight={by_counts!r} counts the samples of all calls, and texts are none: give "
            "label_features to fit, or a dict as class_weight"
        )
    rows, labels, sample_weight = texts.join(as_rows(X), labels, sample_weight)
    return rows.matrix(), labels, sample_weight


def known_codes(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the place of each label in sorted `classes`, -1 where it is not there."""
    y = y.ravel()
    # Bisection puts a label beyond the last class behind it, where nothing may be read.
    places = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    return np.where(classes[places] == y, places, -1).astype(np.int32)


def held_out_samples(
    codes: np.ndarray,
    fraction: float,
    rng: np.random.RandomState,
    sample_weight: np.ndarray | None = None,
    n_texts: int = 0,
) -> np.ndarray:
    """Return which samples are kept from training, at random; a class keeps at least one.

    Samples of weight zero, and the last `n_texts` rows, which are texts of labels, are neither
    drawn nor counted. Weights of size 0 stand for weights of 1.
    """
    counted = np.arange(len(codes) - n_texts)
    if sample_weight is not None and len(sample_weight):
        counted = np.flatnonzero(sample_weight[: len(counted)] > 0)
    order = counted[rng.permutation(len(counted))]
    # The first of each class in a random order is not free to be held out: a class without a sample
    # in training would be predicted by its intercept.
    _, first = np.unique(codes[order], return_index=True)
    free = np.delete(order, first)
    held_out = np.zeros(len(codes), dtype=bool)
    held_out[free[: int(fraction * len(counted))]] = True
    return held_out

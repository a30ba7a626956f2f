"""What all estimators share: validation, labels, prediction, tags.

The only module that touches private names of scikit-learn.
"""

from contextlib import contextmanager

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    Options,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.validation import check_is_fitted, validate_data

from ..inspection._mixin import InspectionMixin
from ..persistence import LoadedWeights, SaveMixin, weights_to_store
from ..topk._inverted_index import InvertedIndex, topk_matrix
from ..utils._callbacks import STATE, CallbackSupportMixin, Progress
from ..utils._locks import ForkSafeLock
from ..utils._matrix import as_rows, normalise
from ..utils._memory_limit import require_memory
from ..utils._parallel import effective_threads
from ..utils._validation import check_k, check_sample_weight, require_two_classes
from ._labels import LabelEncoding, check_labels, encode, label_names
from ._nearly_empty import NearlyEmptyMixin
from ._weight_format import WeightSurgery

__all__ = [
    "BaseXCClassifier",
    "HasMethods",
    "Interval",
    "Options",
    "StrOptions",
    "all_or_nothing",
    "check_parameters",
]


class _IndexCache:
    """The inverted index of an estimator's weights, built when first asked for.

    An index is kept only for arrays that cannot be written to; weights that the user has put in
    place and may still edit are indexed afresh at every call.
    """

    def __init__(self):
        self._lock = ForkSafeLock()
        self._arrays = ()
        self._index = None

    def get(self, coef, intercept, make=None):
        arrays = _arrays_of(coef, intercept)
        with self._lock:
            if not _same(arrays, self._arrays):
                index = (make or InvertedIndex)(coef, intercept)
                if any(array.flags.writeable for array in arrays):
                    return index
                self._arrays, self._index = arrays, index
            return self._index

    def put(self, coef, intercept, index):
        """Take an index that there is already, of arrays that cannot be written to."""
        with self._lock:
            self._arrays, self._index = _arrays_of(coef, intercept), index


def _check_shape(state, shape, n_inputs):
    """Refuse what is loaded if the weights are not those of the labels and features beside them."""
    encoding, classes, n_features = (state[n] for n in ("_encoding", "classes_", "n_features_in_"))
    if not isinstance(encoding, LabelEncoding) or not isinstance(classes, np.ndarray):
        raise ValueError("the labels are of the wrong kind")
    if classes.shape != encoding.classes_.shape or type(n_features) is not int:
        raise ValueError("the numbers of classes or features contradict one another")
    if shape[1:] != (n_inputs,) or shape[0] not in (encoding.n_columns, len(classes)):
        raise ValueError(f"weights of shape {shape} for {len(classes)} classes")
    if "feature_names_in_" in state and len(state["feature_names_in_"]) != n_features:
        raise ValueError("the names of the features are not as many as the features")


def _arrays_of(coef, intercept):
    parts = (coef.data, coef.indices, coef.indptr) if sparse.issparse(coef) else (coef,)
    return *parts, intercept


def _same(some, others):
    return len(some) == len(others) and all(a is b for a, b in zip(some, others, strict=True))


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


class BaseXCClassifier(
    WeightSurgery, InspectionMixin, NearlyEmptyMixin, SaveMixin, CallbackSupportMixin,
    ClassifierMixin, BaseEstimator,
):  # fmt: skip
    """Base of all classifiers here.

    A subclass declares ``_parameter_constraints``, has the parameter ``n_jobs``, and fits inside
    :meth:`_all_or_nothing` with the data from :meth:`_validate_fit`. One with linear weights ends
    with :meth:`_set_linear_model`; another overrides :meth:`_model`.
    """

    _parameter_constraints: dict = {}  # noqa: RUF012  (scikit-learn's convention)
    # why `merge` refuses models of this kind; None where each class is a problem of its own
    _not_merged_since = "their scores are trained against each other"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags

    # ------------------------------------------------------------------------------- for fit

    def _all_or_nothing(self):
        return all_or_nothing(self)

    def _start_progress(
        self, n_steps, X, y, sample_weight, name="epoch", set_model=None, n_before=0
    ):
        """Begin to tell of a fit of at most so many steps; see `Progress`.

        Parameters
        ----------
        n_steps : int
        X, y, sample_weight : object
            As they were given to fit.
        name : str
        set_model : callable or None
        n_before : int
            Steps of another kind before these at most.

        Returns
        -------
        progress : Progress
        """
        data = {"X": X, "y": y, "sample_weight": sample_weight}
        return Progress(self, n_steps, data, name, set_model, self.verbose, n_before)

    def _progress_of_part(self):
        """What `verbose` prints of a call of partial_fit; callbacks are told of fits only."""
        return Progress(self, None, name="part", verbose=self.verbose)

    def _validate_fit(self, X, y, sample_weight=None):
        """Check parameters and data; set classes_ and what scikit-learn records of X.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
        y : array-like or sparse, shape (n_samples,) or (n_samples, n_classes)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        X : C-contiguous ndarray or csr_array, float32 (see `_rows.normalise`)
        Y : csr_array of uint8 (n_samples, n_columns) (see `_labels.encode`)
        sample_weight : ndarray of float32 (n_samples,), or None
        """
        check_parameters(self)
        check_labels(y)
        names = label_names(y)
        X, y = validate_data(self, X, y, accept_sparse="csr", multi_output=True)
        self._check_validated_labels(y)
        self._encoding, Y = encode(y, names)
        self.classes_ = self._encoding.classes_
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, X.shape[0])
            if self._encoding.kind != "multilabel":
                require_two_classes(Y, sample_weight, self.classes_)
        self._set_support(Y, sample_weight)
        if self._encoding.kind == "multilabel":
            self._count_rows_with_labels(Y, sample_weight)
        return normalise(X), Y, sample_weight

    def _check_validated_labels(self, y):
        """Refuse what this estimator does not take; y as scikit-learn's validation returns it."""

    def _validate_more(self, X, y, sample_weight=None):
        """Check parameters and data that come after a fit; y is not encoded."""
        check_parameters(self)
        check_labels(y)
        X, y = validate_data(self, X, y, accept_sparse="csr", multi_output=True, reset=False)
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, X.shape[0])
        return normalise(X), y, sample_weight

    def _set_linear_model(self, coef, intercept, indexed=True):
        """Store coef_ and intercept_, read-only, and index them.

        Parameters
        ----------
        coef : CSR of float32 (n_columns, n_features)
        intercept : ndarray of float32 (n_columns,)
        indexed : bool, default=True
            Whether now; otherwise when an index is first asked for.
        """
        self.coef_, self.intercept_ = coef, intercept
        self._prepare_index()
        if indexed:
            self._model()

    def _prepare_index(self):
        # An edit in place of the weights would leave the index stale: let it fail instead.
        for array in _arrays_of(self.coef_, self.intercept_):
            array.flags.writeable = False
        self._index_cache = _IndexCache()

    def __getstate__(self):
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_index_cache"}

    def __setstate__(self, state):
        super().__setstate__(state)
        if "coef_" in vars(self):
            self._prepare_index()

    # ------------------------------------------------------------------------- for save and load

    def _state_to_save(self, encoder):
        state = super()._state_to_save(encoder)
        if self._is_linear():  # the index holds the intercepts as well
            del state["intercept_"]
            state["coef_"] = weights_to_store(
                self.coef_, self.intercept_, self._model(), encoder.dtype, encoder.threshold
            )
        return state

    def _set_loaded_state(self, state, origin):
        weights = state.pop("coef_", None)
        mapped = vars(self).pop("_loaded", None)  # there if all of a mapped file is read now
        if isinstance(weights, LoadedWeights):
            known = {**vars(self), **state}
            _check_shape(known, weights.index.shape, self._n_inputs(known))
            self._index_cache = _IndexCache()
            if mapped is None or self.intercept_ is mapped.intercept:
                self.intercept_ = weights.intercept
            if origin is None:
                self.coef_ = weights.coef()
                self._index_cache.put(self.coef_, weights.intercept, weights.index)
            else:
                self._loaded = weights
        elif weights is not None and not self._is_linear():
            known = {**vars(self), **state}
            _check_shape(known, np.shape(weights), self._n_inputs(known))
            state["coef_"], self._index_cache = weights, _IndexCache()
        elif weights is not None or (mapped is None and "coef_" not in vars(self)):
            raise ValueError(f"it holds a {type(self).__name__} without weights")
        super()._set_loaded_state(state, origin)

    def __getattr__(self, name):
        if name == "coef_" and "_loaded" in vars(self):
            return self._loaded.coef()
        return super().__getattr__(name)

    def _is_linear(self):
        """Whether coef_ and intercept_ are kept as the inverted lists that prediction follows."""
        return True

    def _n_inputs(self, state):
        """Columns of coef_ in a model with these attributes."""
        return state["n_features_in_"]

    # ----------------------------------------------------------------------------- prediction

    def __sklearn_is_fitted__(self):
        return "_encoding" in vars(self)

    def _model(self):
        """The object that scores rows: has ``topk``, ``scores`` and ``positives``."""
        loaded = vars(self).get("_loaded")
        if loaded and "coef_" not in vars(self) and self.intercept_ is loaded.intercept:
            return loaded.index
        if self.coef_.shape[0] != self._encoding.n_columns:
            raise ValueError(
                f"coef_ has {self.coef_.shape[0]} rows, but fit's y asks for "
                f"{self._encoding.n_columns}"
            )
        return self._index_cache.get(self.coef_, self.intercept_)

    def _rows(self, X):
        """The rows that :meth:`_model` scores."""
        return self._feature_rows(X)

    def _feature_rows(self, X):
        """The rows that the user gave."""
        check_is_fitted(self)
        return as_rows(normalise(validate_data(self, X, accept_sparse="csr", reset=False)))

    def _threads(self):
        return effective_threads(self.n_jobs)

    def decision_function(self, X):
        """Scores of all classes.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of float32, shape (n_samples, n_classes), or (n_samples,) for two classes
            For two classes the score of ``classes_[1]``.

        Raises
        ------
        MemoryError
            If the scores would take more than half of the memory available (see
            `SKLEARN_XC_MEMORY_LIMIT` in the user guide); :meth:`predict_topk` never does.
        """
        rows = self._rows(X)
        self._require_output(rows, np.float32, "decision_function")
        scores = self._model().scores(rows, self._threads())
        return scores.ravel() if self._encoding.kind == "binary" else scores

    def predict(self, X):
        """Predict classes or labels.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,), or (n_samples, n_classes) dense or CSR
            The class with the highest score; where y was an indicator, the labels with a score
            above zero (possibly none), in the container and dtype of fit's y.

        Warns
        -----
        UserWarning
            Once for each fit, if nine in ten of a hundred rows or more get no label, while rows
            of fit had some. With many rare labels few scores are above zero:
            :meth:`predict_topk` ranks all the same, and :class:`TopKThresholdClassifier` finds
            the threshold that serves.

        Raises
        ------
        MemoryError
            If a dense indicator would take more than half of the memory available (see
            `SKLEARN_XC_MEMORY_LIMIT` in the user guide); fit on a sparse y, or use
            :meth:`predict_topk`.
        """
        rows = self._rows(X)
        model, encoding = self._model(), self._encoding
        if encoding.kind == "binary":
            return self.classes_[(model.scores(rows, self._threads()).ravel() > 0).astype(int)]
        if encoding.kind == "multiclass":
            return self.classes_[model.topk(rows, 1, self._threads())[0].ravel()]
        if encoding.container is None:
            self._require_output(rows, encoding.dtype, "predict")
        pattern = model.positives(rows, self._threads())
        self._warn_if_nearly_empty(np.diff(pattern.indptr))
        return encoding.indicator(pattern)

    def predict_topk(self, X, k=None, scores="decision", sparse_output=False):
        """The k best classes of each sample, best first; never builds all scores.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
        k : int, default=None
            From 1 to the number of classes K; by default the smaller of 5 and K.
        scores : {"decision", "proba"}, default="decision"
            What to return beside the labels: scores as of :meth:`decision_function`, or
            probabilities, where the estimator has them: those of :meth:`predict_proba`, rounded to
            float32.
        sparse_output : bool, default=False
            Whether to return one sparse matrix with k entries a row instead of two arrays.

        Returns
        -------
        labels : ndarray of shape (n_samples, k)
            Entries of ``classes_``: labels, or the column names or numbers of an indicator. Ties
            go to the class that stands first there.
        scores : ndarray of float32, shape (n_samples, k)
            All finite. For two classes ``-f`` and ``f``, where f is the decision function.
        matrix : csr_array of float32, shape (n_samples, K)
            In their place with `sparse_output`: the same scores, in the columns of ``classes_``.
            What is not stored is not among the k best; a stored zero is a score.

        Raises
        ------
        ValueError
            If k is not an integer from 1 to K, `scores` is not one of the two, or there are no
            probabilities.
        """
        if scores not in ("decision", "proba"):
            raise ValueError(f"scores must be 'decision' or 'proba', got {scores!r}")
        rows = self._rows(X)
        k = check_k(k, len(self.classes_))
        best, values = (self._topk_probabilities if scores == "proba" else self._topk)(rows, k)
        if sparse_output:
            return topk_matrix(best, values, len(self.classes_))
        return self.classes_[best], values

    def _topk(self, rows, k):
        """Numbers and scores of the k best classes of each row."""
        if self._encoding.kind != "binary":
            return self._model().topk(rows, k, self._threads())
        scores = self._model().scores(rows, self._threads())
        scores = np.hstack([-scores, scores])
        best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return best, np.take_along_axis(scores, best, axis=1)

    def _topk_probabilities(self, rows, k):
        """As :meth:`_topk`, with probabilities; for the estimators that have them."""
        raise ValueError(f"scores='proba': {type(self).__name__} has no probabilities")

    def _require_output(self, rows, dtype, method, n_columns=None):
        shape = rows.shape[0], self._encoding.n_columns if n_columns is None else n_columns
        require_memory(
            shape[0] * shape[1] * np.dtype(dtype).itemsize,
            f"{method}: a dense output of shape {shape}",
            "use predict_topk, or fewer rows at a time",
        )

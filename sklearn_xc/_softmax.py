"""What the estimators with probabilities share: dense weights, predict_proba, partial_fit."""

import numpy as np
from sklearn.utils._param_validation import validate_parameter_constraints
from sklearn.utils.validation import check_is_fitted, validate_data

from ._base import BaseXCClassifier, _check_k, _check_sample_weight
from ._dense import feature_major
from ._labels import LabelEncoding, check_labels
from ._memory import require_memory
from ._rows import normalise

# Rows whose scores are held at once where probabilities are wanted for few of the classes.
SCORES_AT_ONCE = 2**24


class BaseSoftmaxClassifier(BaseXCClassifier):
    """Base of the multiclass estimators whose scores are utilities of a probability model.

    Their weights are dense. `coef_` is a view of memory that lies feature by feature, which is the
    order in which rows are scored. A subclass whose probabilities are not those of the softmax
    overrides :meth:`_log_probabilities`; it implements ``_partial_fit``.
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = False
        return tags

    # -------------------------------------------------------------------------------- for fit

    def _validate_softmax(self, X, y, sample_weight=None):
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
        """:meth:`_validate_softmax`, and the weights to start from, None for a cold start."""
        warm = self.warm_start and self.__sklearn_is_fitted__()
        before = (self.classes_, self.n_features_in_, self._start_weights()) if warm else None
        data = self._validate_softmax(X, y, sample_weight)
        if not warm:
            return *data, None
        classes, n_features, weights = before
        if not np.array_equal(classes, self.classes_) or n_features != self.n_features_in_:
            raise ValueError(
                "warm_start=True needs the classes and features of the fit before; set "
                "warm_start=False to start anew"
            )
        return *data, weights

    def _require_weights(self, n_copies, also=0):
        """Refuse weights that do not fit into memory.

        Parameters
        ----------
        n_copies : float
            Numbers of 4 bytes that fit holds for each weight.
        also : int
            Bytes beside them.
        """
        shape = len(self.classes_), self.n_features_in_
        require_memory(
            int(4 * n_copies * shape[0] * shape[1] + also),
            f"fit: dense weights of {shape[0]} classes and {shape[1]} features "
            f"({n_copies:g} float32 numbers each)",
            "use fewer features (hashing, or a feature selection step before), or "
            "PPDSparseClassifier, whose weights are sparse",
        )

    def _set_dense_model(self, W, b):
        """Store the weights of a fit.

        Parameters
        ----------
        W : ndarray of float32 (n_classes, n_features)
            Of two classes too. C-contiguous (a copy is made), or a view of feature-major memory.
        b : ndarray of float32 (n_classes,)
        """
        if not (np.isfinite(W).all() and np.isfinite(b).all()):
            raise ValueError(
                "the weights grew beyond float32: use a smaller learning_rate, or scale the "
                "features"
            )
        if len(self.classes_) == 2:
            W, b = np.ascontiguousarray(W[1:] - W[:1]), b[1:] - b[:1]
        elif W.strides[0] != W.itemsize:
            W = feature_major(W)[:, : len(W)].T
        self._set_linear_model(W, b.astype(np.float32, copy=False))

    def _start_weights(self):
        """Copies of the weights for two classes or more, each class contiguous, and intercepts."""
        W, b = self.coef_, self.intercept_
        if len(self.classes_) == 2:
            W, b = np.concatenate([-W, W]) / 2, np.concatenate([-b, b]) / 2
        return np.array(W, dtype=np.float32, order="C"), np.array(b, dtype=np.float32)

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
            X, codes, sample_weight = self._validate_part(X, y, classes, sample_weight)
            self._partial_fit(X, codes, sample_weight, first)
        return self

    def _validate_part(self, X, y, classes, sample_weight):
        validate_parameter_constraints(
            self._parameter_constraints, self.get_params(deep=False), type(self).__name__
        )
        _refuse_multilabel(self, y)
        check_labels(y)
        first = not self.__sklearn_is_fitted__()
        X, y = validate_data(self, X, y, accept_sparse="csr", reset=first)
        if first:
            if classes is None:
                raise ValueError("classes must be given at the first call of partial_fit")
            classes = np.unique(np.asarray(classes))
            if len(classes) < 2:
                raise ValueError(f"classes must name at least two classes, got {classes!r}")
            kind = "binary" if len(classes) == 2 else "multiclass"
            self._encoding = LabelEncoding(kind, classes, classes.dtype)
            self.classes_ = classes
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError("classes must be the same in every call of partial_fit")
        codes = _known_codes(y, self.classes_)
        if (codes < 0).any():
            raise ValueError(f"y holds {y[codes < 0].tolist()[0]!r}, which is not in classes")
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X.shape[0])
        return normalise(X), codes, sample_weight

    # ----------------------------------------------------------------------------- prediction

    def _log_probabilities(self, scores):
        """Log-probabilities of utilities (n_samples, n_classes); may overwrite them."""
        scores -= scores.max(axis=1, keepdims=True)
        total = np.exp(scores).sum(axis=1, dtype=np.float64, keepdims=True)
        scores -= np.log(total).astype(np.float32)
        return scores

    def _utilities(self, rows):
        scores = self._model().scores(rows, self._threads())
        if self._encoding.kind == "binary":
            scores = np.hstack([np.zeros_like(scores), scores])
        return scores

    def predict_log_proba(self, X):
        """Logarithms of the probabilities of all classes.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)

        Returns
        -------
        log_p : ndarray of float32, shape (n_samples, n_classes)

        Raises
        ------
        MemoryError
            If they would take more than half of the memory available; ``predict_topk(X, k,
            scores="proba")`` never does.
        """
        rows = self._rows(X)
        self._require_output(rows, np.float32, "predict_log_proba")
        log_p = self._log_probabilities(self._utilities(rows))
        log_p[log_p > -np.finfo(np.float32).epsneg] = 0  # of probabilities that round to 1
        return log_p

    def predict_proba(self, X):
        """Probabilities of all classes.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)

        Returns
        -------
        p : ndarray of float32, shape (n_samples, n_classes)

        Raises
        ------
        MemoryError
            If they would take more than half of the memory available; ``predict_topk(X, k,
            scores="proba")`` never does.
        """
        rows = self._rows(X)
        self._require_output(rows, np.float32, "predict_proba")
        log_p = self._log_probabilities(self._utilities(rows))
        return np.exp(log_p, out=log_p)

    def predict_topk(self, X, k=None, scores="decision"):
        """The k best classes of each sample, best first; never builds all scores of all samples.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
        k : int, default=None
            From 1 to the number of classes K; by default the smaller of 5 and K.
        scores : {"decision", "proba"}, default="decision"
            What to return beside the labels: utilities or probabilities.

        Returns
        -------
        labels : ndarray of shape (n_samples, k)
            Entries of ``classes_``. Ties go to the class that stands first there.
        scores : ndarray of float32, shape (n_samples, k)
            For two classes the utilities are ``-f`` and ``f``, where f is the decision function.

        Raises
        ------
        ValueError
            If k is not an integer from 1 to K, or scores is not one of the two.
        """
        if scores not in ("decision", "proba"):
            raise ValueError(f"scores must be 'decision' or 'proba', got {scores!r}")
        if scores == "decision":
            return super().predict_topk(X, k)
        rows = self._rows(X)
        k = _check_k(k, len(self.classes_))
        places = np.empty((rows.shape[0], k), dtype=np.int64)
        values = np.empty((rows.shape[0], k), dtype=np.float32)
        for part, log_p in self._log_probability_blocks(rows):
            best = (
                np.argpartition(-log_p, k - 1, axis=1)[:, :k]
                if k < log_p.shape[1]
                else (np.broadcast_to(np.arange(k), log_p.shape))
            )
            best = np.sort(best, axis=1)
            found = np.take_along_axis(log_p, best, axis=1)
            order = np.argsort(-found, axis=1, kind="stable")
            places[part] = np.take_along_axis(best, order, axis=1)
            values[part] = np.exp(np.take_along_axis(found, order, axis=1))
        return self.classes_[places], values

    def _log_probability_blocks(self, rows):
        size = max(1, SCORES_AT_ONCE // len(self.classes_))
        for start in range(0, rows.shape[0], size):
            part = slice(start, min(start + size, rows.shape[0]))
            yield part, self._log_probabilities(self._utilities(rows.block(part.start, part.stop)))

    def log_likelihood(self, X, y, sample_weight=None):
        """Mean log-probability of the true classes.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            A label that fit did not see has probability zero, and the mean is minus infinity.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        log_likelihood : float
        """
        check_is_fitted(self)
        rows = self._rows(X)
        codes = _known_codes(np.asarray(y), self.classes_)
        if codes.shape != (rows.shape[0],):
            raise ValueError(
                f"y must be a 1d array of length {rows.shape[0]} like X, got {np.shape(y)}"
            )
        log_p = np.full(len(codes), -np.inf)
        for part, block in self._log_probability_blocks(rows):
            known = np.flatnonzero(codes[part] >= 0)
            log_p[part.start + known] = block[known, codes[part][known]]
        if sample_weight is None:
            return float(log_p.mean())
        sample_weight = _check_sample_weight(sample_weight, len(codes))
        counted = sample_weight > 0
        return float(np.average(log_p[counted], weights=sample_weight[counted]))


def _refuse_multilabel(estimator, y):
    shape = getattr(y, "shape", ())
    if len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"{type(estimator).__name__} takes one class a sample, but y has shape {shape}: "
            "reduce it with sklearn_xc.datasets.first_label, or use PPDSparseClassifier, which "
            "takes several labels a sample. Multioutput target data is not supported"
        )


def _codes(Y):
    """The class number of each sample from the pattern of `_labels.encode`."""
    if Y.shape[1] == 1:
        return np.diff(Y.indptr).astype(np.int32)
    return Y.indices.astype(np.int32)


def _known_codes(y, classes):
    """The place of each label in sorted `classes`, -1 where it is not there."""
    y = y.ravel()
    places = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    return np.where(classes[places] == y, places, -1).astype(np.int32)

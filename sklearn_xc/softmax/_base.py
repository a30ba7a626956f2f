"""Base of the softmax estimators: dense weights, predict_proba."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..base._classifier import BaseXCClassifier
from ..base._multiclass import TrainsInParts, known_codes, labels_of
from ..base._used_columns import KeepsUsedColumns, moved
from ..topk._feature_major import feature_major
from ..utils._memory_limit import require_memory
from ..utils._typing import LabelsLike, Matrix, MatrixLike
from ..utils._validation import check_sample_weight
from ._coordinates import Weights
from ._parts import of_weight
from ._probabilities import SoftmaxProbabilities, log_probability_blocks, log_softmax


class BaseSoftmaxClassifier(
    KeepsUsedColumns, SoftmaxProbabilities, TrainsInParts, BaseXCClassifier
):
    """Base of the multiclass estimators whose scores are utilities of a probability model.

    Their weights are dense. `coef_` is a view of memory that lies feature by feature, which is the
    order in which samples are scored, or a CSR where few of very many columns are used. A subclass
    whose probabilities are not those of the softmax overrides :meth:`_log_probabilities`; one whose
    weights do not start at zero, :meth:`_weights_of_new_classes`.
    """

    _support: np.ndarray  # samples of each class
    _multilabel = False
    _weighs_samples_by_class = True
    _not_merged_since = (
        "probabilities are normalised over the classes of one model, and utilities of two models "
        "have no common zero; fit one model on all classes, or grow one by partial_fit"
    )

    # -------------------------------------------------------------------------------- for fit

    def _needs_a_beginning(self) -> bool:
        return True

    def _tables(self) -> Weights:
        """Return the weights and intercepts, dense."""
        return self._kept_weights(), np.asarray(self.intercept_)

    def _put_back(self, coef: np.ndarray, intercept: np.ndarray) -> None:
        self.coef_, self.intercept_ = self._as_coef(coef), intercept

    def _with_waiting(
        self, X: Matrix, codes: np.ndarray, sample_weight: np.ndarray | None, first: bool
    ) -> tuple[Matrix, np.ndarray, np.ndarray | None, int, bool]:
        """Return leftover samples of earlier calls and those of this call, the number of the
        latter, and whether training begins with them. Samples of weight zero are dropped, and the
        step on the leftover ones is undone.
        """
        X, codes, sample_weight = of_weight(X, codes, sample_weight)
        n_new, waiting = len(codes), None if first else self._take_back()
        if waiting is None:
            return X, codes, sample_weight, n_new, first
        X, labels, sample_weight = waiting.followed_by(X, labels_of(codes), sample_weight)
        return X, labels[1], sample_weight, n_new, waiting.cold

    def _require_size(self, n_classes: int, n_features: int) -> None:
        super()._require_size(n_classes, n_features)
        self._require_weights(1, 64 * n_features, (n_classes, n_features))

    def _require_weights(
        self, n_copies: float, also: int = 0, shape: tuple[int, int] | None = None
    ) -> None:
        """Refuse weights that do not fit into memory, in `n_copies` numbers of 4 bytes each and
        `also` bytes in addition; their `shape` is by default that of the model.
        """
        shape = shape or (len(self.classes_), self._n_kept)
        require_memory(
            int(4 * n_copies * shape[0] * shape[1] + also),
            f"fit: dense weights of {shape[0]} classes and {shape[1]} features "
            f"({n_copies:g} float32 numbers each)",
            "use fewer features (VarianceThreshold() before it drops those that no sample has; "
            "a feature selection, or a smaller hashing, others), or "
            "PPDSparseClassifier, whose weights are sparse",
        )

    def _set_dense_model(self, W: np.ndarray, b: np.ndarray) -> None:
        """Store the weights of a fit, one vector a class even where there are two.

        W is C-contiguous, and then copied, or a view of feature-major memory.
        """
        # The extremes tell as much as `np.isfinite(W).all()`, which would make an array of flags.
        if not np.isfinite([W.min(), W.max(), b.min(), b.max()]).all():
            raise ValueError(
                "the weights grew beyond float32: use a smaller learning_rate, or scale the "
                "features"
            )
        # Two classes keep one weight vector, as in scikit-learn: only the difference of their
        # utilities decides, and it is the score of the second class.
        if len(self.classes_) == 2:
            W, b = np.ascontiguousarray(W[1:] - W[:1]), b[1:] - b[:1]
        # The places that pad the classes to whole vectors stay behind the view.
        elif W.strides[0] != W.itemsize and self._columns is None:
            W = feature_major(W)[:, : len(W)].T
        self._set_kept_model(W, b.astype(np.float32, copy=False))

    def _set_copies(self, weights: Callable[[], Weights]) -> None:
        """Predict with the weights of an epoch, which ends with a function that returns W and b."""
        self._set_dense_model(*map(np.array, weights()))

    def _start_weights(self) -> Weights:
        """Return copies of the weights for two classes or more, each class contiguous, and
        intercepts.
        """
        W, b = self._kept_weights(), self.intercept_
        if len(b) == 1:
            # Half of the difference for each class: the same probabilities, and of all such pairs
            # the one with the smallest norm, which a ridge would choose.
            W, b = np.concatenate([-W, W]) / 2, np.concatenate([-b, b]) / 2
        return np.array(W, dtype=np.float32, order="C"), np.array(b, dtype=np.float32)

    def _moved_start(self, start: Weights | None, before: np.ndarray | None) -> Weights | None:
        """Return weights to start from, of the columns `before`, for the columns kept now."""
        if start is None or before is None:
            return start
        return moved(start[0], before, self._columns, axis=1), start[1]

    def _place_classes(self, places: np.ndarray) -> None:
        waiting = self._take_back()
        self._require_weights(3)
        W, b = self._start_weights()
        n_classes, n_features = len(self.classes_), W.shape[1]
        new = np.setdiff1d(np.arange(n_classes), places)
        grown = np.empty((n_classes, n_features), dtype=np.float32)
        intercept = np.empty(n_classes, dtype=np.float32)
        grown[places], intercept[places] = W, b
        # Frees a copy before `_set_dense_model` makes another one.
        del W
        grown[new], intercept[new] = self._weights_of_new_classes(len(new))
        self._set_dense_model(grown, intercept)
        if waiting is not None:
            self._waiting = waiting.placed(places, self._tables())

    def _weights_of_new_classes(
        self, n_new: int
    ) -> tuple[np.ndarray | np.float32, np.ndarray | np.float32]:
        """Return weights of classes that join between two calls of partial_fit: zeros."""
        return np.float32(0), np.float32(0)

    # ----------------------------------------------------------------------------- prediction

    def _log_probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return log-probabilities, float64, of utilities of float32 (n_samples, n_classes)."""
        return log_softmax(scores)

    def log_likelihood(
        self, X: MatrixLike, y: LabelsLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the mean log-probability of the true classes.

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
        codes = known_codes(np.asarray(y), self.classes_)
        if codes.shape != (rows.shape[0],):
            raise ValueError(
                f"y must be a 1d array of length {rows.shape[0]} like X, got {np.shape(y)}"
            )
        # A label that is no class has probability zero.
        log_p = np.full(len(codes), -np.inf)
        for part, block in log_probability_blocks(self, rows):
            known = np.flatnonzero(codes[part] >= 0)
            log_p[part.start + known] = block[known, codes[part][known]]
        if sample_weight is None:
            return float(log_p.mean())
        weight = check_sample_weight(sample_weight, len(codes))
        # Minus infinity times a weight of zero would be no number.
        counted = weight > 0
        return float(np.average(log_p[counted], weights=weight[counted]))

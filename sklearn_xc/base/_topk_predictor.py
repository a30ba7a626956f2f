"""Answers for single samples: what does not depend on the sample is done once."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..topk._restriction import Restriction, checked_weight
from ..topk._weight_store import checked_weights
from ..utils._label_places import named_labels
from ..utils._matrix import as_rows, checked_csr, normalise
from ..utils._typing import LabelsLike, Matrix, MatrixLike
from ..utils._validation import check_k
from ._predict_topk import check_kind_of_scores
from ._validation import as_it_is


class AnswersSingleRows:
    """Mixin of `topk_predictor`; ``_predictor`` makes one, here by the scores of an index."""

    def topk_predictor(
        self,
        k: int | None = None,
        scores: str = "decision",
        *,
        labels: LabelsLike | None = None,
        exclude: LabelsLike | None = None,
        label_weight: ArrayLike | dict | None = None,
    ) -> Any:
        """Return an object that answers for single samples faster than :meth:`predict_topk`.

        Checks of the estimator, the weights of some labels only, and changed intercepts are made
        once, here; a call checks the sample and searches, on one thread. It is for samples of the
        form that ``fit`` has seen: numbers, in as many columns. Training the estimator again does
        not change it, and any number of threads may call it at once.

        Parameters
        ----------
        k : int, default=None
            As of :meth:`predict_topk`.
        scores : {"decision", "proba"}, default="decision"
            What to return with the labels: scores, or probabilities, where the estimator has them.
        labels, exclude : sequence of labels, default=None
            The only labels that an answer may hold, and those that it may not.
        label_weight : array-like of shape (K,), default=None
            What is added to the score of each class. Not for probabilities.

        Returns
        -------
        predictor : object
            ``predictor(X)`` returns ``(labels, scores)`` of :meth:`predict_topk`. It has the
            attributes ``classes_``, ``k`` and ``scores``.

        Raises
        ------
        ValueError
            If an argument is not as described, or leaves fewer than k labels, or there are no
            probabilities.
        """
        check_is_fitted(self)
        only = {"labels": labels, "exclude": exclude, "label_weight": label_weight}
        return self._predictor(k, scores, only)

    def _predictor(self, k: int | None, scores: str, only: dict[str, Any]) -> Any:
        """Return the predictor; `only` has the restriction of labels and their weights."""
        return TopkPredictor(as_it_is(self), k, scores, **only)


class TopkPredictor:
    """Result of `topk_predictor`, with its arguments.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        All classes of the model, those that are left out too.
    k : int
        Labels of an answer.
    scores : {"decision", "proba"}
    """

    def __init__(
        self,
        model: BaseEstimator,
        k: int | None,
        scores: str,
        labels: LabelsLike | None,
        exclude: LabelsLike | None,
        label_weight: ArrayLike | dict | None,
    ) -> None:
        # What can be refused is refused here: a service finds out at its start.
        check_kind_of_scores(model, scores, label_weight)
        n_classes = len(model.classes_)
        kept = np.ones(n_classes, dtype=bool)
        if labels is not None:
            kept[:] = False
            kept[_places(labels, model.classes_, "labels")] = True
        if exclude is not None:
            kept[_places(exclude, model.classes_, "exclude")] = False
        if not kept.any():
            raise ValueError("labels and exclude leave no label")
        self.k = check_k(k, int(kept.sum()))
        self.classes_, self.scores = model.classes_, scores
        self._n_features = model.n_features_in_
        self._names: Any = getattr(model, "feature_names_in_", None)
        self._inputs, self._name = model._scores_of(), type(model).__name__
        self._model = self._kept = None
        # The model itself: a probability may depend on the scores of all classes.
        if scores == "proba":
            self._model = _on_one_thread(model)
            self._kept = None if kept.all() else np.flatnonzero(kept)
            return
        # Two scores are no search.
        if model._encoding.kind == "binary":
            only = {"labels": model.classes_[kept], "label_weight": label_weight}
            self._model = model, only
            return
        index = model._model()
        if label_weight is not None:
            index = index.shifted(checked_weight(label_weight, model.classes_))
        # Few labels have an index of their own, and a call costs what they cost. With some excluded
        # most are left: minus infinity as an intercept keeps these from every answer.
        if labels is not None:
            index = index.part(lambda: checked_weights(model.coef_), np.flatnonzero(kept))
        elif exclude is not None:
            index = index.shifted(np.where(kept, 0, -np.inf).astype(np.float32))
        self._index = index

    def __repr__(self) -> str:
        return (
            f"TopkPredictor({self._name}, k={self.k}, scores={self.scores!r}, "
            f"{len(self.classes_)} classes)"
        )

    def __call__(self, X: MatrixLike) -> tuple[np.ndarray, np.ndarray]:
        """Find the k best classes of each sample, and their scores.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples, k)
        scores : ndarray of float32, shape (n_samples, k)

        Raises
        ------
        ValueError
            If X is not of this shape, or holds no finite numbers.
        """
        if self._model is not None and self.scores == "decision":
            model, only = self._model
            return model.predict_topk(X, self.k, **only)
        rows = self._inputs.inputs(as_rows(self._checked(X)), 1)
        if self.scores == "proba":
            only = None
            if self._kept is not None:
                only = Restriction(len(self.classes_), rows.shape[0], allowed=self._kept)
            best, scores = self._model._topk_probabilities(rows, self.k, only)
        else:
            best, scores = self._index.topk(rows, self.k, 1)
        return self.classes_[best], scores

    def _checked(self, X: MatrixLike) -> Matrix:
        """Return X as kernels take it; raise ValueError unless it is like that of fit."""
        if self._names is not None and getattr(X, "columns", None) is not None:
            self._require_names(np.asarray(X.columns))
        # scikit-learn's `validate_data` takes longer than these checks and the search of one sample
        # together: here are the same checks without its tags, configuration and conversions of
        # containers.
        X = checked_csr(X, "X") if sparse.issparse(X) else np.asarray(X)
        if X.ndim != 2 or X.shape[1] != self._n_features:
            raise ValueError(
                f"X has the shape {X.shape}, but {self._name} was fitted on {self._n_features} "
                "features: give samples with as many, in 2 dimensions"
            )
        X = normalise(X)
        values = X.data if sparse.issparse(X) else X
        # One pass: the sum is finite just if all are, since float32 cannot overflow float64.
        if not np.isfinite(values.sum(dtype=np.float64)):
            raise ValueError("Input X contains NaN or infinity")
        return X

    def _require_names(self, names: np.ndarray) -> None:
        """Raise ValueError unless the columns of a data frame are those of fit, in their order."""
        if not np.array_equal(names, self._names):
            raise ValueError(
                "The feature names should match those that were passed during fit, and in the "
                f"same order: {list(self._names[:5])}, got {list(names[:5])}"
            )


def _places(labels: LabelsLike, classes: np.ndarray, name: str) -> np.ndarray:
    """Return labels for all samples, as places."""
    named = None
    if not sparse.issparse(labels):
        named = named_labels(
            labels, classes, 0, name, "left out" if name == "exclude" else "refused"
        )
    if named is None or named.starts is not None:
        raise ValueError(
            f"{name} of a predictor are for all samples; those of each sample go to predict_topk"
        )
    return named.places


def _on_one_thread(model: BaseEstimator) -> BaseEstimator:
    """Return a model that predicts on one thread, without what later changes of this one bring."""
    # Nothing has changed a model since it was mapped, as long as it has its origin.
    if "_origin" in vars(model):
        return model
    one = object.__new__(type(model))
    vars(one).update(vars(model))
    one.n_jobs = 1
    return one

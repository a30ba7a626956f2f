"""`predict_topk` of all classifiers: which labels, how many, with which scores."""

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..topk._inverted_index import topk_matrix
from ..topk._restriction import Restriction, best_of_columns, read_restriction
from ..topk._weight_store import checked_weights
from ..utils._matrix import n_rows
from ..utils._rows import Rows
from ..utils._typing import LabelsLike, MatrixLike
from ..utils._validation import check_k
from ._validation import as_it_is


class PredictsTopK:
    """Mixin of `predict_topk`, for every classifier that names its best classes.

    A subclass has ``classes_`` and two hooks: ``_topk(rows, k, only)`` returns numbers and scores
    of the k best classes that the restriction `only` leaves, ``_topk_probabilities`` the same with
    probabilities; -1 stands where a sample may have fewer than k.
    """

    def _rows(self, X: MatrixLike) -> Any:
        """Return X as the hooks take it, by default as it is."""
        return X

    # For checkers of types: `labels, scores = ...` is right unless `sparse_output` is set.
    @overload
    def predict_topk(
        self,
        X: MatrixLike,
        k: int | None = ...,
        scores: str = ...,
        sparse_output: Literal[False] = ...,
        *,
        labels: LabelsLike | None = ...,
        exclude: LabelsLike | None = ...,
        label_weight: ArrayLike | dict | None = ...,
    ) -> tuple[np.ndarray, np.ndarray]: ...

    @overload
    def predict_topk(
        self,
        X: MatrixLike,
        k: int | None = ...,
        scores: str = ...,
        sparse_output: bool = ...,
        *,
        labels: LabelsLike | None = ...,
        exclude: LabelsLike | None = ...,
        label_weight: ArrayLike | dict | None = ...,
    ) -> sparse.csr_array | Any: ...

    def predict_topk(
        self,
        X: MatrixLike,
        k: int | None = None,
        scores: str = "decision",
        sparse_output: bool = False,
        *,
        labels: LabelsLike | None = None,
        exclude: LabelsLike | None = None,
        label_weight: ArrayLike | dict | None = None,
    ) -> tuple[np.ndarray, np.ndarray] | sparse.csr_array:
        """Return the k best classes of each sample, best first; never builds all scores.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features), or whatever the estimator takes
        k : int, default=None
            From 1 to the number of classes K, or of those that `labels` and `exclude` leave; by
            default the smaller of 5 and that.
        scores : {"decision", "proba"}, default="decision"
            What to return with the labels: scores as of ``decision_function``, or probabilities,
            where the estimator has them: those of ``predict_proba``, rounded to float32.
        sparse_output : bool, default=False
            Whether to return one sparse matrix with k entries a row instead of two arrays.
        labels : sequence of labels, one sequence of labels a sample, or sparse indicator, \
                default=None
            The only labels that an answer may hold, by default all: entries of ``classes_`` for all
            samples, or for each sample its own (candidates from another system) as a list of lists
            or a sparse matrix of shape (n_samples, K). The cost follows their number, not K.
        exclude : as `labels`, default=None
            Labels that an answer may not hold, such as those that a user has already. Those that
            are not in ``classes_``, and those that a list of one sample repeats, change nothing.
        label_weight : array-like of shape (K,), Series or dict, default=None
            What is added to the score of each class, in the order of ``classes_``, such as the
            logarithm of a prior; a Series or a dict goes by the names of classes, and has to name
            all of them. Not for probabilities.

        Returns
        -------
        labels : ndarray of shape (n_samples, k)
            Entries of ``classes_``: labels, or the column names or numbers of an indicator. Ties
            go to the class that stands first there.
        scores : ndarray of float32, shape (n_samples, k)
            All finite. For two classes ``-f`` and ``f``, where f is the decision function.
        matrix : csr_array of float32, shape (n_samples, K)
            Instead with `sparse_output`: the same scores, in the columns of ``classes_``. What is
            not stored is not among the k best; a stored zero is a score. Samples that `labels` and
            `exclude` leave fewer than k labels have these only.

        Raises
        ------
        ValueError
            If k is not an integer from 1 to the number of labels that every sample may have,
            `scores` is not one of the two, there are no probabilities, `labels` names what is not
            in ``classes_``, or `label_weight` is no finite number for each class.
        """
        check_is_fitted(self)
        check_kind_of_scores(self, scores, label_weight)
        # One state from here on: a fit of another thread must not give classes of one model and
        # scores of another.
        now = as_it_is(self)
        rows = now._rows(X)
        asked, only = (labels, exclude, label_weight), None
        if any(part is not None for part in asked):  # else nobody but the index looks at the rows
            only = read_restriction(now.classes_, n_rows(rows), *asked)
        n_classes = len(now.classes_)
        k = check_k(k, n_classes) if only is None else only.check_k(k, sparse_output)
        topk = now._topk_probabilities if scores == "proba" else now._topk
        best, values = topk(rows, k, only)
        if sparse_output:
            return topk_matrix(best, values, n_classes)
        return now.classes_[best], values


def check_kind_of_scores(
    model: BaseEstimator, scores: str, label_weight: ArrayLike | dict | None
) -> None:
    """Raise ValueError for a `scores` that is not one of the two, or that a model has not."""
    if scores not in ("decision", "proba"):
        raise ValueError(f"scores must be 'decision' or 'proba', got {scores!r}")
    if scores == "decision":
        return
    if label_weight is not None:
        raise ValueError(
            "label_weight is added to scores, and sums with it are no probabilities: use "
            "scores='decision'"
        )
    # Looked up, not called: a method that depends on a parameter says itself why it is missing.
    try:
        model.predict_proba  # noqa: B018
    except AttributeError as error:
        reason = error.__cause__ or f"{type(model).__name__} has no probabilities"
        raise ValueError(f"scores='proba': {reason}") from error


def topk_of_scores(
    model: BaseEstimator, rows: Rows, k: int, only: Restriction | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Find the numbers and the float32 scores of the k best classes of each row, (n_rows, k)."""
    index, n_threads = model._model(), model._threads()
    if model._encoding.kind != "binary":
        if only is None:
            return index.topk(rows, k, n_threads)
        # `coef_` is made only if the restriction needs weights class by class.
        return only.topk(index, lambda: checked_weights(model.coef_), rows, k, n_threads)
    scores = index.scores(rows, n_threads)
    # One score f of two classes: -f is that of the first, f that of the second.
    return best_of_columns(np.hstack([-scores, scores]), k, only)

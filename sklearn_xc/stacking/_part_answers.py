"""Answers of a part to samples: its k best labels, and scores of any labels, in its own numbers."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..base._classifier import BaseXCClassifier
from ..base._predict_topk import topk_of_scores
from ..model_selection._cross_val_topk import codes_of
from ..model_selection._out_of_fold import NO_SCORE
from ..model_selection._take_rows import take
from ..neighbors._classifier import TopKNeighborsClassifier
from ..topk._predict import predict_topk
from ..topk._restriction import Restriction, best_of_columns
from ..topk._weight_store import checked_weights
from ..utils._rows import Rows
from ..utils._typing import MatrixLike
from ..utils._unwrap import Inner

WIDTH = 100  # labels of an estimator of others, which has no scores of some labels only


def answers_of(inner: Inner, X: MatrixLike, n_threads: int) -> "Ours | Pair | Others":
    """Return the answers of a fitted part; ``rows(start, stop)`` gives those of some samples.

    `inner` is the estimator with ``predict_topk``, and what is before it in a pipeline.
    """
    estimator, X = inner.estimator, inner.transform(X)
    # Models of this package answer from their index, block by block, unless a subclass has a
    # `_topk` of its own, which then decides. Two classes have two scores a sample: all are kept.
    if len(estimator.classes_) == 2:
        return Pair(estimator, X)
    if isinstance(estimator, TopKNeighborsClassifier):
        return Ours(estimator, X, n_threads)
    if isinstance(estimator, BaseXCClassifier) and type(estimator)._topk is topk_of_scores:
        return Ours(estimator, X, n_threads)
    return Others(estimator, X)


class Ours:
    """Samples for an estimator of this package, which is read without its checks for each block."""

    def __init__(self, estimator: BaseEstimator, X: MatrixLike, n_threads: int) -> None:
        self._model, self._n_threads = estimator._model(), n_threads
        self._rows = estimator._rows(X)
        self._near = isinstance(estimator, TopKNeighborsClassifier)
        self._coef = (lambda: None) if self._near else lambda: checked_weights(estimator.coef_)

    def rows(self, start: int, stop: int) -> "_OurBlock":
        """Return what is said of some rows."""
        block = self._rows.block(start, stop)
        # The best labels and scores of pairs are two questions about the same neighbours.
        model = self._model.searched(block, self._n_threads) if self._near else self._model
        return _OurBlock(model, self._coef, block, self._n_threads)


class _OurBlock:
    """Some rows of `Ours`."""

    def __init__(self, model: Any, coef: Callable, block: Rows, n_threads: int) -> None:
        self._model, self._coef, self._block, self._n_threads = model, coef, block, n_threads

    def best(self, k: int, only: Restriction | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return numbers and scores of the k best labels of each row; -1 where there are fewer."""
        if only is None:
            return self._model.topk(self._block, k, self._n_threads)
        return only.topk(self._model, self._coef, self._block, k, self._n_threads)

    def at(self, starts: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Return the scores of the labels `places[starts[i]:starts[i + 1]]` of each row i."""
        return self._model.scores_at(self._coef, self._block, starts, places, self._n_threads)


class _Dense:
    """Some rows with the scores of all labels."""

    def __init__(self, scores: np.ndarray) -> None:
        self._scores = scores

    def best(self, k: int, only: Restriction | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return numbers and scores of the k best labels of each row; -1 where there are fewer."""
        return best_of_columns(self._scores.copy(), k, only)

    def at(self, starts: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Return the scores of the labels `places[starts[i]:starts[i + 1]]` of each row i."""
        row = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        return self._scores[row, places]


class Pair:
    """Samples for an estimator of two labels, whose scores are few."""

    def __init__(self, estimator: BaseEstimator, X: MatrixLike) -> None:
        labels, scores = estimator.predict_topk(X, 2)
        codes = codes_of(labels, np.asarray(estimator.classes_))
        self._scores = np.zeros(np.shape(scores), dtype=np.float32)
        np.put_along_axis(self._scores, codes, scores, axis=1)

    def rows(self, start: int, stop: int) -> _Dense:
        """Return what is said of some rows."""
        return _Dense(self._scores[start:stop])


class Others:
    """Samples for an estimator of which only ``predict_topk`` is known."""

    def __init__(self, estimator: BaseEstimator, X: MatrixLike) -> None:
        self._estimator, self._X = estimator, X

    def rows(self, start: int, stop: int) -> "_OtherBlock":
        """Return what is said of some rows."""
        return _OtherBlock(self._estimator, take(self._X, np.arange(start, stop)))


class _OtherBlock:
    """Some rows of `Others`."""

    def __init__(self, estimator: BaseEstimator, X: MatrixLike) -> None:
        self._estimator, self._X = estimator, X
        self._found: Any = None  # labels and scores, once they were needed

    def _widest(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the best labels, at least k of them where there are as many."""
        n_labels = len(self._estimator.classes_)
        if self._found is None or self._found[0].shape[1] < min(k, n_labels):
            labels, scores = predict_topk(self._estimator, self._X, min(max(k, WIDTH), n_labels))
            scores = np.asarray(scores, dtype=np.float32)
            codes = codes_of(np.asarray(labels), np.asarray(self._estimator.classes_))
            # Infinite scores of other libraries mean that nothing is known, as our lowest one does.
            self._found = codes, np.where(np.isfinite(scores), scores, np.float32(10 * NO_SCORE))
        return self._found

    def best(self, k: int, only: Restriction | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return numbers and scores of the k best labels of each row; -1 where there are fewer."""
        n_labels = len(self._estimator.classes_)
        if only is None:
            codes, scores = self._widest(k)
            return codes[:, :k], scores[:, :k]
        codes, scores = self._widest(n_labels)
        starts = np.arange(0, codes.size + 1, codes.shape[1])
        return only.best_of_pairs(starts, codes.ravel(), scores.ravel(), k)

    def at(self, starts: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Return the scores of the labels `places[starts[i]:starts[i + 1]]` of each row i."""
        # A label beyond the best ones has at most the lowest score of these, which stands for it.
        codes, scores = self._widest(WIDTH)
        n_labels, n_rows = len(self._estimator.classes_), len(codes)
        row = np.repeat(np.arange(n_rows), np.diff(starts))
        # Pairs as numbers, row * n_labels + label, so that one sorted search finds all.
        keys = (np.arange(n_rows)[:, None] * n_labels + codes).ravel()
        order = np.argsort(keys, kind="stable")
        place = np.minimum(np.searchsorted(keys[order], row * n_labels + places), len(keys) - 1)
        found = keys[order[place]] == row * n_labels + places
        lowest = scores.min(axis=1)[row]
        return np.where(found, scores.ravel()[order[place]], lowest).astype(np.float32)

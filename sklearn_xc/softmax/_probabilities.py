"""Probabilities of classes from scores: blocks of rows, in float64."""

from collections.abc import Iterator

import numpy as np

from ..base._classifier import BaseXCClassifier
from ..base._validation import as_it_is
from ..topk._dense_topk import best_columns
from ..topk._restriction import Restriction
from ..utils._rows import Rows
from ..utils._typing import MatrixLike

# Scores that are held at once, on the way to probabilities.
SCORES_AT_ONCE = 2**23


def log_softmax(scores: np.ndarray) -> np.ndarray:
    """Return logarithms of the softmax, float64, of scores of float32 (n_samples, n_classes)."""
    # In float32 probabilities near 0 and 1 would be cut where measures such as the log loss still
    # tell them apart. None is above 1: the highest score is subtracted first.
    log_p = scores.astype(np.float64)
    log_p -= log_p.max(axis=1, keepdims=True)
    log_p -= np.log(np.exp(log_p).sum(axis=1, keepdims=True))
    return log_p


def log_probability_blocks(
    model: "BaseXCClassifier | SoftmaxProbabilities", rows: Rows
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield slices of the samples, and the log-probabilities of all classes there: of the softmax
    of the model's scores, or by its `_log_probabilities`.
    """
    n_rows, size = rows.shape[0], max(1, SCORES_AT_ONCE // len(model.classes_))
    scorer, n_threads = model._model(), model._threads()
    log_probabilities = getattr(model, "_log_probabilities", log_softmax)
    for start in range(0, n_rows, size):
        part = slice(start, min(start + size, n_rows))
        scores = scorer.scores(rows.block(part.start, part.stop), n_threads)
        if model._encoding.kind == "binary":  # one column, of the second against nothing
            scores = np.hstack([np.zeros_like(scores), scores])
        yield part, log_probabilities(scores)


def _all(model: "SoftmaxProbabilities", X: MatrixLike, method: str, logarithms: bool) -> np.ndarray:
    model = as_it_is(model)
    rows, n_classes = model._rows(X), len(model.classes_)
    model._require_output(rows, np.float64, method, n_classes)
    out = np.empty((rows.shape[0], n_classes))
    for part, log_p in log_probability_blocks(model, rows):
        out[part] = log_p if logarithms else np.exp(log_p, out=log_p)
    return out


def topk_probabilities(
    model: "BaseXCClassifier | SoftmaxProbabilities",
    rows: Rows,
    k: int,
    only: Restriction | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k most probable classes of each sample, best first and ties to the smaller one,
    and their probabilities among all classes, also where `only` restricts the labels.
    """
    columns = np.empty((rows.shape[0], k), dtype=np.int64)
    values = np.empty((rows.shape[0], k), dtype=np.float32)
    for part, log_p in log_probability_blocks(model, rows):
        if only is None:
            columns[part] = best_columns(log_p, k)
            found = np.take_along_axis(log_p, columns[part], axis=1)
        else:
            columns[part], found = only.best_columns(log_p, k, part.start)
            # A sample that may have fewer than k labels has columns of -1 at the end.
            found[columns[part] < 0] = -np.inf
        values[part] = np.exp(found)
    return columns, values


class SoftmaxProbabilities:
    """Mixin of the probabilities that are the softmax of scores, or by ``_log_probabilities``."""

    def predict_log_proba(self, X: MatrixLike) -> np.ndarray:
        """Return logarithms of the probabilities of all classes.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)

        Returns
        -------
        log_p : ndarray of float64, shape (n_samples, n_classes)

        Raises
        ------
        MemoryError
            If they would take more than half of the memory available; ``predict_topk(X, k,
            scores="proba")`` never does.
        """
        return _all(self, X, "predict_log_proba", logarithms=True)

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Return probabilities of all classes.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)

        Returns
        -------
        p : ndarray of float64, shape (n_samples, n_classes)
            Each row sums to 1. The scores are of float32; the softmax is not, since in float32
            probabilities near 0 and 1 would be cut where measures such as
            :func:`sklearn.metrics.log_loss` still tell them apart.

        Raises
        ------
        MemoryError
            If they would take more than half of the memory available; ``predict_topk(X, k,
            scores="proba")`` never does.
        """
        return _all(self, X, "predict_proba", logarithms=False)

    def _topk_probabilities(
        self, rows: Rows, k: int, only: Restriction | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        return topk_probabilities(self, rows, k, only)

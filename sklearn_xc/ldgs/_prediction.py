"""Embeddings of rows, an index of label embeddings, how well labels are predicted in training."""

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from sklearn.base import BaseEstimator

from .._kernels.ldgs import _row_updates
from ..utils._column_map import ColumnMap
from ..utils._random import stream
from ..utils._rows import Rows
from ._candidate_gradients import Positives

SCORES_AT_ONCE = 2**22
N_VALIDATION = 2000  # samples that choose the threshold above which labels are predicted
HIGHEST = 100  # of the scores of a sample that take part


class Scoring(Protocol):
    """Steps that score samples with the weights of the moment."""

    positives: Positives

    @property
    def n_classes(self) -> int:
        """Number of scores of a sample."""

    def scores(self, samples: np.ndarray) -> np.ndarray:
        """Return scores (n, n_classes) of samples."""


def embedded(
    rows: Rows, table: np.ndarray | None, n_threads: int, columns: ColumnMap | None = None
) -> np.ndarray:
    """Return embeddings of samples, ndarray of float32 (n_rows, dim).

    Without a table the samples are their own; `columns` are the features that it is of, by default
    all.
    """
    if table is None:
        X = rows.matrix()
        return X if rows.dense else X.toarray()
    table = np.ascontiguousarray(table, dtype=np.float32)
    rows = rows.narrowed(columns)
    if rows.shape[1] != len(table):
        raise ValueError(
            f"X has {rows.shape[1]} features, but input_embeddings_ has {len(table)} rows"
        )
    E = np.empty((rows.shape[0], table.shape[1]), dtype=np.float32)
    begin = np.ascontiguousarray(rows.indptr[:-1])
    _row_updates.combine(
        rows.indices, rows.data, begin, np.diff(rows.indptr), rows.dense, table, E, n_threads
    )
    return E


def score_blocks(steps: Scoring, samples: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield slices of `samples`, and their scores (n, n_classes) while they are trained."""
    # Scores of all samples and classes may not fit into memory.
    size = max(1, SCORES_AT_ONCE // steps.n_classes)
    for start in range(0, len(samples), size):
        part = slice(start, start + size)
        yield part, steps.scores(samples[part])


def precision_at_1(steps: Scoring, samples: np.ndarray, sample_weight: np.ndarray | None) -> float:
    """Return the share of the samples, by their weights, whose best class is one of theirs."""
    hits, positives = np.zeros(len(samples), dtype=bool), steps.positives
    for part, scores in score_blocks(steps, samples):
        hits[part] = [
            best in positives.ids[positives.indptr[i] : positives.indptr[i + 1]]
            for i, best in zip(samples[part], scores.argmax(axis=1), strict=True)
        ]
    weight = None if sample_weight is None else sample_weight[samples].astype(np.float64)
    return float(np.average(hits, weights=weight))


def best_threshold(
    steps: Scoring, samples: np.ndarray, sample_weight: np.ndarray | None, seed: int
) -> np.float32:
    """Find the score above which labels predicted have the highest micro-averaged F1.

    It is found on some samples; of more than `N_VALIDATION` that number is drawn.
    """
    positives = steps.positives
    if len(samples) > N_VALIDATION:
        rng = stream(seed, "threshold")
        samples = np.sort(rng.choice(samples, N_VALIDATION, replace=False))
    weight = np.ones(len(positives.indptr) - 1) if sample_weight is None else sample_weight
    n_best = min(HIGHEST, steps.n_classes)
    n_positive = np.diff(positives.indptr)[samples] @ weight[samples]
    values, hits, counted = [], [], []
    for part, scores in score_blocks(steps, samples):
        # Labels beyond the HIGHEST of a sample are hardly ever predicted at the best threshold.
        best = np.argpartition(-scores, n_best - 1, axis=1)[:, :n_best]
        values.append(np.take_along_axis(scores, best, axis=1).ravel())
        counted.append(np.repeat(weight[samples[part]], n_best))
        for i, found in zip(samples[part], best, strict=True):
            own = positives.ids[positives.indptr[i] : positives.indptr[i + 1]]
            # One entry for each of values: whether the label is one of the sample.
            hits.append(np.isin(found, own))
    values, counted = np.concatenate(values), np.concatenate(counted)
    order = np.argsort(-values, kind="stable")
    values, counted = values[order], counted[order].astype(np.float64)
    # With the m highest scores predicted: F1 = 2 TP / (m + n_positive), all of them weighted sums.
    found = np.cumsum(np.concatenate(hits)[order] * counted)
    f1 = 2 * found / (np.cumsum(counted) + n_positive)
    last = int(np.argmax(f1))  # the lowest score that is still predicted
    # Half way to the next score, so that rounding moves no label across.
    below = values[last + 1] if last + 1 < len(values) else values[last] - 1
    return np.float32((values[last].astype(np.float64) + below) / 2)


def has_probabilities(estimator: BaseEstimator) -> bool:
    """Return whether there is a `predict_proba`; says why where there is none."""
    if estimator.loss != "cross_entropy":
        raise AttributeError(
            f"loss={estimator.loss!r} gives no probabilities; loss='cross_entropy' does"
        )
    if "_encoding" in vars(estimator) and estimator._encoding.kind == "multilabel":
        raise AttributeError(
            "with several labels a sample the softmax is no probability of a label; wrap the "
            "estimator in TopKCalibratedClassifier"
        )
    return True

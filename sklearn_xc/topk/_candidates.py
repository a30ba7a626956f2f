"""Scores of the classes that each row may have, with the weights of an inverted index."""

from typing import Protocol

import numpy as np
from scipy import sparse

from .._kernels.topk import _candidate_scores as kernel
from ..utils._rows import Rows


class RankedWeights(Protocol):
    """Weights that an index stores for its first classes, also of a part of one in a file."""

    intercept: np.ndarray
    shape: tuple[int, int]

    def ranks(self, places: np.ndarray) -> np.ndarray:
        """Return the ranks of classes."""

    def stored(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return stops and starts of each feature, and the weights."""


def candidate_scores(
    index: RankedWeights,
    coef: sparse.csr_array | None,
    rows: Rows,
    starts: np.ndarray,
    places: np.ndarray,
    n_threads: int,
) -> np.ndarray:
    """Score candidates as `InvertedIndex.scores_at` does.

    `coef` has the weights of the index, (n_classes, n_features); it is None where the index stores
    those of all features for all classes.
    """
    # The rank of the class, and where its sparse weights begin and end: one place to read.
    candidates = np.zeros((len(places), 3), dtype=np.int64)
    candidates[:, 0] = index.ranks(places)
    features, values = np.empty(0, np.int32), np.empty(0, np.float32)
    if coef is not None:
        candidates[:, 1], candidates[:, 2] = coef.indptr[places], coef.indptr[places + 1]
        features, values = coef.indices.astype(np.int32, copy=False), coef.data
    weights = kernel.ClassWeights(
        coef is not None, features, values, *index.stored(), index.intercept, index.shape[0]
    )
    n_threads = max(1, min(n_threads, rows.shape[0]))
    # Twice, since a feature may have a list and stored weights.
    longest = max(1, int(np.diff(rows.indptr).max(initial=0)))
    scores = np.empty(len(places), dtype=np.float32)
    kernel.candidate_scores(
        rows.indptr,
        rows.indices,
        rows.data,
        rows.dense,
        weights,
        starts,
        candidates,
        np.empty((n_threads, 2, 2 * longest), dtype=np.int32),
        np.empty((n_threads, 2 * longest), dtype=np.float32),
        np.zeros((n_threads, max(1, rows.shape[1])), dtype=np.float32),
        scores,
        n_threads,
    )
    return scores

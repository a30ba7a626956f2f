"""How much of the exact answer is found: samples of queries, and recall on them."""

from collections.abc import Callable

import numpy as np
from scipy import sparse

from ..utils._matrix import normalise
from ..utils._typing import Matrix
from ._exact_search import ExactSearch
from ._row_store import RowStore

TOP = 10  # recall@10
SAMPLE = 256  # queries: half choose, half measure, with a standard error below 0.01
WHOLE = 32  # a smaller sample serves for both
# Gaussian queries for sparse rows of more features have a random few non-zeros.
DENSE_FEATURES = 4096
FILLED = 4  # ... this many times those of an average row


def split(queries: Matrix, rng: np.random.Generator) -> tuple[Matrix, Matrix]:
    """Split the queries at random: a sample to choose on, one to measure on."""
    n = queries.shape[0]
    if n == 0:
        raise ValueError("queries must have at least one row, or be None")
    chosen = rng.permutation(n)[:SAMPLE]
    if len(chosen) < WHOLE:
        return queries[chosen], queries[chosen]
    half = len(chosen) // 2
    return queries[chosen[:half]], queries[chosen[half:]]


def stand_ins(store: RowStore, rng: np.random.Generator) -> tuple[Matrix, Matrix]:
    """Return two samples to measure with when no queries are given: rows, and Gaussian vectors."""
    n_rows, n_features = store.shape
    rows = store.take(np.sort(rng.permutation(n_rows)[:SAMPLE]))
    if store.dense or n_features <= DENSE_FEATURES:
        return rows, rng.standard_normal((SAMPLE, n_features), dtype=np.float32)
    n_filled = min(n_features, FILLED * max(1, int(store.lengths.mean())))
    gaussian = sparse.csr_array(
        (
            rng.standard_normal(SAMPLE * n_filled),
            rng.integers(n_features, size=SAMPLE * n_filled),
            np.arange(SAMPLE + 1) * n_filled,
        ),
        shape=(SAMPLE, n_features),
    )
    return rows, normalise(gaussian)


class RecallEstimator:
    """Recall@10 of candidates on samples of queries; of several samples the lowest counts.

    A row counts as found if its exact score reaches that of the 10th best: among rows with equal
    scores any will do. `exact` answers for the rows of `store`.
    """

    def __init__(
        self, store: RowStore, exact: ExactSearch, samples: list[Matrix], n_threads: int
    ) -> None:
        self._store, self._n_threads = store, n_threads
        self.k = min(TOP, store.shape[0])
        # With each sample the score of its k-th best row, which candidates have to reach.
        self._samples = [
            (queries, exact.topk(queries, self.k, n_threads)[1][:, -1:]) for queries in samples
        ]

    def recall(self, find: Callable[[Matrix], np.ndarray]) -> float:
        """Return the recall of ``find(queries)``, candidates int32 (n, m) with -1 for none."""
        worst = 1.0
        for queries, reached in self._samples:
            ids, scores = self._store.best(queries, find(queries), self.k, self._n_threads)
            worst = min(worst, float(((scores >= reached) & (ids >= 0)).mean()))
        return worst


def recall_estimators(
    store: RowStore,
    queries: Matrix | None,
    rng: np.random.Generator,
    n_threads: int,
    exact: ExactSearch | None = None,
) -> tuple[RecallEstimator, ...]:
    """Return estimators of recall to choose by and to report, on different queries if possible.

    Without `queries` there are stand-ins; without `exact`, a search of the store's rows is made.
    """
    sources = stand_ins(store, rng) if queries is None else (queries,)
    pairs = [split(source, rng) for source in sources]
    exact = ExactSearch(store) if exact is None else exact
    return tuple(
        RecallEstimator(store, exact, [pair[i] for pair in pairs], n_threads) for i in range(2)
    )

"""Dense rows of unit length: the nearest by matrix products, or by a graph."""

import numpy as np

from ..mips._exact_search import BLAS_WORK, NUMBERS_AT_ONCE, QUERIES, best_of_block, for_blocks
from ..mips._hnsw import HNSWIndex
from ..mips._row_store import Heaps, RowStore
from ..utils._records import is_array, is_count, record
from ..utils._rows import Rows
from ._cached import Cached

MARGIN = 64  # rows beyond the k wanted that are scored again, see `_best`
LEAST_GRAPH = 4096  # rows from which on a graph is built


@record(matrix=is_array(np.float32, ndim=2))
class DenseRows(Cached):
    """Consecutive dense rows, C-contiguous, of float32; never changed."""

    def __init__(self, matrix: np.ndarray) -> None:
        self.matrix = matrix

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return len(self.matrix)

    @property
    def size(self) -> int:
        """Return the number of entries, which decides when parts are joined."""
        return self.matrix.size

    @property
    def _store(self) -> RowStore:
        """Return the rows as the kernel of exact scores takes them."""
        return self.once("store", lambda: RowStore.view(self.matrix))

    def joined(self, other: "DenseRows") -> "DenseRows":
        """Return these rows and, behind them, those of `other`."""
        return DenseRows(np.concatenate([self.matrix, other.matrix]))

    appended = joined

    def offer(self, queries: Rows, heaps: Heaps, base: int, n_threads: int) -> None:
        """Offer the best rows, numbered from `base` on, to the heaps of dense queries."""
        ids, scores = self._best(
            queries.matrix(), min(heaps.scores.shape[1], self.n_rows), n_threads
        )
        heaps.offer(scores, ids + np.int32(base), None, n_threads)

    def _best(self, queries: np.ndarray, k: int, n_threads: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the k best rows of each query, ties to the smaller number, without a doubt."""
        # A score must not depend on the block that a query is in, and BLAS rounds by the shape of a
        # block. So products of blocks only name candidates, which one kernel scores again.
        n_queries, n = len(queries), self.n_rows
        if n_queries * self.matrix.size < BLAS_WORK:
            return self._all(queries, k, n_threads)
        wanted = min(k + MARGIN, n)
        parts = for_blocks(
            best_of_block, n_queries, QUERIES, self.matrix, queries, wanted, n_threads=n_threads
        )
        ids, scores = self._store.best(queries, np.concatenate(parts), wanted, n_threads)
        if wanted < n:
            # Rows of unit length: a sum of D products errs by at most D eps. What was left out is
            # below the last candidate but for twice that, once for either kernel; where the k-th
            # best is not further above the last, any row may belong to the k best.
            error = 2 * self.matrix.shape[1] * np.finfo(np.float32).eps
            doubtful = np.flatnonzero(scores[:, k - 1] <= scores[:, -1] + 2 * error)
            if len(doubtful):
                ids[doubtful, :k], scores[doubtful, :k] = self._all(queries[doubtful], k, n_threads)
        return np.ascontiguousarray(ids[:, :k]), np.ascontiguousarray(scores[:, :k])

    def _all(self, queries: np.ndarray, k: int, n_threads: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the k best of all rows, each scored by the kernel."""
        # So many queries at once that their scores fit into the memory of a block.
        everything = np.arange(self.n_rows, dtype=np.int32)[None]
        size = max(1, NUMBERS_AT_ONCE // max(1, self.n_rows))
        parts = [
            self._store.best(queries[start : start + size], everything, k, n_threads)
            for start in range(0, len(queries), size)
        ]
        ids, scores = (np.concatenate(some) for some in zip(*parts, strict=True))
        return ids, scores

    def scores(self, queries: Rows, n_threads: int) -> np.ndarray:
        """Return the inner products of dense queries with all rows, float32 (n_queries, n_rows)."""
        everything = np.arange(self.n_rows, dtype=np.int32)[None]
        return self._store.score(queries.matrix(), everything, n_threads)


@record(matrix=is_array(np.float32, ndim=2), seed=is_count)
class GraphRows(DenseRows):
    """Dense rows that a small-world graph of this seed finds, once there are enough of them."""

    def __init__(self, matrix: np.ndarray, seed: int) -> None:
        super().__init__(matrix)
        self.seed = seed

    def joined(self, other: DenseRows) -> "GraphRows":
        """Return these rows and, behind them, those of `other`, with a new graph."""
        return GraphRows(np.concatenate([self.matrix, other.matrix]), self.seed)

    @property
    def _index(self) -> HNSWIndex:
        """Return the graph, built when first needed."""
        # One thread builds it: the order of insertions decides the graph, and the result must not
        # depend on n_jobs. Rows have one length, so that the inner product is a distance. Queries
        # will be like the rows, not like the Gaussian vectors that an index tries by itself.
        index = HNSWIndex("ip", n_jobs=1, random_state=self.seed)
        return self.once("index", lambda: index.build(self.matrix, self.matrix))

    def _best(self, queries: np.ndarray, k: int, n_threads: int) -> tuple[np.ndarray, np.ndarray]:
        if self.n_rows < LEAST_GRAPH:
            return super()._best(queries, k, n_threads)
        return self._index.query(queries, k)

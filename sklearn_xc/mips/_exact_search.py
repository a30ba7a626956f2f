"""The exact answer: dense rows by blocked matrix products, sparse ones by an inverted index."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from ..topk._inverted_index import InvertedIndex
from ..utils._csr import as_dense
from ..utils._locks import ForkSafeLock
from ..utils._matrix import as_rows
from ..utils._memory_limit import require_memory
from ..utils._parallel import run_blocks, single_threaded_blas
from ..utils._typing import Matrix
from ._row_store import Heaps, RowStore

NUMBERS_AT_ONCE = 1 << 22  # candidates of a block of queries
QUERIES, ROWS = 64, 4096  # one block of scores: a megabyte, in the second-level cache
# BLAS is limited to one thread while it is used here, and setting that takes milliseconds: less
# work than this many multiply-adds our own kernel does in less.
BLAS_WORK = 20_000_000
# Products of different blocks may round differently, an inverted index adds in another order. So
# many rows beyond the k wanted are scored again by the one kernel, which then decides.
MARGIN = 8
# Sparse queries with a smaller share of non-zeros read dense rows feature by feature.
SPARSE_SHARE = 0.125
# Changed rows are scored one by one; beyond this share (and this number) lists are rebuilt.
CHANGED_SHARE, CHANGED_FEW = 0.01, 64


def product(queries: np.ndarray, matrix: np.ndarray, n_threads: int = 1) -> np.ndarray:
    """Compute queries @ matrix.T of dense float32 matrices, the same for any number of threads.

    Little work goes through our own kernel, much through BLAS on one thread.
    """
    if len(queries) * matrix.size < BLAS_WORK:
        everything = np.arange(len(matrix), dtype=np.int32)[None]
        return RowStore.view(matrix).score(queries, everything, n_threads)
    with single_threaded_blas():
        return multiply(queries, matrix)


def multiply(queries: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Compute queries @ matrix.T by BLAS; overflow is noticed when the best scores are read."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.ascontiguousarray(queries @ matrix.T)


def for_blocks(
    function: Callable[..., Any], n: int, size: int, *shared: Any, n_threads: int = 1
) -> list:
    """Call function(range, *shared) for ranges of at most `size` below n; results in order."""
    blocks = [range(start, min(start + size, n)) for start in range(0, n, size)]
    if n_threads == 1 or len(blocks) == 1:
        with single_threaded_blas():  # once: the blocks' own limits are then free
            return [function(block, *shared) for block in blocks]
    return run_blocks(function, blocks, *shared, n_jobs=n_threads)


def query_blocks(n_queries: int, n: int) -> list[slice]:
    """Return slices of queries, such that n candidates of each make arrays of bounded size."""
    size = max(16, min(4096, NUMBERS_AT_ONCE // n))
    return [slice(start, start + size) for start in range(0, n_queries, size)]


class ExactSearch:
    """Exact answers about the rows of a store.

    Lists of sparse rows are built when first needed. Rows replaced later are masked out of them
    and scored one by one, until they are so many that new lists are due.
    """

    def __init__(self, store: RowStore) -> None:
        self._store = store
        self._lock = ForkSafeLock()
        self.release()

    def __getstate__(self) -> dict[str, RowStore]:
        return {"_store": self._store}

    def __setstate__(self, state: dict[str, RowStore]) -> None:
        self.__init__(state["_store"])

    def release(self) -> None:
        """Forget the lists; the next search rebuilds them."""
        self._lists = None
        self._changed = np.empty(0, dtype=np.int64)

    def mark(self, ids: np.ndarray) -> None:
        """Note that these rows of the store have been replaced."""
        if self._lists is None:
            return
        changed = np.union1d(self._changed, ids)
        if len(changed) > max(CHANGED_FEW, CHANGED_SHARE * self._store.shape[0]):
            self.release()
            return
        self._changed, self._lists = changed, masked(self._lists, ids)

    def topk(self, queries: Matrix, k: int, n_threads: int) -> tuple[np.ndarray, np.ndarray]:
        """Return ids and scores of the k best rows of each query, ties to the smaller id."""
        if queries.shape[0] == 0:
            return Heaps(0, k).sorted()
        best = self._topk(queries, k, n_threads)
        if (best[0] < 0).any():  # only what is not a number finds no place
            raise ValueError("some scores overflow float32: scale rows or queries")
        return best

    def _topk(self, queries: Matrix, k: int, n_threads: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the k best rows by matrix products or by lists."""
        n_rows = self._store.shape[0]
        wanted = min(k + MARGIN, n_rows)
        if not self._uses_lists(queries):
            n = queries.shape[0]
            # Little work: every row is a candidate of the kernel that decides in the end.
            if n * n_rows * self._store.shape[1] < BLAS_WORK:
                everything = np.arange(n_rows, dtype=np.int32)[None]
                return self._store.best(queries, everything, k, n_threads)
            parts = for_blocks(
                best_of_block, n, QUERIES, self._store.matrix, queries, wanted, n_threads=n_threads
            )
            return self._store.best(queries, np.concatenate(parts), k, n_threads)
        return self._from_lists(queries, k, wanted, n_threads)

    def _uses_lists(self, queries: Matrix) -> bool:
        """Return whether these queries read lists, of features or of sparse rows."""
        if not self._store.dense:
            return True
        if not sparse.issparse(queries):
            return False
        return queries.nnz < SPARSE_SHARE * queries.shape[0] * queries.shape[1]

    def _from_lists(
        self, queries: Matrix, k: int, wanted: int, n_threads: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the k best rows by lists of unchanged rows, and all changed ones."""
        # Threads that need them at once build the lists once. What is taken here stays valid, since
        # `mark` puts others in its place and changes nothing in it.
        with self._lock.held:
            if self._lists is None:
                self._lists = self._build()
            lists, changed = self._lists, self._changed.astype(np.int32)
        unchanged = min(wanted, self._store.shape[0] - len(changed))
        answers = Heaps(queries.shape[0], k)
        for part in query_blocks(queries.shape[0], unchanged + len(changed)):
            asked = queries[part]
            retrieved = np.empty((asked.shape[0], unchanged + len(changed)), dtype=np.int32)
            if unchanged:
                retrieved[:, :unchanged] = lists.topk(as_rows(asked), unchanged, n_threads)[0]
            # The lists have old values of these, masked: each is a candidate of all queries.
            retrieved[:, unchanged:] = changed
            best = self._store.best(asked, retrieved, k, n_threads)
            answers.ids[part], answers.scores[part] = best
        return answers.ids, answers.scores

    def _build(self) -> InvertedIndex:
        """Build the lists of the current rows."""
        store = self._store
        if store.dense:
            size = store.data.nbytes
            require_memory(size, "rows feature by feature", "give dense queries instead")
            return InvertedIndex(store.matrix, np.zeros(store.shape[0]))
        rows = store.take(np.arange(store.shape[0]))
        return InvertedIndex(rows, np.zeros(store.shape[0]))


def masked(lists: InvertedIndex, ids: np.ndarray) -> InvertedIndex:
    """Return a view of an inverted index in which these rows score minus infinity."""
    # Shallow: the lists themselves are shared, only the intercepts are other ones.
    view = copy.copy(lists)
    view.intercept = lists.intercept.copy()
    view.intercept[lists.ranks(ids)] = -np.inf
    view._set_postings()
    return view


def best_of_block(block: range, matrix: np.ndarray, queries: Matrix, wanted: int) -> np.ndarray:
    """Return the `wanted` best of all dense rows for a block of queries, (len(block), wanted)."""
    dense = as_dense(queries[block.start : block.stop])
    top = Heaps(len(block), wanted)
    with single_threaded_blas():
        for start in range(0, len(matrix), ROWS):
            part = matrix[start : start + ROWS]
            ids = np.arange(start, start + len(part), dtype=np.int32)[None]
            top.offer(multiply(dense, part), ids)
    return top.sorted()[0]

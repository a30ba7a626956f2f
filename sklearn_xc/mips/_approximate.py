"""Base of the approximate indexes: sketches, the choice of a reduction, recall, fallback."""

from numbers import Integral, Real
from typing import NamedTuple, Protocol

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ..utils._csr import as_dense
from ..utils._memory_limit import require_memory
from ..utils._parallel import single_threaded_blas
from ..utils._typing import Matrix
from ._base import BaseIndex
from ._exact_search import query_blocks
from ._recall import RecallEstimator, recall_estimators
from ._reductions import MODES, Reduction, reduction
from ._row_store import RowStore
from ._sketch import LinearSketch, heavy_features

# With more rows than this, reductions are compared on this many of them drawn at random, and only
# the best is built whole.
PILOT_ROWS = 20_000
# Fewer rows are easier to search: what falls short of min_recall by so much there is not built.
HOPELESS = 0.1
DOUBLINGS = 5  # from the first effort to the largest


class Queries(NamedTuple):
    """A block of queries as the structures need them."""

    reduced: np.ndarray  # float32 (n, d or d + 1), unit vectors, compared with reduced rows
    plain: np.ndarray  # float32 (n, d), to be multiplied with `vectors`
    vectors: RowStore  # the current rows, or their sketches, dense


class Structure(Protocol):
    """A graph, codes or inverted lists of reduced rows."""

    def search(self, queries: Queries, n: int, effort: int, n_threads: int) -> np.ndarray:
        """Return distinct candidates int32 (n_queries, n); -1 where fewer are found."""

    def replace(self, ids: np.ndarray, rows: np.ndarray) -> None:
        """Take note of new values of these rows, reduced."""


class Trial(NamedTuple):
    """One structure with the reduction it was built on, the effort chosen, the recall reached."""

    reduction: Reduction
    structure: Structure
    effort: int
    recall: float

    def rank(self, wanted: float) -> tuple[float, float, float]:
        """Return a key, the smaller the better: enough recall at little effort, or much recall."""
        if self.recall >= wanted:
            return (0, self.effort, -self.recall)
        return (1, -self.recall, self.effort)


class ApproximateIndex(BaseIndex):
    """Base of the indexes that may miss rows.

    A subclass makes a `Structure` of reduced rows (``_train``), and says how much effort a search
    may take (``_efforts``), how many candidates it should name (``_n_candidates``), and how many
    bytes a structure takes (``_structure_bytes``).
    """

    _parameter_constraints = BaseIndex._parameter_constraints | {
        "reduction": [StrOptions({"auto", *MODES})],
        "n_components": [Interval(Integral, 4, None, closed="left")],
        "rebuild_share": [Interval(Real, 0, 1, closed="both")],
    }
    _modes = MODES
    _what = "structure"
    _sketch = None

    # --------------------------------------------------------------------------------- building

    def _set_up(self) -> None:
        self._sketch = None
        n_rows, n_features = self._store.shape
        if not self._store.dense and n_features > self.n_components:
            # Structures need dense vectors, which of so many features only sketches can be. Rows
            # stand in for queries that are not given.
            sketch = LinearSketch(self.n_components, random_state=self._seed)
            rows = self._all_rows()
            queries = rows if self._queries is None else self._queries
            kept = heavy_features(rows, queries, self.n_components)
            self._sketch = sketch.fit(n_features, kept)
        self._changed = np.zeros(n_rows, dtype=bool)
        self._patience = 1
        self._construct(self._allowed_modes())

    def _construct(self, modes: tuple[str, ...]) -> None:
        """Build the structure on the best of these reductions, and measure it; see `build`."""
        rng = np.random.default_rng(self._seed)
        n_threads = self._n_threads()
        n_rows, width = self._store.shape[0], self._width()
        dense_copy = 0 if self._store.dense else 4 * n_rows * width
        require_memory(
            dense_copy + self._structure_bytes(n_rows, width + 1),
            f"the {self._what} of {n_rows} rows",
            "index fewer rows, or take ExactIndex",
        )
        self._sketched = None
        if not self._store.dense:
            self._sketched = RowStore.view(self._to_vectors(self._all_rows()))
        # The best of several trials looks too good on the sample that chose it: another reports.
        choosing, reporting = recall_estimators(
            self._store, self._queries, rng, n_threads, self._exact
        )
        if len(modes) > 1 and n_rows > PILOT_ROWS:
            ranked = self._pilot(modes, rng, n_threads)
        else:
            ranked = [(mode, 1.0) for mode in modes]
        best = None
        self.recalls_ = {}
        for mode, expected in ranked:
            self.recalls_[mode] = expected
            # Building on many rows is dear: the first in rank that is good enough is taken.
            if best is not None and (n_rows > PILOT_ROWS and best.recall >= self.min_recall):
                continue
            if expected < self.min_recall - HOPELESS:
                continue
            trial = self._try(mode, self._vectors(), choosing)
            self.recalls_[mode] = trial.recall
            if best is None or trial.rank(self.min_recall) < best.rank(self.min_recall):
                best = trial
        self._settle(best, reporting)

    def _pilot(
        self, modes: tuple[str, ...], rng: np.random.Generator, n_threads: int
    ) -> list[tuple[str, float]]:
        """Return the reductions with their recall on some of the rows, the best first."""
        chosen = np.sort(rng.permutation(self.n_rows_)[:PILOT_ROWS])
        rows = self._store.take(chosen)
        choosing, _ = recall_estimators(RowStore(rows, None), self._queries, rng, n_threads)
        vectors = RowStore.view(self._vectors().matrix[chosen])
        trials = [self._try(mode, vectors, choosing) for mode in modes]
        trials.sort(key=lambda trial: trial.rank(self.min_recall))
        return [(trial.reduction.mode, trial.recall) for trial in trials]

    def _try(self, mode: str, vectors: RowStore, estimator: RecallEstimator) -> Trial:
        """Build on one reduction, and double the effort until the recall is enough."""
        mapping = reduction(mode, vectors.matrix)
        structure = self._train(mapping.rows(vectors.matrix), mapping)
        best = Trial(mapping, structure, 0, -1.0)  # any recall that is measured is above
        for effort in self._efforts(vectors.shape[0]):
            trial = self._measured(best._replace(effort=effort), vectors, estimator)
            if trial.recall > best.recall:
                best = trial
            if best.recall >= self.min_recall:
                break
        return best

    def _measured(self, trial: Trial, vectors: RowStore, estimator: RecallEstimator) -> Trial:
        """Return the trial with its recall on the queries of an estimator."""
        n = min(vectors.shape[0], self._n_candidates(estimator.k, trial.effort))

        def find(queries: Matrix) -> np.ndarray:
            return self._search(queries, vectors, trial, n)

        return trial._replace(recall=estimator.recall(find))

    def _settle(self, best: Trial | None, estimator: RecallEstimator) -> None:
        """Measure the trial chosen on other queries; fall back to exact answers if it fails."""
        self.ann_recall_ = max(self.recalls_.values())
        if best is not None:
            # Enough effort for the first sample may be too little for the second: it grows on.
            vectors = self._vectors()
            for effort in self._efforts(vectors.shape[0]):
                if effort >= best.effort:
                    best = self._measured(best._replace(effort=effort), vectors, estimator)
                    if best.recall >= self.min_recall:
                        break
            self.ann_recall_ = best.recall
        self._changed[:] = False
        self._n_updated = 0
        if best is not None and self.ann_recall_ >= self.min_recall:
            self.mode_, self.effort_, self._found = best.reduction.mode, best.effort, best
            self.recall_ = self.ann_recall_
            self._patience = 1
            # Its lists have measured the recall. A later exact answer builds them again.
            self._exact.release()
            return
        self._give_up()
        self._warning = (
            f"recall@{estimator.k} of the {self._what} is {self.ann_recall_:.3f} on a sample of "
            f"queries, below min_recall={self.min_recall}: {type(self).__name__} answers exactly"
        )

    def _give_up(self) -> None:
        self.mode_, self.effort_ = "exact", 0
        self._found = self._sketched = None
        self.recall_ = 1.0

    # --------------------------------------------------------------------------------- updating

    def _replaced(self, ids: np.ndarray, rows: Matrix) -> None:
        self._n_updated += len(ids)
        self._changed[ids] = True
        if self.mode_ == "exact":
            # The structure that failed is tried again when all rows have been replaced on average,
            # and after each failure twice as late.
            if self._n_updated > self._patience * self.n_rows_:
                self._patience *= 2
                self._rebuild()
            return
        if self._changed.sum() > self.rebuild_share * self.n_rows_:
            self._rebuild()
            return
        vectors = self._to_vectors(rows)
        if self._sketched is not None:
            self._sketched.replace(ids, vectors)
        self._found.structure.replace(ids, self._found.reduction.rows(vectors))

    def _rebuild(self) -> None:
        """Rebuild on the reduction in use; on another if that no longer serves."""
        self.n_rebuilds_ += 1
        before = self.mode_
        self._give_up()  # the old structure need not stay while the new one is built
        modes = self._allowed_modes()
        with single_threaded_blas():
            # The reduction in use first: trying all of them costs as many builds.
            self._construct(modes if before == "exact" else (before,))
            if self.mode_ == "exact" and before != "exact" and len(modes) > 1:
                self._warning = None
                self._construct(tuple(mode for mode in modes if mode != before))

    def _allowed_modes(self) -> tuple[str, ...]:
        """Return the reductions to choose from."""
        return self._modes if self.reduction == "auto" else (self.reduction,)

    # ---------------------------------------------------------------------------------- answers

    def _query(self, Q: Matrix, k: int) -> tuple[np.ndarray, np.ndarray]:
        if self.mode_ == "exact":
            return super()._query(Q, k)
        n_threads = self._n_threads()
        n = min(self.n_rows_, self._n_candidates(k, self.effort_))
        ids = np.empty((Q.shape[0], k), dtype=np.int32)
        scores = np.empty((Q.shape[0], k), dtype=np.float32)
        for part in query_blocks(Q.shape[0], n):
            retrieved = self._find(Q[part], n)
            ids[part], scores[part] = self._store.best(Q[part], retrieved, k, n_threads)
        # Best first, so that a query with fewer than k candidates has -1 in its last place.
        missing = np.flatnonzero(ids[:, -1] < 0)
        if len(missing):
            ids[missing], scores[missing] = self._exact.topk(Q[missing], k, n_threads)
            with self._lock.held:
                self.n_fallbacks_ += len(missing)
        return ids, scores

    def _candidates(self, Q: Matrix, n: int) -> np.ndarray:
        if self.mode_ == "exact":
            return super()._candidates(Q, n)
        parts = [self._find(Q[part], n) for part in query_blocks(Q.shape[0], n)]
        return np.concatenate([np.empty((0, n), dtype=np.int32), *parts])

    def _find(self, Q: Matrix, n: int) -> np.ndarray:
        """Return n candidates of each query by the structure in use."""
        return self._search(Q, self._vectors(), self._found, n)

    def _search(self, Q: Matrix, vectors: RowStore, trial: Trial, n: int) -> np.ndarray:
        """Return n candidates of each query by the structure of a trial."""
        plain = self._to_vectors(Q)
        queries = Queries(trial.reduction.queries(plain), plain, vectors)
        return trial.structure.search(queries, n, trial.effort, self._n_threads())

    # ---------------------------------------------------------------------------------- details

    def _all_rows(self) -> Matrix:
        """Return a copy of the current rows."""
        return self._store.take(np.arange(self._store.shape[0]))

    def _to_vectors(self, matrix: Matrix) -> np.ndarray:
        """Return rows or queries as the dense vectors that are searched with."""
        return as_dense(matrix) if self._sketch is None else self._sketch.transform(matrix)

    def _width(self) -> int:
        """Return the length of the vectors that are searched with."""
        n_features = self._store.shape[1]
        return n_features if self._sketch is None else self.n_components

    def _vectors(self) -> RowStore:
        """Return the dense vectors of the rows: sketches, or the rows themselves."""
        return self._store if self._sketched is None else self._sketched


def doublings(first: int, last: int) -> list[int]:
    """Return first, 2 first, 4 first, ... up to `last`, at most DOUBLINGS doublings."""
    first = max(1, min(first, last))
    return [first << i for i in range(DOUBLINGS + 1) if first << i <= last]

"""The classes that a step of LDGS scores: drawn in the warm-up, then searched for in chunks."""

from collections.abc import Callable

import numpy as np

from ..utils._memory_limit import memory_limit
from ._candidate_gradients import (
    ChunkIndexes,
    ComparedClasses,
    Positives,
    SetGradients,
    SetLoss,
    set_gradients,
)
from ._int8_rows import ByteRows
from ._layers import ColumnLayout, StepSettings, Weights

# Indexes are built again when the multiply-adds of the steps since then are this many times those
# of building, which compares each class with all centroids. Within a pass BUILDING more a chunk
# count for it, so that indexes of few classes are not built all the time.
REBUILD_AFTER = 4.0
BUILDING = 1_000_000
WIDENED = 4  # times the query size is the most that cross-entropy retrieves
# Sampling ends when the gradient of an average sample is that of fewer negatives than this share.
CONCENTRATED = 0.5
WORTH_ROUNDING = 2_000_000  # bytes of weights, about what the cache of a core holds
WORTH_THREADS = 500_000  # multiply-adds, so that waiting for threads does not show
MEMORY_OF_CONCENTRATION = 0.9  # of the running mean, for a mini-batch


class CandidateSearch:
    """Gradients of mini-batches on candidates, and the indexes and draws that name these.

    Weights are read, never changed; `places` come from `scratch_places`. `searching` says that a
    warm-up of calls before is over.
    """

    def __init__(
        self,
        weights: Weights,
        layout: ColumnLayout,
        settings: StepSettings,
        seed: int,
        n_threads: int,
        places: np.ndarray,
        searching: bool,
    ) -> None:
        self.weights, self.layout, self.settings = weights, layout, settings
        self.seed, self.n_threads, self.places = seed, n_threads, places
        searches = settings.gradient in ("decomposed", "mips")
        self.searching = searches and (searching or settings.warmup == 0)
        self.indexes, self.work_since, self.new_pass = None, 0, True
        self.concentration = 1.0
        self.rounded, self.rounds = None, self._worth_rounding()

    def _worth_rounding(self) -> bool:
        """Return whether rounded weights are read first: where most then need not be, if there is
        room.
        """
        s, W = self.settings, self.weights.W
        sparse = s.loss != "cross_entropy" and s.n_message_passes == 0
        if not sparse or W.nbytes <= WORTH_ROUNDING:
            return False
        limit = memory_limit()  # reads files: a part of a stream may be a few rows
        return limit is None or ByteRows.size_of(W) <= limit

    def round_again(self, touched: np.ndarray) -> None:
        """Round label embeddings that a step has changed, where rounded ones are kept."""
        if self.rounded is not None:
            self.rounded.update(self.weights.W, touched)

    def gradients(
        self, H: np.ndarray, positives: Positives, rng: np.random.Generator, time: float
    ) -> SetGradients:
        """Return gradients of queries on candidates; `time` is in passes, those before too."""
        s = self.settings
        weighs = s.unretrieved == "sampled"
        if not self.searching:
            # As many as all searches together will name.
            n = s.query_size * (s.n_chunks if s.gradient == "decomposed" else 1)
            drawn = self._draw(len(H), n, rng)
            # Drawn classes have importance weights, or are candidates like those of an index.
            if weighs:
                candidates = ComparedClasses(drawn[:, None, :0], drawn)
            else:
                candidates = ComparedClasses(drawn[:, None])
            found = self._gradients_on(H, positives, candidates, 0, False)
            if s.gradient != "sampled":
                self._watch_warmup(found, positives, time)
            return found
        most = len(self.weights.W)
        # Section 4: retrieved in decreasing order, n_first at first, until by a lower bound of the
        # partition function no class left out has a gradient above tau.
        size = n_first = min(s.query_size, most)
        widens = s.loss == "cross_entropy" and s.tau > 0 and not weighs
        if widens:
            size = min(WIDENED * size, most)
        if s.query_threshold is None:
            retrieved = self.indexes.candidates(H, size, n_first)
        else:
            retrieved = self.indexes.beyond(self.weights.W, H, n_first, s.query_threshold)
            # By a threshold all that counts is named already, in no order.
            widens, n_first = False, None
        drawn = self._draw(len(H), s.query_size, rng) if weighs else None
        candidates = ComparedClasses(retrieved, drawn, n_first)
        found = self._gradients_on(H, positives, candidates, s.n_message_passes, widens)
        # Multiply-adds of the scores, with which those of building are compared.
        self.work_since += int(found.n_scored.sum()) * self.layout.n_columns
        return found

    def _gradients_on(
        self,
        H: np.ndarray,
        positives: Positives,
        candidates: ComparedClasses,
        n_message_passes: int,
        wants_left_out: bool,
    ) -> SetGradients:
        """Return gradients on these candidates; one list a sample counts as of one chunk."""
        s, w = self.settings, self.weights
        one = candidates.retrieved.shape[1] == 1
        if self.rounds and self.rounded is None:
            self.rounded = ByteRows(w.W, self.n_threads)
        # The kernel takes as many chunks as there are lists of candidates.
        bounds = self.layout.bounds[[0, -1]] if one else self.layout.bounds
        loss = SetLoss(s.loss, s.mu, n_message_passes, s.tau, s.unretrieved == "zero")
        worth_threads = candidates.size * self.layout.n_columns > WORTH_THREADS
        return set_gradients(
            w.W,
            H,
            bounds,
            candidates,
            positives,
            loss,
            wants_left_out=wants_left_out,
            n_threads=self.n_threads if worth_threads else 1,
            places=self.places,
            rounded=self.rounded,
        )

    def _draw(self, n_rows: int, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw uniform negatives (and positives, which are positives all the same)."""
        K = len(self.weights.W)
        if n >= K:
            return np.tile(np.arange(K, dtype=np.int32), (n_rows, 1))
        return rng.integers(K, size=(n_rows, n), dtype=np.int32)

    def _watch_warmup(self, found: SetGradients, positives: Positives, time: float) -> None:
        """Go over to searching after this many passes, or when few negatives carry the gradient."""
        s = self.settings
        if s.warmup != "auto":
            self.searching = time >= s.warmup
            return
        # Gradients of negatives stand behind those of the positives, up to the count of the sample.
        inside = np.arange(found.values.shape[1])
        negative = (inside < found.counts[:, None]) & (inside >= np.diff(positives.indptr)[:, None])
        g = np.where(negative, found.values, 0)
        total, squares = g.sum(axis=1), (g * g).sum(axis=1)
        active = squares > 0
        share = 0.0
        if active.any():
            # (sum g)^2 / sum g^2 is how many negatives would carry it in equal parts: nearly all
            # while the gradient is flat (section 4, "Sampling for initialization").
            n_negative = found.n_scored - np.diff(positives.indptr)
            share = np.mean(total[active] ** 2 / squares[active] / n_negative[active])
        keep = MEMORY_OF_CONCENTRATION
        self.concentration = keep * self.concentration + (1 - keep) * share
        self.searching = self.concentration < CONCENTRATED or time >= 1

    def _cost_of_building(self) -> int:
        """Return about how many multiply-adds building the indexes takes."""
        s = self.settings
        # Each class is compared with all centroids, in all columns.
        return self.weights.W.size * s.n_centroids + (not self.new_pass) * s.n_chunks * BUILDING

    def reindex(self, some_queries: Callable[[], np.ndarray]) -> None:
        """Build the indexes, and again when the steps since then have cost so much more.

        `some_queries` is called where an index is to be measured when it is built.
        """
        s = self.settings
        if self.indexes is None:
            # "mips" has one index of all columns (Algorithm 1).
            bounds = self.layout.bounds
            self.indexes = ChunkIndexes(
                s.index,
                bounds if s.gradient == "decomposed" else bounds[[0, -1]],
                n_centroids=s.n_centroids,
                n_probes=s.n_probes,
                seed=self.seed,
                n_jobs=self.n_threads,
            )
        elif self.work_since < REBUILD_AFTER * self._cost_of_building():
            # Section 4, "Updates of data structures": candidates are scored from the weights of the
            # moment, so that an index may be somewhat old, and is built again when that costs a
            # small part of the steps. The paper moves single rows.
            self.new_pass = False
            return
        self.indexes.build(self.weights.W, some_queries() if s.index == "hnsw" else None)
        self.work_since, self.new_pass = 0, False

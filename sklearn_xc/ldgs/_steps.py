"""The steps of LDGS: mini-batches, the gradients of their scores, steps on both layers."""

import numpy as np

from .._kernels.common._pace import Pace
from .._kernels.ldgs import _full_gradient, _row_updates
from .._kernels.ldgs._losses import KINDS
from ..mips._row_store import ranges
from ..training._schedules import share_of_rate
from ..utils._memory_limit import memory_limit, require_memory
from ..utils._random import stream
from ._candidate_gradients import (
    ChunkIndexes,
    ComparedClasses,
    Positives,
    SetLoss,
    scratch_places,
    set_gradients,
)
from ._int8_rows import ByteRows
from ._layers import NO_NORMS, ColumnLayout, EntryLists, StepSettings, Weights
from ._ridge import Ridge

__all__ = ["ColumnLayout", "LDGSSteps", "StepSettings", "Weights"]

QUERIES = 256  # embeddings that an index is measured with when it is built
# Indexes are built again when the multiply-adds of the steps since then are so many times those of
# building, which compares each class with all centroids. Within a pass this many more a chunk count
# for building, which keep those of few classes from being built all the time.
REBUILD_AFTER = 4.0
BUILDING = 1_000_000
WIDENED = 4  # times the query size is the most that cross-entropy retrieves
# Sampling ends when the gradient of an average sample is that of fewer negatives than this share.
CONCENTRATED = 0.5
WORTH_ROUNDING = 2_000_000  # bytes of weights, about what the cache of a core holds
WORTH_THREADS = 500_000  # multiply-adds, so that waiting for threads does not show
MEMORY_OF_CONCENTRATION = 0.9  # of the running mean, for a mini-batch


class LDGSSteps:
    """Passes over samples that change weights in place.

    Parameters
    ----------
    rows : Rows
    positives : Positives
        Of all samples.
    sample_weight : ndarray of float32 (n_samples,), or None
    visited : ndarray of int
        The samples to train on.
    weights : Weights
    layout : ColumnLayout
    settings : StepSettings
    seed : int
    n_threads : int
    searching : bool, default=False
        Whether the warm-up is over.
    mean_weight : float, default=None
        Of a sample, over all calls; None takes that of the samples visited.
    strengths : (float or ndarray of float (dim,), float), default=None
        Of the ridge on W, for each dimension, and on U; None takes alpha for both.
    shuffled : bool, default=True
        Whether passes visit the samples in random order.

    Notes
    -----
    A step is on the sum of the losses over the size of a whole mini-batch, also where there are
    fewer samples left: what a sample adds does not depend on how the samples are cut.
    """

    def __init__(
        self, rows, positives, sample_weight, visited, weights, layout, settings, seed, n_threads,
        searching=False, mean_weight=None, strengths=None, shuffled=True,
    ):  # fmt: skip
        self.rows, self.positives, self.weights = rows, positives, weights
        self.layout, self.settings, self.seed, self.n_threads = layout, settings, seed, n_threads
        self.pace = Pace(n_threads)
        self.visited = np.asarray(visited, dtype=np.int32)
        if sample_weight is None:
            self.factor = np.ones(len(positives.indptr) - 1, dtype=np.float32)
        else:
            if mean_weight is None:
                mean_weight = sample_weight[visited].mean(dtype=np.float64)
            self.factor = (sample_weight / mean_weight).astype(np.float32)
        self.sum_of_factors = self.factor[self.visited].sum(dtype=np.float64)
        # weight of each sample's loss in a step
        self.shares = self.factor / np.float32(settings.batch_size)
        self.n_batches = max(1, -(-len(self.visited) // settings.batch_size))
        self.shuffled = shuffled and self.n_batches > 1
        self.n_passes = self.n_visited = self.n_scored = 0
        self.one_each = np.array_equal(positives.indptr, np.arange(len(positives.indptr)))
        self._set_ridges(*(strengths or (settings.alpha, settings.alpha)))
        searches = settings.gradient in ("decomposed", "mips")
        self.searching = searches and (searching or settings.warmup == 0)
        self.indexes, self.work_since, self.new_pass = None, 0, True
        self.concentration = 1.0
        self.rounded, self.rounds = None, self._worth_rounding()
        self._allocate()

    def _set_ridges(self, of_W, of_U):
        w, layout = self.weights, self.layout
        self.ridge_W = Ridge(w.W, w.squares_W, layout.columns(of_W), layout.norms)
        self.ridge_U = None
        if w.U is not None:
            self.ridge_U = Ridge(w.U, w.squares_U, layout.columns(of_U), NO_NORMS)

    def _worth_rounding(self):
        """Return whether rounded weights are read first: where most then need not be, if there is
        room.
        """
        s, W = self.settings, self.weights.W
        sparse = s.gradient != "exact" and s.loss != "cross_entropy" and s.n_message_passes == 0
        if not sparse or W.nbytes <= WORTH_ROUNDING:
            return False
        limit = memory_limit()  # reads files: a part of a stream may be a few rows
        return limit is None or ByteRows.size_of(W) <= limit

    def _allocate(self):
        K, P = self.weights.W.shape
        n = min(self.settings.batch_size, len(self.visited))
        self.places = scratch_places(self.n_threads, K)
        self.scratch = np.empty((self.n_threads, P), dtype=np.float32)
        if self.weights.U is not None:
            self.place_U = scratch_places(1, len(self.weights.U))[0]
        if self.settings.gradient != "exact":
            return
        n_blocks = -(-K // _full_gradient.block_size())
        dense = self.settings.loss == "cross_entropy"
        need = 4 * (n * K * (1 if dense else 3) + (K * P + n_blocks * n * P) * dense)
        require_memory(
            need,
            f"fit: scores of {n} samples and {K} classes and their gradients",
            "use a smaller batch_size, or another gradient than 'exact'",
        )
        self.Z = np.empty((n, K), dtype=np.float32)
        if dense:
            self.buffers = (
                np.empty((n_blocks, n), np.float32), np.empty((n_blocks, n)), np.empty(n),
                np.empty((n_blocks, n, P), np.float32), np.empty((K, P), np.float32),
            )  # fmt: skip
        else:
            self.buffers = np.empty((n, K), np.int32), np.empty((n, K), np.float32)
            t = self.n_threads
            self.row_buffers = np.empty((t, K), np.float32), np.empty((t, 5 * K + 4))

    def threads(self, n_rows):
        """Return threads for work on this many rows of weights."""
        return self.n_threads if n_rows * self.layout.n_columns > WORTH_THREADS else 1

    # ----------------------------------------------------------------------------------- a pass

    def epoch(self, number, start=None, span=1.0):
        """Visit all samples once; returns their mean loss, each before the step on it.

        Rates and the warm-up go by time in passes over all samples that there are: from `start`,
        by default the number of the pass, so much on.
        """
        start = number if start is None else start
        draws = self.shuffled or self.settings.gradient != "exact"
        rng = stream(self.seed, "pass", number) if draws else None
        self.new_pass = True
        order = rng.permutation(self.visited) if self.shuffled else self.visited
        loss = 0.0
        for b in range(self.n_batches):
            size = self.settings.batch_size
            batch = order[b * size : (b + 1) * size]
            self.n_passes = start + span * (b + 1) / self.n_batches  # also those of calls before
            if self.searching:
                self.reindex()  # not a part of the step: it takes as long as many
            with self.pace.on(len(batch)):
                time, step = start + span * b / self.n_batches, start * self.n_batches / span + b
                loss += self.step(batch, self.rate(time, step), rng)
            if not np.isfinite(loss):
                raise FloatingPointError(f"the loss in pass {number + 1} was not finite")
        return loss / self.sum_of_factors

    def rate(self, passes, step):
        s = self.settings
        if s.decay == "inverse_steps":
            return s.learning_rate / (1 + step)
        if s.of_parts:  # the share of the part is in it
            return s.learning_rate
        return s.learning_rate * share_of_rate(s.decay, passes, s.max_iter)

    def step(self, batch, rate, rng):
        """Return a step on a mini-batch; returns the weighted sum of its losses before the step."""
        E = self.embed(batch)
        H = self.layout.queries(E)
        positives = self.positives_of(batch)
        share = self.shares[batch]
        carried = rate * float(share.sum())
        self.ridge_W.advance(carried)
        if self.settings.gradient == "exact":
            losses, of_H = self.exact(H, positives, share, rate)
            n_scored = len(batch) * len(self.weights.W)
        else:
            found = self.approximate(H, positives, rng)
            losses, n_scored = found.losses, int(found.n_scored.sum())
            of_H = self.back_and_step(
                H, EntryLists(found.ids.ravel(), found.values.ravel(), *found.spans()), share, rate
            )
        if self.weights.U is not None:
            of_E = self.layout.of_embeddings(of_H)
            w = self.weights
            self.ridge_U.advance(carried)
            self.step_rows(
                self.lists_of(batch), np.ones(len(batch), np.float32), of_E, w.U, w.squares_U,
                self.place_U, self.ridge_U, rate,
            )  # fmt: skip
        self.take_off_what_is_due()
        self.n_visited += len(batch)
        self.n_scored += n_scored
        return float(losses @ self.factor[batch])

    @property
    def n_classes(self):
        return len(self.weights.W)

    def take_off_what_is_due(self):
        """Take off, now and then, the ridge of rows that no step touches."""
        if self.ridge_W.is_due():
            self.ridge_W.finish(self.n_threads)
            self.rounded = None
        if self.ridge_U is not None and self.ridge_U.is_due():
            self.ridge_U.finish(self.n_threads)

    def finish(self):
        """Take off all of the ridge."""
        if self.ridge_W.finish(self.n_threads):
            self.rounded = None
        if self.ridge_U is not None:
            self.ridge_U.finish(self.n_threads)

    def forget_untouched(self):
        """Zero what no sample of a whole fit has moved, if there is a ridge."""
        self.ridge_W.forget_untouched()
        if self.ridge_U is not None:
            self.ridge_U.forget_untouched()

    def model(self):
        """Return the label embeddings, intercepts and the table of features so far; changes
        nothing.
        """
        table = None
        if self.ridge_U is not None:
            U = self.ridge_U.taken_off(self.n_threads)
            table = np.ascontiguousarray(U[:, self.layout.plain])
        return *self.layout.coef(self.ridge_W.taken_off(self.n_threads)), table

    def scores(self, samples):
        """Return scores (n, n_classes) of samples."""
        E = self.embed(samples)
        square = np.einsum("ij,ij->i", E, E)[:, None]
        scores = self.layout.queries(E) @ self.weights.W.T
        return scores - square if self.layout.squared else scores

    # ---------------------------------------------------------------------------- the input side

    def lists_of(self, batch):
        rows = self.rows
        begin, stop = rows.indptr[batch], rows.indptr[batch + 1]
        return EntryLists(rows.indices, rows.data, begin, stop - begin, rows.dense)

    def embed(self, batch):
        """Return embeddings of samples, (n, n_columns), with room for the last column of each
        chunk.
        """
        rows, U = self.rows, self.weights.U
        E = np.zeros((len(batch), self.layout.n_columns), dtype=np.float32)
        if U is None and rows.dense:
            self.layout.write(rows.matrix()[batch], E)
            return E
        begin = rows.indptr[batch]
        count = rows.indptr[batch + 1] - begin
        if U is not None:
            _row_updates.combine(
                rows.indices, rows.data, begin, count, rows.dense, U, E, self.n_threads
            )
        else:
            entries = ranges(begin, count)
            of_row = np.repeat(np.arange(len(batch)), count)
            E[of_row, self.layout.plain[rows.indices[entries]]] = rows.data[entries]
        return E

    def positives_of(self, batch):
        weight = self.positives.weight
        if self.one_each:  # entry i is that of sample i
            indptr, entries = np.arange(len(batch) + 1, dtype=np.int64), batch
        else:
            begin = self.positives.indptr[batch]
            count = self.positives.indptr[batch + 1] - begin
            indptr = np.concatenate(([0], np.cumsum(count, dtype=np.int64)))
            entries = ranges(begin, count)
        return Positives(
            indptr, self.positives.ids[entries], weight[entries] if len(weight) else weight
        )

    # --------------------------------------------------------------------------- the output side

    def exact(self, H, positives, share, rate):
        s, w, n = self.settings, self.weights, len(H)
        losses = np.empty(n)
        if s.loss == "cross_entropy":
            of_H = np.empty_like(H)
            *buffers, of_W = self.buffers
            scratch = _full_gradient.BlockScratch(self.Z[:n], *buffers)
            _full_gradient.cross_entropy(
                w.W, H, _full_gradient.Positives(*positives), share, scratch, of_W, of_H, losses,
                self.n_threads,
            )  # fmt: skip
            _row_updates.step_all(
                w.W, of_W, w.squares_W, rate, *self.ridge_W.of_step(), self.n_threads
            )
            self.ridge_W.all_are_settled()
            return losses, of_H
        ids, gradient = (buffer[:n] for buffer in self.buffers)
        counts = np.empty(n, dtype=np.int64)
        _full_gradient.scores(w.W, H, self.Z[:n], self.n_threads)
        scratch = _full_gradient.RowScratch(*self.row_buffers, self.places)
        _full_gradient.sparse_gradients(
            KINDS[s.loss], s.mu, self.Z[:n], _full_gradient.Positives(*positives), ids, counts,
            gradient, losses, scratch, self.n_threads,
        )  # fmt: skip
        begin = np.arange(n, dtype=np.int64) * ids.shape[1]
        lists = EntryLists(ids.ravel(), gradient.ravel(), begin, counts)
        return losses, self.back_and_step(H, lists, share, rate)

    def back_and_step(self, H, lists, share, rate):
        """Step the label embeddings; returns the gradient in H before that, (n, n_columns)."""
        w = self.weights
        of_H = np.empty_like(H)
        if w.U is not None:
            n_threads = self.threads(int(lists.count.sum()))
            _row_updates.combine(*lists, w.W, of_H, n_threads)
            of_H *= share[:, None]
        touched = self.step_rows(
            lists, share, H, w.W, w.squares_W, self.places[0], self.ridge_W, rate
        )
        if self.rounded is not None:
            self.rounded.update(w.W, touched)
        return of_H

    def step_rows(self, lists, share, source, table, squares, place, ridge, rate):
        """Step the rows of a table that have an entry; returns which."""
        n_entries = int(lists.count.sum())
        most = min(n_entries, len(table))
        touched = np.empty(most, dtype=np.int32)
        starts = np.empty(most + 1, dtype=np.int64)
        sample = np.empty(n_entries, dtype=np.int32)
        value = np.empty(n_entries, dtype=np.float32)
        n = _row_updates.group(*lists, share, place, touched, starts, sample, value)
        if n:
            entries = _row_updates.Entries(touched, starts, sample, value, n)
            norms, *bearing = ridge.of_step()
            _row_updates.step(
                entries, source, table, squares, rate, norms, _row_updates.Ridge(*bearing),
                self.scratch, self.threads(n_entries),
            )  # fmt: skip
        return touched[:n]

    # ------------------------------------------------------------------------------- candidates

    def approximate(self, H, positives, rng):
        s = self.settings
        weighs = s.unretrieved == "sampled"
        if not self.searching:
            n = s.query_size * (s.n_chunks if s.gradient == "decomposed" else 1)
            drawn = self.draw(len(H), n, rng)
            if weighs:
                candidates = ComparedClasses(drawn[:, None, :0], drawn)
            else:
                candidates = ComparedClasses(drawn[:, None])
            found = self.gradients(H, positives, candidates, 0, False)
            if s.gradient != "sampled":
                self.watch_warmup(found, positives)
            return found
        most = len(self.weights.W)
        size = n_first = min(s.query_size, most)
        widens = s.loss == "cross_entropy" and s.tau > 0 and not weighs
        if widens:
            size = min(WIDENED * size, most)
        if s.query_threshold is None:
            retrieved = self.indexes.candidates(H, size, n_first)
        else:
            retrieved = self.indexes.beyond(self.weights.W, H, n_first, s.query_threshold)
            widens, n_first = False, None
        drawn = self.draw(len(H), s.query_size, rng) if weighs else None
        candidates = ComparedClasses(retrieved, drawn, n_first)
        found = self.gradients(H, positives, candidates, s.n_message_passes, widens)
        self.work_since += int(found.n_scored.sum()) * self.layout.n_columns
        return found

    def gradients(self, H, positives, candidates, n_passes, wants_left_out):
        s = self.settings
        one = candidates.retrieved.shape[1] == 1
        if self.rounds and self.rounded is None:
            self.rounded = ByteRows(self.weights.W, self.n_threads)
        bounds = self.layout.bounds[[0, -1]] if one else self.layout.bounds
        loss = SetLoss(s.loss, s.mu, n_passes, s.tau, s.unretrieved == "zero")
        return set_gradients(
            self.weights.W, H, bounds, candidates, positives, loss, wants_left_out=wants_left_out,
            n_threads=self.threads(candidates.size), places=self.places, rounded=self.rounded,
        )  # fmt: skip

    def draw(self, n_rows, n, rng):
        """Draw uniform negatives (and positives, which are positives all the same)."""
        K = len(self.weights.W)
        if n >= K:
            return np.tile(np.arange(K, dtype=np.int32), (n_rows, 1))
        return rng.integers(K, size=(n_rows, n), dtype=np.int32)

    def watch_warmup(self, found, positives):
        """Go over to searching after this many passes, or when few negatives carry the gradient."""
        s = self.settings
        if s.warmup != "auto":
            self.searching = self.n_passes >= s.warmup
            return
        inside = np.arange(found.values.shape[1])
        negative = (inside < found.counts[:, None]) & (inside >= np.diff(positives.indptr)[:, None])
        g = np.where(negative, found.values, 0)
        total, squares = g.sum(axis=1), (g * g).sum(axis=1)
        active = squares > 0
        share = 0.0
        if active.any():
            n_negative = found.n_scored - np.diff(positives.indptr)
            share = np.mean(total[active] ** 2 / squares[active] / n_negative[active])
        keep = MEMORY_OF_CONCENTRATION
        self.concentration = keep * self.concentration + (1 - keep) * share
        self.searching = self.concentration < CONCENTRATED or self.n_passes >= 1

    def cost_of_building(self):
        """Return multiply-adds, about."""
        s = self.settings
        return self.weights.W.size * s.n_centroids + (not self.new_pass) * s.n_chunks * BUILDING

    def reindex(self):
        """Build the indexes, and again when the steps since then have cost so much more."""
        s = self.settings
        if self.indexes is None:
            bounds = (
                self.layout.bounds if s.gradient == "decomposed" else self.layout.bounds[[0, -1]]
            )
            self.indexes = ChunkIndexes(
                s.index, bounds, n_centroids=s.n_centroids, n_probes=s.n_probes, seed=self.seed,
                n_jobs=self.n_threads,
            )  # fmt: skip
        elif self.work_since < REBUILD_AFTER * self.cost_of_building():
            self.new_pass = False
            return
        queries = None
        if s.index == "hnsw":
            rng = stream(self.seed, "index queries")
            some = rng.choice(self.visited, min(QUERIES, len(self.visited)), replace=False)
            queries = self.layout.queries(self.embed(np.sort(some)))
        self.indexes.build(self.weights.W, queries)
        self.work_since, self.new_pass = 0, False

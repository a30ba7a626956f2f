"""The steps of LDGS: mini-batches, the gradients of their scores, steps on both layers."""

import numpy as np

from .._kernels.common._pace import Pace
from .._kernels.ldgs import _full_gradient, _row_updates
from .._kernels.ldgs._losses import KINDS
from ..mips._row_store import ranges
from ..training._schedules import share_of_rate
from ..utils._memory_limit import require_memory
from ..utils._random import stream
from ..utils._rows import Rows
from ._candidate_gradients import Positives, scratch_places
from ._candidates import WORTH_THREADS, CandidateSearch
from ._layers import NO_NORMS, ColumnLayout, EntryLists, StepSettings, Strength, Weights
from ._ridge import Ridge

__all__ = ["ColumnLayout", "LDGSSteps", "StepSettings", "Weights"]

QUERIES = 256  # embeddings that an index is measured with when it is built


class LDGSSteps:
    """Passes over samples that change weights in place.

    A step is on the sum of the losses over the size of a whole mini-batch, also where there are
    fewer samples left: what a sample adds does not depend on how the samples are cut. `visited` are
    the samples to train on, `searching` says that the warm-up is over; the mean weight of a sample
    is by default that of those visited, the strengths of the ridge on W, for each dimension, and on
    U are alpha.
    """

    def __init__(
        self,
        rows: Rows,
        positives: Positives,
        sample_weight: np.ndarray | None,
        visited: np.ndarray,
        weights: Weights,
        layout: ColumnLayout,
        settings: StepSettings,
        seed: int,
        n_threads: int,
        searching: bool = False,
        mean_weight: float | None = None,
        strengths: tuple[Strength, Strength] | None = None,
        shuffled: bool = True,
    ) -> None:
        self.rows, self.positives, self.weights = rows, positives, weights
        self.layout, self.settings, self.seed, self.n_threads = layout, settings, seed, n_threads
        self.pace = Pace(n_threads)
        self.visited = np.asarray(visited, dtype=np.int32)
        if sample_weight is None:
            self.factor = np.ones(len(positives.indptr) - 1, dtype=np.float32)
        else:
            if mean_weight is None:
                mean_weight = sample_weight[visited].mean(dtype=np.float64)
            # Of mean 1, so that a rate means the same with any unit of weights.
            self.factor = (sample_weight / mean_weight).astype(np.float32)
        self.sum_of_factors = self.factor[self.visited].sum(dtype=np.float64)
        # weight of each sample's loss in a step
        self.shares = self.factor / np.float32(settings.batch_size)
        self.n_batches = max(1, -(-len(self.visited) // settings.batch_size))
        self.shuffled = shuffled and self.n_batches > 1
        self.n_passes = self.n_visited = self.n_scored = 0
        self.one_each = np.array_equal(positives.indptr, np.arange(len(positives.indptr)))
        self._set_ridges(*(strengths or (settings.alpha, settings.alpha)))
        self._allocate()
        self.search = None
        if settings.gradient != "exact":
            self.search = CandidateSearch(
                weights, layout, settings, seed, n_threads, self.places, searching
            )

    @property
    def searching(self) -> bool:
        """Whether the warm-up is over."""
        return self.search is not None and self.search.searching

    def _set_ridges(self, of_W: Strength, of_U: Strength) -> None:
        """Set the ridge on both tables."""
        w, layout = self.weights, self.layout
        self.ridge_W = Ridge(w.W, w.squares_W, layout.columns(of_W), layout.norms)
        self.ridge_U = None
        if w.U is not None:
            self.ridge_U = Ridge(w.U, w.squares_U, layout.columns(of_U), NO_NORMS)

    def _allocate(self) -> None:
        """Make the memory of a step."""
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
        # Scores, of sparse gradients also the classes and gradients of each; of cross-entropy the
        # gradient in W and the part of each block in H.
        need = 4 * (n * K * (1 if dense else 3) + (K * P + n_blocks * n * P) * dense)
        require_memory(
            need,
            f"fit: scores of {n} samples and {K} classes and their gradients",
            "use a smaller batch_size, or another gradient than 'exact'",
        )
        self.Z = np.empty((n, K), dtype=np.float32)
        if dense:
            self.buffers = (
                np.empty((n_blocks, n), np.float32),
                np.empty((n_blocks, n)),
                np.empty(n),
                np.empty((n_blocks, n, P), np.float32),
                np.empty((K, P), np.float32),
            )
        else:
            self._allocate_for_few(n, K)

    def _allocate_for_few(self, n: int, K: int) -> None:
        """Make the memory of `few_gradients` of n samples and K classes."""
        self.buffers = np.empty((n, K), np.int32), np.empty((n, K), np.float32)
        t = self.n_threads
        self.row_buffers = np.empty((t, K), np.float32), np.empty((t, 5 * K + 4))

    def threads(self, n_rows: int) -> int:
        """Return threads for work on this many rows of weights."""
        return self.n_threads if n_rows * self.layout.n_columns > WORTH_THREADS else 1

    # ----------------------------------------------------------------------------------- a pass

    def epoch(self, number: int, start: float | None = None, span: float = 1.0) -> float:
        """Visit all samples once; returns their mean loss, each before the step on it.

        Rates and the warm-up go by time in passes over all samples that there are: from `start`,
        by default the number of the pass, so much on.
        """
        start = number if start is None else start
        draws = self.shuffled or self.settings.gradient != "exact"
        rng = stream(self.seed, "pass", number) if draws else None
        if self.search is not None:
            self.search.new_pass = True
        order = rng.permutation(self.visited) if self.shuffled else self.visited
        loss = 0.0
        for b in range(self.n_batches):
            size = self.settings.batch_size
            batch = order[b * size : (b + 1) * size]
            self.n_passes = start + span * (b + 1) / self.n_batches  # also those of calls before
            if self.searching:
                # not a part of the step: it takes as long as many
                self.search.reindex(self.some_queries)
            with self.pace.on(len(batch)):
                time, step = start + span * b / self.n_batches, start * self.n_batches / span + b
                loss += self.step(batch, self.rate(time, step), rng)
            # At once: further steps would only spread NaN.
            if not np.isfinite(loss):
                raise FloatingPointError(f"the loss in pass {number + 1} was not finite")
        return loss / self.sum_of_factors

    def rate(self, passes: float, step: float) -> float:
        """Return the rate of a step, by time in passes or by the number of steps before."""
        s = self.settings
        if s.decay == "inverse_steps":
            return s.learning_rate / (1 + step)
        if s.of_parts:  # the share of the part is in it
            return s.learning_rate
        return s.learning_rate * share_of_rate(s.decay, passes, s.max_iter)

    def step(self, batch: np.ndarray, rate: float, rng: np.random.Generator | None) -> float:
        """Make a step on a mini-batch; returns the weighted sum of its losses before it."""
        E = self.embed(batch)
        H = self.layout.queries(E)
        positives = self.positives_of(batch)
        share = self.shares[batch]
        # The ridge is on the mean loss: a step on fewer samples bears its share.
        carried = rate * float(share.sum())
        self.ridge_W.advance(carried)
        if self.settings.gradient == "exact":
            losses, of_H = self.exact(H, positives, share, rate)
            n_scored = len(batch) * len(self.weights.W)
        else:
            found = self.search.gradients(H, positives, rng, self.n_passes)  # type: ignore[arg-type]
            losses, n_scored = found.losses, int(found.n_scored.sum())
            of_H = self.back_and_step(
                H, EntryLists(found.ids.ravel(), found.values.ravel(), *found.spans()), share, rate
            )
        # The gradient in U is that in the embeddings E = X U, times the features: the chain rule.
        w, ridge = self.weights, self.ridge_U
        if w.U is not None and ridge is not None:
            of_E = self.layout.of_embeddings(of_H)
            ridge.advance(carried)
            lists, ones = self.lists_of(batch), np.ones(len(batch), np.float32)
            self.step_rows(lists, ones, of_E, w.U, w.squares_U, self.place_U, ridge, rate)
        self.take_off_what_is_due()
        self.n_visited += len(batch)
        self.n_scored += n_scored
        return float(losses @ self.factor[batch])

    @property
    def n_classes(self) -> int:
        """Number of scores of a sample."""
        return len(self.weights.W)

    def take_off_what_is_due(self) -> None:
        """Take off, now and then, the ridge of rows that no step touches."""
        if self.ridge_W.is_due() and self.ridge_W.finish(self.n_threads):
            self._weights_have_changed()
        if self.ridge_U is not None and self.ridge_U.is_due():
            self.ridge_U.finish(self.n_threads)

    def finish(self) -> None:
        """Take off all of the ridge."""
        if self.ridge_W.finish(self.n_threads):
            self._weights_have_changed()
        if self.ridge_U is not None:
            self.ridge_U.finish(self.n_threads)

    def _weights_have_changed(self) -> None:
        """Have all label embeddings rounded again before the next step on candidates."""
        if self.search is not None:
            self.search.rounded = None

    def forget_untouched(self) -> None:
        """Zero what no sample of a whole fit has moved, if there is a ridge."""
        self.ridge_W.forget_untouched()
        if self.ridge_U is not None:
            self.ridge_U.forget_untouched()

    def model(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return the label embeddings, intercepts and the table of features so far; changes
        nothing.
        """
        table = None
        if self.ridge_U is not None:
            U = self.ridge_U.taken_off(self.n_threads)
            table = np.ascontiguousarray(U[:, self.layout.plain])
        return *self.layout.coef(self.ridge_W.taken_off(self.n_threads)), table

    def scores(self, samples: np.ndarray) -> np.ndarray:
        """Return scores (n, n_classes) of samples."""
        E = self.embed(samples)
        # Before `queries` changes E in place.
        square = np.einsum("ij,ij->i", E, E)[:, None]
        scores = self.layout.queries(E) @ self.weights.W.T
        return scores - square if self.layout.squared else scores

    # ---------------------------------------------------------------------------- the input side

    def lists_of(self, batch: np.ndarray) -> EntryLists:
        """Return the features of the samples of a mini-batch."""
        rows = self.rows
        begin, stop = rows.indptr[batch], rows.indptr[batch + 1]
        return EntryLists(rows.indices, rows.data, begin, stop - begin, rows.dense)

    def embed(self, batch: np.ndarray) -> np.ndarray:
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
            # Without a layer an embedding is the sample itself, with a column more at the end of
            # each chunk.
            of_row = np.repeat(np.arange(len(batch)), count)
            E[of_row, self.layout.plain[rows.indices[entries]]] = rows.data[entries]
        return E

    def some_queries(self) -> np.ndarray:
        """Return queries of some samples, which stand for all when an index is measured."""
        rng = stream(self.seed, "index queries")
        some = rng.choice(self.visited, min(QUERIES, len(self.visited)), replace=False)
        return self.layout.queries(self.embed(np.sort(some)))

    def positives_of(self, batch: np.ndarray) -> Positives:
        """Return the positives of the samples of a mini-batch."""
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

    def exact(
        self, H: np.ndarray, positives: Positives, share: np.ndarray, rate: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Step label embeddings by all classes; returns losses and the gradient in H before."""
        s, w, n = self.settings, self.weights, len(H)
        losses = np.empty(n)
        if s.loss == "cross_entropy":
            of_H = np.empty_like(H)
            # Gradients of both factors of Z = H W^T in one call; W steps afterwards.
            *buffers, of_W = self.buffers
            scratch = _full_gradient.BlockScratch(self.Z[:n], *buffers)
            _full_gradient.cross_entropy(
                w.W,
                H,
                _full_gradient.Positives(*positives),
                share,
                scratch,
                of_W,
                of_H,
                losses,
                self.n_threads,
            )
            _row_updates.step_all(
                w.W, of_W, w.squares_W, rate, *self.ridge_W.of_step(), self.n_threads
            )
            # `step_all` has touched every row.
            self.ridge_W.all_are_settled()
            return losses, of_H
        _full_gradient.scores(w.W, H, self.Z[:n], self.n_threads)
        ids, gradient, counts = self.few_gradients(self.Z[:n], positives, losses)
        begin = np.arange(n, dtype=np.int64) * ids.shape[1]
        lists = EntryLists(ids.ravel(), gradient.ravel(), begin, counts)
        return losses, self.back_and_step(H, lists, share, rate)

    def few_gradients(
        self, Z: np.ndarray, positives: Positives, losses: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Find the few classes of each row of scores that have a gradient of margin or triplets.

        Returns them, their gradients, and how many there are of each row; `losses` are written.
        """
        ids, gradient = (buffer[: len(Z)] for buffer in self.buffers)
        counts = np.empty(len(Z), dtype=np.int64)
        _full_gradient.sparse_gradients(
            KINDS[self.settings.loss],
            self.settings.mu,
            Z,
            _full_gradient.Positives(*positives),
            ids,
            counts,
            gradient,
            losses,
            _full_gradient.RowScratch(*self.row_buffers, self.places),
            self.n_threads,
        )
        return ids, gradient, counts

    def back_and_step(
        self, H: np.ndarray, lists: EntryLists, share: np.ndarray, rate: float
    ) -> np.ndarray:
        """Step the label embeddings; returns the gradient in H before that, (n, n_columns)."""
        w = self.weights
        of_H = np.empty_like(H)
        # Before W steps: both layers step by the gradient at the same point. Without a layer nobody
        # reads it.
        if w.U is not None:
            n_threads = self.threads(int(lists.count.sum()))
            _row_updates.combine(*lists, w.W, of_H, n_threads)
            of_H *= share[:, None]
        touched = self.step_rows(
            lists, share, H, w.W, w.squares_W, self.places[0], self.ridge_W, rate
        )
        if self.search is not None:
            self.search.round_again(touched)
        return of_H

    def step_rows(
        self,
        lists: EntryLists,
        share: np.ndarray,
        source: np.ndarray,
        table: np.ndarray,
        squares: np.ndarray,
        place: np.ndarray,
        ridge: Ridge,
        rate: float,
    ) -> np.ndarray:
        """Step the rows of a table that have an entry; returns which."""
        n_entries = int(lists.count.sum())
        # Each entry may be of a row of its own, and there are no more rows than the table has.
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
                entries,
                source,
                table,
                squares,
                rate,
                norms,
                _row_updates.Ridge(*bearing),
                self.scratch,
                self.threads(n_entries),
            )
        return touched[:n]

"""Sums over the softmax, word by word: over all contexts, or those that matter.

See `_objective` for the equations. Blocks of words that share their contexts are in `_block_sums`.
"""

from typing import NamedTuple, TypeAlias

import numpy as np

from .._kernels.common._pace import Pace
from .._kernels.ldgs import _row_updates as rows_kernel
from .._kernels.word_embedding import _vector_updates as kernel
from .._kernels.word_embedding._softmax import exact_differences
from ..ldgs._candidate_gradients import (
    ChunkIndexes,
    ComparedClasses,
    Positives,
    SetGradients,
    SetLoss,
    chunk_bounds,
    scratch_places,
    set_gradients,
)
from ..utils._parallel import in_threads
from ..utils._random import stream
from ._objective import OwnPairs, Step, WordPairs, blocks_of

QUERIES = 256  # words that indexes are measured with when they are built
ASKED = 4096  # words whose contexts are searched for together
SPARE = 1.5  # clusters are read that hold this many times the words requested

# Contexts drawn, the logarithms of their importance weights, their vectors.
Draws: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]


class ExactSums:
    """All contexts: matrix products, a block of words for each thread."""

    def __init__(self, pairs: WordPairs, batch_size: int, n_threads: int) -> None:
        self._pairs, self.batch_size = pairs, batch_size
        self.n_scored, self.n_threads = float(pairs.n_words), n_threads

    def begin(self, U: np.ndarray, V: np.ndarray, number: int, parts: list[np.ndarray]) -> None:
        """Get ready for a pass, of that number and over these parts."""
        self._V = V

    def visit(self, part: int, rows: np.ndarray, step: Step, of_contexts: np.ndarray) -> None:
        """Have some words step, and add up the gradient of contexts, block after block."""
        blocks = blocks_of(rows, self.batch_size)
        ahead = self.n_threads + 1  # sums as large as V wait to be added: more take memory only
        shared = self._pairs, step, self._V
        for sums in in_threads(
            _exact_block, blocks, *shared, n_threads=self.n_threads, n_ahead=ahead
        ):
            of_contexts += sums


def _exact_block(rows: np.ndarray, pairs: WordPairs, step: Step, V: np.ndarray) -> np.ndarray:
    """Have a block of words step; returns their part of the gradient of all contexts."""
    own = pairs.of(rows)

    def differences(u: np.ndarray) -> np.ndarray:
        """Return p(y|x) - q(y|x) of the words, of all contexts."""
        z = u @ V.T
        exact_differences(z, own.indptr, own.ids, own.share)
        return z

    u, share = step(rows, lambda u: differences(u) @ V)
    return differences(u).T @ (share[:, None] * u)


class Options(NamedTuple):
    """Options of the search for contexts of large probability."""

    n_chunks: int
    n_message_passes: int
    query_size: int  # words retrieved in each chunk; 0 for none
    index: str
    n_centroids: int
    unretrieved: str  # what stands for words that are not retrieved
    n_frequent: int  # with "sampled", this many of the most frequent contexts are in every sum
    n_sampled: int  # words drawn from the others for a block of rows
    tau: float


def chances(context_share: np.ndarray) -> np.ndarray:
    """Return how likely contexts are to be drawn, up to a factor: as the roots of their
    frequencies.
    """
    # Between drawing as likely as scores are large, which is best for each sum over the softmax,
    # and equally, which gives rare contexts their gradients.
    return np.sqrt(np.maximum(context_share, 0.1 / len(context_share) ** 2))


def draw(rng: np.random.Generator, ends: np.ndarray, n: int) -> np.ndarray:
    """Draw n ascending places with repetitions, by chances whose sums are given."""
    # Systematic sampling: points at equal distances along the sum of all, with one random offset.
    # Each place is drawn n times its chance on average, to less than one draw.
    found = np.searchsorted(ends, ends[-1] * ((np.arange(n) + rng.random()) / n), side="right")
    # Rounding may put the last point at the end.
    return np.minimum(found, len(ends) - 1)


def distinct(drawn: np.ndarray, chance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct places of those drawn, and the logarithms of their importance weights.

    A sum of exp(log_times) f over the places is an unbiased estimate of that of f over all.
    """
    places, times = np.unique(drawn, return_counts=True)
    return places, np.log(times * chance.sum() / (len(drawn) * chance[places]))


def chunk_indexes(
    options: Options, bounds: np.ndarray, n_rows: int, seed: int, n_threads: int
) -> ChunkIndexes:
    """Return indexes of chunks of this many rows, not built yet; clusters enough for a query are
    read.
    """
    n_centroids = min(options.n_centroids, n_rows)
    # Lists hold n_rows / n_centroids rows on average: as many lists as hold SPARE times the rows
    # that are wanted.
    n_probes = 1 + int(SPARE * min(options.query_size, n_rows) * n_centroids / n_rows)
    return ChunkIndexes(
        options.index,
        bounds,
        n_centroids=n_centroids,
        n_probes=min(n_probes, n_centroids),
        seed=seed,
        n_jobs=n_threads,
    )


class NamedSums:
    """The contexts of the pairs, those that searches name, and some drawn for all others."""

    def __init__(
        self,
        pairs: WordPairs,
        dim: int,
        options: Options,
        batch_size: int,
        seed: int,
        n_threads: int,
    ) -> None:
        self._pairs, self._options, self._seed = pairs, options, seed
        self.batch_size, self.n_threads, self.n_scored = batch_size, n_threads, 0.0
        self._bounds = chunk_bounds(dim, options.n_chunks)
        self._pace = Pace(n_threads)
        self._places = scratch_places(n_threads, pairs.n_words)
        # -1 everywhere between calls, so that a block touches only what it uses.
        self._place, self._place_of_draw = (
            np.full(pairs.n_words, -1, dtype=np.int32) for _ in range(2)
        )
        order = np.argsort(-pairs.context_share, kind="stable")
        # Only sums with drawn words have the most frequent ones as well.
        n_frequent = options.n_frequent if options.unretrieved == "sampled" else 0
        self._frequent = np.sort(order[:n_frequent])
        self._others = np.sort(order[n_frequent:]).astype(np.int32)
        self._chances = chances(pairs.context_share)[self._others]

    def begin(self, U: np.ndarray, V: np.ndarray, number: int, parts: list[np.ndarray]) -> None:
        """Index the contexts."""
        self._U, self._V, self._number, self.n_scored = U, V, number, 0.0
        options, n_others = self._options, len(self._others)
        if not min(options.query_size, n_others):
            return
        rng = stream(self._seed, "index", number)
        # A new index for each pass: V has moved in all its rows.
        seed = int(rng.integers(2**31))
        indexes = chunk_indexes(options, self._bounds, n_others, seed, self.n_threads)
        queries = U[np.sort(rng.permutation(len(U))[:QUERIES])]
        self._indexes = indexes.build(V[self._others], queries)

    def visit(self, part: int, rows: np.ndarray, step: Step, of_contexts: np.ndarray) -> None:
        """Visit all blocks in turn; the kernels share the rows of a block among threads."""
        for some in blocks_of(rows, max(1, ASKED // self.batch_size) * self.batch_size):
            retrieved = self._retrieve(self._U[some])
            for start in range(0, len(some), self.batch_size):
                block = slice(start, start + self.batch_size)
                # One search for many blocks; their words step block by block.
                with self._pace.on(len(some[block])):
                    self._visit(some[block], retrieved[block], step, of_contexts)

    def _visit(
        self, rows: np.ndarray, retrieved: np.ndarray, step: Step, of_contexts: np.ndarray
    ) -> None:
        """Have a block of words step, and add its part of the gradient of contexts."""
        own, draws = self._pairs.of(rows), self._draw(rows[0])
        # sum_y q(y|x) v_y: V stays as it is while words step.
        means = self._pairs.of_contexts(self._V, rows, self.n_threads)
        given = own, retrieved, draws, means

        def gradient(u: np.ndarray) -> np.ndarray:
            """Return the sums of (p(y|x) - q(y|x)) v_y."""
            return self._expected(*self._probabilities(u, *given), draws) - means

        # Alternating steps: probabilities again, with the vectors that words have stepped to.
        u, share = step(rows, gradient)
        sets, p, drawn = self._probabilities(u, *given)
        self._add_to_contexts(sets, p, share, u, of_contexts)
        weighted = share[:, None] * u
        # Of q(x) (p(y|x) - q(y|x)) u_x the part in q, for the contexts of the words.
        kernel.add_rows(own.ids, -own.share, own.rows, weighted, of_contexts, self.n_threads)
        if draws is not None:
            of_contexts[draws[0]] += drawn.T @ weighted
        self.n_scored += (sets.n_scored.sum() + drawn.size) / self._pairs.n_words

    def _retrieve(self, u: np.ndarray) -> np.ndarray:
        """Return the words that the searches name, int32 (n_rows, n_chunks, n)."""
        n_chunks, n = self._options.n_chunks, min(self._options.query_size, len(self._others))
        if not n:
            return np.empty((len(u), n_chunks, 0), dtype=np.int32)
        found = self._indexes.candidates(u, n)
        return np.ascontiguousarray(np.where(found < 0, np.int32(-1), self._others[found]))

    def _draw(self, start: int) -> Draws | None:
        """Draw distinct words; return them, logarithms of importance weights, their vectors."""
        if self._options.unretrieved != "sampled":
            return None
        places, log_times = np.empty(0, dtype=np.int64), np.empty(0)
        if len(self._others):
            rng = stream(self._seed, "contexts", self._number, start)
            drawn = draw(rng, np.cumsum(self._chances), self._options.n_sampled)
            places, log_times = distinct(drawn, self._chances)
        weight = np.append(np.zeros(len(self._frequent)), log_times)
        ids = np.append(self._frequent, self._others[places])
        return ids, weight.astype(np.float32), self._V[ids]

    def _probabilities(
        self,
        u: np.ndarray,
        own: OwnPairs,
        retrieved: np.ndarray,
        draws: Draws | None,
        means: np.ndarray,
    ) -> tuple[SetGradients, np.ndarray, np.ndarray]:
        """Return probabilities of the words in the sets, padded, and of the drawn; sum 1."""
        positives = Positives(own.indptr, own.ids, own.share)
        options, bounds = self._options, self._bounds
        if not options.n_message_passes:  # no chunk's score is needed by itself
            bounds, retrieved = bounds[[0, -1]], retrieved.reshape(len(u), 1, -1)
        loss = SetLoss(
            "cross_entropy",
            n_message_passes=options.n_message_passes,
            tau=options.tau,
            zero_rest=options.unretrieved == "zero",
        )
        given = u, bounds, ComparedClasses(retrieved), positives, loss
        sets = set_gradients(self._V, *given, n_threads=self.n_threads, places=self._places)
        p = sets.values
        # The gradient of a positive is p(y|x) - q(y|x), and positives stand first.
        columns = np.arange(len(own.rows)) - own.indptr[own.rows]
        p[own.rows, columns] += own.share
        if draws is None:
            return sets, p, np.empty((len(u), 0), dtype=np.float32)
        mean_scores = np.einsum("ij,ij->i", means, u, dtype=np.float64)
        # The loss is log Z_set - sum_y q(y|x) <v_y, u_x>.
        of_set = sets.losses + mean_scores  # log of the sum over the set
        ids, weight, vectors = draws
        z = u @ vectors.T
        z += weight
        self._place_of_draw[ids] = np.arange(len(ids), dtype=np.int32)
        # A drawn word that is in the set of a word counts there, exactly: as a draw it scores
        # -infinity.
        kernel.mark_found(sets.ids, sets.counts, self._place_of_draw, z, -np.inf)
        self._place_of_draw[ids] = -1
        # Z = Z_set + Z_drawn; both by the larger exponent, so that none overflows.
        top = np.maximum(of_set, z.max(axis=1))
        z -= top[:, None].astype(np.float32)
        np.exp(z, out=z)
        total = np.exp(of_set - top) + z.sum(axis=1, dtype=np.float64)
        z /= total[:, None].astype(np.float32)
        # From shares of Z_set to shares of Z.
        p *= (np.exp(of_set - top) / total)[:, None].astype(np.float32)
        return sets, p, z

    def _expected(
        self, sets: SetGradients, p: np.ndarray, drawn: np.ndarray, draws: Draws | None
    ) -> np.ndarray:
        """Return sum_y p(y|x) v_y."""
        out = np.empty((len(p), self._V.shape[1]), dtype=np.float32)
        begin = np.arange(len(p), dtype=np.int64) * p.shape[1]
        rows_kernel.combine(
            sets.ids.ravel(), p.ravel(), begin, sets.counts, False, self._V, out, self.n_threads
        )
        if draws is not None:
            out += drawn @ draws[2]
        return out

    def _add_to_contexts(
        self,
        sets: SetGradients,
        p: np.ndarray,
        weight: np.ndarray,
        u: np.ndarray,
        of_contexts: np.ndarray,
    ) -> None:
        """Add sum_x weight_x p(y|x) u_x over the sets to of_contexts[y]."""
        n_entries = int(sets.counts.sum())
        n_touched = min(n_entries, len(of_contexts))
        touched, starts = np.empty(n_touched, np.int32), np.empty(n_touched + 1, np.int64)
        rows, values = np.empty(n_entries, np.int32), np.empty(n_entries, np.float32)
        begin = np.arange(len(p), dtype=np.int64) * p.shape[1]
        n_touched = rows_kernel.group(
            sets.ids.ravel(),
            p.ravel(),
            begin,
            sets.counts,
            False,
            weight,
            self._place,
            touched,
            starts,
            rows,
            values,
        )
        starts = starts[: n_touched + 1]
        sums = np.empty((n_touched, u.shape[1]), dtype=np.float32)
        rows_kernel.combine(
            rows, values, starts[:-1], np.diff(starts), False, u, sums, self.n_threads
        )
        of_contexts[touched[:n_touched]] += sums

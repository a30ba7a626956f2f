"""Sums over the softmax of skip-gram for blocks of similar words, by matrix products.

A block asks the indexes once, with its mean vector. Scored for all its words are the most frequent
contexts, those retrieved and some drawn from the others, which is a small matrix product; and for
each word those of its own contexts that are not among them.

What is drawn is noise, above all in the gradients of contexts, which most blocks do not draw. With
h(y) the softmax of the scores of the block's mean vector over the contexts that are not always
scored, and r(x) the part that these have in p(.|x), p(y|x) is close to r(x) h(y). So the sums over
x of q(x) r(x) h(y) u_x are taken for all y, one product for many blocks, and only
p(y|x) - r(x) h(y) is estimated from what was drawn (a control variate: the estimate stays what it
is on average, but for that r(x) is itself estimated). The steps of the words themselves bear the
noise of fewer draws.

All of that is done in kernels, for some blocks at once; only the steps of the words are between.
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from .._kernels.common._pace import Pace
from .._kernels.word_embedding import _block_layout
from .._kernels.word_embedding import _softmax as kernel
from ..ldgs._candidate_gradients import chunk_bounds, scratch_places
from ..mips._spherical import assign, train
from ..utils._random import stream
from ._context_sums import QUERIES, Options, chances, chunk_indexes
from ._objective import Step, WordPairs

ITERATIONS = 3  # of the clustering that makes blocks: it only has to put similar words together
# Blocks visited together, whatever the threads: sums over them are the same by any number. The
# least of them if others took more bytes than that.
LEAST_AT_ONCE, MOST_AT_ONCE, BYTES_AT_ONCE = 8, 32, 2**28
FEWER = 4  # draws in all for each draw that steps of words use


class BatchSums:
    """The most frequent contexts, those retrieved for the block, some drawn, the word's own.

    `trained` says that the vectors mean something already: in the first pass of others no search is
    made, which would find nothing that counts.
    """

    def __init__(
        self,
        pairs: WordPairs,
        dim: int,
        options: Options,
        batch_size: int,
        seed: int,
        n_threads: int,
        trained: bool = False,
    ) -> None:
        self._pairs, self._options, self._seed = pairs, options, seed
        self.batch_size, self.n_threads, self.n_scored = batch_size, n_threads, 0.0
        self._bounds = chunk_bounds(dim, options.n_chunks)
        self._trained, self._indexes, self._pace = trained, None, Pace(n_threads)
        # The most frequent contexts are in every sum; indexes and draws see the others only.
        order = np.argsort(-pairs.context_share, kind="stable")
        self._frequent = np.sort(order[: options.n_frequent]).astype(np.int32)
        self._others = np.sort(order[options.n_frequent :]).astype(np.int32)
        self._chances = chances(pairs.context_share)[self._others]
        self._ends = np.cumsum(self._chances)
        n_shared = options.n_frequent + options.n_chunks * options.query_size + options.n_sampled
        # Sums for each block of all shared contexts are kept until they are added up.
        at_once = BYTES_AT_ONCE // (4 * dim * n_shared)
        self._at_once = min(max(at_once, LEAST_AT_ONCE), MOST_AT_ONCE)

    def begin(self, U: np.ndarray, V: np.ndarray, number: int, parts: list[np.ndarray]) -> None:
        """Put the words of each part into blocks, and search the contexts for all of them.

        The vectors of a block's words do not change until it is visited.
        """
        self._V, self._number, self.n_scored = V, number, 0.0
        rng = stream(self._seed, "clusters", number)
        cluster = self._clusters(U, max(map(len, parts)), int(rng.integers(2**31)))
        # Blocks of all parts at once: one search for many queries is faster than many searches.
        parts = [self._blocks(rows, cluster[rows], U) for rows in parts]
        means = np.stack([mean for blocks in parts for _, mean in blocks])
        retrieved = iter(self._retrieved(means, U, V, int(rng.integers(2**31))))
        self._parts = [[(rows, mean, next(retrieved)) for rows, mean in blocks] for blocks in parts]

    def _clusters(self, U: np.ndarray, n_rows: int, seed: int) -> np.ndarray:
        """Return numbers of clusters of words by direction, as many as a part of this many has
        blocks.
        """
        n_blocks = -(-n_rows // self.batch_size)
        if n_blocks == 1 or not self._options.query_size:
            return np.zeros(len(U), dtype=np.int32)
        # The mean of all words would dominate the directions of all.
        centred = U - U.mean(axis=0)
        directions = train(centred, n_blocks, seed, 1, n_iterations=ITERATIONS)
        return assign(centred, directions, self.n_threads)

    def _blocks(
        self, rows: np.ndarray, cluster: np.ndarray, U: np.ndarray
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return words of the same clusters together, and their mean vectors."""
        rows = rows[np.argsort(cluster, kind="stable")]
        # The most work first, so that no thread is left with it in the end.
        blocks = np.array_split(rows, -(-len(rows) // self.batch_size))
        blocks = sorted(blocks, key=self._pairs.count_of, reverse=True)
        return [(block, U[block].mean(axis=0)) for block in blocks]

    def _retrieved(
        self, means: np.ndarray, U: np.ndarray, V: np.ndarray, seed: int
    ) -> list[np.ndarray]:
        """Return the contexts that the mean of each block retrieves, and the most frequent."""
        options, n_others = self._options, len(self._others)
        n = min(options.query_size, n_others)
        # Random vectors name contexts at random.
        if not n or (self._number == 1 and not self._trained):
            return [np.empty(0, dtype=np.int32)] * len(means)
        if self._indexes is None:
            self._indexes = chunk_indexes(options, self._bounds, n_others, seed, self.n_threads)
        # Of words, which indexes that measure themselves are to answer.
        queries = U[np.random.default_rng(seed).permutation(len(U))[:QUERIES]]
        found = self._indexes.build(V[self._others], queries).candidates(means, n)
        return [self._others[np.unique(ids[ids >= 0])] for ids in found.reshape(len(means), -1)]

    def visit(self, part: int, rows: np.ndarray, step: Step, of_contexts: np.ndarray) -> None:
        """Have some words step, and add up the gradient of contexts, some blocks at once."""
        rng = stream(self._seed, "blocks", self._number, part)
        blocks = self._parts[part]
        for i in range(0, len(blocks), self._at_once):
            words, means, retrieved = zip(*blocks[i : i + self._at_once], strict=True)
            with self._pace.on(sum(map(len, words))):
                laid = self._lay_out(words, retrieved, rng.random((len(words), 2)))
                visit_blocks(laid, step, np.stack(means), self._V, of_contexts, self.n_threads)
            self.n_scored += laid.n_scored() / len(self._V)

    def _lay_out(
        self, words: Sequence[np.ndarray], retrieved: Sequence[np.ndarray], offsets: np.ndarray
    ) -> "Blocks":
        """Return the shared contexts of some blocks, and their words' own.

        The contexts retrieved for a block ascend; `offsets` (n_blocks, 2), from [0, 1), are what is
        random in what is drawn.
        """
        pairs, rows = self._pairs, np.concatenate(words)
        # All contexts may be frequent: nothing is left to draw from.
        n_drawn = self._options.n_sampled if len(self._others) else 0
        # Distinct contexts: draws of one count once, and there are no more than the others.
        capacity = len(self._frequent) + max(map(len, retrieved)) + min(n_drawn, len(self._others))
        blocks = Blocks.empty(words, capacity, pairs.indptr[rows + 1] - pairs.indptr[rows])
        n_threads = min(self.n_threads, len(words))
        contexts = _block_layout.Contexts(
            pairs.indptr, pairs.ids, pairs.share, self._frequent, self._others, self._ends
        )
        _block_layout.lay_out(
            rows,
            contexts,
            np.concatenate(retrieved),
            starts(retrieved),
            -(-n_drawn // FEWER),
            n_drawn,
            offsets,
            blocks.of_kernel(),
            scratch_places(n_threads, pairs.n_words),
            np.empty((n_threads, 2, pairs.n_words), dtype=np.int32),
            n_threads,
        )
        return blocks


class Blocks(NamedTuple):
    """Blocks of words and what they are scored with; see `_block_layout.lay_out`."""

    rows: np.ndarray  # int64 (n_rows,), the words, block after block
    row_starts: np.ndarray  # int64 (n_blocks + 1,)
    # int64 (n_blocks, 4): how many shared contexts are among the most frequent, how many are always
    # included, how many are so or drawn for the steps of words, and how many there are.
    sizes: np.ndarray
    # int32 (n_blocks, capacity): contexts scored for all words of a block, included ones first,
    # then those drawn; and, in float32, the logarithms of their importance weights.
    shared: np.ndarray
    weight: np.ndarray
    few_weight: np.ndarray
    # int64 (n_rows + 1,), (n_rows,): where the pairs of each word stand, and how many of them,
    # which stand first, are with contexts of its own; the others are with included ones.
    entry_starts: np.ndarray
    n_own: np.ndarray
    entry_ids: np.ndarray  # int32 (n_entries,), the context, or of included ones the place
    entry_share: np.ndarray  # float32 (n_entries,), q(y|x)
    entry_drawn: np.ndarray  # int32 (n_entries,), the place of the context in `shared`, or -1

    @classmethod
    def empty(cls, words: Sequence[np.ndarray], capacity: int, n_pairs: np.ndarray) -> Self:
        """Return an empty record with room for `capacity` shared contexts and pairs of words."""
        rows = np.concatenate(words)
        entry_starts = np.append(0, np.cumsum(n_pairs))
        # Kernels point to the first entry, also where no word of the blocks has a pair.
        n_entries = max(1, entry_starts[-1])
        weight, few_weight = np.empty((2, len(words), capacity), dtype=np.float32)
        return cls(
            rows,
            starts(words),
            np.empty((len(words), 4), dtype=np.int64),
            np.empty((len(words), capacity), dtype=np.int32),
            weight,
            few_weight,
            entry_starts,
            np.empty(len(rows), dtype=np.int64),
            np.empty(n_entries, dtype=np.int32),
            np.empty(n_entries, dtype=np.float32),
            np.empty(n_entries, dtype=np.int32),
        )

    def of_kernel(self) -> _block_layout.Blocks:
        """Return the record as kernels take it, without the words."""
        return _block_layout.Blocks(*self[1:])

    def n_scored(self) -> int:
        """Return scores of the sums of contexts."""
        # All shared contexts for each word of a block, and its own.
        return np.diff(self.row_starts) @ self.sizes[:, -1] + self.n_own.sum()


def starts(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Return where each begins when they are put together, and the end."""
    return np.append(0, np.cumsum([len(array) for array in arrays]))


def visit_blocks(
    blocks: Blocks,
    step: Step,
    means: np.ndarray,
    V: np.ndarray,
    of_contexts: np.ndarray,
    n_threads: int,
) -> None:
    """Have the words of some blocks step, and add up the gradient of contexts.

    `means` (n_blocks, dim) are those of the vectors of a block's words.
    """
    # A thread takes whole blocks; more threads would keep memory for nothing.
    n_busy = min(n_threads, len(means))
    n_rows, capacity = int(np.diff(blocks.row_starts).max()), blocks.shared.shape[1]
    n_words, dim = V.shape
    memory = kernel.Memory(n_busy, n_rows, capacity, dim)
    laid = blocks.of_kernel()
    values = np.empty(len(blocks.entry_ids), dtype=np.float32)

    def gradient(u: np.ndarray) -> np.ndarray:
        """Return the sums of (p(y|x) - q(y|x)) v_y, with few draws."""
        out = np.empty_like(u)
        kernel.gradients(u, V, laid, values, out, memory, n_busy)
        return out

    # Alternating steps: sums for contexts are taken with the vectors that words have stepped to.
    u, share = step(blocks.rows, gradient)
    sums = kernel.Sums(
        values,
        np.empty_like(u),
        np.empty((len(means), capacity, dim), dtype=np.float32),
        np.empty((len(means), n_words), dtype=np.float32),
        np.empty_like(means),
    )
    kernel.sums(u, share, means, V, laid, sums, memory, n_busy)
    kernel.add_up(laid, sums, of_contexts, n_threads)

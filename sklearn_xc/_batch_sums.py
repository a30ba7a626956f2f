"""Sums over the softmax of skip-gram for blocks of similar words, by matrix products.

A block asks the indexes once, with its mean vector. Scored for all its words are the most frequent
contexts, those named and some drawn from the others, which is a small matrix product; and for each
word those of its own contexts that are not among them.

What is drawn is noise, above all in the gradients of contexts, which most blocks do not draw. With
h(y) the softmax of the scores of the block's mean vector over the contexts that are not certain to
be scored, and r(x) the part that these have in p(.|x), p(y|x) is close to r(x) h(y).
So the sums over x of q(x) r(x) h(y) u_x are taken for all y, one product for many blocks, and only
p(y|x) - r(x) h(y) is estimated from what was drawn (a control variate: the estimate stays what it
is on average, but for that r(x) is itself estimated). The steps of the words themselves bear the
noise of fewer draws.

Blocks are dealt out to threads, and all searches of a pass are made before them: what is left for
between two rounds is little and done by one thread, since threads of OpenMP that wait for more
would stand in the way of the next round.
"""

from typing import NamedTuple

import numpy as np

from ._decomposed import chunk_bounds
from ._kernels import _skip_gram as kernel
from ._kernels import _sparse_rows as rows_kernel
from ._parallel import in_threads
from ._skip_gram import QUERIES, chances, chunk_indexes, distinct, draw
from .mips._spherical import assign, train

ITERATIONS = 3  # of the clustering that makes blocks: it only has to put similar words together
AT_ONCE = 32  # blocks, whatever the threads: sums over them are the same by any number
CONTEXTS_AT_ONCE = 4096  # that get their share of the sums over blocks
LEAST_EXPECTED = 1e-20  # of the part in the softmax that contexts not certain to be scored have
FEWER = 4  # draws for the steps of words are so many times fewer than for those of contexts


class BatchSums:
    """The most frequent contexts, those named for the block, some drawn, the word's own.

    Parameters
    ----------
    pairs : Pairs
    dim : int
    options : Options
    batch_size : int
        Words of a block.
    seed, n_threads : int
    """

    def __init__(self, pairs, dim, options, batch_size, seed, n_threads):
        self._pairs, self._options, self._seed = pairs, options, seed
        self.batch_size, self.n_threads, self.n_scored = batch_size, n_threads, 0.0
        self._bounds = chunk_bounds(dim, options.n_chunks)
        order = np.argsort(-pairs.context_share, kind="stable")
        self._frequent = np.sort(order[: options.n_frequent]).astype(np.int32)
        self._others = np.sort(order[options.n_frequent :]).astype(np.int32)
        self._chances = chances(pairs.context_share)[self._others]
        self._ends = np.cumsum(self._chances)

    def begin(self, U, V, number, parts):
        """Put the words of each part into blocks, and search the contexts for all of them.

        The vectors of a block's words do not change until it is visited.
        """
        self._number, self.n_scored = number, 0.0
        seeds = np.random.default_rng([self._seed, number]).integers(2**31, size=len(parts) + 1)
        asked = list(zip(parts, seeds[1:].tolist(), strict=True))
        parts = list(in_threads(self._blocks, asked, U, n_threads=self.n_threads))
        means = np.stack([mean for blocks in parts for _, mean in blocks])
        named = iter(self._named(means, U, V, int(seeds[0])))
        self._parts = [[(rows, mean, next(named)) for rows, mean in blocks] for blocks in parts]

    def _blocks(self, asked, U):
        """Words of similar directions together, and their mean vectors."""
        rows, seed = asked
        n_blocks = -(-len(rows) // self.batch_size)
        if n_blocks > 1 and self._options.query_size:
            centred = U[rows]
            centred -= centred.mean(axis=0)
            directions = train(centred, n_blocks, seed, 1, n_iterations=ITERATIONS)
            rows = rows[np.argsort(assign(centred, directions, 1), kind="stable")]
        # The most work first, so that no thread is left with it in the end.
        blocks = sorted(np.array_split(rows, n_blocks), key=self._pairs.count_of, reverse=True)
        return [(block, U[block].mean(axis=0)) for block in blocks]

    def _named(self, means, U, V, seed):
        """For each block the contexts that its mean asks for, beside the most frequent."""
        options, n_others = self._options, len(self._others)
        n = min(options.query_size, n_others)
        if not n:
            return [np.empty(0, dtype=np.int32)] * len(means)
        indexes = chunk_indexes(options, self._bounds, n_others, seed, self.n_threads)
        queries = U[np.random.default_rng(seed).permutation(len(U))[:QUERIES]]
        found = indexes.build(V[self._others], queries).candidates(means, n)
        return [self._others[np.unique(ids[ids >= 0])] for ids in found.reshape(len(means), -1)]

    def visit(self, part, rows, step, U, V, of_contexts):
        """Have some words step, and add up the gradient of contexts, block after block."""
        blocks = self._parts[part]
        for i in range(0, len(blocks), AT_ONCE):
            rows, means, named = zip(*blocks[i : i + AT_ONCE], strict=True)
            expected = np.stack(means) @ V.T
            seeds = [[self._seed, self._number, part, i + j] for j in range(len(rows))]
            asked = list(zip(rows, named, expected, seeds, strict=True))
            sums = []
            for block, own, *of_block, sum_expected in in_threads(
                self._visit, asked, step, V, n_threads=self.n_threads
            ):
                add_to_contexts(block, own, *of_block, of_contexts)
                sums.append(sum_expected)
                self.n_scored += (len(block.rows) * len(block.shared) + len(own.ids)) / len(U)
            sums = np.stack(sums)
            for start in range(0, len(V), CONTEXTS_AT_ONCE):
                here = slice(start, start + CONTEXTS_AT_ONCE)
                of_contexts[here] += expected[:, here].T @ sums

    def _visit(self, asked, step, V):
        rows, named, expected, seed = asked
        block = Block(rows, *self._shared(named, np.random.default_rng(seed)))
        expected -= expected.max()  # scores yet
        np.exp(expected, out=expected)
        expected[block.shared[: block.n_certain]] = 0
        total = expected.sum()
        expected *= 1 / total if total > LEAST_EXPECTED else 0
        return visit_block(block, expected, self._pairs, step, V)

    def _shared(self, named, rng):
        """What is scored for all words of a block: the fields of `Block` after the first."""
        certain = np.append(self._frequent, named).astype(np.int32)
        none = np.zeros(len(certain), dtype=np.float32)
        if not len(self._others):
            return certain, len(certain), none, none
        n = self._options.n_sampled
        n_few = -(-n // FEWER)
        few, more = (draw(rng, self._ends, size) for size in (n_few, n - n_few))
        left = np.ones(self._pairs.n_words, dtype=bool)
        left[named] = False
        places, weight = self._not_certain(np.append(few, more), left)
        few, few_weight = self._not_certain(few, left)
        order = np.argsort(~np.isin(places, few, assume_unique=True), kind="stable")  # few first
        return (
            np.append(certain, self._others[places[order]]), len(certain),
            np.append(none, weight[order]).astype(np.float32),
            np.append(none, few_weight).astype(np.float32),
        )  # fmt: skip

    def _not_certain(self, drawn, left):
        """The distinct places drawn of contexts that are left, and the logarithms of weights.

        Those that are certain anyway stand for nothing else.
        """
        places, log_times = distinct(drawn, self._chances)
        kept = left[self._others[places]]
        return places[kept], log_times[kept]


class Block(NamedTuple):
    """Words that are scored together.

    Attributes
    ----------
    rows : ndarray of int
        The words.
    shared : ndarray of int32
        Contexts scored for all; the first `n_certain` are certain, the others drawn.
    n_certain : int
    weight : ndarray of float32
        The logarithms of how many contexts each of `shared` stands for.
    few_weight : ndarray of float32
        The same for the first of `shared`, when only they are scored.
    """

    rows: np.ndarray
    shared: np.ndarray
    n_certain: int
    weight: np.ndarray
    few_weight: np.ndarray


def visit_block(block, expected, pairs, step, V):
    """The step of some words.

    Parameters
    ----------
    block : Block
    expected : ndarray of float32 (n_words,)
        h(y), zero for contexts that are certain to be scored; their sum is 1, or 0.
    pairs : Pairs
    step : callable
    V : ndarray of float32 (n_words, dim)

    Returns
    -------
    block : Block
    own : OwnContexts
    of_shared : ndarray of float32 (n_shared, dim)
        The sums of q(x) (p(y|x) - r(x) h(y) - q(y|x)) u_x for the shared contexts.
    own_differences, weighted : ndarray of float32 (n_own,), (n_rows, dim)
        p(y|x) - r(x) h(y) - q(y|x) of the words' own contexts, and q(x) u_x.
    sum_expected : ndarray of float32 (dim,)
        The sum of q(x) r(x) u_x.
    """
    vectors, own = V[block.shared], OwnContexts(pairs, block)
    few = vectors[: len(block.few_weight)]

    def gradient(u):
        differences, own_differences = own.differences(u, V, few, block.few_weight)
        return differences @ few + own.sum_of_contexts(own_differences, V)

    u, share = step(block.rows, gradient)
    differences, own_differences = own.differences(u, V, vectors, block.weight)
    weighted = share[:, None] * u
    of_shared = differences.T @ weighted
    # What was drawn stands for r(x) h(y) as well, but not for the own contexts of a word.
    drawn = slice(block.n_certain, None)
    ratio = differences[:, drawn].sum(axis=1)
    sum_expected = ratio @ weighted
    stood_for = expected[block.shared] * np.exp(block.weight)
    of_shared[drawn] -= np.outer(stood_for[drawn], sum_expected)
    own_differences += ratio[own.rows] * (own.where_drawn(stood_for) - expected[own.ids])
    return block, own, of_shared, own_differences, weighted, sum_expected


def add_to_contexts(block, own, of_shared, own_differences, weighted, of_contexts):
    """What `visit_block` found, to the sums of all contexts."""
    n = len(block.shared)
    one, places = np.ones(n, dtype=np.float32), np.arange(n, dtype=np.int32)
    kernel.add_rows(block.shared, one, places, of_shared, of_contexts, 1)
    kernel.add_rows(own.ids, own_differences, own.rows, weighted, of_contexts, 1)


class OwnContexts:
    """The contexts of words that are not certain to be scored for all of their block.

    Parameters
    ----------
    pairs : Pairs
    block : Block
    """

    def __init__(self, pairs, block):
        shared = block.shared
        place = np.full(pairs.n_words, -1, dtype=np.int32)
        place[shared] = np.arange(len(shared), dtype=np.int32)
        n, n_pairs = len(block.rows), int(pairs.count_of(block.rows))
        indptr, of_certain = np.empty((2, n + 1), dtype=np.int64)
        rows, ids, drawn, places = np.empty((4, n_pairs), dtype=np.int32)
        share, share_of_certain = np.empty((2, n_pairs), dtype=np.float32)
        kernel.split_contexts(
            block.rows, pairs.indptr, pairs.ids, pairs.share, place, block.n_certain,
            indptr, rows, ids, share, drawn, of_certain, places, share_of_certain,
        )  # fmt: skip
        n_own, n_certain = int(indptr[-1]), int(of_certain[-1])
        self.rows, self.ids = rows[:n_own], ids[:n_own]
        # An own context that was drawn, too, is scored on its own, hence not as drawn.
        self._own = indptr, self.ids, share[:n_own], drawn[:n_own]
        self._certain = of_certain, places[:n_certain], share_of_certain[:n_certain]

    def differences(self, u, V, vectors, weight):
        """p(y|x) - q(y|x) of the first shared contexts (n, n_first), and of the own, one by one.

        Parameters
        ----------
        u : ndarray of float32 (n, dim)
        V : ndarray of float32 (n_words, dim)
        vectors, weight : ndarray of float32 (n_first, dim), (n_first,)
            Those certain at least, and any number of those drawn.
        """
        z = u @ vectors.T
        own = np.empty(len(self.ids), dtype=np.float32)
        kernel.block_differences(u, V, z, weight, *self._own, *self._certain, own)
        return z, own

    def where_drawn(self, of_shared):
        """A value of each shared context for the own ones that were drawn, 0 for others."""
        drawn = self._own[3]
        return np.where(drawn >= 0, of_shared[drawn], np.float32(0))

    def sum_of_contexts(self, differences, V):
        indptr = self._own[0]
        out = np.empty((len(indptr) - 1, V.shape[1]), dtype=np.float32)
        rows_kernel.combine(self.ids, differences, indptr[:-1], np.diff(indptr), False, V, out, 1)
        return out

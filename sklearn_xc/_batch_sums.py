"""Sums over the softmax of skip-gram for blocks of similar words, by matrix products.

A block asks the indexes once, with its mean vector. Scored for all its words are the most frequent
contexts, those named and some drawn from the others, which is a small matrix product; and for each
word those of its own contexts that are not among them.

Blocks are dealt out to threads. What is done between two rounds of them is done by one: it is
little, and threads of OpenMP that wait for more would stand in the way of the next round.
"""

from typing import NamedTuple

import numpy as np

from ._decomposed import chunk_bounds
from ._kernels import _skip_gram as kernel
from ._kernels import _sparse_rows as rows_kernel
from ._parallel import run_blocks
from ._skip_gram import QUERIES, chances, chunk_indexes, draw
from .mips._spherical import assign, train

ITERATIONS = 3  # of the clustering that makes blocks: it only has to put similar words together
AT_ONCE = 8  # blocks of each thread whose sums are kept until the last is done


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
        self._chances = chances(pairs.context_share)

    def begin(self, U, V, number):
        """Index the contexts."""
        self._number, self.n_scored = number, 0.0
        options, n_others = self._options, len(self._others)
        if not min(options.query_size, n_others):
            return
        rng = np.random.default_rng([self._seed, number])
        seed = int(rng.integers(2**31))
        indexes = chunk_indexes(options, self._bounds, n_others, seed, self.n_threads)
        queries = U[np.sort(rng.permutation(len(U))[:QUERIES])]
        self._indexes = indexes.build(V[self._others], queries)

    def visit(self, rows, step, U, V, of_contexts):
        """Have some words step, and add up the gradient of contexts, block after block."""
        seed = [self._seed, self._number, rows[0]]
        blocks = self._blocks(rows, U, int(np.random.default_rng(seed).integers(2**31)))
        named = self._named(np.stack([U[block].mean(axis=0) for block in blocks]))
        seeds = [(*seed, i) for i in range(len(blocks))]
        asked = list(zip(blocks, named, seeds, strict=True))
        for i in range(0, len(asked), AT_ONCE * self.n_threads):
            some = asked[i : i + AT_ONCE * self.n_threads]
            found = run_blocks(self._visit, some, step, V, n_jobs=self.n_threads, one_by_one=True)
            for block, own, *sums in found:
                add_to_contexts(block, own, *sums, of_contexts)
                self.n_scored += (len(block.rows) * len(block.shared) + len(own.ids)) / len(U)

    def _visit(self, asked, step, V):
        rows, named, seed = asked
        block = Block(rows, *self._shared(named, np.random.default_rng(seed)))
        return visit_block(block, self._pairs, step, V)

    def _blocks(self, rows, U, seed):
        """Words of similar directions together."""
        n_blocks = -(-len(rows) // self.batch_size)
        if n_blocks > 1 and self._options.query_size:
            centred = U[rows]
            centred -= centred.mean(axis=0)
            directions = train(centred, n_blocks, seed, 1, n_iterations=ITERATIONS)
            rows = rows[np.argsort(assign(centred, directions, 1), kind="stable")]
        blocks = np.array_split(rows, n_blocks)
        # The most work first, so that no thread is left with it in the end.
        return sorted(blocks, key=self._pairs.count_of, reverse=True)

    def _named(self, means):
        """For each block the contexts that its mean asks for, beside the most frequent."""
        n = min(self._options.query_size, len(self._others))
        if not n:
            return [np.empty(0, dtype=np.int32)] * len(means)
        found = self._indexes.candidates(means, n).reshape(len(means), -1)
        return [self._others[np.unique(ids[ids >= 0])] for ids in found]

    def _shared(self, named, rng):
        """Contexts for all words of a block, how many are certain, the logarithms of weights."""
        certain = np.append(self._frequent, named).astype(np.int32)
        left = np.zeros(self._pairs.n_words, dtype=bool)
        left[self._others] = True
        left[named] = False
        others = np.flatnonzero(left).astype(np.int32)
        places, log_times = np.empty(0, dtype=np.int64), np.empty(0)
        if len(others):
            places, log_times = draw(rng, self._chances[others], self._options.n_sampled)
        weight = np.append(np.zeros(len(certain)), log_times).astype(np.float32)
        return np.append(certain, others[places]), len(certain), weight


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
    """

    rows: np.ndarray
    shared: np.ndarray
    n_certain: int
    weight: np.ndarray


def visit_block(block, pairs, step, V):
    """The step of some words.

    Returns
    -------
    block : Block
    own : OwnContexts
    of_shared : ndarray of float32 (n_shared, dim)
        The sums of q(x) (p(y|x) - q(y|x)) u_x for the shared contexts.
    own_differences, weighted : ndarray of float32 (n_own,), (n_rows, dim)
        p(y|x) - q(y|x) of the words' own contexts, and q(x) u_x.
    """
    vectors, own = V[block.shared], OwnContexts(pairs, block)

    def gradient(u):
        differences, own_differences = own.differences(u, V, vectors)
        return differences @ vectors + own.sum_of_contexts(own_differences, V)

    u, share = step(block.rows, gradient)
    differences, own_differences = own.differences(u, V, vectors)
    weighted = share[:, None] * u
    return block, own, differences.T @ weighted, own_differences, weighted


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
        self._weight = block.weight

    def differences(self, u, V, vectors):
        """p(y|x) - q(y|x) of the shared contexts (n, n_shared), and of the others, one by one."""
        z = u @ vectors.T
        own = np.empty(len(self.ids), dtype=np.float32)
        kernel.block_differences(u, V, z, self._weight, *self._own, *self._certain, own)
        return z, own

    def sum_of_contexts(self, differences, V):
        indptr = self._own[0]
        out = np.empty((len(indptr) - 1, V.shape[1]), dtype=np.float32)
        rows_kernel.combine(self.ids, differences, indptr[:-1], np.diff(indptr), False, V, out, 1)
        return out

"""Sums over the softmax of skip-gram for blocks of similar words, by matrix products.

A block asks the indexes once, with its mean vector. Scored for all its words are the most frequent
contexts, those named and some drawn from the others, which is a small matrix product; and for each
word those of its own contexts that are not among them.
"""

import numpy as np

from ._decomposed import chunk_bounds
from ._kernels import _skip_gram as kernel
from ._kernels import _sparse_rows as rows_kernel
from ._parallel import run_blocks
from ._skip_gram import chunk_indexes
from .mips._spherical import assign, train


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

    def visit_all(self, visit, U, V, number, of_contexts):
        """Have all blocks visited, and add the sums of contexts in their order."""
        self.n_scored = 0.0
        rng = np.random.default_rng([self._seed, number])
        blocks = self._blocks(U, int(rng.integers(2**31)))
        means = np.stack([U[rows].mean(axis=0) for rows in blocks])
        named = self._named(V, means, int(rng.integers(2**31)))
        work = [
            (rows, *self._shared(ids, [self._seed, number, i]))
            for i, (rows, ids) in enumerate(zip(blocks, named, strict=True))
        ]
        for i in range(0, len(work), self.n_threads):
            some = work[i : i + self.n_threads]
            for parts in run_blocks(
                visit_block, some, self._pairs, visit, V, n_jobs=self.n_threads
            ):
                for ids, sums, n in parts:
                    of_contexts[ids] += sums
                    self.n_scored += n / len(U)

    def _blocks(self, U, seed):
        """Words of similar directions together."""
        n_blocks = -(-len(U) // self.batch_size)
        if n_blocks == 1 or not self._options.query_size:
            return np.array_split(np.arange(len(U)), n_blocks)
        centred = U - U.mean(axis=0)
        directions = train(centred, n_blocks, seed, self.n_threads)
        order = np.argsort(assign(centred, directions, self.n_threads), kind="stable")
        return np.array_split(order, n_blocks)

    def _named(self, V, means, seed):
        """For each block the contexts that its mean asks for, beside the most frequent."""
        options, n_others = self._options, len(self._others)
        n = min(options.query_size, n_others)
        if not n:
            return [np.empty(0, dtype=np.int32)] * len(means)
        indexes = chunk_indexes(options, self._bounds, n_others, seed, self.n_threads)
        indexes.build(V[self._others], means)
        found = indexes.candidates(means, n).reshape(len(means), -1)
        return [self._others[np.unique(ids[ids >= 0])] for ids in found]

    def _shared(self, named, seed):
        """Contexts for all words of a block, how many are certain, the logarithms of weights."""
        certain = np.append(self._frequent, named).astype(np.int32)
        others = np.setdiff1d(self._others, named, assume_unique=True)
        n = self._options.n_sampled
        ids, times = np.empty(0, dtype=np.int64), np.empty(0)
        if len(others):
            drawn = np.random.default_rng(seed).integers(len(others), size=n)
            ids, times = np.unique(drawn, return_counts=True)
        weight = np.log(np.append(np.ones(len(certain)), times * (len(others) / n)))
        return np.append(certain, others[ids]), len(certain), weight.astype(np.float32)


def visit_block(work, pairs, visit, V):
    """The sums for some words, their step, and what they add to the contexts."""
    rows, shared, n_certain, weight = work
    vectors, means = V[shared], pairs.means_of_contexts(V, rows)
    own = OwnContexts(pairs, rows, shared, n_certain)

    def expected(u):
        p, p_own = own.softmax(u, V, vectors, weight)
        return p @ vectors + own.sum_of_contexts(p_own, V)

    u, share = visit(rows, means, expected)
    p, p_own = own.softmax(u, V, vectors, weight)
    weighted = share[:, None] * u
    n = p.size + len(p_own)
    return (shared, p.T @ weighted, n), (*own.sum_of_words(p_own, weighted), 0)


class OwnContexts:
    """The contexts of words that are not certain to be scored for all of their block.

    Parameters
    ----------
    pairs : Pairs
    rows : ndarray of int
        The words.
    shared : ndarray of int32
        Contexts scored for all; the first `n_certain` are certain, the others drawn.
    n_certain : int
    """

    def __init__(self, pairs, rows, shared, n_certain):
        place = np.full(pairs.n_words, -1, dtype=np.int32)
        place[shared] = np.arange(len(shared), dtype=np.int32)
        begin = pairs.indptr[rows]
        count = pairs.indptr[rows + 1] - begin
        numbers = np.repeat(np.arange(len(rows), dtype=np.int32), count)
        starts = np.cumsum(count) - count
        entries = np.arange(len(numbers)) + np.repeat(begin - starts, count)
        ids = pairs.ids[entries]
        at = place[ids]
        left = (at < 0) | (at >= n_certain)
        drawn = at >= n_certain
        self.ids, self.rows = ids[left], numbers[left]
        self._drawn = numbers[drawn], at[drawn]  # scored on their own, hence not as drawn
        self.count = np.bincount(self.rows, minlength=len(rows)).astype(np.int64)
        self.begin = np.cumsum(self.count) - self.count

    def softmax(self, u, V, vectors, weight):
        """Probabilities of the shared contexts (n, n_shared), and of the others, one by one."""
        z = u @ vectors.T
        z += weight
        z[self._drawn] = -np.inf
        own = np.empty(len(self.ids), dtype=np.float32)
        kernel.score_pairs(u, V, self.rows, self.ids, own)
        top = z.max(axis=1)
        np.maximum.at(top, self.rows, own)
        z -= top[:, None]
        np.exp(z, out=z)
        own = np.exp(own - top[self.rows])
        total = z.sum(axis=1, dtype=np.float64)
        total += np.bincount(self.rows, own, minlength=len(u))
        factor = (1 / total).astype(np.float32)
        z *= factor[:, None]
        return z, own * factor[self.rows]

    def sum_of_contexts(self, p, V):
        out = np.empty((len(self.count), V.shape[1]), dtype=np.float32)
        rows_kernel.combine(self.ids, p, self.begin, self.count, False, V, out, 1)
        return out

    def sum_of_words(self, p, weighted):
        """Contexts, distinct, and the sums of p times the weighted vectors of their words."""
        order = np.argsort(self.ids, kind="stable")
        ids, begin, count = np.unique(self.ids[order], return_index=True, return_counts=True)
        out = np.empty((len(ids), weighted.shape[1]), dtype=np.float32)
        rows_kernel.combine(
            self.rows[order], p[order], begin.astype(np.int64), count.astype(np.int64), False,
            weighted, out, 1,
        )  # fmt: skip
        return ids, out

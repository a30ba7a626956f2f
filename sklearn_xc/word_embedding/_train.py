"""The collapsed skip-gram objective and passes of alternating gradient steps on it.

With q(x) the share of pairs whose word is x, and q(y|x) the share of those whose context is y,

    F(U, V) = sum_x q(x) sum_y q(y|x) (log sum_y' exp <v_y', u_x> - <v_y, u_x>)

(eq. 9 of the LDGS paper). Its gradients are, with p the softmax of the scores,

    q(x) (sum_y p(y|x) v_y - sum_y q(y|x) v_y)   in u_x and
    sum_x q(x) (p(y|x) - q(y|x)) u_x             in v_y.

The sums over p are what a gradient costs; the classes here know how to estimate them.
"""

from typing import NamedTuple

import numpy as np

from .._kernels.common._pace import Pace
from .._kernels.ldgs import _row_updates as rows_kernel
from .._kernels.word_embedding import _adagrad as adagrad_kernel
from .._kernels.word_embedding import _block_softmax as blocks_kernel
from .._kernels.word_embedding import _negative_sampling as kernel
from ..ldgs._candidate_gradients import (
    ChunkIndexes,
    Positives,
    chunk_bounds,
    scratch_places,
    set_gradients,
)
from ..utils._parallel import in_threads, single_threaded_blas
from ..utils._random import stream

QUERIES = 256  # words that stand for all when indexes are built
ASKED = 4096  # words whose contexts are searched for together
SPARE = 1.5  # clusters are read that hold so many times the words asked for


class Pairs:
    """Shares of words and contexts in all pairs.

    Parameters
    ----------
    counts : csr_array of float (n_words, n_words)
        Not negative, with a positive sum; sorted indices.

    Attributes
    ----------
    word_share, context_share : ndarray of float64 (n_words,)
        q(x), and the same of contexts.
    indptr, ids, share : ndarrays of int64, int32 and float32
        q(y|x), row by row.
    """

    def __init__(self, counts):
        sums = np.asarray(counts.sum(axis=1)).ravel()
        total = sums.sum()
        self.n_words = counts.shape[0]
        self.word_share = sums / total
        self.context_share = np.asarray(counts.sum(axis=0)).ravel() / total
        self.indptr = counts.indptr.astype(np.int64)
        self.ids = counts.indices.astype(np.int32, copy=False)
        per_row = np.repeat(np.maximum(sums, np.finfo(float).tiny), np.diff(counts.indptr))
        self.share = (counts.data / per_row).astype(np.float32)

    def count_of(self, rows):
        """How many pairs some words have."""
        return (self.indptr[rows + 1] - self.indptr[rows]).sum()

    def of(self, rows):
        """The pairs of some words: an OwnPairs."""
        begin = self.indptr[rows]
        count = self.indptr[rows + 1] - begin
        ends = np.cumsum(count)
        numbers = np.repeat(np.arange(len(rows), dtype=np.int32), count)
        entries = np.arange(len(numbers)) + np.repeat(begin - ends + count, count)
        return OwnPairs(numbers, self.ids[entries], self.share[entries], np.append(0, ends))

    def of_contexts(self, V, rows, n_threads=1):
        """sum_y q(y|x) v_y of some words, float32 (len(rows), dim)."""
        out = np.empty((len(rows), V.shape[1]), dtype=np.float32)
        begin = self.indptr[rows]
        count = self.indptr[rows + 1] - begin
        rows_kernel.combine(self.ids, self.share, begin, count, False, V, out, n_threads)
        return out


class OwnPairs(NamedTuple):
    """The pairs of the words of a block.

    Attributes
    ----------
    rows, ids : ndarray of int32 (n_pairs,)
        The place of the word in the block, in rising order, and the context.
    share : ndarray of float32 (n_pairs,)
        q(y|x).
    indptr : ndarray of int64 (n_rows + 1,)
    """

    rows: np.ndarray
    ids: np.ndarray
    share: np.ndarray
    indptr: np.ndarray


def objective(pairs, U, V, batch_size, n_threads):
    """F(U, V), evaluated block by block.

    Parameters
    ----------
    pairs : Pairs
    U, V : ndarray of float32 (n_words, dim)
    batch_size : int
        Words of a block, which takes ``4 * batch_size * n_words`` bytes a thread.
    n_threads : int

    Returns
    -------
    value : float
    """
    blocks = blocks_of(np.arange(pairs.n_words), batch_size)
    with single_threaded_blas():
        parts = in_threads(_objective_of_block, blocks, pairs, U, V, n_threads=n_threads)
        return float(sum(parts))


def blocks_of(rows, batch_size):
    return [rows[i : i + batch_size] for i in range(0, len(rows), batch_size)]


def _objective_of_block(rows, pairs, U, V):
    u = U[rows]
    log_normaliser = softmax(u @ V.T)
    own = np.einsum("ij,ij->i", pairs.of_contexts(V, rows), u, dtype=np.float64)
    share = pairs.word_share[rows]
    return share @ np.where(share > 0, log_normaliser - own, 0)


def softmax(z):
    """The logarithm of the sum of exp(z) of each row; OUT z: each divided by it."""
    top = z.max(axis=1, keepdims=True)
    z -= top
    np.exp(z, out=z)
    total = z.sum(axis=1, dtype=np.float64)
    z /= total[:, None].astype(np.float32)
    return np.log(total) + top.ravel()


# ---------------------------------------------------------------------- sums over the softmax


class ExactSums:
    """All words: matrix products, a block of words for each thread.

    Parameters
    ----------
    pairs : Pairs
    batch_size, n_threads : int
    """

    def __init__(self, pairs, batch_size, n_threads):
        self._pairs, self.batch_size = pairs, batch_size
        self.n_scored, self.n_threads = float(pairs.n_words), n_threads

    def begin(self, U, V, number, parts):
        """Get ready for a pass, of that number and over these parts."""

    def visit(self, part, rows, step, U, V, of_contexts):
        """Have some words step, and add up the gradient of contexts, block after block.

        Parameters
        ----------
        part : int
            The number of the part.
        rows : ndarray of int
            Its words.
        step : callable
            ``step(rows, gradient)`` with some of the words and a function that gives the sums of
            (p(y|x) - q(y|x)) v_y for their vectors. Returns new vectors and the shares of the
            words.
        U, V : ndarray of float32 (n_words, dim)
        of_contexts : ndarray of float32 (n_words, dim)
            The sums of q(x) (p(y|x) - q(y|x)) u_x are added.
        """
        blocks = blocks_of(rows, self.batch_size)
        ahead = self.n_threads + 1  # sums as large as V wait to be added: more take memory only
        for sums in in_threads(
            _exact_block, blocks, self._pairs, step, V, n_threads=self.n_threads, n_ahead=ahead
        ):
            of_contexts += sums


def _exact_block(rows, pairs, step, V):
    own = pairs.of(rows)

    def differences(u):
        z = u @ V.T
        blocks_kernel.exact_differences(z, own.indptr, own.ids, own.share)
        return z

    u, share = step(rows, lambda u: differences(u) @ V)
    return differences(u).T @ (share[:, None] * u)


class Options(NamedTuple):
    """What the search for contexts of large probability depends on.

    Attributes
    ----------
    n_chunks, n_message_passes : int
    query_size : int
        Words named in each chunk; 0 for none.
    index : {"spherical", "hnsw", "exact"}
    n_centroids : int
    unretrieved : {"sampled", "zero", "exclude"}
        What stands for words that are not named.
    n_frequent : int
        With "sampled", so many of the most frequent contexts are in every sum.
    n_sampled : int
        Words drawn from the others for a block of rows.
    tau : float
    """

    n_chunks: int
    n_message_passes: int
    query_size: int
    index: str
    n_centroids: int
    unretrieved: str
    n_frequent: int
    n_sampled: int
    tau: float


def chances(context_share):
    """How likely contexts are to be drawn, up to a factor: as the roots of their frequencies.

    Between drawing as likely as scores are large, which is best for each sum over the softmax,
    and equally, which gives rare contexts their gradients.
    """
    return np.sqrt(np.maximum(context_share, 0.1 / len(context_share) ** 2))


def draw(rng, ends, n):
    """Ascending places, n with repetitions, drawn by chances whose sums are given.

    They lie at equal distances along the sum of all (systematic sampling).
    """
    found = np.searchsorted(ends, ends[-1] * ((np.arange(n) + rng.random()) / n), side="right")
    return np.minimum(found, len(ends) - 1)


def distinct(drawn, chance):
    """The distinct places of those drawn, and the logarithms of how many each stands for.

    A sum of exp(log_times) f over the places is an unbiased estimate of that of f over all.
    """
    places, times = np.unique(drawn, return_counts=True)
    return places, np.log(times * chance.sum() / (len(drawn) * chance[places]))


def chunk_indexes(options, bounds, n_rows, seed, n_threads):
    """Indexes of chunks of so many rows, not built yet; clusters enough for a query are read."""
    n_centroids = min(options.n_centroids, n_rows)
    n_probes = 1 + int(SPARE * min(options.query_size, n_rows) * n_centroids / n_rows)
    return ChunkIndexes(
        options.index, bounds, n_centroids=n_centroids, n_probes=min(n_probes, n_centroids),
        seed=seed, n_jobs=n_threads,
    )  # fmt: skip


class NamedSums:
    """The contexts of the pairs, those that searches name, and some drawn for all others.

    Parameters
    ----------
    pairs : Pairs
    dim : int
    options : Options
    batch_size, seed, n_threads : int
    """

    def __init__(self, pairs, dim, options, batch_size, seed, n_threads):
        self._pairs, self._options, self._seed = pairs, options, seed
        self.batch_size, self.n_threads, self.n_scored = batch_size, n_threads, 0.0
        self._bounds = chunk_bounds(dim, options.n_chunks)
        self._pace = Pace(n_threads)
        self._places = scratch_places(n_threads, pairs.n_words)
        self._place, self._place_of_draw = (
            np.full(pairs.n_words, -1, dtype=np.int32) for _ in range(2)
        )
        order = np.argsort(-pairs.context_share, kind="stable")
        n_frequent = options.n_frequent if options.unretrieved == "sampled" else 0
        self._frequent = np.sort(order[:n_frequent])
        self._others = np.sort(order[n_frequent:]).astype(np.int32)
        self._chances = chances(pairs.context_share)[self._others]

    def begin(self, U, V, number, parts):
        """Index the contexts."""
        self._number, self.n_scored = number, 0.0
        options, n_others = self._options, len(self._others)
        if not min(options.query_size, n_others):
            return
        rng = stream(self._seed, "index", number)
        seed = int(rng.integers(2**31))
        indexes = chunk_indexes(options, self._bounds, n_others, seed, self.n_threads)
        queries = U[np.sort(rng.permutation(len(U))[:QUERIES])]
        self._indexes = indexes.build(V[self._others], queries)

    def visit(self, part, rows, step, U, V, of_contexts):
        """Visit all blocks in turn; the kernels share the rows of a block among threads."""
        for some in blocks_of(rows, max(1, ASKED // self.batch_size) * self.batch_size):
            retrieved = self._retrieve(U[some])
            for start in range(0, len(some), self.batch_size):
                part = slice(start, start + self.batch_size)
                with self._pace.on(len(some[part])):
                    self._visit(some[part], retrieved[part], step, V, of_contexts)

    def _visit(self, rows, named, step, V, of_contexts):
        draws = self._draw(V, rows[0])
        own = self._pairs.of(rows)
        means = self._pairs.of_contexts(V, rows, self.n_threads)

        def gradient(u):
            return self._expected(*self._probabilities(u, V, own, named, draws, means), V) - means

        u, share = step(rows, gradient)
        sets, p, drawn, _ = self._probabilities(u, V, own, named, draws, means)
        self._add_to_contexts(sets, p, share, u, of_contexts)
        weighted = share[:, None] * u
        kernel.add_rows(own.ids, -own.share, own.rows, weighted, of_contexts, self.n_threads)
        if draws is not None:
            of_contexts[draws[0]] += drawn.T @ weighted
        self.n_scored += (sets.n_scored.sum() + drawn.size) / self._pairs.n_words

    def _retrieve(self, u):
        """The words that the searches name, int32 (n_rows, n_chunks, n)."""
        n_chunks, n = self._options.n_chunks, min(self._options.query_size, len(self._others))
        if not n:
            return np.empty((len(u), n_chunks, 0), dtype=np.int32)
        found = self._indexes.candidates(u, n)
        return np.ascontiguousarray(np.where(found < 0, np.int32(-1), self._others[found]))

    def _draw(self, V, start):
        """Distinct words drawn, the logarithms of how many each stands for, their vectors."""
        if self._options.unretrieved != "sampled":
            return None
        places, log_times = np.empty(0, dtype=np.int64), np.empty(0)
        if len(self._others):
            rng = stream(self._seed, "contexts", self._number, start)
            drawn = draw(rng, np.cumsum(self._chances), self._options.n_sampled)
            places, log_times = distinct(drawn, self._chances)
        weight = np.append(np.zeros(len(self._frequent)), log_times)
        ids = np.append(self._frequent, self._others[places])
        return ids, weight.astype(np.float32), V[ids]

    def _probabilities(self, u, V, own, retrieved, draws, means):
        """Of the words in the sets, padded, and of those drawn: they sum to 1."""
        positives = Positives(own.indptr, own.ids, own.share)
        options, bounds = self._options, self._bounds
        if not options.n_message_passes:  # no chunk's score is needed by itself
            bounds, retrieved = bounds[[0, -1]], retrieved.reshape(len(u), 1, -1)
        sets = set_gradients(
            V, u, bounds, retrieved, positives, "cross_entropy",
            n_message_passes=options.n_message_passes, tau=options.tau,
            zero_rest=options.unretrieved == "zero", n_threads=self.n_threads,
            places=self._places,
        )  # fmt: skip
        p = sets.values
        # The gradient of a positive is p(y|x) - q(y|x), and positives stand first.
        columns = np.arange(len(own.rows)) - own.indptr[own.rows]
        p[own.rows, columns] += own.share
        if draws is None:
            return sets, p, np.empty((len(u), 0), dtype=np.float32), draws
        mean_scores = np.einsum("ij,ij->i", means, u, dtype=np.float64)
        of_set = sets.losses + mean_scores  # log of the sum over the set
        ids, weight, vectors = draws
        z = u @ vectors.T
        z += weight
        self._place_of_draw[ids] = np.arange(len(ids), dtype=np.int32)
        kernel.mark_found(sets.ids, sets.counts, self._place_of_draw, z, -np.inf)
        self._place_of_draw[ids] = -1
        top = np.maximum(of_set, z.max(axis=1))
        z -= top[:, None].astype(np.float32)
        np.exp(z, out=z)
        total = np.exp(of_set - top) + z.sum(axis=1, dtype=np.float64)
        z /= total[:, None].astype(np.float32)
        p *= (np.exp(of_set - top) / total)[:, None].astype(np.float32)
        return sets, p, z, draws

    def _expected(self, sets, p, drawn, draws, V):
        """sum_y p(y|x) v_y."""
        out = np.empty((len(p), V.shape[1]), dtype=np.float32)
        begin = np.arange(len(p), dtype=np.int64) * p.shape[1]
        rows_kernel.combine(
            sets.ids.ravel(), p.ravel(), begin, sets.counts, False, V, out, self.n_threads
        )
        if draws is not None:
            out += drawn @ draws[2]
        return out

    def _add_to_contexts(self, sets, p, weight, u, of_contexts):
        """of_contexts[y] += sum_x weight_x p(y|x) u_x over the sets."""
        n_entries = int(sets.counts.sum())
        n_touched = min(n_entries, len(of_contexts))
        touched, starts = np.empty(n_touched, np.int32), np.empty(n_touched + 1, np.int64)
        rows, values = np.empty(n_entries, np.int32), np.empty(n_entries, np.float32)
        begin = np.arange(len(p), dtype=np.int64) * p.shape[1]
        n_touched = rows_kernel.group(
            sets.ids.ravel(), p.ravel(), begin, sets.counts, False, weight, self._place,
            touched, starts, rows, values,
        )  # fmt: skip
        starts = starts[: n_touched + 1]
        sums = np.empty((n_touched, u.shape[1]), dtype=np.float32)
        rows_kernel.combine(
            rows, values, starts[:-1], np.diff(starts), False, u, sums, self.n_threads
        )
        of_contexts[touched[:n_touched]] += sums


# -------------------------------------------------------------------------------------- steps


class Adagrad:
    """Steps against a gradient, scaled coordinate by coordinate (Duchi, Hazan and Singer).

    Words differ in the curvature of their terms by orders of magnitude, which plain steps of one
    length would have to be short enough for.

    Parameters
    ----------
    shape : tuple
        Of the matrix to be changed; one more of that shape is kept.
    n_threads : int, default=1
        For changes of all rows.
    """

    def __init__(self, shape, n_threads=1):
        self._squares, self._n_threads = np.zeros(shape, dtype=np.float32), n_threads

    def step(self, M, gradient, rows, factor, rate):
        """Change M[rows], or all of M for None, against its gradient, row by row times a factor."""
        n_threads = self._n_threads if rows is None else 1
        adagrad_kernel.step(M, self._squares, gradient, rows, factor, rate, n_threads)


class SkipGram:
    """Embeddings, and passes of alternating steps on them.

    A pass deals the words out to some parts, at random. It visits part after part, and the words of
    a part block by block: sums over the softmax, a step of the embeddings of the words, then with
    these the sums for the contexts, whose embeddings take a step when all of the part are done.
    Gradients are divided by q(x), and by q(y): the step of a rare word is as long as that of a
    frequent one.

    Parameters
    ----------
    pairs : Pairs
    U, V : ndarray of float32 (n_words, dim)
        Changed in place.
    sums : ExactSums, NamedSums or BatchSums
    n_parts : int, default=1
        Steps of the contexts in a pass.
    seed : int, default=0
    """

    def __init__(self, pairs, U, V, sums, n_parts=1, seed=0):
        self.pairs, self.U, self.V, self.sums = pairs, U, V, sums
        self._steps = Adagrad(U.shape), Adagrad(V.shape, sums.n_threads)
        self._gradient = np.empty_like(V)
        self.n_passes, self._n_parts, self._seed = 0, n_parts, seed

    def iterate(self, rate):
        """One pass; `rate` is a function of the passes made, which are not whole inside a pass."""
        for _ in self.parts(rate):
            pass

    def parts(self, rate):
        """The same part by part: yields, after each, how many passes have been made."""
        number, n_parts = self.n_passes, self._n_parts
        self.n_passes += 1
        order = stream(self._seed, "order", number).permutation(self.pairs.n_words)
        with single_threaded_blas():  # once, not with every block
            parts = [np.sort(order[part::n_parts]) for part in range(n_parts)]
            self.sums.begin(self.U, self.V, self.n_passes, parts)
            for part, rows in enumerate(parts):
                self._visit(part, rows, rate(number + part / n_parts))
                yield number + (part + 1) / n_parts

    def _visit(self, part, rows, rate):
        """Steps of the words of a part, then of all contexts."""

        def step(rows, gradient_at):
            gradient = gradient_at(self.U[rows])
            share = self.pairs.word_share[rows]
            counted = (share > 0).astype(np.float32)
            self._steps[0].step(self.U, gradient, rows, counted, rate)
            return self.U[rows], share.astype(np.float32)

        gradient = self._gradient
        gradient[:] = 0
        self.sums.visit(part, rows, step, self.U, self.V, gradient)
        share = np.maximum(self.pairs.context_share, 0.1 / self.pairs.n_words**2)
        factor = (self._n_parts / share).astype(np.float32)
        self._steps[1].step(self.V, gradient, None, factor, rate)

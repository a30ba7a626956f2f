"""Gradients from blocks of similar words, by systematic draws."""

from itertools import product

import numpy as np
import pytest
from _word_counts import (
    DIM,
    N_WORDS,
    block_sums,
    gradients,
    options,
    reference,
    some_counts,
    some_vectors,
)

from sklearn_xc.word_embedding import _objective as words
from sklearn_xc.word_embedding._block_sums import BatchSums

pytestmark = pytest.mark.kernel


def whole_pieces(ends, n):
    """Offsets from [0, 1) and their weights: all that draws at equal distances can turn out as."""
    breaks = np.unique(np.append((ends / ends[-1] * n) % 1, [0, 1]))
    return (breaks[:-1] + breaks[1:]) / 2, np.diff(breaks)


def test_averaged_over_all_draws_the_sum_over_all_words_is_exact():
    """Whatever searches name: so the estimate of the partition function is unbiased."""
    counts, (U, V) = some_counts(), some_vectors()
    U, rows = U / 5, np.array([3, 5, 20])  # word 5 has no pairs
    pairs = words.WordPairs(counts)
    sums = BatchSums(
        pairs, DIM, options(n_frequent=28, n_sampled=5, unretrieved="sampled"), len(rows), 0, 1
    )
    named = sums._others[[1, 4]]
    exps = np.exp(U[rows].astype(float) @ V.T)
    estimates, of_few, weights = [], [], []
    for few, more in product(*(zip(*whole_pieces(sums._ends, n), strict=True) for n in (2, 3))):
        blocks = sums._lay_out([rows], [named], np.array([[few[0], more[0]]]))
        weights.append(few[1] * more[1])
        for found, n, weight in zip(
            (of_few, estimates),
            blocks.sizes[0, 2:],
            (blocks.few_weight, blocks.weight),
            strict=True,
        ):
            p, _ = estimated(blocks, 0, n, weight, counts, exps)
            found.append(exps[:, 0] / p[:, 0])
    assert sum(weights) == pytest.approx(1)
    exact = exps.sum(axis=1)
    for found in (estimates, of_few):
        assert np.abs(np.array(found) / exact - 1).max() > 0.05
        np.testing.assert_allclose(weights @ np.array(found), exact, rtol=1e-6)


def estimated(blocks, b, n, weight, counts, exps):
    """p(y|x) of all contexts with the first n shared ones, and the part of those drawn."""
    shared, n_certain = blocks.shared[b, :n], blocks.sizes[b, 1]
    rows = blocks.rows[blocks.row_starts[b] : blocks.row_starts[b + 1]]
    own = counts.toarray()[rows] > 0
    own[:, shared[:n_certain]] = False
    p = np.where(own, exps, 0)
    p[:, shared] += np.where(
        own[:, shared], 0, exps[:, shared] * np.exp(weight[b, :n], dtype=float)
    )
    total = p.sum(axis=1, keepdims=True)
    drawn = np.where(own, 0, p)
    drawn[:, shared[:n_certain]] = 0
    return p / total, drawn.sum(axis=1) / total[:, 0]


def estimated_gradients(blocks, counts, U, V, with_expected=True):
    """The gradients of words and of contexts that the draws stand for, in double."""
    q = counts.toarray() / counts.sum()
    share = q.sum(axis=1)
    of_words, of_contexts = np.zeros((2, N_WORDS, DIM))
    U, V = U.astype(float), V.astype(float)
    for b in range(len(blocks.sizes)):
        rows = blocks.rows[blocks.row_starts[b] : blocks.row_starts[b + 1]]
        _, n_certain, n_few, n = blocks.sizes[b]
        drawn, weight = blocks.shared[b, n_certain:n], blocks.weight[b, n_certain:n]
        exps, own = np.exp(U[rows] @ V.T), q[rows] > 0
        p, _ = estimated(blocks, b, n_few, blocks.few_weight, counts, exps)
        of_words[rows] = (share[rows, None] * p - q[rows]) @ V
        p, r = estimated(blocks, b, n, blocks.weight, counts, exps)
        if with_expected:
            h = np.exp(V @ U[rows].mean(axis=0))
            h[blocks.shared[b, :n_certain]] = 0
            h /= h.sum() or 1
            rest = np.outer(r, h)
            rest[:, drawn] -= np.outer(r, h[drawn] * np.exp(weight, dtype=float))
            p += np.where(own, 0, rest)
        of_contexts += (share[rows, None] * p - q[rows]).T @ U[rows]
    return of_words, of_contexts


@pytest.mark.parametrize(
    "changes",
    [
        {"query_size": 2, "n_frequent": 5, "n_sampled": 9},
        {"query_size": 0, "n_frequent": 0, "n_sampled": 1},
        {"query_size": 3, "n_frequent": 0, "n_sampled": 300},
        {"query_size": 1, "n_frequent": 39, "n_sampled": 4},
        {"query_size": 1, "n_frequent": 40, "n_sampled": 4},
    ],
)
@pytest.mark.parametrize("batch_size", [1, 16, 40])
@pytest.mark.parametrize("symmetric", [True, False])
def test_blocks_have_the_gradients_that_their_draws_stand_for(changes, batch_size, symmetric, laid):
    counts, (U, V) = some_counts(symmetric), some_vectors()
    pairs = words.WordPairs(counts)
    of_all = options(unretrieved="sampled", **changes)
    for n_threads in (1, 3):
        sums = block_sums(pairs, DIM, of_all, batch_size, 0, n_threads)
        found = gradients(counts, U, V, sums)
        expected = np.zeros((2, N_WORDS, DIM))
        for blocks in laid:
            expected += estimated_gradients(blocks, counts, U, V)
        n_scored = sum(blocks.n_scored() for blocks in laid)
        assert sums.n_scored == pytest.approx(n_scored / N_WORDS)
        np.testing.assert_allclose(found[0], expected[0], atol=2e-6)
        np.testing.assert_allclose(found[1], expected[1], atol=2e-6)
        laid.clear()


@pytest.mark.parametrize("n_frequent", [0, 7, 40])
def test_what_blocks_are_laid_out_with(n_frequent):
    counts = some_counts(symmetric=False)
    pairs = words.WordPairs(counts)
    sums = BatchSums(pairs, DIM, options(n_frequent=n_frequent, n_sampled=8), 4, 0, 2)
    of_blocks = [np.array([3, 5, 20]), np.array([0]), np.array([38, 7])]
    named = [sums._others[:k] for k in (2, 0, 9)]
    blocks = sums._lay_out(of_blocks, named, np.random.default_rng(0).random((3, 2)))
    np.testing.assert_array_equal(blocks.rows, np.concatenate(of_blocks))
    assert blocks.n_scored() == [3, 1, 2] @ blocks.sizes[:, -1] + blocks.n_own.sum()
    row = 0
    for b, rows in enumerate(of_blocks):
        ends = blocks.sizes[b]
        shared = blocks.shared[b, : ends[-1]]
        assert len(np.unique(shared)) == len(shared)
        frequent, of_block, few, rest = np.split(shared, ends[:-1])
        np.testing.assert_array_equal(frequent, sums._frequent)
        np.testing.assert_array_equal(of_block, named[b])
        for ids in (few, rest):
            np.testing.assert_array_equal(ids, np.sort(ids))
        for x in rows:
            start, end = blocks.entry_starts[row : row + 2]
            middle = start + blocks.n_own[row]
            own, certain = slice(start, middle), slice(middle, end)
            ids = np.append(blocks.entry_ids[own], shared[blocks.entry_ids[certain]])
            assert not np.isin(blocks.entry_ids[own], shared[: ends[1]]).any()
            drawn = blocks.entry_drawn[own]
            np.testing.assert_array_equal(drawn >= 0, np.isin(blocks.entry_ids[own], shared))
            np.testing.assert_array_equal(shared[drawn[drawn >= 0]], ids[: len(drawn)][drawn >= 0])
            share = np.zeros(N_WORDS)
            share[ids] = blocks.entry_share[start:end]
            np.testing.assert_array_equal(ids[: len(drawn)], np.sort(ids[: len(drawn)]))
            of_word = counts.toarray()[x]
            np.testing.assert_allclose(share, of_word / max(of_word.sum(), 1), rtol=1e-6)
            row += 1


def test_what_is_expected_of_a_block_lessens_the_noise_of_contexts(laid):
    """Beside the plain estimate from the same draws, for words that are alike."""
    counts, (U, V) = some_counts(), some_vectors()
    U = 0.5 * (U.mean(axis=0) + 0.3 * U)
    pairs = words.WordPairs(counts)
    exact = reference(counts, U, V)[2]
    few = options(query_size=0, n_frequent=5, n_sampled=20, unretrieved="sampled")
    found, plain = [], []
    for seed in range(120):
        found.append(gradients(counts, U, V, BatchSums(pairs, DIM, few, 20, seed, 1))[1])
        plain.append(sum(estimated_gradients(b, counts, U, V, False)[1] for b in laid))
        laid.clear()
    errors = [np.abs(np.array(some) - exact).mean() for some in (found, plain)]
    for some in (found, plain):
        assert np.abs(np.mean(some, axis=0) - exact).max() < 0.15 * np.abs(exact).max()
    assert errors[0] < 0.7 * errors[1]

"""The collapsed skip-gram objective, its gradients, negative sampling."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse
from scipy.special import softmax

from sklearn_xc._kernels.word_embedding import _negative_sampling as kernel
from sklearn_xc._kernels.word_embedding._row_softmax import exact_differences
from sklearn_xc.word_embedding import _block_sums
from sklearn_xc.word_embedding import _context_sums as context_sums
from sklearn_xc.word_embedding import _objective as words
from sklearn_xc.word_embedding import _train as skip_gram
from sklearn_xc.word_embedding._block_sums import BatchSums
from sklearn_xc.word_embedding._negative_sampling import CONSTANT, NOISE_POWER, negative_sampling

pytestmark = pytest.mark.kernel

N_WORDS, DIM = 40, 12


def some_counts(symmetric=True, seed=0):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(0.4, size=(N_WORDS, N_WORDS)) * rng.integers(1, 30, size=N_WORDS)
    counts = counts + counts.T if symmetric else counts
    counts[5] = counts[:, 5] = 0  # a word without pairs
    return sparse.csr_array(counts.astype(float))


def some_vectors(seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(2, N_WORDS, DIM)).astype(np.float32)


def reference(counts, U, V):
    """Eq. 9 and its gradients, in double."""
    q = counts.toarray() / counts.sum()
    U, V = U.astype(float), V.astype(float)
    z = U @ V.T
    log_normaliser = np.log(np.exp(z).sum(axis=1, keepdims=True))
    p = np.exp(z - log_normaliser)
    value = (q * (log_normaliser - z)).sum()
    difference = q.sum(axis=1, keepdims=True) * p - q
    return value, difference @ V, difference.T @ U


def options(**changes):
    everything = {
        "n_chunks": 3, "n_message_passes": 0, "query_size": N_WORDS, "index": "exact",
        "n_centroids": 4, "unretrieved": "exclude", "n_frequent": 7, "n_sampled": 1, "tau": 0.0,
    }  # fmt: skip
    return context_sums.Options(**everything | changes)


def block_sums(*args):
    return BatchSums(*args, trained=True)


class Recorder(skip_gram.SkipGram):
    """Takes no step and keeps the gradients, not divided by shares."""

    def __init__(self, *args):
        super().__init__(*args)
        self.of_words, self.of_contexts = (np.zeros((N_WORDS, DIM)) for _ in range(2))
        recorder = self

        class Step:
            def __init__(self, name, share):
                self.name, self.share = name, share

            def step(self, M, gradient, rows, factor, rate):
                rows = slice(None) if rows is None else rows
                factor = factor * self.share[rows]
                getattr(recorder, self.name)[rows] += gradient * factor[:, None]

        least = 0.1 / N_WORDS**2
        self._steps = (
            Step("of_words", self.pairs.word_share),
            Step("of_contexts", np.maximum(self.pairs.context_share, least)),
        )


def gradients(
    counts, U, V, sums=None, kind=context_sums.NamedSums, batch_size=16, n_threads=1, **changes
):
    pairs = words.Pairs(counts)
    if sums is None:
        sums = kind(pairs, DIM, options(**changes), batch_size, 0, n_threads)
    recorder = Recorder(pairs, U.copy(), V.copy(), sums)
    recorder.iterate(lambda time: 0.1)
    return recorder.of_words, recorder.of_contexts


def test_reference_gradients_are_those_of_differences():
    counts, (U, V) = some_counts(), some_vectors()
    _, of_words, of_contexts = reference(counts, U, V)
    for M, gradient, which in ((U, of_words, 0), (V, of_contexts, 1)):
        for place in [(0, 0), (17, 5), (39, 11), (5, 3)]:
            sides = []
            for shift in (1e-4, -1e-4):
                moved = [U.astype(float), V.astype(float)]
                moved[which] = M.astype(float)
                moved[which][place] += shift
                sides.append(reference(counts, *moved)[0])
            assert (sides[0] - sides[1]) / 2e-4 == pytest.approx(gradient[place], abs=1e-7)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_objective_and_exact_gradients(symmetric, n_threads):
    counts, (U, V) = some_counts(symmetric), some_vectors()
    value, of_words, of_contexts = reference(counts, U, V)
    pairs = words.Pairs(counts)
    assert words.objective(pairs, U, V, 7, n_threads) == pytest.approx(value, rel=1e-6)
    found = gradients(counts, U, V, context_sums.ExactSums(words.Pairs(counts), 7, n_threads))
    np.testing.assert_allclose(found[0], of_words, atol=1e-6)
    np.testing.assert_allclose(found[1], of_contexts, atol=1e-6)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"n_chunks": 1, "index": "hnsw"},
        {"n_chunks": 4, "index": "spherical"},
        {"unretrieved": "zero"},
        {"unretrieved": "sampled", "n_sampled": 50},
    ],
)
def test_with_everything_retrieved_gradients_are_exact(changes):
    counts, (U, V) = some_counts(), some_vectors()
    _, of_words, of_contexts = reference(counts, U, V)
    found = gradients(counts, U, V, **changes)
    np.testing.assert_allclose(found[0], of_words, atol=1e-6)
    np.testing.assert_allclose(found[1], of_contexts, atol=1e-6)


@pytest.mark.parametrize(
    "changes",
    [
        {"query_size": 40, "n_frequent": 3},
        {"query_size": 0, "n_frequent": 40},
    ],
)
@pytest.mark.parametrize("n_threads", [1, 2])
def test_blocks_that_score_everything_have_exact_gradients(changes, n_threads):
    counts, (U, V) = some_counts(), some_vectors()
    _, of_words, of_contexts = reference(counts, U, V)
    found = gradients(
        counts, U, V, kind=block_sums, n_threads=n_threads, unretrieved="sampled", **changes
    )
    np.testing.assert_allclose(found[0], of_words, atol=1e-6)
    np.testing.assert_allclose(found[1], of_contexts, atol=1e-6)


def test_message_passes_approach_the_exact_gradient():
    counts, (U, V) = some_counts(), some_vectors()
    exact = reference(counts, U, V)[1]
    errors = [
        np.abs(gradients(counts, U, V, n_message_passes=n)[0] - exact).max() for n in (1, 10, 100)
    ]
    assert errors[0] > 5 * errors[1] > 100 * errors[2]
    assert errors[2] < 1e-4 * np.abs(exact).max()


@pytest.mark.parametrize(
    "changes", [{"query_size": 8}, {"query_size": 0, "n_frequent": 0, "n_chunks": 1}]
)
@pytest.mark.parametrize("kind", [context_sums.NamedSums, block_sums])
def test_sampled_rest_converges_to_the_exact_gradient(changes, kind):
    """Draws are weighted by the inverse of their chance: only the ratio of two sums is biased."""
    counts, (U, V) = some_counts(), some_vectors()
    _, of_words, of_contexts = reference(counts, U, V)
    errors = []
    for n_sampled in (20, 200_000):
        found = gradients(
            counts, U, V, kind=kind, unretrieved="sampled", n_sampled=n_sampled, **changes
        )
        errors.append(np.abs(found[0] - of_words).max() + np.abs(found[1] - of_contexts).max())
    assert errors[1] < 0.02 * (np.abs(of_words).max() + np.abs(of_contexts).max())
    assert errors[1] < 0.1 * errors[0]


def whole_pieces(ends, n):
    """Offsets from [0, 1) and their weights: all that draws at equal distances can turn out as."""
    breaks = np.unique(np.append((ends / ends[-1] * n) % 1, [0, 1]))
    return (breaks[:-1] + breaks[1:]) / 2, np.diff(breaks)


def test_averaged_over_all_draws_the_sum_over_all_words_is_exact():
    """Whatever searches name: so the estimate of the partition function is unbiased."""
    counts, (U, V) = some_counts(), some_vectors()
    U, rows = U / 5, np.array([3, 5, 20])  # word 5 has no pairs
    pairs = words.Pairs(counts)
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
            (of_few, estimates), blocks.sizes[0, 2:], (blocks.few_weight, blocks.weight),
            strict=True,
        ):  # fmt: skip
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


@pytest.fixture
def laid(monkeypatch):
    """The blocks that are visited."""
    blocks, visit_blocks = [], _block_sums.visit_blocks

    def visit(some, *others):
        blocks.append(some)
        visit_blocks(some, *others)

    monkeypatch.setattr(_block_sums, "visit_blocks", visit)
    return blocks


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
    pairs = words.Pairs(counts)
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
    pairs = words.Pairs(counts)
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
    pairs = words.Pairs(counts)
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


@pytest.mark.parametrize("n_words", [1, 16, 700])
def test_exact_differences_are_those_of_a_softmax(n_words):
    rng = np.random.default_rng(n_words)
    scores = (20 * rng.normal(size=(3, n_words))).astype(np.float32)
    ids = np.concatenate([rng.permutation(n_words)[:5] for _ in range(2)]).astype(np.int32)
    indptr = np.array([0, len(ids) // 2, len(ids) // 2, len(ids)])
    share = rng.random(len(ids)).astype(np.float32)
    found = scores.copy()
    exact_differences(found, indptr, ids, share)
    expected = softmax(scores.astype(float), axis=1)
    np.subtract.at(expected, (np.repeat(range(3), np.diff(indptr)), ids), share)
    np.testing.assert_allclose(found, expected, atol=2e-6)


def test_memory_bounds_the_blocks_at_once_and_nothing_else(laid, monkeypatch):
    counts, (U, V) = some_counts(), some_vectors()
    pairs = words.Pairs(counts)
    few = options(query_size=2, n_sampled=9, unretrieved="sampled")
    found, n_visits = [], []
    for n_bytes in (2**28, 1):
        monkeypatch.setattr(_block_sums, "BYTES_AT_ONCE", n_bytes)
        found.append(gradients(counts, U, V, block_sums(pairs, DIM, few, 2, 0, 1)))
        n_visits.append(len(laid))
        laid.clear()
    assert n_visits == [1, 3]  # of 20 blocks
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_vectors_that_mean_nothing_yet_are_not_searched():
    counts, (U, V) = some_counts(), some_vectors()
    pairs = words.Pairs(counts)
    n_scored = {}
    for trained in (False, True):
        of_all = options(unretrieved="sampled", n_frequent=3, n_sampled=2, query_size=20)
        sums = BatchSums(pairs, DIM, of_all, 8, 0, 1, trained=trained)
        passes = Recorder(pairs, U.copy(), V.copy(), sums)
        for number in (1, 2):
            passes.iterate(lambda time: 0.1)
            n_scored[trained, number] = sums.n_scored
    assert n_scored[False, 1] < 0.7 * n_scored[True, 1]
    assert n_scored[False, 2] > 0.9 * n_scored[True, 1]


@pytest.mark.parametrize("n_parts", [2, 7, 40])
@pytest.mark.parametrize("kind", [None, context_sums.NamedSums, block_sums])
def test_parts_of_a_pass_add_up(kind, n_parts):
    """Each word is in one part; without steps their gradients make up that of all words."""
    counts, (U, V) = some_counts(), some_vectors()
    _, of_words, of_contexts = reference(counts, U, V)
    pairs = words.Pairs(counts)
    sums = context_sums.ExactSums(pairs, 7, 1)
    if kind is not None:
        sums = kind(pairs, DIM, options(unretrieved="sampled"), 7, 0, 1)
    recorder = Recorder(pairs, U.copy(), V.copy(), sums, n_parts)
    recorder.iterate(lambda time: 0.1)
    np.testing.assert_allclose(recorder.of_words, of_words, atol=1e-6)
    np.testing.assert_allclose(recorder.of_contexts / n_parts, of_contexts, atol=1e-6)


@pytest.mark.parametrize("rows", [None, [4, 0, 2]])
def test_steps_of_adagrad(rows):
    rng = np.random.default_rng(0)
    M = rng.normal(size=(6, 21)).astype(np.float32)
    expected, squares = M.astype(float), np.zeros(M.shape)
    adagrad = skip_gram.Adagrad(M.shape)
    chosen = slice(None) if rows is None else rows
    for rate in (0.3, 0.1):
        gradient = rng.normal(size=(6 if rows is None else 3, 21)).astype(np.float32)
        gradient[1] = 0  # a coordinate that has not moved stays
        factor = rng.random(len(gradient)).astype(np.float32)
        scaled = factor[:, None].astype(float) * gradient
        squares[chosen] += scaled**2
        expected[chosen] -= rate * scaled / (np.sqrt(squares[chosen]) + 1e-8)
        adagrad.step(M, gradient, None if rows is None else np.array(rows), factor, rate)
    np.testing.assert_allclose(M, expected, atol=1e-5)


@pytest.mark.parametrize("dim", [1, 15, 16, 33, 100])
@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_rows_are_added_in_order(dim, n_threads):
    rng = np.random.default_rng(dim)
    ids, rows = (rng.integers(n, size=200).astype(np.int32) for n in (20, 6))
    values = rng.normal(size=200).astype(np.float32)
    table = rng.normal(size=(6, dim)).astype(np.float32)
    found, expected = np.ones((2, 20, dim), dtype=np.float32)
    kernel.add_rows(ids, values, rows, table, found, n_threads)
    np.add.at(expected, ids, values[:, None] * table[rows])
    np.testing.assert_allclose(found, expected, atol=1e-5)
    kernel.add_rows(ids[:0], values[:0], rows[:0], table, found, n_threads)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_rest_counted_as_zero_and_left_out():
    """Against softmax over the set alone, with the other words' scores 0 or missing."""
    counts, (U, V) = some_counts(), some_vectors()
    q = counts.toarray() / counts.sum()
    z = (U @ V.T).astype(float)
    best = np.zeros(z.shape, dtype=bool)
    for columns in (slice(0, 4), slice(4, 8), slice(8, 12)):
        order = np.argsort(-(U[:, columns] @ V[:, columns].T), axis=1)[:, :6]
        np.put_along_axis(best, order, True, axis=1)
    known = best | (q > 0)
    for unretrieved, others in (("zero", (~known).sum(axis=1)), ("exclude", 0)):
        p = np.where(known, np.exp(z), 0)
        p /= (p.sum(axis=1) + others)[:, None]
        expected = (q.sum(axis=1)[:, None] * p - q) @ V
        found = gradients(counts, U, V, unretrieved=unretrieved, query_size=6)[0]
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_passes_lower_the_objective():
    counts = some_counts()
    pairs = words.Pairs(counts)
    U, V = negative_sampling(
        words.Pairs(counts), counts, DIM, n_epochs=0, n_negatives=1, seed=0, n_threads=1
    )
    model = skip_gram.SkipGram(pairs, U, V, context_sums.ExactSums(pairs, 16, 1))
    values = [words.objective(pairs, U, V, 16, 1)]
    for _ in range(30):
        model.iterate(lambda time: 0.05)
        values.append(words.objective(pairs, U, V, 16, 1))
    q = counts.toarray()[counts.toarray() > 0] / counts.sum()
    share = pairs.word_share[pairs.word_share > 0]
    least = -(q * np.log(q)).sum() + (share * np.log(share)).sum()  # no model is better
    assert least < values[-1] < values[0] - 0.5 * (values[0] - least)


# ------------------------------------------------------------------------- negative sampling


def test_negative_sampling_learns_pointwise_mutual_information():
    """The optimum of <v_y, u_x> is log(p(y|x) / noise(y)) - log(n_negatives)."""
    rng = np.random.default_rng(0)
    counts = np.full((20, 20), 50.0)
    counts[:10, :10] = counts[10:, 10:] = 400
    counts += rng.poisson(5, size=counts.shape)
    counts = counts + counts.T
    sparse_counts = sparse.csr_array(counts)
    U, V = negative_sampling(
        words.Pairs(sparse_counts),
        sparse_counts,
        10,
        n_epochs=30,
        n_negatives=3,
        seed=0,
        n_threads=1,
    )
    noise = counts.sum(axis=0) ** NOISE_POWER
    noise /= noise.sum()
    wanted = np.log(counts / counts.sum(axis=1, keepdims=True) / noise)
    found = U[:, :-1] @ V[:, :-1].T
    assert np.corrcoef(wanted.ravel(), found.ravel())[0, 1] > 0.9
    # with its last coordinate the softmax of all scores is p(y|x)
    np.testing.assert_array_equal(U[:, -1], CONSTANT)
    differences = CONSTANT * V[:, -1] - np.log(noise)
    np.testing.assert_allclose(differences, differences[0], atol=1e-5)


@pytest.mark.parametrize(("n_words", "part"), [(9, 1), (17, 1), (40, 8), (40, 64)])
def test_negative_sampling_does_not_depend_on_threads(monkeypatch, n_words, part):
    monkeypatch.setattr("sklearn_xc.word_embedding._negative_sampling.PART_WORDS", part)
    counts = some_counts()[:n_words, :n_words]
    found = [
        negative_sampling(
            words.Pairs(counts), counts, DIM, n_epochs=2, n_negatives=4, seed=3, n_threads=n
        )
        for n in (1, 2, 5)
    ]
    for U, V in found[1:]:
        np.testing.assert_array_equal(U, found[0][0])
        np.testing.assert_array_equal(V, found[0][1])
    assert np.isfinite(found[0][0]).all()


def test_counts_in_any_unit():
    """An epoch takes no longer for large counts, and learns from tiny ones."""
    found = [
        negative_sampling(
            words.Pairs(counts), counts, DIM, n_epochs=5, n_negatives=4, seed=3, n_threads=1
        )[0]
        for counts in (some_counts() * unit for unit in (1e-12, 1e-3, 1e13, 1e290))
    ]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found[3], found[2], rtol=1e-4, atol=1e-6)
    assert np.isfinite(found[2]).all()
    assert found[0][:, :-1].std() > 1.2 / DIM / np.sqrt(12)  # more than it began with

"""The collapsed skip-gram objective, its gradients, negative sampling."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse
from scipy.special import softmax

from sklearn_xc import _batch_sums
from sklearn_xc import _skip_gram as skip_gram
from sklearn_xc._batch_sums import BatchSums, Block, OwnContexts
from sklearn_xc._kernels import _skip_gram as kernel
from sklearn_xc._negative_sampling import CONSTANT, NOISE_POWER, negative_sampling

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
        "n_centroids": 4, "rest": "none", "n_frequent": 7, "n_sampled": 1, "tau": 0.0,
    }  # fmt: skip
    return skip_gram.Options(**everything | changes)


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
    counts, U, V, sums=None, kind=skip_gram.NamedSums, batch_size=16, n_threads=1, **changes
):
    pairs = skip_gram.Pairs(counts)
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
    pairs = skip_gram.Pairs(counts)
    assert skip_gram.objective(pairs, U, V, 7, n_threads) == pytest.approx(value, rel=1e-6)
    found = gradients(counts, U, V, skip_gram.ExactSums(skip_gram.Pairs(counts), 7, n_threads))
    np.testing.assert_allclose(found[0], of_words, atol=1e-6)
    np.testing.assert_allclose(found[1], of_contexts, atol=1e-6)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"n_chunks": 1, "index": "hnsw"},
        {"n_chunks": 4, "index": "spherical"},
        {"rest": "zero"},
        {"rest": "sampled", "n_sampled": 50},
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
    found = gradients(counts, U, V, kind=BatchSums, n_threads=n_threads, rest="sampled", **changes)
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
@pytest.mark.parametrize("kind", [skip_gram.NamedSums, BatchSums])
def test_sampled_rest_converges_to_the_exact_gradient(changes, kind):
    """Draws are weighted by the inverse of their chance: only the ratio of two sums is biased."""
    counts, (U, V) = some_counts(), some_vectors()
    _, of_words, of_contexts = reference(counts, U, V)
    errors = []
    for n_sampled in (20, 200_000):
        found = gradients(counts, U, V, kind=kind, rest="sampled", n_sampled=n_sampled, **changes)
        errors.append(np.abs(found[0] - of_words).max() + np.abs(found[1] - of_contexts).max())
    assert errors[1] < 0.02 * (np.abs(of_words).max() + np.abs(of_contexts).max())
    assert errors[1] < 0.1 * errors[0]


def test_averaged_over_all_draws_the_sum_over_all_words_is_exact():
    """Whatever searches name: so the estimate of the partition function is unbiased."""
    counts, (U, V) = some_counts(), some_vectors()
    U, rows = U / 5, np.array([3, 5, 20])  # word 5 has no pairs
    pairs = skip_gram.Pairs(counts)
    of_all = options(n_frequent=28, n_sampled=2, rest="sampled")
    sums = BatchSums(pairs, DIM, of_all, len(rows), 0, 1)
    named = sums._others[[1, 4]]
    z = U[rows].astype(float) @ V.T
    q = counts.toarray() / np.maximum(counts.sum(axis=1), 1)[:, None]
    estimates, of_few, weights = [], [], []
    chance = skip_gram.chances(pairs.context_share)[sums._others]
    chance /= chance.sum()
    for draws in product(range(12), repeat=2):
        numbers = iter(draws)

        class Fixed:
            def random(self, n):
                return (np.cumsum(chance) - chance / 2)[[next(numbers) for _ in range(n)]]  # noqa: B023

        weights.append(chance[list(draws)].prod())
        block = Block(rows, *sums._shared(named, Fixed()))
        first, own = block.shared[0], OwnContexts(pairs, block)
        for found, weight in ((estimates, block.weight), (of_few, block.few_weight)):
            p = own.differences(U[rows], V, V[block.shared[: len(weight)]], weight)[0]
            found.append(np.exp(z[:, first]) / (p[:, 0] + q[rows, first]))
    exact = np.exp(z).sum(axis=1)
    for found in (estimates, of_few):
        assert np.abs(np.array(found) / exact - 1).max() > 0.05
        np.testing.assert_allclose(weights @ np.array(found), exact, rtol=1e-4)


def test_what_is_expected_of_a_block_lessens_the_noise_of_contexts(monkeypatch):
    """Beside the plain estimate from the same draws, for words that are alike."""
    counts, (U, V) = some_counts(), some_vectors()
    U = 0.5 * (U.mean(axis=0) + 0.3 * U)
    pairs = skip_gram.Pairs(counts)
    exact = reference(counts, U, V)[2]
    few = options(query_size=0, n_frequent=5, n_sampled=100, rest="sampled")
    visit_block = _batch_sums.visit_block

    def plain(block, expected, *others):
        expected[:] = 0
        return visit_block(block, expected, *others)

    errors = []
    for visit in (plain, visit_block):
        monkeypatch.setattr(_batch_sums, "visit_block", visit)
        found = []
        for seed in range(60):
            sums = BatchSums(pairs, DIM, few, 20, seed, 1)
            recorder = Recorder(pairs, U.copy(), V.copy(), sums)
            recorder.iterate(lambda time: 0.1)
            found.append(recorder.of_contexts)
        errors.append(np.abs(np.array(found) - exact).mean())
        assert np.abs(np.mean(found, axis=0) - exact).max() < 0.15 * np.abs(exact).max()
    assert errors[1] < 0.7 * errors[0]


@pytest.mark.parametrize("n_shared", [1, 16, 700])
@pytest.mark.parametrize(("n_own", "n_certain"), [(0, 0), (5, 0), (0, 3), (5, 3)])
def test_differences_of_a_block_are_those_of_a_softmax(n_shared, n_own, n_certain):
    rng = np.random.default_rng(n_shared)
    U, V = (rng.normal(size=(n, 9)).astype(np.float32) for n in (4, 50))
    scores = rng.normal(size=(4, n_shared)).astype(np.float32)
    weight = rng.normal(size=n_shared).astype(np.float32)
    ids = rng.integers(50, size=4 * n_own).astype(np.int32)
    drawn = np.where(rng.random(4 * n_own) < 0.5, 0, -1).astype(np.int32)
    places = rng.integers(n_shared, size=4 * n_certain).astype(np.int32)
    share, of_certain = (rng.random(4 * n).astype(np.float32) for n in (n_own, n_certain))
    found, of_own = scores.copy(), np.empty(4 * n_own, dtype=np.float32)
    kernel.block_differences(
        U, V, found, weight, np.arange(5) * n_own, ids, share, drawn, np.arange(5) * n_certain,
        places, of_certain, of_own,
    )  # fmt: skip
    for i in range(4):
        own, certain = (slice(i * n, (i + 1) * n) for n in (n_own, n_certain))
        z = (scores[i] + weight).astype(float)
        if (drawn[own] == 0).any():
            z[0] = -np.inf
        p = softmax(np.append(z, V[ids[own]].astype(float) @ U[i]))
        np.subtract.at(p, places[certain], of_certain[certain])
        np.testing.assert_allclose(found[i], p[:n_shared], atol=2e-6)
        np.testing.assert_allclose(of_own[own], p[n_shared:] - share[own], atol=2e-6)


@pytest.mark.parametrize("n_parts", [2, 7, 40])
@pytest.mark.parametrize("kind", [None, skip_gram.NamedSums, BatchSums])
def test_parts_of_a_pass_add_up(kind, n_parts):
    """Each word is in one part; without steps their gradients make up that of all words."""
    counts, (U, V) = some_counts(), some_vectors()
    _, of_words, of_contexts = reference(counts, U, V)
    pairs = skip_gram.Pairs(counts)
    sums = skip_gram.ExactSums(pairs, 7, 1)
    if kind is not None:
        sums = kind(pairs, DIM, options(rest="sampled"), 7, 0, 1)
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
    for rest, others in (("zero", (~known).sum(axis=1)), ("none", 0)):
        p = np.where(known, np.exp(z), 0)
        p /= (p.sum(axis=1) + others)[:, None]
        expected = (q.sum(axis=1)[:, None] * p - q) @ V
        found = gradients(counts, U, V, rest=rest, query_size=6)[0]
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_passes_lower_the_objective():
    counts = some_counts()
    pairs = skip_gram.Pairs(counts)
    U, V = negative_sampling(
        skip_gram.Pairs(counts), counts, DIM, n_epochs=0, n_negatives=1, seed=0, n_threads=1
    )
    model = skip_gram.SkipGram(pairs, U, V, skip_gram.ExactSums(pairs, 16, 1))
    values = [skip_gram.objective(pairs, U, V, 16, 1)]
    for _ in range(30):
        model.iterate(lambda time: 0.05)
        values.append(skip_gram.objective(pairs, U, V, 16, 1))
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
        skip_gram.Pairs(sparse_counts),
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
    monkeypatch.setattr("sklearn_xc._negative_sampling.PART_WORDS", part)
    counts = some_counts()[:n_words, :n_words]
    found = [
        negative_sampling(
            skip_gram.Pairs(counts), counts, DIM, n_epochs=2, n_negatives=4, seed=3, n_threads=n
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
            skip_gram.Pairs(counts), counts, DIM, n_epochs=5, n_negatives=4, seed=3, n_threads=1
        )[0]
        for counts in (some_counts() * unit for unit in (1e-12, 1e-3, 1e13, 1e290))
    ]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found[3], found[2], rtol=1e-4, atol=1e-6)
    assert np.isfinite(found[2]).all()
    assert found[0][:, :-1].std() > 1.2 / DIM / np.sqrt(12)  # more than it began with

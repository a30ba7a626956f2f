"""The collapsed skip-gram objective, its gradients, negative sampling."""

import numpy as np
import pytest
from _word_counts import (
    DIM,
    Recorder,
    block_sums,
    gradients,
    options,
    reference,
    some_counts,
    some_vectors,
)
from scipy import sparse
from scipy.special import softmax

from sklearn_xc._kernels.word_embedding import _vector_updates as kernel
from sklearn_xc._kernels.word_embedding._softmax import exact_differences
from sklearn_xc.word_embedding import _block_sums
from sklearn_xc.word_embedding import _context_sums as context_sums
from sklearn_xc.word_embedding import _objective as words
from sklearn_xc.word_embedding import _train as skip_gram
from sklearn_xc.word_embedding._block_sums import BatchSums
from sklearn_xc.word_embedding._negative_sampling import CONSTANT, NOISE_POWER, negative_sampling

pytestmark = pytest.mark.kernel


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
    pairs = words.WordPairs(counts)
    assert words.objective(pairs, U, V, 7, n_threads) == pytest.approx(value, rel=1e-6)
    found = gradients(counts, U, V, context_sums.ExactSums(words.WordPairs(counts), 7, n_threads))
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
    pairs = words.WordPairs(counts)
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
    pairs = words.WordPairs(counts)
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
    pairs = words.WordPairs(counts)
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
    pairs = words.WordPairs(counts)
    U, V = negative_sampling(
        words.WordPairs(counts), counts, DIM, n_epochs=0, n_negatives=1, seed=0, n_threads=1
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
        words.WordPairs(sparse_counts),
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
            words.WordPairs(counts), counts, DIM, n_epochs=2, n_negatives=4, seed=3, n_threads=n
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
            words.WordPairs(counts), counts, DIM, n_epochs=5, n_negatives=4, seed=3, n_threads=1
        )[0]
        for counts in (some_counts() * unit for unit in (1e-12, 1e-3, 1e13, 1e290))
    ]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found[3], found[2], rtol=1e-4, atol=1e-6)
    assert np.isfinite(found[2]).all()
    assert found[0][:, :-1].std() > 1.2 / DIM / np.sqrt(12)  # more than it began with

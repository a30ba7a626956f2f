"""Word embeddings by negative sampling, to begin skip-gram with (Mikolov et al., 2013)."""

from itertools import pairwise

import numpy as np
from scipy import sparse

from .._kernels.common._pace import Pace
from .._kernels.word_embedding import _vector_updates as kernel
from ..softmax._class_sampling import alias_table
from ..utils._parallel import single_threaded_blas
from ._objective import WordPairs, softmax

# Blocks that can be visited at the same time: their negatives are words of the same part, so there
# must be many of them.
PARTS, PART_WORDS = 16, 64
NOISE_POWER = 0.75
LARGEST_MEAN, LARGEST_COUNT = 64, 1 << 20  # of the counts of cells
FIRST_RATE, LAST_RATE = 0.025, 0.0001
CONSTANT = 2.0
# After few steps the scores of frequent words have come further than those of rare ones, and sums
# over all words suffer: so they are scaled, and by how much a sample of words decides.
SCALES = 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0
SAMPLE = 256


def negative_sampling(
    pairs: WordPairs,
    counts: sparse.csr_array,
    dim: int,
    *,
    n_epochs: int,
    n_negatives: int,
    seed: int,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Train embeddings whose scores approximate log-probabilities but for a sum.

    The inner products that negative sampling learns approach log(p(y|x) / noise(y)) - log(n). A
    softmax wants log p(y|x), so the last coordinate of the contexts is log noise(y) over a
    constant, and that of all words the constant. The others are scaled to fit a sample best.

    Returns float32 vectors (n_words, dim) of words and of contexts. 0 epochs give words random
    vectors, and contexts their frequency alone.
    """
    rng = np.random.default_rng(seed)
    n_words = counts.shape[0]
    U = rng.random((n_words, dim), dtype=np.float32)
    U -= np.float32(0.5)
    U *= np.float32(1 / dim if n_epochs else np.sqrt(12 / dim))  # else of about unit length
    V = np.zeros((n_words, dim), dtype=np.float32)
    noise = np.maximum(pairs.context_share, 1e-12) ** NOISE_POWER
    if n_epochs:
        _train(counts, U, V, noise, n_epochs, n_negatives, rng, n_threads)
    # The last coordinates alone give log noise(y), less its mean: CONSTANT times that over
    # CONSTANT.
    log_noise = np.log(noise)
    U[:, -1] = CONSTANT
    V[:, -1] = (log_noise - log_noise.mean()) / CONSTANT
    if n_epochs:
        # Half of the factor on either side of the inner product.
        scale = np.sqrt(_best_scale(pairs, U, V, rng))
        U[:, :-1] *= scale
        V[:, :-1] *= scale
    return U, V


def _best_scale(pairs: WordPairs, U: np.ndarray, V: np.ndarray, rng: np.random.Generator) -> float:
    """Return the best of SCALES for the scores without the last coordinate, by some words."""
    present = np.flatnonzero(pairs.word_share)
    chosen = np.sort(rng.permutation(present)[:SAMPLE])
    means = pairs.of_contexts(V, chosen)
    share = pairs.word_share[chosen]
    losses = []
    for scale in SCALES:
        u = U[chosen]
        u[:, :-1] *= scale
        with single_threaded_blas():
            normaliser = softmax(u @ V.T)
        losses.append(share @ (normaliser - np.einsum("ij,ij->i", means, u, dtype=np.float64)))
    return SCALES[int(np.argmin(losses))]


def _train(
    counts: sparse.csr_array,
    U: np.ndarray,
    V: np.ndarray,
    noise: np.ndarray,
    n_epochs: int,
    n_negatives: int,
    rng: np.random.Generator,
    n_threads: int,
) -> None:
    """Make epochs of negative sampling on all coordinates but the last, in place."""
    n_words, dim = U.shape
    n_parts = max(1, min(PARTS, n_words // PART_WORDS))
    # dealt out by frequency, so that parts are about equally heavy
    part_of = np.empty(n_words, dtype=np.int64)
    part_of[np.argsort(-noise, kind="stable")] = np.arange(n_words) % n_parts
    cells = _Blocks(counts, part_of, n_parts, rng)
    words_of_part = np.argsort(part_of, kind="stable").astype(np.int32)
    part_starts = np.searchsorted(part_of[words_of_part], np.arange(n_parts + 1))
    tables = [alias_table(noise[words_of_part[start:end]]) for start, end in pairwise(part_starts)]
    threshold, alias = (np.concatenate(column) for column in zip(*tables, strict=True))
    # without the last coordinate, which is set in the end
    inner_U, inner_V = (np.ascontiguousarray(M[:, :-1]) for M in (U, V))
    # The last coordinate is set by frequencies, and takes no part.
    change = np.empty((n_parts, dim - 1), dtype=np.float32)
    # In round r blocks (a, a + r) of all parts a are visited at the same time.
    n_rounds = n_epochs * n_parts
    rates = np.linspace(FIRST_RATE, LAST_RATE, n_rounds + 1)
    pace = Pace(n_threads)
    cells = kernel.Cells(cells.words, cells.contexts, cells.counts, cells.starts)
    noise = kernel.Noise(
        words_of_part, part_starts.astype(np.int64), threshold, alias.astype(np.int32)
    )
    for number in range(n_rounds):
        with pace.on(1):
            kernel.negative_sampling(
                cells,
                noise,
                number % n_parts,
                inner_U,
                inner_V,
                n_negatives,
                rates[number],
                rates[number + 1],
                int(rng.integers(2**63)),
                change,
                n_threads,
            )
    U[:, :-1], V[:, :-1] = inner_U, inner_V


class _Blocks:
    """The cells of a count matrix block by block, in random order inside."""

    def __init__(
        self, counts: sparse.csr_array, part_of: np.ndarray, n_parts: int, rng: np.random.Generator
    ) -> None:
        rows = np.repeat(np.arange(counts.shape[0], dtype=np.int32), np.diff(counts.indptr))
        block = (part_of[rows] * n_parts + part_of[counts.indices]).astype(np.int32)
        order = rng.permutation(len(rows))
        order = order[np.argsort(block[order], kind="stable")]
        self.words = rows[order]
        self.contexts = counts.indices[order].astype(np.int32, copy=False)
        # Counts may be in any unit, but steps of a useful number and length are wanted.
        mean = counts.data.mean()
        factor = np.clip(mean, 1, LARGEST_MEAN) / mean
        self.counts = np.minimum(counts.data[order] * factor, LARGEST_COUNT).astype(np.float32)
        sizes = np.bincount(block, minlength=n_parts * n_parts)
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

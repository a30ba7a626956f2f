"""Random counts of words and contexts, and the gradients of their objective."""

import numpy as np
from scipy import sparse

from sklearn_xc.word_embedding import _context_sums as context_sums
from sklearn_xc.word_embedding import _objective as words
from sklearn_xc.word_embedding import _train as skip_gram
from sklearn_xc.word_embedding._block_sums import BatchSums

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
        "n_chunks": 3,
        "n_message_passes": 0,
        "query_size": N_WORDS,
        "index": "exact",
        "n_centroids": 4,
        "unretrieved": "exclude",
        "n_frequent": 7,
        "n_sampled": 1,
        "tau": 0.0,
    }
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
    pairs = words.WordPairs(counts)
    if sums is None:
        sums = kind(pairs, DIM, options(**changes), batch_size, 0, n_threads)
    recorder = Recorder(pairs, U.copy(), V.copy(), sums)
    recorder.iterate(lambda time: 0.1)
    return recorder.of_words, recorder.of_contexts

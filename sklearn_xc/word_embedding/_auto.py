"""Automatic settings of LDGSWordEmbedding: sizes of searches and draws, blocks, rates.

Every function takes the estimator as `params`, and reads its parameters only.
"""

import numpy as np
from sklearn.base import BaseEstimator

from ..base._validation import search_params
from ..training._schedules import share_of_rate
from ._block_sums import BatchSums
from ._context_sums import ExactSums, NamedSums, Options
from ._objective import WordPairs
from ._train import SkipGram

PART, MAX_PARTS = 1024, 32  # words of a part, and parts at most, of "auto"
LAST_RATE = 0.05  # of "linear", as a share of the first


def _can_batch(params: BaseEstimator) -> bool:
    """Return whether blocks of words can share a search."""
    # With messages each word has lists of its own; without drawn words nothing shared could stand
    # for the rest.
    passes = params.gradient == "decomposed" and params.n_message_passes > 0
    return params.unretrieved == "sampled" and not passes


def rate_at(params: BaseEstimator, time: float) -> float:
    """Return the length of steps after this many passes."""
    share = share_of_rate(params.decay, time, params.max_iter)
    if params.decay == "linear":
        share = LAST_RATE + (1 - LAST_RATE) * share
    return params.learning_rate * share


def passes_of(
    params: BaseEstimator,
    pairs: WordPairs,
    U: np.ndarray,
    V: np.ndarray,
    seed: int,
    n_threads: int,
    trained: bool = False,
) -> SkipGram:
    """Return the object that makes the passes, and changes U and V.

    `trained` says that the vectors are more than a start.
    """
    n_parts = params.n_parts
    if n_parts == "auto":
        # A step of all contexts costs as much as their table is large, which a part of a thousand
        # words repays.
        n_parts = min(-(-pairs.n_words // PART), MAX_PARTS)
    sums = _sums(params, pairs, seed, n_threads, trained)
    return SkipGram(pairs, U, V, sums, min(n_parts, pairs.n_words), seed)


def _sums(
    params: BaseEstimator, pairs: WordPairs, seed: int, n_threads: int, trained: bool
) -> ExactSums | NamedSums | BatchSums:
    """Return sums over the softmax as the gradient asks for them."""
    if params.gradient == "exact":
        return ExactSums(pairs, params.batch_size, n_threads)
    batches = params.gradient == "sampled" or _can_batch(params)
    options = options_of(params, pairs.n_words)
    of_all = pairs, params.dim, options, params.batch_size, seed, n_threads
    return BatchSums(*of_all, trained) if batches else NamedSums(*of_all)


def options_of(params: BaseEstimator, n_words: int) -> Options:
    """Return sizes of searches and draws for this many words."""
    searches = params.gradient != "sampled"
    n_chunks = params.n_chunks if params.gradient == "decomposed" else 1
    root = int(np.ceil(np.sqrt(n_words)))
    query_size, n_frequent = params.query_size, params.n_frequent
    n_sampled = params.n_sampled_classes
    if query_size == "auto":
        # Section 5.3: K / 20, since in word vectors many more classes have a gradient that counts.
        query_size = max(root, n_words // (20 * n_chunks))
        if params.unretrieved == "sampled":
            # Drawn words stand for the rest: more was not worth its time.
            query_size = -(-2 * root // n_chunks)
    if n_frequent == "auto":
        n_frequent = max(root, n_words // 20)
    if n_sampled == "auto":
        n_sampled = max(root, n_words // (12 if searches else 100))
    return Options(
        n_chunks=n_chunks,
        n_message_passes=params.n_message_passes if params.gradient == "decomposed" else 0,
        query_size=min(query_size, n_words) if searches else 0,
        index=params.index,
        n_centroids=search_params(params)["n_centroids"],
        unretrieved=params.unretrieved if searches else "sampled",
        n_frequent=min(n_frequent, n_words) if searches else 0,
        n_sampled=n_sampled,
        tau=params.tau,
    )

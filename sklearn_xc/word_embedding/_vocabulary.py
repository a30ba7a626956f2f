"""The vocabulary of a fit, how often its words occur, and which occur together."""

from collections.abc import Iterable, Iterator

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from ..utils._random import stream
from ..utils._typing import MatrixLike
from . import _cooccurrence as counting
from ._cooccurrence import Corpus


def count_pairs(
    X: Corpus | MatrixLike, params: BaseEstimator, seed: int
) -> tuple[list[str], np.ndarray, sparse.csr_array]:
    """Return the vocabulary, how often each word occurs, and the counts of pairs."""
    given = given_vocabulary(params.vocabulary)
    if counting.is_matrix(X):
        counts = counting.check_counts(X, given)
        # `check_counts` has refused None.
        return given, np.asarray(counts.sum(axis=1)).ravel(), counts  # type: ignore[return-value]
    # Frequencies are needed beforehand only to find words or to drop some: one reading does.
    if given is not None and not params.subsample:
        word_counts = np.zeros(len(given))
        tokens = _counted(counting.encoded(X, _places(given)), word_counts)
        return given, word_counts, counting.cooccurrences(tokens, len(given), params.window)
    counting.require_reiterable(X, "it is read for the frequencies, then for the pairs")
    found, words = counting.count_words(X), given
    if given is None:
        words = counting.frequent_words(found, params.min_count, params.max_vocabulary)
    if not words:
        raise ValueError(
            f"X has no word that occurs min_count={params.min_count} times; it has {len(found)} "
            "distinct words"
        )
    word_counts = np.array([found[word] for word in words], dtype=np.float64)
    kept = counting.probability_kept(word_counts, params.subsample)
    tokens = counting.encoded(X, _places(words), kept, stream(seed, "subsampling"))
    return words, word_counts, counting.cooccurrences(tokens, len(words), params.window)


def _places(words: list[str]) -> dict[str, int]:
    """Return the number of each word."""
    return {word: i for i, word in enumerate(words)}


def _counted(documents: Iterable[np.ndarray], word_counts: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the documents, counting their words."""
    for document in documents:
        # A word may recur in a document, which `word_counts[document] += 1` would count once.
        np.add.at(word_counts, document, 1)
        yield document


def given_vocabulary(vocabulary: Iterable[str] | None) -> list[str] | None:
    """Return the parameter `vocabulary` as a list of distinct words, None where it is None."""
    if vocabulary is None:
        return None
    words = [] if isinstance(vocabulary, str) else list(vocabulary)
    if not words or not all(isinstance(word, str) for word in words):
        raise ValueError("vocabulary must be an iterable of strings, not empty, or None")
    if len(set(words)) != len(words):
        raise ValueError("vocabulary holds a word more than once")
    return words

"""Words of running text told from those beside them: labels that are mostly chance.

The text is the corpus beside the data sets. Classes are 2,000 words; rows are drawn from all places
where one of them stands.
"""

from collections import Counter

import _common
import numpy as np
import scipy.sparse as sp

WORDS = 20_000  # that are features, the most frequent
CLASSES = 2000
ROWS, TEST_ROWS = 400_000, 20_000
FREQUENT = 100  # words that tell little of others
BESIDE = [offset for offset in range(-5, 6) if offset]


def next_word():
    """Which of the most frequent words follows three: unit rows, a feature a word and place."""
    words = _numbers()
    at, Y = _drawn(words, 0)
    X = _bags([words[at - 1 - place] for place in range(3)], [0, WORDS, 2 * WORDS])
    known = X.getnnz(axis=1)
    X.data /= np.sqrt(np.repeat(known, known))
    return _split(X, Y)


def missing_word():
    """Which word stands amid ten, in any order: TF-IDF; the 100 most frequent are no classes."""
    words = _numbers()
    at, Y = _drawn(words, FREQUENT)
    X = _bags([words[at + offset] for offset in BESIDE], [0] * len(BESIDE))
    X, Y, X_test, Y_test = _split(X, Y)
    X, X_test = _common.tfidf_rows(X, X_test)
    return X, Y, X_test, Y_test


def _numbers():
    """The text as ranks of its words by frequency, -1 for rare ones."""
    text = _common.read_corpus(_common.CORPUS).split()
    ranked = Counter(text).most_common(WORDS)
    ranks = {word: rank for rank, (word, _) in enumerate(ranked)}
    return np.array([ranks.get(word, -1) for word in text])


def _drawn(words, first):
    """Places of `CLASSES` words from a rank on, in random order, and an indicator of the words."""
    edge = max(BESIDE)
    amid = words[edge:-edge]
    there = edge + np.flatnonzero((amid >= first) & (amid < first + CLASSES))
    at = np.random.default_rng(0).permutation(there)[: ROWS + TEST_ROWS]
    parts = np.ones(len(at), np.float32), words[at] - first, np.arange(len(at) + 1)
    return at, sp.csr_matrix(parts, shape=(len(at), CLASSES))


def _bags(words, first_features):
    """Counts of words, of each place from a feature on."""
    words = np.array(words).T
    row, place = np.nonzero(words >= 0)
    feature = words[row, place] + np.array(first_features)[place]
    shape = len(words), WORDS + max(first_features)
    return sp.csr_matrix((np.ones(len(row), np.float32), (row, feature)), shape=shape)


def _split(X, Y):
    return X[:-TEST_ROWS], Y[:-TEST_ROWS], X[-TEST_ROWS:], Y[-TEST_ROWS:]

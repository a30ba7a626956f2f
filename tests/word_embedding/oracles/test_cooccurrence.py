"""Counting words and pairs in a stream."""

from collections import Counter
from itertools import chain

import numpy as np
import pytest

from sklearn_xc.word_embedding import _cooccurrence as counting

pytestmark = pytest.mark.kernel

rng = np.random.default_rng(0)
WORDS = [f"w{i}" for i in range(12)]
CORPUS = [
    [WORDS[i] for i in np.minimum(rng.geometric(0.3, size=n) - 1, 11)] for n in [0, 1, 2, 40, 7, 90]
]
VOCABULARY = {word: i for i, word in enumerate(WORDS[:10])}


def reference(documents, n_words, window):
    counts = np.zeros((n_words, n_words))
    for document in documents:
        for i, first in enumerate(document):
            for j, second in enumerate(document):
                if i != j and abs(i - j) <= window:
                    counts[first, second] += 1
    return counts


@pytest.mark.parametrize("window", [1, 3, 200])
@pytest.mark.parametrize("block", [1, 8, 64, 1 << 17])
def test_pairs_are_those_of_the_reference(monkeypatch, window, block):
    """Blocks shorter than a document, and than a window, count the same pairs once."""
    monkeypatch.setattr(counting, "BLOCK", block)
    documents = list(counting.encoded(CORPUS, VOCABULARY))
    counts = counting.cooccurrences(documents, 10, window)
    assert counts.has_sorted_indices
    np.testing.assert_array_equal(counts.toarray(), reference(documents, 10, window))


def test_words_are_sorted_by_frequency_then_alphabet():
    counts = Counter({"b": 3, "a": 3, "c": 9, "d": 1})
    assert counting.frequent_words(counts, 1, None) == ["c", "a", "b", "d"]
    assert counting.frequent_words(counts, 2, None) == ["c", "a", "b"]
    assert counting.frequent_words(counts, 1, 2) == ["c", "a"]


def test_probability_of_a_word_to_stay():
    counts = np.array([990.0, 9.0, 1.0, 0.0])
    kept = counting.probability_kept(counts, 1e-2)
    np.testing.assert_allclose(kept, [np.sqrt(1e-2 / 0.99), 1, 1, 1])
    np.testing.assert_array_equal(counting.probability_kept(counts, 0), 1)


def test_words_are_dropped_as_often_as_they_should():
    kept = np.array([0.2, 1.0])
    corpus = [["a", "b"]] * 20_000
    stayed = np.concatenate(
        list(counting.encoded(corpus, {"a": 0, "b": 1}, kept, np.random.default_rng(0)))
    )
    counts = np.bincount(stayed)
    assert counts[1] == 20_000
    assert abs(counts[0] - 4000) < 5 * np.sqrt(20_000 * 0.2 * 0.8)


def test_draws_do_not_depend_on_how_the_corpus_is_read():
    kept = np.full(10, 0.5)
    whole = [list(chain(*CORPUS))]
    streams = [
        np.concatenate(list(counting.encoded(corpus, VOCABULARY, kept, np.random.default_rng(1))))
        for corpus in (CORPUS, whole, (iter(document) for document in CORPUS))
    ]
    np.testing.assert_array_equal(streams[0], streams[1])
    np.testing.assert_array_equal(streams[0], streams[2])


@pytest.mark.parametrize(
    ("corpus", "message"),
    [
        ("some text", "X must be an iterable of documents.*got a str"),
        (7, "got a int"),
        (["some text"], "document 0 of X is a str, not a list of words: split it into words"),
        ([["a"], 3], "document 1 of X is a int"),
        ([["a", 3]], "document 0 of X holds 3, a int; words must be strings"),
    ],
)
def test_refuses_what_is_no_corpus(corpus, message):
    with pytest.raises(ValueError, match=message):
        counting.count_words(corpus)

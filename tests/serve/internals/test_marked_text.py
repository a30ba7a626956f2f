"""Where features are in a text."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfVectorizer,
)

from sklearn_xc.serve._marked_text import marked

TEXT = "The Straße, the STREET and a café: <b>the street</b> İstanbul 12 x"


def marks(text, vectorizer, parts):
    """Pieces with a mark; all pieces joined are the text."""
    found = marked(text, vectorizer, parts)
    assert "".join(piece for piece, _ in found) == text
    return [pair for pair in map(tuple, found) if pair[1]]


def test_words_are_found_in_any_case_and_as_often_as_they_are_there():
    words = CountVectorizer().fit([TEXT])
    assert marks(TEXT, words, {"street": 0.5}) == [("STREET", 0.5), ("street", 0.5)]
    assert marks(TEXT, words, {"café": -1.0}) == [("café", -1.0)]
    assert marks(TEXT, words, {"none": 1.0}) == []


def test_accents_and_stop_words_are_those_of_the_vectorizer():
    words = CountVectorizer(strip_accents="unicode", stop_words=["the", "and"]).fit([TEXT])
    assert marks(TEXT, words, {"cafe": 1.0, "the": 5.0}) == [("café", 1.0)]


def test_pairs_of_words_cover_what_is_between():
    words = TfidfVectorizer(ngram_range=(1, 2)).fit([TEXT])
    assert marks(TEXT, words, {"the street": 1.0})[0] == ("the STREET", 1.0)
    both = marks("the street", words, {"the street": 1.0, "street": 0.5})
    assert both == [("the ", 1.0), ("street", 1.5)]


@pytest.mark.parametrize("analyzer", ["char", "char_wb"])
def test_pieces_of_words_add_up(analyzer):
    words = CountVectorizer(analyzer=analyzer, ngram_range=(3, 3)).fit([TEXT])
    assert marks("STREET", words, {"str": 1.0, "tre": 2.0}) == [("S", 1.0), ("TR", 3.0), ("E", 2.0)]


def test_other_vectorizers_mark_nothing():
    for vectorizer in (None, HashingVectorizer(), CountVectorizer(analyzer=str.split)):
        assert marked("a b", vectorizer, {"a": 1.0}) == [["a b", 0.0]]
    assert marked("", CountVectorizer(), {"a": 1.0}) == []


def test_any_text_comes_back_whole():
    rng = np.random.default_rng(0)
    letters = np.array(list("ab İß\U0001f600\u0301<&\n"))
    words = CountVectorizer(token_pattern=r"\w+").fit(["a b ab"])
    for _ in range(200):
        text = "".join(rng.choice(letters, rng.integers(0, 12)))
        pieces = [piece for piece, _ in marked(text, words, {"a": 1.0, "ab": 2.0})]
        assert "".join(pieces) == text

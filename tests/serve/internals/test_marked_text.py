"""Where features are in a text."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfVectorizer,
)
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from sklearn_xc.feature_extraction import StemmedAnalyzer
from sklearn_xc.serve._marked_text import marked

TEXT = "The Straße, the STREET and a café: <b>the street</b> İstanbul 12 x"


split = str.split


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


def test_words_are_marked_whose_stems_are_features():
    pytest.importorskip("snowballstemmer")
    words = TfidfVectorizer(analyzer=StemmedAnalyzer()).fit(["lighthouse history"])
    text = "Lighthouses: a lighthouse's history, İstanbul"
    found = marks(text, words, {"lighthous": 0.5, "histori": -1.0})
    assert found == [("Lighthouses", 0.5), ("lighthouse", 0.5), ("history", -1.0)]


@pytest.mark.parametrize("options", [{"analyzer": split}, {"tokenizer": split, "lowercase": False}])
def test_words_of_which_a_function_makes_features_are_marked(options):
    words = CountVectorizer(**options, token_pattern=None).fit(["one Two"])
    assert marks("one, Two", words, {"Two": 2.0}) == [("Two", 2.0)]


@pytest.mark.parametrize("named", [True, False])
def test_words_and_pieces_of_a_union_add_up(named):
    pieces = make_pipeline(CountVectorizer(analyzer="char", ngram_range=(2, 2)), MaxAbsScaler())
    steps = [("w", CountVectorizer()), ("c", pieces)]
    union = FeatureUnion(steps, verbose_feature_names_out=named).fit(["The Sea"])
    parts = {"w__sea": 1.0, "c__ea": 0.5, "c__xy": 3.0}
    if not named:
        parts = {name[3:]: part for name, part in parts.items()}
    assert marks("The Sea", union, parts) == [("S", 1.0), ("ea", 1.5)]


def test_other_vectorizers_mark_nothing():
    for vectorizer in (None, HashingVectorizer(), MaxAbsScaler(), make_pipeline(MaxAbsScaler())):
        assert marked("a b", vectorizer, {"a": 1.0}) == [["a b", 0.0]]
    assert marked("", CountVectorizer().fit(["aa"]), {"aa": 1.0}) == []


def test_any_text_comes_back_whole():
    rng = np.random.default_rng(0)
    letters = np.array(list("ab İß\U0001f600\u0301<&\n"))
    words = CountVectorizer(token_pattern=r"\w+").fit(["a b ab"])
    for _ in range(200):
        text = "".join(rng.choice(letters, rng.integers(0, 12)))
        pieces = [piece for piece, _ in marked(text, words, {"a": 1.0, "ab": 2.0})]
        assert "".join(pieces) == text

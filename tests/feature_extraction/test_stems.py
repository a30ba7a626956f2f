"""StemmedAnalyzer: stems as features, and where it can go."""

import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline

from sklearn_xc import LabelTextClassifier, PPDSparseClassifier, TopKNeighborsClassifier, load, save
from sklearn_xc.feature_extraction import StemmedAnalyzer, _stems

snowballstemmer = pytest.importorskip("snowballstemmer")
TITLES = ["history of lighthouses", "a lighthouse keeper", "sailing ships", "ship building"] * 5
SUBJECTS = ["lighthouses", "lighthouses", "ships", "ships"] * 5


def test_stems_are_those_of_snowball():
    for language, text in (("english", "Running Ships, a"), ("finnish", "Majakoiden historia")):
        words = [word for word in text.lower().replace(",", "").split() if len(word) > 1]
        expected = snowballstemmer.stemmer(language).stemWords(words)
        assert StemmedAnalyzer(language)(text) == expected
        assert StemmedAnalyzer(language)(text) == expected  # from what is kept


def test_a_model_with_it_can_be_copied_pickled_and_saved(tmp_path):
    for vectorizer in (
        TfidfVectorizer(analyzer=StemmedAnalyzer()),
        HashingVectorizer(analyzer=StemmedAnalyzer("swedish"), n_features=64),
    ):
        model = make_pipeline(vectorizer, PPDSparseClassifier(random_state=0))
        model = clone(model).fit(TITLES, SUBJECTS)
        save(model, tmp_path / "model.skxc")
        for other in (pickle.loads(pickle.dumps(model)), load(tmp_path / "model.skxc")):
            assert other[0].analyzer == vectorizer.analyzer
            asked = ["the lighthouse", "of ship"]
            np.testing.assert_array_equal(
                other.decision_function(asked), model.decision_function(asked)
            )


def test_names_and_texts_share_stems():
    texts = {"lighthouses": "lighthouses", "ships": "ships", "bridges": "bridges"}
    model = LabelTextClassifier(
        TopKNeighborsClassifier(random_state=0),
        TfidfVectorizer(analyzer=StemmedAnalyzer()),
        label_texts=texts,
    ).fit(TITLES, SUBJECTS)
    assert model.predict_topk(["an old bridge"], 1)[0].tolist() == [["bridges"]]


def test_threads_share_a_stemmer():
    _stems._stems.cache_clear()
    words = [f"{a}{b}ings" for a in "bcdfg" for b in ("oat", "uild", "oll", "um")] * 20
    expected = snowballstemmer.stemmer("english").stemWords(words)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(StemmedAnalyzer(), [" ".join(words)] * 8))
    assert found == [expected] * 8


@pytest.mark.parametrize("language", ["klingon", 3, None])
def test_an_unknown_language_is_named(language):
    with pytest.raises(ValueError, match=f"language must be one of arabic, .* got {language!r}"):
        StemmedAnalyzer(language)("text")


def test_a_missing_stemmer_is_named(monkeypatch):
    _stems._stems.cache_clear()
    monkeypatch.setitem(sys.modules, "snowballstemmer", None)
    with pytest.raises(ImportError, match="StemmedAnalyzer needs snowballstemmer: pip install"):
        StemmedAnalyzer("danish")("text")


def test_a_function_as_analyzer_is_still_refused(tmp_path):
    model = make_pipeline(TfidfVectorizer(analyzer=str.split), PPDSparseClassifier())
    with pytest.raises((TypeError, ValueError), match="or a StemmedAnalyzer"):
        save(model.fit(TITLES, SUBJECTS), tmp_path / "model.skxc")

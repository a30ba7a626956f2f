"""Functions inside of what `meta/test_label_text.py` tests from outside."""

import io

import numpy as np
import pytest
from _label_texts import NEW, ROWS, fitted
from sklearn import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import FeatureUnion

from sklearn_xc.meta._kept_texts import KeptTexts
from sklearn_xc.meta._vectorizing import as_label_features, fitted_vectorizer

# ------------------------------------------------------------------------------- vectorizers


@pytest.mark.parametrize("smooth", [True, False])
def test_words_are_of_rows_and_texts_and_their_idf_of_rows(smooth):
    words = TfidfVectorizer(smooth_idf=smooth, sublinear_tf=True)
    texts = ["inverse of a matrix", "sort", "sort"]
    found = fitted_vectorizer(words, ROWS, texts)
    assert {"inverse", "matrix"} <= set(found.get_feature_names_out())
    alone = clone(words).fit(ROWS)
    for word, place in alone.vocabulary_.items():
        assert found.idf_[found.vocabulary_[word]] == pytest.approx(alone.idf_[place])
    unseen = found.idf_[found.vocabulary_["inverse"]]
    assert np.isfinite(unseen)
    assert unseen >= alone.idf_.max()
    rows = found.transform(ROWS)
    np.testing.assert_allclose(rows.multiply(rows).sum(axis=1), 1, rtol=1e-6)


def test_parts_of_a_union_have_their_idf_of_rows():
    union = FeatureUnion(
        [
            ("words", TfidfVectorizer()),
            ("pieces", TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4))),
            ("nothing", "drop"),
        ]
    )
    found = fitted_vectorizer(union, ROWS, ["inverse of a matrix"])
    alone = fitted_vectorizer(TfidfVectorizer(), ROWS, ["inverse of a matrix"])
    np.testing.assert_array_equal(found.transformer_list[0][1].idf_, alone.idf_)
    model = fitted(vectorizer=union)
    assert model.predict(NEW).tolist() == ["inv", "sum"]
    assert clone(union).transformer_list[0][1] is not model.vectorizer_.transformer_list[0][1]


def test_texts_stand_in_the_rows_of_their_labels():
    words = CountVectorizer().fit(["a1 b1 c1 c2"])
    texts = {"a": ["a1"], "c": ["c1", "c2"]}
    first, second = as_label_features(words, texts, ["c", "b", "a"])
    assert first.toarray().tolist() == [[0, 0, 1, 0], [0, 0, 0, 0], [1, 0, 0, 0]]
    assert second.toarray().tolist() == [[0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0]]
    assert as_label_features(words, {"a": []}, ["a"]) is None


# ---------------------------------------------------------------------- files, explanations


def test_a_file_with_texts_of_no_labels_is_refused():
    model = fitted()
    model._kept_texts = KeptTexts.of({9: ["a"]}, np.arange(10))
    with pytest.raises(ValueError, match="texts of labels that there are not"):
        model.save(io.BytesIO())

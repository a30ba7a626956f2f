"""From raw text to labels with names: ColumnTransformer, Pipeline, set_output."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MultiLabelBinarizer, StandardScaler

from sklearn_xc import MemoirSVC, PPDSparseClassifier, explain, predict_topk, topk_predictor
from sklearn_xc.metrics import precision_at_k
from sklearn_xc.model_selection import cross_val_topk, train_test_split


@pytest.fixture(scope="module")
def records(bibtex):
    """A table as one would read it from a CSV file, and the lists of its tags."""
    table = pd.DataFrame({"title": bibtex.texts})
    table["words"] = table["title"].str.split().str.len()
    return table, bibtex.tags


def make_model(classifier):
    columns = make_column_transformer(
        (TfidfVectorizer(), "title"), (MaxAbsScaler(), ["words"]), sparse_threshold=1.0
    )
    return make_pipeline(columns, classifier)


@pytest.mark.parametrize("sparse_output", [True, False])
def test_lists_of_tags(records, sparse_output):
    table, tags = records
    binarizer = MultiLabelBinarizer(sparse_output=sparse_output)
    Y = binarizer.fit_transform(tags)
    train, test, _, Y_test, tags_train, tags_test = train_test_split(
        table, Y, tags, stratify=Y, random_state=0
    )
    assert set(binarizer.classes_) == {tag for row in tags_train for tag in row}
    model = make_model(PPDSparseClassifier(random_state=0))
    model.fit(train, binarizer.transform(tags_train))
    codes, scores = predict_topk(model, test, 3)
    names = binarizer.classes_[codes]
    hits = np.mean([names[i, 0] in row for i, row in enumerate(tags_test)])
    assert hits == precision_at_k(Y_test, codes, 1)
    assert hits > 0.3
    assert (np.diff(scores, axis=1) <= 0).all()
    predicted = binarizer.inverse_transform(model.predict(test))
    assert all(set(names[i, :1]) <= set(predicted[i]) for i in np.flatnonzero(scores[:, 0] > 0))
    assert sparse.issparse(model.predict(test)) == sparse_output


def test_names_of_an_indicator_come_back(records):
    table, tags = records
    binarizer = MultiLabelBinarizer()
    Y = pd.DataFrame(binarizer.fit_transform(tags), columns=binarizer.classes_)
    model = make_model(PPDSparseClassifier(random_state=0)).fit(table, Y)
    labels, _ = predict_topk(model, table, 2)
    assert np.mean([labels[i, 0] in row for i, row in enumerate(tags)]) > 0.9
    found = cross_val_topk(model, table, Y, k=2, cv=2)
    assert set(found.labels.ravel()) <= set(binarizer.classes_)


@pytest.mark.parametrize("classifier", [PPDSparseClassifier, MemoirSVC])
def test_classes_with_names(records, bibtex, classifier):
    table, _ = records
    train, test, y_train, y_test = train_test_split(table, bibtex.y, random_state=0)
    model = make_model(classifier(random_state=0)).fit(train, y_train)
    assert set(model.predict(test)) <= set(bibtex.y)
    assert model.score(test, y_test) > 0.4
    labels, _ = predict_topk(model, test, 1)
    np.testing.assert_array_equal(labels.ravel(), model.predict(test))


def test_a_table_in_the_place_of_its_column_is_refused(records, bibtex):
    """The vectorizer would answer for the names of the columns."""
    table, _ = records
    model = make_pipeline(TfidfVectorizer(), PPDSparseClassifier(random_state=0))
    model.fit(table["title"][:300], bibtex.y[:300])
    message = r"X is a table of 9 samples, and TfidfVectorizer read 2 of it: .* X\['title'\]"
    for ask in (predict_topk, explain):
        with pytest.raises(ValueError, match=message):
            ask(model, table[:9], 1)
    with pytest.raises(ValueError, match=message):
        topk_predictor(model, 1)(table[:9])
    assert predict_topk(model, table["title"][:9], 1)[0].shape == (9, 1)


def test_set_output_gives_the_classifier_feature_names(records, bibtex):
    table, _ = records
    with pytest.raises(ValueError, match="Unable to configure output for TfidfVectorizer"):
        make_model(PPDSparseClassifier()).set_output(transform="pandas")
    numbers = make_pipeline(
        make_column_transformer((StandardScaler(), ["words", "letters"])),
        PPDSparseClassifier(random_state=0),
    ).set_output(transform="pandas")
    table = table.assign(letters=table["title"].str.len())
    numbers.fit(table, bibtex.y)
    names = ["standardscaler__words", "standardscaler__letters"]
    assert numbers[-1].feature_names_in_.tolist() == names
    labels, scores = predict_topk(numbers, table, 2)
    assert isinstance(labels, np.ndarray)
    assert isinstance(scores, np.ndarray)
    with pytest.raises(ValueError, match="feature names should match"):
        numbers[-1].predict(table[["letters", "words"]])

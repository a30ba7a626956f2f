"""Frames of polars: columns of X and of an indicator y name features and labels."""

import pytest
from sklearn.exceptions import DataConversionWarning

from sklearn_xc import PPDSparseClassifier
from sklearn_xc.datasets import make_xc_classification
from sklearn_xc.metrics import make_topk_scorer, ndcg_at_k
from sklearn_xc.model_selection import train_test_split

polars = pytest.importorskip("polars")


def test_fit_and_score():
    X, Y = make_xc_classification(200, 30, 5, n_labels=2, random_state=0)
    rows = polars.DataFrame(X.toarray(), schema=[f"f{j}" for j in range(30)])
    model, scorer = PPDSparseClassifier(random_state=0), make_topk_scorer("precision_at_k", 1)
    y = polars.DataFrame(Y.toarray(), schema=list("abcde"))
    assert model.fit(rows, y).classes_.tolist() == list("abcde")
    assert model.feature_names_in_[:2].tolist() == ["f0", "f1"]
    assert scorer(model, rows, y) == scorer(model, rows, Y)
    halves = polars.DataFrame(Y.toarray() * 0.5, schema=list("abcde"))
    graded = PPDSparseClassifier(graded=True, random_state=0).fit(rows, halves)
    assert graded.score(rows, halves) == graded.score(rows, y)


def test_a_column_of_labels_and_columns_in_another_order():
    X, Y = make_xc_classification(200, 30, 5, n_labels=2, random_state=0)
    table = polars.DataFrame(Y.toarray(), schema=list("dbcae"))
    model = PPDSparseClassifier(random_state=0).fit(X, table)
    assert model.score(X, table) == model.score(X, table[list("abcde")]) == model.score(X, Y)
    found = model.predict_topk(X, k=2)[0]
    assert ndcg_at_k(table, found, k=2) == ndcg_at_k(table[list("ecabd")], found, k=2)
    ids = 2**60 + Y.toarray().argmax(axis=1)
    with pytest.warns(DataConversionWarning):
        one = PPDSparseClassifier(random_state=0).fit(X, polars.DataFrame({"id": ids}))
    assert one.classes_.tolist() == sorted({*ids.tolist()})
    for bad, message in [
        (polars.DataFrame({"a": [None] * 200, "b": [1] * 200}), "every sample needs a label"),
        (polars.DataFrame(), "has no columns"),
    ]:
        with pytest.raises(ValueError, match=message):
            PPDSparseClassifier().fit(X, bad)


def test_duplicates_in_a_table_of_texts():
    rows = polars.DataFrame({"text": [str(i % 50) for i in range(200)], "n": list(range(50)) * 4})
    with pytest.warns(UserWarning, match="equal a training sample"):
        train_test_split(rows, list(range(4)) * 50, random_state=0)


def test_a_split_keeps_the_names_of_columns():
    y = polars.DataFrame({"a": [0, 1] * 20, "b": [1, 0] * 20})
    train, test = train_test_split(y, random_state=0)
    assert train.columns == test.columns == ["a", "b"]
    assert len(train) + len(test) == 40

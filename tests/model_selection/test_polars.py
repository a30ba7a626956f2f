"""Frames of polars: columns of X and of an indicator y name features and labels."""

import pytest

from sklearn_xc import PPDSparseClassifier
from sklearn_xc.datasets import make_xc_classification
from sklearn_xc.metrics import make_topk_scorer

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

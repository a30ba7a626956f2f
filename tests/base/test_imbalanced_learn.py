"""Pipelines of imbalanced-learn, where it is installed: samplers are for training only."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV

from sklearn_xc import (
    PPDSparseClassifier,
    TopKCalibratedClassifier,
    explain,
    predict_topk,
    topk_predictor,
)
from sklearn_xc.metrics import make_topk_scorer

pipeline = pytest.importorskip("imblearn.pipeline")
over_sampling = pytest.importorskip("imblearn.over_sampling")

TEXTS = ["red apple", "red rose", "green leaf", "green tea", "blue sea"] * 6
Y = np.array(["r", "r", "g", "g", "b"] * 6)


def made():
    return pipeline.make_pipeline(
        TfidfVectorizer(),
        over_sampling.RandomOverSampler(random_state=0),
        PPDSparseClassifier(random_state=0),
    )


def test_all_that_looks_through_a_pipeline():
    model = made().fit(TEXTS, Y)
    labels, _ = predict_topk(model, ["a red car"], k=2)
    assert labels[0, 0] == "r"
    assert topk_predictor(model, 1)(["a red car"])[0].tolist() == [["r"]]
    assert explain(model, ["a red car"])[0].label == "r"
    assert make_topk_scorer("top_k_accuracy", k=1)(model, TEXTS, Y) == 1


def test_searches_and_calibration():
    grid = {"ppdsparseclassifier__l2": [0.5, 1.0]}
    search = GridSearchCV(made(), grid, cv=2, scoring=make_topk_scorer(k=2)).fit(TEXTS, Y)
    assert predict_topk(search, ["the sea"], k=1)[0].tolist() == [["b"]]
    for estimator in (made(), FrozenEstimator(made().fit(TEXTS, Y))):
        calibrated = TopKCalibratedClassifier(estimator, cv=2).fit(TEXTS, Y)
        assert calibrated.predict(["green"]).tolist() == ["g"]

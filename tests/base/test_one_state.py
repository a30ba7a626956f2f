"""Predictions beside a fit in another thread are of the model of before, or of the one after."""

import logging

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import Pipeline

from sklearn_xc import (
    LDGSClassifier,
    MemoirSVC,
    PPDSparseClassifier,
    explain,
    predict_topk,
    topk_predictor,
)

RNG = np.random.default_rng(0)
X, CODES = RNG.normal(size=(120, 10)), np.arange(120) % 6
OLD = np.array([f"old {i}" for i in range(6)])[CODES]


def test_a_failed_fit_is_taken_back_in_one_step(monkeypatch):
    model = PPDSparseClassifier(random_state=0).fit(X, OLD)
    before, seen = vars(model).copy(), []

    class Watched(PPDSparseClassifier):
        def __setattr__(self, name, value):
            seen.append(name)
            super().__setattr__(name, value)

    model.__class__ = Watched

    def fail():
        with model._all_or_nothing():
            vars(model)["classes_"] = None
            raise ValueError("boom")

    with pytest.raises(ValueError, match="boom"):
        fail()
    assert seen == ["__dict__"]
    assert vars(model) == before


def test_an_index_answers_by_the_model_of_before(monkeypatch):
    model = LDGSClassifier(max_iter=2, index="exact", random_state=0).fit(X, OLD)
    expected = model.predict_topk(X, 2, search="index")[0]
    search = type(model._search)
    topk = search.topk

    def beside_a_fit(self, *given):
        model.fit(X, [name.replace("old", "new") for name in OLD])
        return topk(self, *given)

    monkeypatch.setattr(search, "topk", beside_a_fit)
    np.testing.assert_array_equal(model.predict_topk(X, 2, search="index")[0], expected)
    assert model.classes_[0] == "new 0"


class Sampler:
    """Draws rows to train on, as imbalanced-learn's do."""

    def fit_resample(self, X, y):
        return X, y


class PipelineOfSamplers(Pipeline):
    """Leaves samplers out when it predicts."""

    def fit(self, X, y):
        for _, step in self.steps[:-1]:
            X, y = (step.fit_transform(X), y) if hasattr(step, "transform") else (X, y)
        self.steps[-1][1].fit(X, y)
        return self


def test_samplers_are_no_steps_of_a_prediction():
    texts = ["red apple", "red rose", "green leaf", "green tea", "blue sea"] * 4
    y = list("rrggb") * 4
    model = PipelineOfSamplers(
        [("words", TfidfVectorizer()), ("draw", Sampler()), ("last", PPDSparseClassifier())]
    ).fit(texts, y)
    assert predict_topk(model, ["a red car"], k=1)[0].tolist() == [["r"]]
    assert topk_predictor(model, k=1)(["a red car"])[0].tolist() == [["r"]]
    assert explain(model, ["a red car"])[0].label == "r"


def test_lines_go_to_logging_too(caplog, capsys):
    with caplog.at_level(logging.INFO, logger="sklearn_xc"):
        MemoirSVC(max_iter=2, verbose=1, random_state=0).fit(X, OLD)
    printed = capsys.readouterr().out.splitlines()
    assert [record.getMessage() for record in caplog.records] == printed
    assert len(printed) >= 2
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="sklearn_xc"):
        MemoirSVC(max_iter=2, random_state=0).fit(X, OLD)
    assert not caplog.records

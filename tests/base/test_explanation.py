"""Explanations as text and as frames."""

import sys

import numpy as np
import pytest
from scipy import sparse

from sklearn_xc import PPDSparseClassifier

X = np.random.default_rng(0).normal(size=(60, 12))
MULTICLASS = np.array(["ant", "bee", "cow", "dog", "eel"])[np.arange(60) % 5]


def simple():
    """An explanation with two features listed and two summed up."""
    model = PPDSparseClassifier(random_state=0).fit(X, MULTICLASS)
    W = np.zeros((5, 12), dtype=np.float32)
    W[0, :4] = 0.5, -1, 0.125, 0.125
    model.coef_, model.intercept_ = sparse.csr_array(W), np.full(5, 0.25, dtype=np.float32)
    names = [f"word {j}" for j in range(12)]
    return model.explain(np.full((1, 12), 2.0), ["ant", "bee"], k=2, feature_names=names)


def test_text():
    assert repr(simple()) == "\n".join(
        [
            "row 0, label 'bee': score +0.25",
            "  +0.2500  (intercept)",
            "row 0, label 'ant': score -0.25",
            "  -2.0000  word 1       2 * -1",
            "  +1.0000  word 0       2 * 0.5",
            "  +0.5000  (2 more features)",
            "  +0.2500  (intercept)",
        ]
    )


def test_long_lists_and_long_names_are_cut():
    model = PPDSparseClassifier(l1=0.01, random_state=0).fit(X, MULTICLASS)
    found = model.explain(X, feature_names=["a" * 100] * 12)
    assert repr(found).endswith("... and 50 more explanations")
    assert max(map(len, repr(found).splitlines())) < 90
    assert repr(found[:0]) == "no explanations"
    assert isinstance(found[2:5], type(found))
    assert [item.row for item in found[2:5]] == [2, 3, 4]
    assert len(found.of_row(60)) == 0


def test_frame():
    frame = simple().to_frame()
    assert frame.columns.tolist() == ["row", "label", "feature", "value", "weight", "contribution"]
    assert frame.feature.tolist() == ["(intercept)", "word 1", "word 0", "(rest)", "(intercept)"]
    assert frame.label.tolist() == ["bee"] + ["ant"] * 4
    sums = frame.groupby("label").contribution.sum()
    assert (sums["ant"], sums["bee"]) == (-0.25, 0.25)
    assert simple()[0].to_frame().shape == (1, 6)
    assert simple()[:0].to_frame().shape == (0, 6)


def test_frame_needs_pandas(monkeypatch):
    found = simple()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"to_frame needs pandas, .*pip install pandas"):
        found.to_frame()


def test_explanations_cannot_be_changed():
    with pytest.raises(AttributeError):
        simple()[0].score = 1.0

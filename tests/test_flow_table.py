"""Which of scikit-learn's tools take which form of y: the table of the user guide."""

import re
from pathlib import Path

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import permutation_importance
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    validation_curve,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from sklearn_xc import PPDSparseClassifier
from sklearn_xc.metrics import make_topk_scorer

PAGE = Path(__file__).resolve().parents[1] / "doc" / "guide/scikit_learn.rst"
MODEL = PPDSparseClassifier(random_state=0)
GRID = {"l1": [0.1, 0.2]}
SCORE = {"scoring": make_topk_scorer("precision_at_k", 1), "cv": 2}


def predicted(wrapper):
    return lambda X, y: wrapper.fit(X, y).predict(X)


def fitted(wrapper):
    return lambda X, y: wrapper.fit(X, y)


def one_output_a_label(X, y):
    found = MultiOutputClassifier(MODEL).fit(X, y).predict(X)
    if np.shape(found) != y.shape:  # of a sparse y
        raise ValueError("what came back are not predictions of the rows")
    return found


TOOLS = {
    "Pipeline": predicted(make_pipeline(MaxAbsScaler(), MODEL)),
    "clone": lambda X, y: clone(MODEL).fit(X, y),
    "GridSearchCV": fitted(GridSearchCV(MODEL, GRID, **SCORE)),
    "RandomizedSearchCV": fitted(RandomizedSearchCV(MODEL, GRID, n_iter=2, **SCORE)),
    "HalvingGridSearchCV": fitted(HalvingGridSearchCV(MODEL, GRID, **SCORE)),
    "cross_val_predict": lambda X, y: cross_val_predict(MODEL, X, y, cv=2),
    "cross_val_score": lambda X, y: cross_val_score(MODEL, X, y, **SCORE),
    "cross_validate": lambda X, y: cross_validate(MODEL, X, y, **SCORE),
    "learning_curve": lambda X, y: learning_curve(MODEL, X, y, train_sizes=[0.5, 1.0], **SCORE),
    "validation_curve": lambda X, y: validation_curve(
        MODEL, X, y, param_name="l1", param_range=[0.1, 0.2], **SCORE
    ),
    "permutation_importance": lambda X, y: permutation_importance(
        clone(MODEL).fit(X[:, :3].toarray(), y),
        X[:, :3].toarray(),
        y,
        scoring=SCORE["scoring"],
        n_repeats=1,
    ),
    "OneVsRestClassifier": predicted(OneVsRestClassifier(MODEL)),
    "MultiOutputClassifier": one_output_a_label,
    "ClassifierChain": predicted(ClassifierChain(MODEL)),
    "CalibratedClassifierCV": predicted(CalibratedClassifierCV(MODEL, cv=2)),
    "StackingClassifier": predicted(StackingClassifier([("one", MODEL)], MODEL, cv=2)),
    "VotingClassifier": predicted(VotingClassifier([("one", MODEL)])),
    "BaggingClassifier": predicted(BaggingClassifier(MODEL, 2, random_state=0)),
    "TunedThresholdClassifierCV": predicted(TunedThresholdClassifierCV(MODEL, cv=2)),
    "FrozenEstimator": lambda X, y: FrozenEstimator(clone(MODEL).fit(X, y)).predict(X),
    "SelectFromModel": lambda X, y: SelectFromModel(MODEL).fit(X, y).transform(X),
    "RFE": lambda X, y: RFE(MODEL, step=0.5).fit(X, y).transform(X),
}


SPARSE_Y = "Sparse data was passed for y"
# What a tool says of the forms that it refuses.
NO = dict.fromkeys(
    ["cross_val_score", "cross_validate", "learning_curve", "validation_curve"]
    + ["permutation_importance"],
    "The 'y' parameter of .* must be an array-like",
) | {
    "HalvingGridSearchCV": f"y should be a 1d array|{SPARSE_Y}",
    "MultiOutputClassifier": "y must have at least two dimensions|must be an indicator matrix",
    "ClassifierChain": "tuple index out of range|must be an indicator matrix",
    "CalibratedClassifierCV": f"y should be a 1d array|{SPARSE_Y}",
    "StackingClassifier": SPARSE_Y,
    "VotingClassifier": "only supports binary or multiclass classification",
    "BaggingClassifier": f"y should be a 1d array|{SPARSE_Y}",
    "TunedThresholdClassifierCV": "Only binary classification is supported",
}


def table():
    """Tool -> what the page says of a 1-D y, a dense and a sparse indicator."""
    rows = re.findall(r"^(``.*?)  +(\S.*?)  +(\S.*?)  +(\S.*)$", PAGE.read_text(), re.M)
    for tools, *forms in rows:
        for tool in re.findall(r"``(\w+)``", tools):
            yield tool, dict(zip(["1-D", "dense", "sparse"], forms, strict=True))


CLAIMS = dict(table())


def test_the_table_names_every_tool_here():
    assert set(TOOLS) <= set(CLAIMS)
    assert set(CLAIMS) - set(TOOLS) == {"ColumnTransformer"}  # in test_flow_text.py


@pytest.mark.skipif(
    not sklearn.__version__.startswith("1.9."), reason="the table is of scikit-learn 1.9"
)
@pytest.mark.parametrize("form", ["1-D", "dense", "sparse"])
@pytest.mark.parametrize("tool", TOOLS)
def test_what_the_table_says_is_so(bibtex, tool, form):
    frequent = bibtex.Y[:, np.argsort(-bibtex.Y.sum(axis=0), kind="stable")[:4]]
    several = frequent.sum(axis=1) > 0
    X, Y = bibtex.X[several][:, :200], frequent[several]
    y = {"1-D": Y.toarray().argmax(axis=1), "dense": Y.toarray(), "sparse": Y}[form]
    claim = CLAIMS[tool][form]
    if claim == "two classes":
        TOOLS[tool](X, y == 0)
        claim = "no"
    if claim == "no":
        with pytest.raises(
            (TypeError, ValueError, NotImplementedError, IndexError), match=NO[tool]
        ):
            TOOLS[tool](X, y)
    else:
        TOOLS[tool](X, y)

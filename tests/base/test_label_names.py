"""Columns of an indicator with names: every answer is by these."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from sklearn_xc import (
    LDGSClassifier,
    PPDSparseClassifier,
    TopKCalibratedClassifier,
    TopKThresholdClassifier,
    explain,
    load,
    predict_topk,
)
from sklearn_xc.datasets import make_xc_classification
from sklearn_xc.inspection import PrecisionAtKDisplay
from sklearn_xc.inspection import label_report as report
from sklearn_xc.metrics import make_topk_scorer
from sklearn_xc.model_selection import cross_val_topk

NAMES = np.array([f"topic {i}" for i in range(12)])[::-1].copy()  # not sorted
X, Y = make_xc_classification(200, 100, 12, n_labels=2, random_state=0)
FRAME = pd.DataFrame(Y.toarray(), columns=NAMES)
MODELS = {
    "ppdsparse": PPDSparseClassifier(label_names=NAMES, random_state=0),
    "ldgs": LDGSClassifier(label_names=NAMES, max_iter=2, random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_answers_are_names_as_of_a_frame(name, tmp_path):
    model, of_frame = clone(MODELS[name]), clone(MODELS[name]).set_params(label_names=None)
    model, of_frame = model.fit(X, Y), of_frame.fit(X, FRAME)
    np.testing.assert_array_equal(model.classes_, NAMES)
    for asked in (model, of_frame):
        labels, _ = asked.predict_topk(X, 3)
        np.testing.assert_array_equal(labels, of_frame.predict_topk(X, 3)[0])
        assert asked.explain(X[:1], labels[:1])[0].label in NAMES
        assert set(explain(asked, X[:1], labels[:1])[0].label) <= set("topic 0123456789")
        assert asked.label_report_.labels.tolist() == NAMES.tolist()
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model", "r")
    np.testing.assert_array_equal(loaded.predict_topk(X, 3)[0], model.predict_topk(X, 3)[0])
    assert (model.predict(X) != sparse.csr_array(np.asarray(of_frame.predict(X)))).nnz == 0


@pytest.mark.parametrize("indicator", [Y, Y.toarray(), FRAME], ids=["sparse", "dense", "frame"])
def test_scorers_searches_and_folds_know_them(indicator):
    search = GridSearchCV(
        make_pipeline(MaxAbsScaler(), clone(MODELS["ppdsparse"])),
        {"ppdsparseclassifier__l1": [0.1]},
        scoring=make_topk_scorer("precision_at_k", 1),
        cv=2,
        error_score="raise",
    ).fit(X, indicator)
    plain = make_pipeline(MaxAbsScaler(), PPDSparseClassifier(random_state=0, l1=0.1)).fit(X, Y)
    scorer = make_topk_scorer("ndcg_at_k", 3)
    assert scorer(search, X, indicator) == scorer(plain, X, Y) > 0.3
    assert set(predict_topk(search, X)[0].ravel()) <= set(NAMES)
    named = cross_val_topk(search.best_estimator_, X, indicator, k=2, cv=2)
    numbered = cross_val_topk(plain, X, Y, k=2, cv=2)
    np.testing.assert_array_equal(named.codes, numbered.codes)
    np.testing.assert_array_equal(named.classes, NAMES)


@pytest.mark.parametrize(
    "wrapper",
    [
        TopKCalibratedClassifier(MODELS["ppdsparse"], cv=2),
        TopKThresholdClassifier(MODELS["ppdsparse"], cv=2),
        TopKThresholdClassifier(MODELS["ppdsparse"], cv=0.3, refit=False),
        TopKCalibratedClassifier(FrozenEstimator(clone(MODELS["ppdsparse"]).fit(X, Y))),
        clone(MODELS["ppdsparse"]).set_params(calibration="sigmoid", calibration_cv=2),
    ],
    ids=["calibrated", "threshold", "one split", "frozen", "own calibration"],
)
def test_wrappers_answer_with_them(wrapper, tmp_path):
    plain = clone(wrapper)
    inner = {"label_names": None, "estimator__label_names": None}
    if not isinstance(getattr(plain, "estimator", None), FrozenEstimator):
        plain.set_params(**{key: v for key, v in inner.items() if key in plain.get_params()})
        numbers = plain.fit(X, Y).predict_topk(X, 2)[0]
        np.testing.assert_array_equal(wrapper.fit(X, Y).predict_topk(X, 2)[0], NAMES[numbers])
        assert (wrapper.predict(X) != plain.predict(X)).nnz == 0
    else:
        wrapper.fit(X, Y)
    assert set(wrapper.predict_topk(X)[0].ravel()) <= set(NAMES)
    wrapper.save(tmp_path / "model")
    np.testing.assert_array_equal(
        load(tmp_path / "model").predict_topk(X)[0], wrapper.predict_topk(X)[0]
    )
    assert set(wrapper.predict_topk(X, 1, labels=NAMES[:2])[0].ravel()) <= set(NAMES[:2])


def test_reports_and_displays(monkeypatch):
    pytest.importorskip("matplotlib").use("agg")
    model = clone(MODELS["ppdsparse"]).fit(X, Y)
    assert report(model, X, Y).labels.tolist() == NAMES.tolist()
    PrecisionAtKDisplay.from_estimator(model, X, Y)


@pytest.mark.parametrize(
    ("names", "y", "message"),
    [
        (NAMES[1:], Y, "label_names must be 1-D with a name for each of the 12 labels"),
        (np.repeat("a", 12), Y, "names two labels 'a'; 11 of 12 repeat one .* give names= to"),
        (NAMES, np.arange(200) % 3, "label_names is for the columns of an indicator"),
        (NAMES[::-1], FRAME, "label_names begins with 'topic 0', but y is a DataFrame"),
        (3, Y, "label_names"),
    ],
)
def test_bad_names(names, y, message):
    with pytest.raises(ValueError, match=message):
        PPDSparseClassifier(label_names=names).fit(X, y)


def test_score_of_lists_of_labels_says_how_to_give_them():
    model = PPDSparseClassifier(label_names=NAMES, random_state=0).fit(X, Y)
    lists = [NAMES[row.indices].tolist() for row in Y]
    with pytest.raises(ValueError, match=r"indicator matrix with .*MultiLabelBinarizer"):
        model.score(X, lists)
    predicted = [model.classes_[row.indices].tolist() for row in model.predict(X)]
    assert sum(map(len, predicted)) == model.predict(X).nnz

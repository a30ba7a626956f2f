"""Functions inside of what `base/test_one_state.py` tests from outside."""

import threading

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_xc import (
    AugmentReduceClassifier,
    ImplicitSoftmaxRegressor,
    LDGSClassifier,
    MemoirSVC,
    PPDSparseClassifier,
    TopKCalibratedClassifier,
    TopKNeighborsClassifier,
    load,
)
from sklearn_xc._kernels.common import _whole_changes
from sklearn_xc.base import _validation

RNG = np.random.default_rng(0)
X, CODES = RNG.normal(size=(120, 10)), np.arange(120) % 6
OLD = np.array([f"old {i}" for i in range(6)])[CODES]
NEW = np.array([f"new {9 - i}" for i in range(6)])[CODES]
MODELS = {
    "ppdsparse": PPDSparseClassifier(random_state=0),
    "memoir": MemoirSVC(random_state=0, max_iter=2),
    "ldgs": LDGSClassifier(random_state=0, max_iter=2),
    "augment_reduce": AugmentReduceClassifier(random_state=0, max_iter=2),
    "implicit_softmax": ImplicitSoftmaxRegressor(random_state=0, max_iter=2, learning_rate=0.01),
    "calibrated": TopKCalibratedClassifier(PPDSparseClassifier(random_state=0), cv=2),
    "neighbors": TopKNeighborsClassifier(),
    "calibration": PPDSparseClassifier(random_state=0, calibration="sigmoid", calibration_cv=2),
}


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_predictions_in_the_middle_of_a_fit(name, mapped, monkeypatch, tmp_path):
    """Another thread asks just when the labels are new and the weights are old."""
    model = clone(MODELS[name]).fit(X, OLD)
    if mapped:
        model.save(tmp_path / "model")
        model = load(tmp_path / "model", "r")
    calls = ["predict", "decision_function", "predict_topk", "explain", "predict_proba"]
    calls = [call for call in calls if hasattr(model, call)]
    before = {call: _plain(getattr(model, call)(X[:5])) for call in calls}
    found = {}

    def ask():
        for call in calls:
            found[call] = _plain(getattr(model, call)(X[:5]))

    if name == "calibrated":
        target, hook = model, "_remember"
    else:
        target, hook = type(model), "_set_support"
    original = getattr(target, hook)

    def in_between(*arguments):
        original(*arguments)
        if not found:
            thread = threading.Thread(target=ask)
            thread.start()
            thread.join()

    with monkeypatch.context() as patch:
        patch.setattr(target, hook, in_between)
        model.fit(X, NEW)
    assert found == before
    assert set(model.predict(X)) <= set(NEW)
    assert not _whole_changes.changing


def _plain(found):
    parts = found if isinstance(found, tuple) else (found,)
    return [part.tolist() if isinstance(part, np.ndarray) else repr(part) for part in parts]


@pytest.mark.parametrize("name", MODELS)
def test_a_prediction_that_began_on_a_mapped_model_ends_on_it(name, tmp_path):
    clone(MODELS[name]).fit(X, OLD).save(tmp_path / "model")
    model = load(tmp_path / "model", "r")
    now, before = _validation.as_it_is(model), model.predict(X).tolist()
    model.fit(X, NEW)
    assert now.predict(X).tolist() == before
    assert set(model.predict(X)) <= set(NEW)


def test_a_loaded_scorer_of_neighbours_is_made_once(tmp_path):
    TopKNeighborsClassifier().fit(X, OLD).save(tmp_path / "model")
    for mode in None, "r":
        model = load(tmp_path / "model", mode)
        model.predict_topk(X[:1])
        assert _validation.as_it_is(model)._model() is _validation.as_it_is(model)._model()


def test_within_a_fit_a_thread_sees_its_own_work():
    model = PPDSparseClassifier(random_state=0).fit(X, OLD)
    with model._all_or_nothing():
        assert _validation.as_it_is(model) is model
    assert _validation.as_it_is(model) is not model

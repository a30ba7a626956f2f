"""Functions inside of what `utils/test_callbacks.py` tests from outside."""

import numpy as np
import pytest
from _recorder import EPOCHS, ESTIMATORS, Recorder, make, needs_callbacks

import sklearn_xc
from sklearn_xc.datasets import make_xc_classification
from sklearn_xc.utils import _callbacks


@pytest.fixture(scope="module")
def data():
    return make_xc_classification(n_samples=200, n_features=100, n_classes=8, random_state=0)


@needs_callbacks
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_step_is_told_in_order(estimator, data):
    X, y = data
    recorder = Recorder()
    weight = np.ones(200)
    model = make(estimator).set_callbacks(recorder).fit(X, y, weight)
    assert recorder.told[:2] == ["setup", "begin fit"]
    assert recorder.told[-2:] == ["end fit", "teardown"]
    steps = recorder.told[2:-2]
    if estimator is sklearn_xc.ImplicitSoftmaxRegressor:  # the rates that are tried come first
        n_rates = steps.count("begin rate")
        assert 5 <= n_rates <= 8
        assert steps[: 2 * n_rates] == ["begin rate", "end rate"] * n_rates
        steps = steps[2 * n_rates :]
    name = steps[0].split()[1]
    assert steps == [f"begin {name}", f"end {name}"] * (len(steps) // 2)
    if estimator in EPOCHS:
        assert len(steps) // 2 == model.n_iter_ == 3
    for told_X, told_y, metadata in recorder.data:
        assert told_X is X
        assert told_y is y
        assert metadata["sample_weight"] is weight
    assert not any(name in vars(model) for name in _callbacks.STATE)


@needs_callbacks
def test_callbacks_are_not_saved_with_a_model(data, tmp_path):
    X, y = data
    model = make(sklearn_xc.LDGSClassifier).set_callbacks(Recorder()).fit(X, y)
    model.save(tmp_path / "model.sxc")
    loaded = sklearn_xc.load(tmp_path / "model.sxc")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert not hasattr(loaded, _callbacks.CALLBACKS)


def word_vectors(**options):
    options = {"dim": 4, "subsample": 0, "max_iter": 3, "random_state": 0} | options
    return sklearn_xc.LDGSWordEmbedding(**options)


@needs_callbacks
def test_word_vectors_tell_of_each_pass(tmp_path):
    corpus = [["one", "and", "two"], ["two", "and", "three"], ["cats", "purr"]] * 50
    plain = word_vectors().fit(corpus)
    recorder = Recorder()
    model = word_vectors().set_callbacks(recorder).fit(corpus)
    steps = ["begin pass", "end pass"] * 3
    assert recorder.told == ["setup", "begin fit", *steps, "end fit", "teardown"]
    assert all(X is corpus and y is None for X, y, _ in recorder.data)
    assert not any(name in vars(model) for name in _callbacks.STATE)
    np.testing.assert_array_equal(model.embeddings_, plain.embeddings_)
    scores = [twin.score(corpus) for twin in recorder.models]  # each is of its own pass
    assert len(set(scores[:3])) == 3
    assert scores[2] == scores[3] == model.score(corpus)
    assert scores[0] < scores[2]

    stopped = word_vectors(compute_loss=True).set_callbacks(Recorder(stop_after=2)).fit(corpus)
    assert stopped.n_iter_ == len(stopped.loss_curve_) == 2
    np.testing.assert_array_equal(stopped.embeddings_, recorder.models[1].embeddings_)

    model.save(tmp_path / "words.sxc")
    assert not hasattr(sklearn_xc.load(tmp_path / "words.sxc"), _callbacks.CALLBACKS)
    before = vars(model).copy()
    model.set_callbacks(Recorder(fail_in="fit"))
    with pytest.raises(RuntimeError, match="a callback failed"):
        model.fit(corpus[:60])
    assert model.embeddings_ is before["embeddings_"]
    assert not any(name in vars(model) for name in _callbacks.STATE)


def test_remaining_time_is_that_of_the_steps_that_are_left(monkeypatch, capsys):
    now = iter([0.0, 100.0, 110.0, 120.0, 9000.0, 90000.0])
    monkeypatch.setattr(_callbacks, "perf_counter", lambda: next(now))
    progress = _callbacks.Progress(object(), verbose=1).start(10, name="pass")
    for loss in (1.23456, None):
        progress.begin()  # the first at 100 s, after other work
        progress.end(loss=loss)
    progress.end(held_out_loss=1)
    progress.end()
    assert capsys.readouterr().out.splitlines() == [
        "object: pass 1 of 10, loss 1.235, 110 s, about 90 s left",
        "object: pass 2 of 10, 2 min, about 80 s left",
        "object: pass 3 of 10, held out loss 1, 2.5 h, about 5.8 h left",
        "object: pass 4 of 10, 25.0 h, about 37.5 h left",
    ]


def test_without_callbacks_in_scikit_learn_nothing_is_asked_of_the_estimator():
    class Fitted:
        verbose = 0

    progress = _callbacks.Progress.of_fit(Fitted(), "X", "y", None).start(3)
    progress.begin()
    assert progress.end(lambda: 1 / 0) is False
    assert progress.before(2, "rate").end() is False
    progress.finish()
    assert not progress.watched

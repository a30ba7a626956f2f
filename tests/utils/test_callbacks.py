"""Callbacks of scikit-learn 1.9: told of every epoch, may stop it, and get estimators to score."""

import re

import joblib
import numpy as np
import pytest
from _full import rest_in_full
from _recorder import EPOCHS, ESTIMATORS, Recorder, make, needs_callbacks
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

import sklearn_xc
from sklearn_xc.datasets import make_xc_classification
from sklearn_xc.metrics import make_topk_scorer


@pytest.fixture(scope="module")
def data():
    return make_xc_classification(n_samples=200, n_features=100, n_classes=8, random_state=0)


@needs_callbacks
@pytest.mark.parametrize("n_classes", [2, 8])
@pytest.mark.parametrize("estimator", EPOCHS)
def test_the_model_after_an_epoch_is_that_of_a_fit_that_stops_there(estimator, n_classes, data):
    X, y = data[0], data[1] % n_classes
    recorder = Recorder()
    last = make(estimator).set_callbacks(recorder).fit(X, y)
    assert len(recorder.models) == 4
    np.testing.assert_array_equal(
        recorder.models[2].decision_function(X), last.decision_function(X)
    )
    np.testing.assert_array_equal(
        recorder.models[3].decision_function(X), last.decision_function(X)
    )
    stopped = make(estimator).set_callbacks(Recorder(stop_after=2)).fit(X, y)
    assert stopped.n_iter_ == 2
    np.testing.assert_array_equal(
        recorder.models[1].decision_function(X), stopped.decision_function(X)
    )
    assert not np.array_equal(stopped.decision_function(X), last.decision_function(X))


@needs_callbacks
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_watching_changes_nothing(estimator, data):
    X, y = data
    watched = make(estimator).set_callbacks(Recorder()).fit(X, y).decision_function(X)
    # the models that the recorder asks for round the lazily scaled weights of ImplicitSoftmax
    np.testing.assert_allclose(watched, make(estimator).fit(X, y).decision_function(X), atol=1e-5)


@needs_callbacks
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_callback_that_fails_leaves_the_estimator_as_it_was(estimator, data):
    X, y = data
    recorder = Recorder(fail_in="fit")
    model = make(estimator).set_callbacks(recorder)
    before = vars(model).copy()
    with pytest.raises(RuntimeError, match="a callback failed"):
        model.fit(X, y)
    assert recorder.told[-1] == "teardown"
    assert vars(model) == before


@needs_callbacks
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_scores_of_every_epoch_are_monitored(estimator, data):
    from sklearn.callback import ScoringMonitor

    X, y = data
    scoring = {"hit": make_topk_scorer("top_k_accuracy", 1), "accuracy": "accuracy"}
    monitor = ScoringMonitor(scoring=scoring)
    model = make_pipeline(MaxAbsScaler(), make(estimator).set_callbacks(monitor)).fit(X, y)
    log = monitor.get_logs().data
    assert len(log) == (4 if estimator in EPOCHS else 1)
    assert all(row["hit"] == row["accuracy"] for row in log)
    assert model.score(X, y) in [row["accuracy"] for row in log]


@needs_callbacks
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_progress_bar(estimator, data, capsys):
    pytest.importorskip("rich", reason="the progress bar of scikit-learn needs rich")
    from sklearn.callback import ProgressBar
    from sklearn.model_selection import GridSearchCV

    X, y = data
    model = make(estimator)
    model.set_callbacks(ProgressBar()).fit(X, y)
    assert estimator.__name__ in capsys.readouterr().out
    search = GridSearchCV(make(estimator), {"random_state": [0, 1]}, cv=2)
    search.set_callbacks(ProgressBar()).fit(X, y)
    assert estimator.__name__ in capsys.readouterr().out


@needs_callbacks
def test_callbacks_outlive_a_clone_and_workers(data):
    X, y = data
    recorder = Recorder()
    model = make(sklearn_xc.PPDSparseClassifier, n_jobs=2).set_callbacks(recorder)
    clone(model).fit(X, y)
    assert "end block" in recorder.told


TIME = r"\d+(\.\d)? (s|min|h)"
LINE = re.compile(
    rf"(?P<estimator>\w+): (?P<name>\w+)( (?P<number>\d+) of (?P<total>\d+))?"
    rf"(, (?P<loss>loss|bound|log likelihood|gap) (?P<value>\S+))(, [\w ]+ \S+)*"
    rf", {TIME}(?P<left>, about {TIME} left)?"
)


def lines_of(capsys):
    """Printed lines, as matches of LINE."""
    captured = capsys.readouterr()
    assert captured.err == ""
    matches = [LINE.fullmatch(line) for line in captured.out.splitlines()]
    assert None not in matches, captured.out
    return matches


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_verbose_tells_total_loss_and_times(estimator, data, capsys):
    model = make(estimator, verbose=1).fit(*data)
    lines = lines_of(capsys)
    rates = [line for line in lines if line["name"] == "rate"]
    if estimator is sklearn_xc.ImplicitSoftmaxRegressor:
        assert [int(line["number"]) for line in rates] == list(range(1, len(rates) + 1))
        assert 5 <= len(rates) <= 8
    else:
        assert not rates
    steps = lines[len(rates) :]
    assert len({line["total"] for line in steps}) == 1
    for number, line in enumerate(steps, 1):
        assert line["estimator"] == estimator.__name__
        assert int(line["number"]) == number <= int(line["total"])
        assert np.isfinite(float(line["value"]))
        assert line["left"]
    if estimator in EPOCHS:
        assert len(steps) == model.n_iter_ == 3


@pytest.mark.parametrize("options", [{"bound": "exact"}, {"model": "probit"}])
def test_verbose_of_other_bounds(options, data, capsys):
    make(sklearn_xc.AugmentReduceClassifier, verbose=1, **options).fit(*data)
    assert len(lines_of(capsys)) == 3


def test_verbose_tells_the_loss_that_is_kept(data, capsys):
    options = {"verbose": 1, "early_stopping": True, "max_iter": 30, "n_iter_no_change": 1}
    model = make(sklearn_xc.LDGSClassifier, **options).fit(*data)
    assert capsys.readouterr().out.count("held out precision") == model.n_iter_
    model = make(
        sklearn_xc.ImplicitSoftmaxRegressor, verbose=1, compute_loss=True, learning_rate=0.1
    ).fit(*data)
    told = [float(line["value"]) for line in lines_of(capsys)]
    np.testing.assert_allclose(told, model.loss_curve_, rtol=1e-3)


def test_verbose_without_a_curve_looks_at_few_samples(data, monkeypatch, capsys):
    monkeypatch.setattr("sklearn_xc.implicit_softmax._data.FEW", 50)
    options = {"verbose": 1, "learning_rate": 0.1}
    told = {}
    for curve in (False, True):
        make(sklearn_xc.ImplicitSoftmaxRegressor, compute_loss=curve, **options).fit(*data)
        told[curve] = np.array([float(line["value"]) for line in lines_of(capsys)])
    assert np.all(told[False] != told[True])
    np.testing.assert_allclose(told[False], told[True], rtol=0.3)


@pytest.mark.parametrize("estimator", EPOCHS)
def test_verbose_of_a_part(estimator, data, capsys):
    X, y = data
    model = make(estimator, verbose=1)
    for part in np.split(np.arange(200), 2):
        model.partial_fit(X[part], y[part], classes=np.arange(8))
    lines = [line for line in lines_of(capsys) if line["name"] != "rate"]
    assert [line["name"] for line in lines] == ["part"] * 2
    assert not any(line["total"] or line["left"] for line in lines)


def test_verbose_of_word_vectors(capsys):
    corpus = [["one", "and", "two"], ["two", "and", "three"], ["cats", "purr"]] * 50
    options = {"dim": 4, "subsample": 0, "max_iter": 3, "random_state": 0, "verbose": 1}
    losses = []
    for compute_loss in True, False:
        model = sklearn_xc.LDGSWordEmbedding(**options, compute_loss=compute_loss).fit(corpus)
        lines = lines_of(capsys)
        assert [(line["name"], line["number"], line["total"]) for line in lines] == [
            ("pass", number, "3") for number in "123"
        ]
        losses.append([float(line["value"]) for line in lines])
        assert hasattr(model, "objective_") == compute_loss
    np.testing.assert_allclose(losses[1], losses[0], rtol=0.1)  # of words drawn
    silent = sklearn_xc.LDGSWordEmbedding(**options | {"verbose": 0}).fit(corpus)
    np.testing.assert_array_equal(silent.embeddings_, model.embeddings_)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(
    "backend", rest_in_full(["threading", "loky", "multiprocessing"], "threading")
)
def test_verbose_changes_nothing_whatever_works(backend, n_jobs, data, capsys):
    X, y = make_xc_classification(400, 100, 80, random_state=0)
    told = {}
    for verbose in (0, 1):
        with joblib.parallel_config(backend=backend):
            model = make(sklearn_xc.PPDSparseClassifier, verbose=verbose, n_jobs=n_jobs).fit(X, y)
        told[verbose] = model.decision_function(X)
    np.testing.assert_array_equal(told[0], told[1])
    assert len(lines_of(capsys)) == 6


@needs_callbacks
@pytest.mark.parametrize("estimator", [sklearn_xc.MemoirSVC, sklearn_xc.PPDSparseClassifier])
def test_fits_for_a_calibration_are_not_told(estimator, data):
    told = []
    for calibration in (None, "sigmoid"):
        recorder = Recorder()
        model = make(estimator, calibration=calibration, calibration_cv=2)
        model.set_callbacks(recorder).fit(*data)
        told.append(recorder.told)
    assert told[0] == told[1] != []

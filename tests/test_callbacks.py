"""Callbacks of scikit-learn 1.9: told of every epoch, may stop it, and get estimators to score."""

import inspect

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils.fixes import parse_version

import sklearn_xc
from sklearn_xc import _callbacks
from sklearn_xc._base import BaseXCClassifier
from sklearn_xc.datasets import make_xc_classification
from sklearn_xc.metrics import make_topk_scorer

ESTIMATORS = [
    member
    for member in (getattr(sklearn_xc, name) for name in sklearn_xc.__all__)
    if inspect.isclass(member) and issubclass(member, BaseXCClassifier)
]
EPOCHS = [model for model in ESTIMATORS if model is not sklearn_xc.PPDSparseClassifier]
NEW = parse_version(sklearn.__version__) >= parse_version("1.9")
needs_callbacks = pytest.mark.skipif(not NEW, reason="scikit-learn before 1.9 has no callbacks")


@pytest.fixture(scope="module")
def data():
    return make_xc_classification(n_samples=200, n_features=100, n_classes=8, random_state=0)


def make(estimator, max_iter=3, **options):
    if "max_iter" in inspect.signature(estimator).parameters and estimator in EPOCHS:
        options["max_iter"] = max_iter
    return estimator(random_state=0, **options)


class Recorder:
    """Writes down what it is told, and asks to stop after so many steps."""

    def __init__(self, stop_after=None, fail_in=None):
        self.stop_after, self.fail_in = stop_after, fail_in
        self.told, self.models, self.data = [], [], []

    def setup(self, estimator, context):
        self.told.append("setup")

    def teardown(self, estimator, context):
        self.told.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None, metadata=None):
        self.told.append(f"begin {context.task_name}")
        self.data.append((X, y, metadata))

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.told.append(f"end {context.task_name}")
        self.models.append(fitted_estimator)
        if self.fail_in == context.task_name:
            raise RuntimeError("a callback failed")
        steps = sum(text.startswith("end") and text != "end fit" for text in self.told)
        return self.stop_after == steps


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


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_verbose_tells_without_callbacks(estimator, data, capsys):
    make(estimator, verbose=1).fit(*data)
    captured = capsys.readouterr()
    assert captured.out + captured.err != ""


def test_without_callbacks_in_scikit_learn_nothing_is_asked_of_the_estimator():
    progress = _callbacks.Progress(object(), 3, {"sample_weight": None})
    progress.begin()
    assert progress.end(lambda: 1 / 0) is False
    progress.finish()
    assert not progress.watched


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

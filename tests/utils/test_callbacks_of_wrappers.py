"""Callbacks of wrappers, and of the fits inside them."""

import numpy as np
import pytest
from _recorder import Recorder, make, needs_callbacks
from _wrappers import WRAPPERS
from sklearn.pipeline import make_pipeline

import sklearn_xc
from sklearn_xc.metrics import make_topk_scorer

# ----------------------------------------------------------------------------------- wrappers


class Propagated(Recorder):
    """A recorder that scikit-learn hands on to the estimators inside, as its progress bar."""

    max_propagation_depth = None

    def on_fit_task_begin(self, estimator, context):
        self.told.append(f"begin {type(estimator).__name__} {context.task_name}")

    def on_fit_task_end(self, estimator, context):
        self.told.append(f"end {type(estimator).__name__} {context.task_name}")


@needs_callbacks
@pytest.mark.parametrize("name", WRAPPERS)
def test_fits_inside_wrappers_are_told(name, labels):
    X, y = labels
    wrapper, options, n_fits = WRAPPERS[name]
    recorder, weight = Recorder(), np.ones(200)
    model = wrapper(**options).set_callbacks(recorder).fit(X, y, weight)
    assert recorder.told[:2] == ["setup", "begin fit"]
    assert recorder.told[-2:] == ["end fit", "teardown"]
    first = ["begin all samples", "end all samples"] if n_fits > 1 else []
    folds = n_fits - len(first) // 2
    assert recorder.told[2:-2] == first + ["begin fold", "end fold"] * folds
    assert recorder.data[0][0] is X
    assert recorder.data[0][2]["sample_weight"] is weight
    sizes = [len(metadata["sample_weight"]) for _, _, metadata in recorder.data]
    assert sizes[: 1 + len(first) // 2] == [200] * (1 + len(first) // 2)
    assert all(
        told_X.shape[0] == size < 200
        for (told_X, _, _), size in zip(recorder.data[-folds:], sizes[-folds:], strict=True)
    )
    assert len(recorder.models) == 1  # the wrapper itself, at the end
    assert (recorder.models[0].predict(X) != model.predict(X)).nnz == 0


@needs_callbacks
@pytest.mark.parametrize("name", WRAPPERS)
def test_callbacks_that_propagate_see_the_steps_inside(name, labels):
    wrapper, options, n_fits = WRAPPERS[name]
    recorder = Propagated()
    inner = make_pipeline("passthrough", make(sklearn_xc.LDGSClassifier))
    model = wrapper(inner, **options).set_callbacks(recorder).fit(*labels)
    assert recorder.told.count("begin LDGSClassifier pass") == 3 * n_fits
    assert recorder.told.count("end LDGSClassifier fit") == n_fits
    assert recorder.told.count("setup") == recorder.told.count("teardown") == 1
    last = model.estimator_[-1]
    assert not hasattr(last, "_skl_callbacks")
    assert not hasattr(last, "_parent_callback_ctx")


@needs_callbacks
def test_a_wrapper_that_fits_nothing_is_told(labels):
    from sklearn.frozen import FrozenEstimator

    frozen = FrozenEstimator(sklearn_xc.PPDSparseClassifier(random_state=0).fit(*labels))
    recorder = Recorder()
    sklearn_xc.TopKCalibratedClassifier(frozen).set_callbacks(recorder).fit(*labels)
    assert recorder.told == ["setup", "begin fit", "end fit", "teardown"]


@needs_callbacks
@pytest.mark.parametrize("fail_in", ["fold", "all samples", "fit"])
def test_a_callback_that_fails_leaves_the_wrapper_as_it_was(fail_in, labels):
    model = sklearn_xc.TopKThresholdClassifier(cv=2).set_callbacks(Recorder(fail_in=fail_in))
    before = vars(model).copy()
    with pytest.raises(RuntimeError, match="a callback failed"):
        model.fit(*labels)
    assert vars(model) == before


@pytest.mark.full
@needs_callbacks
def test_workers_tell_of_their_folds(labels):
    from sklearn.callback import ScoringMonitor

    monitor = ScoringMonitor(scoring={"hit": make_topk_scorer("precision_at_k", 1)})
    inner = make(sklearn_xc.LDGSClassifier).set_callbacks(monitor)
    sklearn_xc.TopKThresholdClassifier(inner, cv=2, n_jobs=2).fit(*labels)
    rows = [row for log in monitor.get_logs(select="all") for row in log.data]
    assert len(rows) == 3 * (3 + 1)

"""A callback that records what it is told."""

import inspect

import pytest
import sklearn
from sklearn.utils.fixes import parse_version

import sklearn_xc
from sklearn_xc.base._classifier import BaseXCClassifier

ESTIMATORS = [
    member
    for member in (getattr(sklearn_xc, name) for name in sklearn_xc.__all__)
    if inspect.isclass(member)
    and issubclass(member, BaseXCClassifier)
    and member is not sklearn_xc.PPDSparseClassifierCV  # its steps are fits (test_classifier_cv.py)
]
EPOCHS = [model for model in ESTIMATORS if model is not sklearn_xc.PPDSparseClassifier]
NEW = parse_version(sklearn.__version__) >= parse_version("1.9")
needs_callbacks = pytest.mark.skipif(not NEW, reason="scikit-learn before 1.9 has no callbacks")


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
        if fitted_estimator is not None:
            self.models.append(fitted_estimator)
        if self.fail_in == context.task_name:
            raise RuntimeError("a callback failed")
        steps = sum(text in ("end epoch", "end pass") for text in self.told)
        return self.stop_after == steps

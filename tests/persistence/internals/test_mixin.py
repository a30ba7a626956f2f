"""Functions inside of what `persistence/test_mixin.py` tests from outside."""

import copy
from pathlib import Path

import numpy as np
import pytest
from _saved_models import (
    ESTIMATORS,
    MODES,
    Y_TEXT,
    X,
    assert_same_arrays,
)
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from sklearn_xc import (
    MemoirSVC,
    load,
)
from sklearn_xc.persistence import SaveMixin
from sklearn_xc.persistence._file import FORMAT
from sklearn_xc.utils import _records
from sklearn_xc.utils._records import record

# ------------------------------------------------------------------------------------ old formats

FOLDER = Path(__file__).parents[2] / "models"


def test_there_is_a_file_of_every_format():
    formats = [f"v{FORMAT[0]}.{minor}" for minor in range(FORMAT[1] + 1)]
    assert {path.name.split("-")[0] for path in FOLDER.glob("*.sxc")} == set(formats)


# ------------------------------------------------------------------------------------ nested parts


@record(factors=_records.is_array(np.float64))
class Scale:
    """A part of an estimator."""

    def __init__(self, factors):
        self.factors = factors

    def _check_record(self):
        if len(self.factors) == 0:
            raise ValueError("factors must not be empty")


class Wrapper(SaveMixin, ClassifierMixin, BaseEstimator):
    """A classifier around one of ours, with parts of its own."""

    def __init__(self, estimator, method="first"):
        self.estimator = estimator
        self.method = method

    def fit(self, X, y):
        self.estimators_ = [clone(self.estimator).fit(X, y) for _ in range(2)]
        self.scale_ = Scale(np.arange(3.0))
        self.table_ = {"a": (1, None, [np.float32(2)]), 3: float("nan"), "c": -np.inf}
        return self

    def predict(self, X):
        return self.estimators_[1].predict(X)

    def _check_loaded(self, mapped):
        tests = _records.is_a(list), _records.is_a(Scale), _records.is_a(dict)
        names = "estimators_", "scale_", "table_"
        _records.require_attributes(self, **dict(zip(names, tests, strict=True)))


@pytest.fixture
def with_wrapper(monkeypatch):
    monkeypatch.setitem(_records.ESTIMATORS, "Wrapper", Wrapper)


@pytest.mark.parametrize("mode", MODES)
def test_estimators_around_ours(with_wrapper, tmp_path, mode):
    model = Wrapper(clone(ESTIMATORS["memoir"])).fit(X, Y_TEXT)
    model.save(tmp_path / "model", dtype="float16")  # of the estimators inside
    loaded = load(tmp_path / "model", mode)
    for _ in range(2):
        assert isinstance(loaded.estimator, MemoirSVC)
        with pytest.raises(NotFittedError):
            loaded.estimator.predict(X)
        assert_same_arrays(loaded.predict(X), model.predict(X))
        assert_same_arrays(loaded.scale_.factors, np.arange(3.0))
        assert list(loaded.table_) == ["a", 3, "c"]
        assert loaded.table_["a"] == (1, None, [2.0])
        assert type(loaded.table_["a"][2][0]) is np.float32
        assert np.isnan(loaded.table_[3])
        assert loaded.table_["c"] == -np.inf
        loaded = copy.deepcopy(loaded)


def test_estimators_around_others_are_refused(with_wrapper, tmp_path):
    model = Wrapper(LogisticRegression())
    model.estimators_ = []
    with pytest.raises(TypeError, match=r"parameter 'estimator' of Wrapper is a .*LogisticRegr"):
        model.save(tmp_path / "model")
    model = Wrapper(None)
    model.fitted_ = 1
    with pytest.raises(ValueError, match=r"are for linear weights, and Wrapper has none"):
        model.save(tmp_path / "model", dtype="float16")

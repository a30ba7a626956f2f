"""Functions inside of what `ppdsparse/test_scratch.py` tests from outside."""

import errno
import os

import joblib
import numpy as np
import pytest
from _full import rest_in_full
from _scratch_fits import X, Y, assert_same
from sklearn.base import clone

from sklearn_xc import PPDSparseClassifier
from sklearn_xc.utils import _csr, _scratch

WEIGHT = np.arange(X.shape[0]) % 4


@pytest.mark.parametrize("backend", rest_in_full(["threading", "loky"], "loky"))
@pytest.mark.parametrize(
    ("options", "factor", "weight"),
    [
        ({}, 1, None),
        ({"n_jobs": 2, "warm_start": True}, 3.7, WEIGHT),
        ({"feature_threshold": 0.05, "l1": 0.01}, 2, WEIGHT),
    ],
    ids=["plain", "warm", "coarse"],
)
def test_same_bits(tmp_path, monkeypatch, backend, options, factor, weight):
    data = X * np.float32(factor), Y, weight
    expected = PPDSparseClassifier(random_state=0, **options).fit(*data)
    model = clone(expected).set_params(scratch=tmp_path / "scratch")
    with joblib.parallel_config(backend=backend):
        model.fit(*data)
    assert_same(model, expected)
    assert os.listdir(tmp_path / "scratch") == []
    monkeypatch.setattr(_csr, "STRETCH", 1000)  # as if there were too many entries for one
    with joblib.parallel_config(backend=backend):
        assert_same(clone(model).fit(*data), clone(expected).fit(*data))


def test_errors_leave_nothing(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_text("")
    model = PPDSparseClassifier(scratch=file, l1="rows", l2="rows")
    with pytest.raises(OSError, match=r"scratch='.*file': "):
        model.fit(X, Y)
    assert not hasattr(model, "coef_")
    with pytest.raises(ValueError, match="'scratch' parameter"):
        PPDSparseClassifier(scratch=3).fit(X, Y)
    model.set_params(scratch=tmp_path / "folder")
    reserve, calls, n_before = _scratch._reserve, [], 0

    def full_after(file, size):
        calls.append(size)
        if len(calls) > n_before:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        reserve(file, size)

    monkeypatch.setattr(_scratch, "_reserve", full_after)
    for n in range(8):
        calls.clear()
        n_before = n
        with pytest.raises(OSError, match=r"scratch='.*folder': No space left"):
            model.fit(X, Y)
        assert not hasattr(model, "coef_")
        assert os.listdir(tmp_path / "folder") == []

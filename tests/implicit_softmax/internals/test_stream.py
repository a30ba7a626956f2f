"""Functions inside of what `implicit_softmax/test_stream.py` tests from outside."""

import numpy as np
import pytest
from _streamed_digits import SOLVERS, digits

from sklearn_xc import ImplicitSoftmaxRegressor
from sklearn_xc.implicit_softmax._stream import Stream, keys_of
from sklearn_xc.utils._coordinates import Coordinates
from sklearn_xc.utils._matrix import as_rows
from sklearn_xc.utils._records import made_record


def test_auxiliary_variables_come_back_with_their_rows():
    X, y = digits()  # 1000 rows: those after 800 are not of the beginning
    model = ImplicitSoftmaxRegressor(**SOLVERS["implicit"], random_state=0)
    model.partial_fit(X[:800], y[:800], classes=np.arange(10))
    keys = keys_of(as_rows(X[:1000]).hashes(), y[:1000], model.classes_)
    u = model._stream.auxiliary(keys, np.log(10))
    assert len(np.unique(keys)) == 1000
    assert (u[:800] != np.log(10)).all()
    np.testing.assert_array_equal(u[800:], np.log(10))
    before = model._stream
    model.partial_fit(X[800:1000], y[800:1000])
    np.testing.assert_array_equal(model._stream.auxiliary(keys, np.nan)[:800], u[:800])
    assert len(before.keys) == 800  # a record is never changed
    grown = keys_of(as_rows(X[:1000]).hashes(), 2 * y[:1000], np.arange(20) // 2)
    np.testing.assert_array_equal(grown, keys)  # labels count, not their places


def test_auxiliary_variables_are_kept_of_so_many_rows(monkeypatch):
    monkeypatch.setattr("sklearn_xc.implicit_softmax._stream.MOST_KEPT", 50)
    rng = np.random.default_rng(0)
    keys = rng.integers(2**63, size=80).astype(np.uint64)
    stream = Stream(Coordinates())
    for part in np.split(np.arange(80), 4):
        stream = stream.with_auxiliary(keys[part], part.astype(float))
    np.testing.assert_array_equal(stream.keys, np.sort(keys)[:50])
    np.testing.assert_array_equal(stream.auxiliary(np.sort(keys)[:50], -1), np.argsort(keys)[:50])
    twice = stream.with_auxiliary(keys[[3, 3]], np.array([7.0, 8.0]))
    assert len(twice.keys) == len(np.unique(twice.keys))
    np.testing.assert_array_equal(Stream(Coordinates()).auxiliary(keys[:2], 5.0), [5, 5])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"coordinates": None}, "coordinates of a Stream cannot be a NoneType"),
        ({"length": 0.0}, "length of a Stream cannot be"),
        ({"keys": np.zeros(2)}, "keys of a Stream cannot be an array of float64"),
        ({"u": np.zeros(3)}, "not one for each sample"),
        ({"keys": np.zeros(1, np.uint64), "u": np.array([np.nan])}, "u of a Stream"),
        ({"keys": np.array([2, 1], np.uint64), "u": np.zeros(2)}, "not in order"),
        ({"entries": np.array([-1])}, "entries of a Stream"),
        ({"more": 1}, "more"),
    ],
)
def test_a_record_that_contradicts_itself_is_refused(change, message):
    values = vars(Stream(Coordinates()))
    assert vars(made_record(Stream, values)) == values
    with pytest.raises(ValueError, match=message):
        made_record(Stream, values | change)

"""Functions inside of what `test_partial_fit_laws.py` tests from outside."""

import pickle

import numpy as np
import pytest
from _partial_fit_data import ESTIMATORS, digits, scores_of
from sklearn.base import clone

from sklearn_xc.training import _waiting


@pytest.mark.parametrize("name", ["augment_reduce", "ldgs", "implicit"])
def test_a_part_takes_no_pass_over_all_weights_to_undo_a_step(name, monkeypatch):
    """The arrays of before the step are kept; differences and digests are for files and pickles."""
    data = digits()
    model = clone(ESTIMATORS[name][0]).partial_fit(data.X[:970], data.y[:970], np.arange(10))
    expected = clone(ESTIMATORS[name][0]).partial_fit(data.X[:970], data.y[:970], np.arange(10))
    for row in range(970, 976):
        expected = pickle.loads(pickle.dumps(expected))
        expected.partial_fit(data.X[row : row + 1], data.y[row : row + 1])
    monkeypatch.delattr(_waiting, "digest_of")
    monkeypatch.delattr(_waiting, "Replaced")
    for row in range(970, 976):
        model.partial_fit(data.X[row : row + 1], data.y[row : row + 1])
    np.testing.assert_array_equal(scores_of(model, data.X), scores_of(expected, data.X))

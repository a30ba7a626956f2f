"""Notes in a file of a model: they come back, and `load` passes over them."""

import numpy as np
import pytest
from _saved_models import INDICATOR, X
from sklearn.exceptions import NotFittedError

from sklearn_xc import PPDSparseClassifier, load
from sklearn_xc.persistence import read_notes, save_with_notes


def test_notes_come_back(tmp_path):
    model, notes = (
        PPDSparseClassifier(random_state=0).fit(X, INDICATOR),
        {"a": [1, {"b": "\u00e9"}]},
    )
    save_with_notes(model, tmp_path / "a", notes)
    assert read_notes(tmp_path / "a") == notes
    np.testing.assert_array_equal(load(tmp_path / "a").predict_topk(X)[0], model.predict_topk(X)[0])
    model.save(tmp_path / "b")
    assert read_notes(tmp_path / "b") == {}


def test_what_cannot_be_noted_leaves_the_file_of_before(tmp_path):
    model = PPDSparseClassifier(random_state=0)
    with pytest.raises(NotFittedError):
        save_with_notes(model, tmp_path / "a", {})
    model.fit(X, INDICATOR)
    with pytest.raises(TypeError, match="not JSON serializable"):
        save_with_notes(model, tmp_path / "a", {"a": object()})
    assert list(tmp_path.iterdir()) == []

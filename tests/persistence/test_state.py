"""State that a method keeps from one call for the next: one record, saved and loaded as it is."""

import io

import numpy as np
import pytest
from _model_file import File
from sklearn.datasets import load_iris

from sklearn_xc import AugmentReduceClassifier, LDGSClassifier, MemoirSVC, load

X, Y = load_iris(return_X_y=True)
MODELS = {
    "augment_reduce": AugmentReduceClassifier(random_state=0),
    "ldgs": LDGSClassifier(random_state=0),
    "memoir": MemoirSVC(random_state=0),
}


def file_of(model):
    bytes_ = io.BytesIO()
    model.save(bytes_)
    return File(bytes_.getvalue())


@pytest.mark.parametrize("name", MODELS)
def test_a_file_holds_the_record(name):
    model = MODELS[name].partial_fit(X[::3], Y[::3], np.arange(3))
    file, fields = file_of(model), vars(model._state)
    node = file.attributes["_state"]
    assert (node["class"], node["fields"].keys()) == (type(model._state).__name__, fields.keys())
    loaded = load(file.bytes())
    assert type(loaded._state) is type(model._state)
    assert vars(loaded._state).keys() == fields.keys()


@pytest.mark.parametrize("name", MODELS)
def test_a_file_cannot_bring_another_record(name):
    file = file_of(MODELS[name].partial_fit(X[::3], Y[::3], np.arange(3)))
    whole = file.attributes["_state"]
    file.attributes["_state"] = whole["fields"]["seen"]
    with pytest.raises(ValueError, match=r"_state of a .* cannot be a RowsSeen"):
        load(file.bytes())
    file.attributes["_state"] = whole | {"fields": {"seen": whole["fields"]["seen"]}}
    with pytest.raises(ValueError, match="lacks"):
        load(file.bytes())


@pytest.mark.parametrize("name", MODELS)
def test_a_call_leaves_the_record_before_it_as_it_was(name):
    model = MODELS[name].partial_fit(X[::3], Y[::3], np.arange(3))
    before = model._state
    seen = before.seen.n_visits
    model.partial_fit(X, Y)
    assert model._state is not before
    assert before.seen.n_visits == seen < model._state.seen.n_visits
    with pytest.raises(AttributeError):
        before.seen = None

"""Types that the checkers of users see: whole, resolvable, and those of overloads up to date."""

import inspect
from typing import get_overloads, get_type_hints

import numpy as np
import pytest

from sklearn_xc.base._classifier import BaseXCClassifier
from sklearn_xc.base._explanation import Explanations
from sklearn_xc.base._multiclass import TrainsInParts
from sklearn_xc.persistence import SaveMixin, load, save, save_problems

METHODS = [
    BaseXCClassifier.decision_function,
    BaseXCClassifier.explain,
    BaseXCClassifier.predict,
    BaseXCClassifier.predict_topk,
    BaseXCClassifier.prune,
    BaseXCClassifier.score,
    BaseXCClassifier.topk_predictor,
    Explanations.__getitem__,
    SaveMixin.save,
    TrainsInParts.partial_fit,
    load,
    save,
    save_problems,
]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.__qualname__)
def test_every_argument_has_a_type_that_resolves(method):
    names = set(inspect.signature(method).parameters) - {"self"}
    assert get_type_hints(method).keys() == names | {"return"}


@pytest.mark.parametrize("method", [BaseXCClassifier.predict_topk, Explanations.__getitem__])
def test_overloads_have_the_arguments_of_the_function(method):
    real = inspect.signature(method).parameters.values()
    overloads = get_overloads(method)
    assert len(overloads) == 2
    for overload in overloads:
        given = inspect.signature(overload).parameters.values()
        assert [(p.name, p.kind) for p in given] == [(p.name, p.kind) for p in real]


def test_two_arrays_are_what_a_checker_expects_of_a_plain_call():
    plain, _ = get_overloads(BaseXCClassifier.predict_topk)
    assert get_type_hints(plain)["return"] == tuple[np.ndarray, np.ndarray]

"""Functions inside of what `persistence/test_checks.py` tests from outside."""

import pytest
from _forged_models import saved_models
from _model_file import File

import sklearn_xc
from sklearn_xc.persistence import SaveMixin
from sklearn_xc.utils._records import ESTIMATORS, RECORDS

pytestmark = pytest.mark.kernel


@pytest.fixture(scope="module")
def files():
    """Name -> bytes of a saved model."""
    return saved_models()


def test_every_record_has_a_test_for_each_attribute(files):
    kept = {}
    for data in files.values():
        for found in records_in(File(data).manifest["model"]):
            kept.setdefault(found["class"], set()).update(found["fields"])
    for name, cls in RECORDS.items():
        if name.startswith("Scale"):  # of another test module
            continue
        assert cls._fields_of_record, name
        assert kept.pop(name) == set(cls._fields_of_record)
    assert not kept


def test_every_estimator_checks_what_is_loaded():
    for name, cls in ESTIMATORS.items():
        if cls.__module__.startswith("sklearn_xc"):
            assert any("_check_loaded" in vars(c) for c in cls.__mro__ if c is not SaveMixin), name
            assert getattr(sklearn_xc, name, cls) is cls
            assert hasattr(sklearn_xc, name) or name == "LabelCentroids"  # a part of a stack


def records_in(node):
    """The records in the JSON of a model."""
    if isinstance(node, dict):
        if node.get("$") == "record":
            yield node
        node = list(node.values())
    if isinstance(node, list):
        for part in node:
            yield from records_in(part)

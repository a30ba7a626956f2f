"""Tests of behaviour know public names; tests of private functions stand in folders apart."""

import ast

import pytest
from _private_imports import TESTS, is_private, private_imports

MOST = 45  # may only fall


def test_few_tests_of_behaviour_import_private_names():
    found = private_imports()
    assert len(found) <= MOST, found


def test_folders_of_private_tests_are_found():
    assert len(list(TESTS.glob("*/oracles/test_*.py"))) > 20
    assert len(list(TESTS.glob("*/internals/test_*.py"))) > 20


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from sklearn_xc import MemoirSVC", False),
        ("from sklearn_xc.base import _labels", True),
        ("from sklearn_xc.memoir._train import MemoirSteps", True),
        ("import sklearn_xc._kernels", True),
        ("from _saved_models import MODES", False),
    ],
)
def test_private_names_are_told_from_public_ones(text, expected):
    assert is_private(ast.parse(text).body[0]) == expected

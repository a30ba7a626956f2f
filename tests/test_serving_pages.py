"""The examples of the pages on serving and tuning run and print what they say."""

import doctest
from pathlib import Path

import pytest

DOC = Path(__file__).resolve().parents[1] / "doc"


@pytest.mark.parametrize("page", ["serving.rst", "tuning.rst"])
def test_examples(page):
    found = doctest.testfile(str(DOC / page), module_relative=False)
    assert found.attempted > 5
    assert found.failed == 0

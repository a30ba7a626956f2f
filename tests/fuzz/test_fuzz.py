"""The fuzzers of `make fuzz` for a minute, and that they find what is wrong."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fuzz.cases import KINDS, FoundError

RUN = Path(__file__).with_name("run.py")


def run(*arguments):
    found = subprocess.run(
        [sys.executable, RUN, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    return found.returncode, found.stdout + found.stderr


@pytest.mark.full
def test_a_minute_of_every_kind():
    code, text = run("--seconds", 60)
    assert code == 0, text


@pytest.mark.full
def test_a_case_that_ends_its_process_is_told(tmp_path):
    """A kind that there is not: the process of the cases ends with an error."""
    code, text = run("--seconds", 0.1, "--kinds", "nonsense")
    assert code == 1
    assert "nonsense, seed 0: ended with 1" in text
    assert "--repeat nonsense 0" in text


@pytest.mark.kernel
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore")
def test_some_cases_of_each_kind(kind, tmp_path):
    wrong = []
    for seed in range(3):
        try:
            KINDS[kind](np.random.default_rng(seed), tmp_path)
        except FoundError as error:
            wrong.append((seed, str(error)))
    assert wrong == []

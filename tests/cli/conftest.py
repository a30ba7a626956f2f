"""A folder with a trained model, and a function that runs commands in it."""

import io
import os
import sys

import pytest
from _cli import COLUMNS, samples, write_csv

from sklearn_xc.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with titles.csv, more.csv and tagger.sxc, which is trained on the first."""
    folder = tmp_path_factory.mktemp("cli")
    path = write_csv(folder / "titles.csv", samples())
    write_csv(folder / "more.csv", samples(40, seed=1))
    call = ["train", path, *COLUMNS, "-o", str(folder / "tagger.sxc"), "--jobs", "1"]
    assert main(call) == 0
    return folder


@pytest.fixture
def run(capsys, folder):
    """A function that runs a command in the folder, and returns code, output and errors."""

    def call(*arguments, stdin=None):
        before, given = os.getcwd(), sys.stdin
        os.chdir(folder)
        if stdin is not None:
            sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode()))
        try:
            code = main(list(map(str, arguments)))
        finally:
            os.chdir(before)
            sys.stdin = given
        return code, *capsys.readouterr()

    return call

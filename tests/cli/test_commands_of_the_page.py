"""The commands that the page about the command line shows, on small files."""

import csv
import io
import re
import shlex
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from sklearn_xc.cli import main

PAGE = Path(__file__).resolve().parents[2] / "doc" / "reference/command_line.rst"
BLOCKS = re.findall(r"\.\. code-block:: console\n\n((?:   .*\n)+)", PAGE.read_text())
COMMANDS = [line.strip().removeprefix("$ ") for block in BLOCKS for line in block.splitlines()]
OURS = [line for line in COMMANDS if "sklearn-xc" in line and "sklearn-xc serve" not in line]
OURS = [line for line in OURS if "register" not in line]
SUBJECTS = ["lighthouses", "navigation", "forestry", "soils", "fiction"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    for name, n, more in (("titles.csv", 60, []), ("more_titles.csv", 30, ["deserts"])):
        with open(folder / name, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["title", "subjects"])
            for i in range(n):
                some = sorted({SUBJECTS[i % 5], [*SUBJECTS, *more][i % (5 + len(more))]})
                writer.writerow([f"a history of {' and '.join(some)}, {i % 7}", ";".join(some)])
    return folder


def test_the_page_has_every_command_but_serve():
    used = {re.search(r"sklearn-xc ([\w-]+)", line)[1] for line in OURS}
    assert used == {
        "train",
        "evaluate",
        "predict",
        "explain",
        "tune",
        "add-labels",
        "info",
        "convert",
    }
    assert len(OURS) >= 15


def test_commands_of_the_page_run_in_their_order(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    for line in OURS:
        words, given = shlex.split(line), ""
        if words[0] == "echo":
            given, words = f"{words[1]}\n", words[3:]
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        jobs = ["--jobs", "1"] if words[1] in ("train", "tune", "predict", "evaluate") else []
        assert main([*words[1:], *jobs]) == 0, (line, capsys.readouterr().err)


def test_options_that_the_page_names_are_there():
    named = set(re.findall(r"``(--[\w-]+)", PAGE.read_text()))
    text = ""
    for command in ("train", "evaluate", "predict", "add-labels", "convert", "serve", "tune"):
        with suppress(SystemExit), pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stdout", output := io.StringIO())
            main([command, "--help"])
        text += output.getvalue()
    assert [name for name in sorted(named) if name not in text] == []

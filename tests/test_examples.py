"""The examples on a reduced sample."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "examples"
PNG = b"\x89PNG\r\n\x1a\n"
# of a line of the table
NUMBERS = {"augment_reduce": 5, "implicit_softmax": 5, "ldgs": 3, "memoir": 4}
LINES = {
    "augment_reduce": (
        "softmax", "probit", "logistic", "softmax, one-vs-each", "softmax, exact",
    ),
    "implicit_softmax": ("implicit", "umax", "sgd", "one_vs_each", "nce", "importance"),
    "ldgs": ("exact softmax", "exact margin", "sampled", "MIPS", "decomposed"),
    "memoir": ("exact",),
}  # fmt: skip


def run(name, *arguments, folder, **variables):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.run(
        [sys.executable, "-W", "error", FOLDER / f"{name}.py", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**environment, **variables},
    )


@pytest.mark.parametrize("name", LINES)
def test_table_and_picture(name, tmp_path):
    options = "--sample", "60", "--passes", "3", "--output", "out.png"
    result = run(name, *options, folder=tmp_path)
    assert result.stderr == ""
    assert result.returncode == 0
    assert re.search(r"^N = \d+ passages, D = \d+ words, K = 60 objects$", result.stdout, re.M)
    for first in LINES[name]:
        (line,) = re.findall(rf"^{re.escape(first)}((?: +-?[\d.]+)+)$", result.stdout, re.M)
        numbers = [float(number) for number in line.split()]
        assert len(numbers) == NUMBERS[name]
        assert 0 <= numbers[-1] <= 1  # the accuracy
    assert "The picture is in out.png" in result.stdout
    assert (tmp_path / "out.png").read_bytes().startswith(PNG)


def test_map_of_words(tmp_path):
    lines = ["red green blue pink", "dog cat cow hen pig", "one two six ten"] * 60
    names = [f"{first}x {second}y" for first in "abcdefgh" for second in "ijklmnop"] * 6
    (tmp_path / "text.txt").write_text("\n".join(lines + names))
    options = "--text", "text.txt", "--sample", "20", "--passes", "3", "--output", "out.png"
    result = run("word_embedding", *options, folder=tmp_path)
    assert result.stderr == ""
    assert re.search(r"^K = 29 words, \d+ pairs, \d+ words scored for a word", result.stdout)
    assert len(re.findall(r"^ +\w+: \w+, \w+, \w+, \w+, \w+$", result.stdout, re.M)) == 6
    assert (tmp_path / "out.png").read_bytes().startswith(PNG)


def test_goes_on_without_matplotlib(tmp_path):
    """A module of that name that cannot be imported stands in the way of the real one."""
    (tmp_path / "matplotlib.py").write_text("raise ImportError('not here')")
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    options = "--sample", "30", "--passes", "1"
    result = run("augment_reduce", *options, folder=tmp_path, PYTHONPATH=path)
    assert result.returncode == 0, result.stderr
    assert "matplotlib is missing, `pip install matplotlib` brings it" in result.stdout
    assert not list(tmp_path.glob("*.png"))


@pytest.mark.parametrize("name", [*LINES, "word_embedding"])
def test_refuses_numbers_too_small(name, tmp_path):
    for option, value, least in [("--sample", "19", 20), ("--passes", "0", 1)]:
        result = run(name, option, value, folder=tmp_path)
        assert result.returncode == 2
        assert f"{option} must be at least {least}" in result.stderr

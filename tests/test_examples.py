"""The examples on a reduced sample."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[1] / "examples"
PNG = b"\x89PNG\r\n\x1a\n"
# of a line of the table
NUMBERS = {"augment_reduce": 5, "implicit_softmax": 5, "ldgs": 3, "memoir": 4, "growing": 4}
LINES = {
    "augment_reduce": (
        "softmax", "probit", "logistic", "softmax, one-vs-each", "softmax, exact",
    ),
    "implicit_softmax": ("implicit", "umax", "sgd", "one_vs_each", "nce", "importance"),
    "ldgs": ("exact softmax", "exact margin", "sampled", "MIPS", "decomposed"),
    "memoir": ("exact",),
    "growing": ("0", "0.1", "0.6"),
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


def test_inspection(tmp_path):
    options = "--sample", "60", "--passes", "3", "--output", "out.png"
    result = run("inspection", *options, folder=tmp_path)
    assert result.stderr == ""
    assert result.returncode == 0
    assert re.search(r"^N = \d+ passages, D = \d+ words, K = 60 objects$", result.stdout, re.M)
    assert re.search(r"^row 0, label '.*': score [+-][\d.]+$", result.stdout, re.M)
    assert re.search(r"^ +[+-][\d.]+  \(intercept\)$", result.stdout, re.M)
    assert "60 labels, by falling support" in result.stdout
    assert (tmp_path / "out.png").read_bytes().startswith(PNG)


def test_rare_labels(tmp_path):
    options = "--rows", "300", "--labels", "80", "--output", "out.png"
    result = run("rare_labels", *options, folder=tmp_path)
    assert result.stderr == ""
    lines = {line[:35].strip(): line[35:].split() for line in result.stdout.splitlines()[3:7]}
    assert int(lines["KFold"][0]) == 300 >= int(lines["RareLabelKFold"][0])
    for name in ("RareLabelKFold", "IterativeStratifiedKFold"):
        assert lines[name][1:3] == ["0", "0.0%"]
    assert (tmp_path / "out.png").read_bytes().startswith(PNG)


def test_decisions(tmp_path):
    result = run("decisions", "--rows", "300", "--output", "out.png", folder=tmp_path)
    assert result.stderr == ""
    errors = {
        name: float(value)
        for name, value in re.findall(r"^(raw|sigmoid|isotonic) +([\d.]+)$", result.stdout, re.M)
    }
    assert errors["sigmoid"] < errors["raw"]
    assert set(errors) == {"raw", "sigmoid", "isotonic"}
    assert len(re.findall(r"^(?:micro|macro|example)_f1, -?[\d.]+", result.stdout, re.M)) == 3
    assert (tmp_path / "out.png").read_bytes().startswith(PNG)
    assert run("decisions", "--rows", "99", folder=tmp_path).returncode == 2


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


def test_tagger(tmp_path):
    options = "--titles", "300", "--folder", "out", "--output", "out.png"
    result = run("tagger", *options, folder=tmp_path, SKLEARN_XC_DATA=str(tmp_path))
    assert result.stderr == ""
    assert "300 titles with subjects in" in result.stdout
    assert "The loaded tagger gives the same tags" in result.stdout
    assert (tmp_path / "out.png").read_bytes().startswith(PNG)
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"titles.csv", "tagger.sxc", "tagger_float16.sxc"}


def test_tagger_on_a_file_of_ones_own(tmp_path):
    lines = ["title,subjects", *(f'"the {i % 3}th, of {i}",{i % 3}; {i % 5};' for i in range(40))]
    (tmp_path / "own.csv").write_text("\n".join([*lines, "without subjects,"]))
    result = run("tagger", "own.csv", folder=tmp_path)
    assert "40 titles with subjects in own.csv" in result.stdout
    assert "The loaded tagger gives the same tags" in result.stdout
    (tmp_path / "other.csv").write_text("name,subjects\n")
    result = run("tagger", "other.csv", folder=tmp_path)
    assert result.returncode == 1
    assert "other.csv lacks the columns ['title']" in result.stderr
    result = run("tagger", "--titles", "99", folder=tmp_path)
    assert "--titles must be at least 100" in result.stderr


def test_embeddings(tmp_path):
    result = run("embeddings", "--sample", "40", "--output", "out.png", folder=tmp_path)
    assert result.stderr == ""
    assert re.search(r"^N = \d+ rows, D = \d+ dimensions, K = 40 classes$", result.stdout, re.M)
    shares = re.findall(r"^(\w+) +([\d.]+) +([\d.]+) +[\d.]+$", result.stdout, re.M)
    assert [name for name, *_ in shares] == [
        "PPDSparseClassifier", "MemoirSVC", "KNeighborsClassifier", "LogisticRegression",
    ]  # fmt: skip
    assert all(0.2 < float(first) <= float(five) <= 1 for _, first, five in shares)
    assert (tmp_path / "out.png").read_bytes().startswith(PNG)


def test_embeddings_of_ones_own(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(5, size=200)
    np.save(tmp_path / "rows.npy", np.eye(5)[y] + 0.1 * rng.normal(size=(200, 5)))
    (tmp_path / "labels.txt").write_text("\n".join(f"class {k}" for k in y))
    result = run("embeddings", "rows.npy", "labels.txt", folder=tmp_path)
    assert result.stderr == ""
    assert re.search(r"^PPDSparseClassifier +1\.000 +1\.000 ", result.stdout, re.M)
    np.save(tmp_path / "rows.npy", np.eye(5))
    result = run("embeddings", "rows.npy", "labels.txt", folder=tmp_path)
    assert result.returncode == 1
    assert "rows.npy has the shape (5, 5), and labels.txt has 200 lines" in result.stderr
    assert run("embeddings", "rows.npy", folder=tmp_path).returncode == 2

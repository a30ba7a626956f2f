"""The examples on little data: they run, say what they should, and their pictures can be read."""

import ast
import copy
import os
import re
import runpy
import shutil
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from _full import rest_in_full

import sklearn_xc.datasets

FOLDER = Path(__file__).resolve().parents[1] / "examples"
PNG = b"\x89PNG\r\n\x1a\n"
GALLERY = runpy.run_path(str(FOLDER / "_gallery.py"))
FILES = {path.stem: path for path in sorted(FOLDER.glob("*/*.py"))}
SMALL = {"ROWS": "400", "PASSES": "2", "LABELS": "300"}
PICTURES = {
    "first_steps": 1,
    "suggest_tags": 1,
    "sentence_embeddings": 1,
    "recommender": 1,
    "word_embedding": 1,
    "probabilities": 1,
    "decisions": 1,
    "rare_labels": 1,
    "label_texts": 1,
    "nearest_rows": 2,
    "stacking": 1,
    "inspection": 6,
    "growing": 1,
    "mapped_file": 1,
    "augment_reduce": 1,
    "implicit_softmax": 1,
    "memoir": 1,
    "ldgs": 2,
}


def run(name, *arguments, folder, **variables):
    """A program of the examples, alone in a folder, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.run(
        [sys.executable, "-W", "error", shutil.copy(FILES[name], folder), *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**environment, **variables},
    )


# ------------------------------------------------------------------------------------- the gallery


@pytest.fixture(scope="module")
def few_docs():
    return sklearn_xc.datasets.load_docstrings(["numpy"], min_passages=15)


@pytest.fixture
def page(monkeypatch, capsys, few_docs):
    """Runs a page of the gallery in this process; its variables, output and figures."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    plt.close("all")  # of tests before in this process

    def run_page(name, **variables):
        for variable, value in {**SMALL, **variables}.items():
            monkeypatch.setenv(variable, value)
        with matplotlib.rc_context():
            GALLERY["use_style"](None, None)
            found = runpy.run_path(str(FILES[name]), run_name="__main__")
            figures = [plt.figure(number) for number in plt.get_fignums()]
        return found, capsys.readouterr().out, figures

    def load(*arguments, **options):
        return copy.deepcopy(few_docs)

    monkeypatch.setattr(sklearn_xc.datasets, "load_docstrings", load)
    monkeypatch.setattr(plt, "show", lambda: None)
    yield run_page
    plt.close("all")


def test_gallery_lists_every_example():
    listed = {name: folder for folder, names in GALLERY["GROUPS"].items() for name in names}
    assert listed == {name: path.parent.name for name, path in FILES.items()}
    run = {name for name, folder in listed.items() if folder != "programs"}
    assert set(PICTURES) | {"cluster"} == run


def labels_of(axis):
    """The labels of the ticks in view."""
    low, high = sorted(axis.get_view_interval())
    ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
    return [tick.label1 for tick in ticks if low <= tick.get_loc() <= high]


def check_picture(figure):
    """Axes have labels, and no text covers another one or is cut off."""
    figure.draw_without_rendering()
    boxes = []
    for axes in figure.axes:
        ticks = labels_of(axes.xaxis) + labels_of(axes.yaxis)
        if ticks:
            assert axes.get_xlabel()
            named = ticks[-1].get_text().strip("\u2212.0123456789")  # bars with names
            assert axes.get_ylabel() or named
        texts = [*ticks, *axes.texts, axes.title, axes.xaxis.label, axes.yaxis.label]
        texts = [text for text in texts if text.get_visible() and text.get_text()]
        boxes += [(text.get_text(), text.get_window_extent().padded(-1)) for text in texts]
    for (one, box), (other, other_box) in combinations(boxes, 2):
        assert not box.overlaps(other_box), f"{one!r} touches {other!r}"
    whole = figure.bbox.padded(2)
    for text, box in boxes:
        assert whole.count_contains([box.min, box.max]) == 2, f"{text!r} is cut off"


@pytest.mark.parametrize("name", rest_in_full(PICTURES, "first_steps", "inspection"))
def test_page_runs_and_its_pictures_can_be_read(name, page):
    packages = "joblib" if name == "recommender" else "numpy"
    _, output, figures = page(name, PACKAGES=packages)
    assert output
    assert len(figures) == PICTURES[name]
    for figure in figures:
        check_picture(figure)


def test_colours_of_pages_are_those_of_the_cycle():
    for name in PICTURES:
        text = FILES[name].read_text()
        assert re.findall(r"tab:\w+|#[0-9a-fA-F]{6}", text) == []


@pytest.mark.full
def test_calibration_brings_probabilities_nearer(page):
    _, output, _ = page("probabilities", ROWS="2000")
    errors = dict(re.findall(r"^(uncalibrated|sigmoid|isotonic) +([\d.]+)$", output, re.M))
    assert float(errors["sigmoid"]) < float(errors["uncalibrated"])


def test_no_label_is_lost_by_the_splitters(page):
    found, _, _ = page("rare_labels")
    missing = {name: values[0].sum() for name, values in found["found"].items()}
    assert missing["RareLabelKFold"] == missing["IterativeStratifiedKFold"] == 0
    assert missing["KFold"] > 0


def test_tagger_answers_the_same_from_its_file(page):
    _, output, _ = page("suggest_tags")
    assert output.endswith("True\n")


def test_half_precision_keeps_nearly_all_answers(page):
    found, _, _ = page("mapped_file")
    assert found["same"].mean() > 0.95


def test_models_beat_the_rules_of_thumb(page):
    found, _, _ = page("recommender", PACKAGES="joblib")
    score = sklearn_xc.metrics.top_k_accuracy
    hits = {name: score(found["y_test"], best, k=10) for name, best in found["answers"].items()}
    assert hits["softmax"] > hits["most popular"]


@pytest.mark.full
def test_cluster(tmp_path):
    pytest.importorskip("distributed")
    result = run("cluster", folder=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("2 workers\n0 weights differ\n")


# -------------------------------------------------------------------------------------- programs


@pytest.mark.full
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
    assert result.stderr == ""
    assert "40 titles with subjects in own.csv" in result.stdout
    assert "The loaded tagger gives the same tags" in result.stdout
    assert (tmp_path / "tagger.png").read_bytes().startswith(PNG)
    names = {path.name for path in (tmp_path / "tagger").iterdir()}
    assert names == {"tagger.sxc", "tagger_float16.sxc"}


@pytest.mark.full
def test_tagger_refuses_what_it_cannot_read(tmp_path):
    (tmp_path / "other.csv").write_text("name,subjects\n")
    result = run("tagger", "other.csv", folder=tmp_path)
    assert result.returncode == 1
    assert "other.csv lacks the columns ['title']" in result.stderr
    result = run("tagger", "--titles", "99", folder=tmp_path)
    assert "--titles must be at least 100" in result.stderr


@pytest.mark.full
def test_embeddings(tmp_path):
    result = run("embeddings", "--sample", "40", "--output", "out.png", folder=tmp_path)
    assert result.stderr == ""
    assert re.search(r"^N = \d+ rows, D = \d+ dimensions, K = 40 classes$", result.stdout, re.M)
    shares = re.findall(r"^(\w+) +([\d.]+) +([\d.]+) +[\d.]+$", result.stdout, re.M)
    assert [name for name, *_ in shares] == [
        "PPDSparseClassifier",
        "MemoirSVC",
        "KNeighborsClassifier",
        "LogisticRegression",
    ]
    assert all(0.2 < float(first) <= float(five) <= 1 for _, first, five in shares)
    assert (tmp_path / "out.png").read_bytes().startswith(PNG)


def test_embeddings_of_ones_own(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(5, size=200)
    np.save(tmp_path / "rows.npy", np.eye(5)[y] + 0.1 * rng.normal(size=(200, 5)))
    (tmp_path / "labels.txt").write_text("\n".join(f"class {k}" for k in y))
    result = run("embeddings", "rows.npy", "labels.txt", folder=tmp_path)
    assert result.stderr == ""
    assert re.search(r"^N = 160 rows, D = 5 dimensions, K = 5 classes$", result.stdout, re.M)
    assert re.search(r"^PPDSparseClassifier +1\.000 +1\.000 ", result.stdout, re.M)
    assert (tmp_path / "embeddings.png").read_bytes().startswith(PNG)


@pytest.mark.full
def test_embeddings_refuses_what_it_cannot_read(tmp_path):
    (tmp_path / "labels.txt").write_text("\n".join(f"class {i % 5}" for i in range(200)))
    np.save(tmp_path / "rows.npy", np.eye(5))
    result = run("embeddings", "rows.npy", "labels.txt", folder=tmp_path)
    assert result.returncode == 1
    assert "rows.npy has the shape (5, 5), and labels.txt has 200 lines" in result.stderr
    assert run("embeddings", "rows.npy", folder=tmp_path).returncode == 2


@pytest.mark.parametrize("name", FILES)
def test_a_download_needs_nothing_beside_it(name, tmp_path):
    """The gallery offers each file alone: it imports nothing that lies beside it here."""
    beside = {*FILES, "_gallery"}
    imported = set()
    for node in ast.walk(ast.parse(FILES[name].read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module.partition(".")[0])
    assert not imported & beside


@pytest.mark.parametrize("name", ["tagger", "embeddings"])
def test_a_program_tells_its_options(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(FILES[name]), run_name="__main__")
    said = capsys.readouterr()
    assert (ended.value.code, said.err) == (0, "")
    assert said.out.startswith(f"usage: {name}.py")

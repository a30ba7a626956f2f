"""Benchmarks start, and their runner keeps figures and writes pages from them."""

import importlib
import json
import re
import sys

import pytest
from conftest import ROOT

FOLDER = ROOT / "benchmarks"
SCRIPTS = sorted(
    f"{path.parent.name}.{path.stem}"
    for path in FOLDER.glob("*/*.py")
    if not path.stem.startswith("_")
)
MOST_LINES = 6500  # of all; what is decided leaves
KEPT = sorted((FOLDER / "results").glob("*.json"))


@pytest.fixture
def runner(monkeypatch, tmp_path):
    """The runner, with pages, pictures and figures in another folder."""
    monkeypatch.syspath_prepend(ROOT)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # some scripts set it
    from benchmarks import _runner

    for folder in "DOC", "MEASUREMENTS":
        monkeypatch.setattr(_runner, folder, tmp_path)
    return _runner


@pytest.fixture
def empty(runner, monkeypatch, tmp_path):
    """The runner before anything was measured."""
    monkeypatch.setattr(runner, "RESULTS", tmp_path)
    script = ROOT / "benchmarks" / "costs" / "some.py"
    monkeypatch.setattr(sys, "argv", [str(script), "--data", "a"])
    return runner


def test_figures_are_replaced_one_by_one(empty, tmp_path):
    assert empty.kept("some") == {}
    empty.keep("some", "group", "a", {"s": 1 / 3, "n": 3, "none": None, 5: [0.1, (2, 3)]})
    empty.keep("some", "group", "b", 2.0)
    empty.keep("some", "group", "b", 3.0)
    some = {"s": 0.333333, "n": 3, "none": None, "5": [0.1, [2, 3]]}
    assert empty.kept("some") == {"group": {"a": some, "b": 3}}
    assert "* `python -m benchmarks.costs.some --data a`: 2" in empty.source("some")
    text = (tmp_path / "some.json").read_text()
    assert list(json.loads(text)) == ["group", "measured"]


def test_a_note_is_kept_beside_the_figures(empty):
    assert empty.note("some") == []
    empty.keep("some", "group", "a", 1)
    assert empty.note("some", "Busy.") == empty.note("some") == ["Busy."]
    assert empty.note("some", "Quiet.") == ["Quiet."]
    assert empty.kept("some") == {"group": {"a": 1}}


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_kept_figures_have_a_key_a_line(empty, tmp_path, path):
    """So that figures of two branches can be merged."""
    empty._write("some", json.loads(path.read_text()))
    assert (tmp_path / "some.json").read_text() == path.read_text()


def test_a_page_is_what_is_written(empty, tmp_path):
    empty.write_page("some", "# Of before\n")
    empty.write_page("some", "# Title", "Text.\n\n")
    assert (tmp_path / "some.md").read_text() == "# Title\n\nText.\n"


def test_a_report_without_figures_is_none(empty, capsys):
    with pytest.raises(SystemExit) as end:
        empty.parser("Some.").parse_args(["--report"])
    assert end.value.code == 0
    assert "no figures are kept yet" in capsys.readouterr().err
    empty.keep("some", "group", "a", 1)
    assert empty.parser("Some.").parse_args(["--report"]).report


def run(script, option, monkeypatch):
    """Run the main function of a script with an option."""
    module = importlib.import_module(f"benchmarks.{script}")
    monkeypatch.setattr(sys, "argv", [module.__file__, option])
    module.main()


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_benchmark_tells_its_options(script, runner, monkeypatch, capsys):
    with pytest.raises(SystemExit) as end:
        run(script, "--help", monkeypatch)
    assert end.value.code == 0
    assert "--report" in capsys.readouterr().out


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_benchmark_writes_its_page(script, runner, monkeypatch, tmp_path):
    run(script, "--report", monkeypatch)
    name = script.partition(".")[2]
    assert (tmp_path / f"{runner.PAGES.get(name, name)}.md").read_text().startswith("# ")


def test_the_readme_says_what_each_script_answers():
    """And its pages are there."""
    rows = re.findall(
        r"^\| `([\w.]+)` \| [^|]* \| `(\w+)` \|$", (FOLDER / "README.md").read_text(), re.M
    )
    assert sorted(script for script, _ in rows) == SCRIPTS
    pages = ROOT / "doc" / "development" / "measurements"
    assert [page for _, page in rows if not (pages / f"{page}.md").exists()] == []


def test_benchmarks_stay_small():
    lines = sum(len(path.read_text().splitlines()) for path in FOLDER.rglob("*.py"))
    assert lines <= MOST_LINES

"""The runner that the benchmarks share: figures are kept, and pages written from them."""

import json
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_"))
KEPT = sorted((FOLDER.parent / "doc").glob("benchmark_*.json"))


@pytest.fixture
def runner(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(FOLDER)
    monkeypatch.delitem(sys.modules, "_runner", raising=False)
    import _runner

    monkeypatch.setattr(_runner, "DOC", tmp_path)
    monkeypatch.setattr(_runner._common, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["benchmarks/some.py", "--data", "a"])
    return _runner


def test_figures_are_replaced_one_by_one(runner, tmp_path):
    assert runner.kept("some") == {}
    runner.keep("some", "group", "a", {"s": 1 / 3, "n": 3, "none": None, 5: [0.1, (2, 3)]})
    runner.keep("some", "group", "b", 2.0)
    runner.keep("some", "group", "b", 3.0)
    some = {"s": 0.333333, "n": 3, "none": None, "5": [0.1, [2, 3]]}
    assert runner.kept("some") == {"group": {"a": some, "b": 3}}
    assert "* `python benchmarks/some.py --data a`: 2" in runner.source("some")
    text = (tmp_path / "benchmark_some.json").read_text()
    assert list(json.loads(text)) == ["group", "measured"]


def test_a_note_is_kept_beside_the_figures(runner):
    assert runner.note("some") == []
    runner.keep("some", "group", "a", 1)
    assert runner.note("some", "Busy.") == runner.note("some") == ["Busy."]
    assert runner.note("some", "Quiet.") == ["Quiet."]
    assert runner.kept("some") == {"group": {"a": 1}}


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_kept_figures_have_a_key_a_line(runner, tmp_path, path):
    """So that figures of two branches can be merged."""
    runner._write("some", json.loads(path.read_text()))
    assert (tmp_path / "benchmark_some.json").read_text() == path.read_text()


def test_a_page_is_what_is_written(runner, tmp_path):
    runner.write_page("some", "# Of before\n")
    runner.write_page("some", "# Title\n\n")
    assert (tmp_path / "benchmark_some.md").read_text() == "# Title\n"


def test_a_report_without_figures_is_none(runner, capsys):
    with pytest.raises(SystemExit) as end:
        runner.parser("Some.").parse_args(["--report"])
    assert end.value.code == 0
    assert "no figures are kept yet" in capsys.readouterr().err
    runner.keep("some", "group", "a", 1)
    assert runner.parser("Some.").parse_args(["--report"]).report


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_benchmark_is_run_by_it(script):
    text = (FOLDER / f"{script}.py").read_text()
    page = FOLDER / f"_{script}_report.py"  # of some the page stands in a file of its own
    text += page.read_text() if page.exists() else ""
    assert "_runner.parser(" in text
    assert "_runner.write_page(" in text or "_runner.keep(" in text
    assert "ArgumentParser" not in text

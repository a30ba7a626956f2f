"""The runner that the benchmarks share: figures are kept, and pages lose nothing."""

import json
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_"))
KEPT = sorted((FOLDER / "results").glob("*.json"))
PAGE = """# Title

Measured by

* `python benchmarks/some.py`: then

## One

| data | s |
| --- | ---: |
| a | 1 |
| b | 2 |

## Two

Text.
"""


@pytest.fixture
def runner(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(FOLDER)
    monkeypatch.delitem(sys.modules, "_runner", raising=False)
    import _runner

    for folder in "DOC", "RESULTS", "MEASUREMENTS":
        monkeypatch.setattr(_runner, folder, tmp_path)
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
    text = (tmp_path / "some.json").read_text()
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
    assert (tmp_path / "some.json").read_text() == path.read_text()


def test_a_page_keeps_what_a_run_did_not_measure(runner, tmp_path):
    runner.write_page("some", PAGE)
    runner.write_page("some", PAGE)
    assert (tmp_path / "some.md").read_text() == PAGE
    part = (
        PAGE.replace("| a | 1 |\n", "").replace("| b | 2 |", "| b | 5 |").replace(": then", ": now")
    )
    runner.write_page("some", part.partition("\n## Two")[0])
    for _ in range(2):  # no row, section or origin comes twice
        text = (tmp_path / "some.md").read_text()
        assert "| b | 5 |\n| a | 1 |" in text
        assert "| b | 2 |" not in text
        assert text.count("## Two\n\nText.") == text.count("## One") == 1
        assert text.count(": now") == 1
        assert text.count("Kept from before: Measured by") == text.count(": then") == 1
        runner.write_page("some", part.partition("\n## Two")[0])


def test_parts_of_sections_keep_their_own_rows(runner):
    def part(name, *rows):
        return "\n".join([f"### {name}\n", "| x | y |", "| --- | --- |", *rows, ""])

    a, b = part("a", "| 1 | 1 |", "| 2 | 1 |"), part("b", "| 3 | 1 |")
    old = "\n".join(["# T\n", "## A\n", a, b, "## B\n", "## C\n"])
    new = "\n".join(["# T\n", "## A\n", part("a", "| 2 | 5 |"), "## C\n"])
    merged = old.replace("| 1 | 1 |\n| 2 | 1 |", "| 2 | 5 |\n| 1 | 1 |")
    merged = merged.replace("# T\n", "# T\n\nKept from before: \n", 1)
    assert runner.merged(old, new).split() == merged.split()


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

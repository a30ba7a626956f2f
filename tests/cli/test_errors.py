"""Errors, help and shell of the command line."""

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from _cli import COLUMNS

import sklearn_xc
from sklearn_xc.cli import main


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "not.csv", *COLUMNS, "-o", "x"], "train: error: .*No such file.*not.csv"),
        (["train", "titles.csv", "-o", "x"], "--text and --labels are needed"),
        (["train", "titles.csv", "--text", "t", "--labels", "tags", "-o", "x"], "no column 't'"),
        (["train", "titles.csv", *COLUMNS, "-o", "x", "--held-out", "2"], "--held-out must be"),
        (["train", "titles.csv", *COLUMNS, "-o", "x", "--set", "l3=1"], "--set l3=1: PPDSparse"),
        (["train", "titles.csv", *COLUMNS, "-o", "x", "--set", "l1=-1"], "l1"),
        (["train", "titles.csv", *COLUMNS, "-o", "x", "--method", "memoir"], "is for one label"),
        (["train", "titles.csv", *COLUMNS, "-o", "no/x", "--held-out", "0"], "no does not exist"),
        (["train", "empty.csv", *COLUMNS, "-o", "x"], "empty.csv has no samples with labels"),
        (["evaluate", "titles.csv", "more.csv"], "titles.csv is not a model"),
        (["evaluate", "tagger.sxc", "empty.csv"], "there are no samples with labels"),
        (["predict", "tagger.sxc", "bad.csv"], "bad.csv, line 2 has 1 fields"),
        (["predict", "tagger.sxc", "-k", "0"], "-k and --batch must be 1 at least"),
        (["predict", "tagger.sxc", "more.csv", "--only", "none"], "'none', which is not in"),
        (["explain", "tagger.sxc", "sea", "--label", "none"], "'none', which is not in"),
        (["train", "-", "--format", "csv", *COLUMNS, "-o", "x"], "reads its file several times"),
        (["tune", "titles.csv", *COLUMNS, "--held-out", "0"], "--held-out must be above 0"),
        (["convert", "more.csv", *COLUMNS, "--to", "xc", "-o", "x"], "--model is needed"),
        (["info", "."], "is no regular file"),
        (["predict", "tagger.sxc", "more.csv", "-o", "more.csv"], "-o more.csv is read by this"),
        (["predict", "tagger.sxc", "more.csv", "-o", "tagger.sxc"], "-o tagger.sxc is read by"),
        (["convert", "more.csv", *COLUMNS, "--to", "csv", "-o", "./more.csv"], "is read by this"),
        (["convert", "empty.csv", *COLUMNS, "--to", "csv", "-o", "x"], "empty.csv has no samples"),
        (["train", "more.csv.zst", *COLUMNS, "-o", "x"], "decompress it first"),
        (["train", "cr.csv", *COLUMNS, "-o", "x"], r"lines must end in LF, or CR LF"),
        (["train", "blank.csv", *COLUMNS, "-o", "x"], "no column 'tags'; it has 'title', ' tags'"),
        (["train", "more.csv", *COLUMNS, "-o", "x", "--label-texts", "no.csv"], "no texts of labe"),
        (["evaluate", "tagger.sxc", "-"], "standard input has no ending .*give --format"),
    ],
)
def test_errors_are_one_line_and_code_2(run, folder, arguments, message):
    (folder / "empty.csv").write_text("title,tags\n")
    (folder / "bad.csv").write_text("title,tags\none\n")
    (folder / "cr.csv").write_bytes(b"title,tags\rone,two\r")
    (folder / "blank.csv").write_text("title, tags\none, two\n")
    (folder / "no.csv").write_text("label,text\n")
    before = {name: (folder / name).read_bytes() for name in ("tagger.sxc", "more.csv")}
    code, _, errors = run(*arguments)
    assert code == 2
    assert {name: (folder / name).read_bytes() for name in before} == before
    assert not (folder / "x").exists()
    last = errors.splitlines()[-1]
    assert last.startswith(f"sklearn-xc {arguments[0]}: error: ")
    assert re.search(message, last), last


def test_a_reader_that_goes_away_is_no_error(folder):
    call = [sys.executable, "-m", "sklearn_xc", "predict", "tagger.sxc", "--batch", "10"]
    root = str(Path(sklearn_xc.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": root}
    with subprocess.Popen(
        call,
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        process.stdout.close()
        _, errors = process.communicate(b"soil\n" * 20_000, timeout=600)
    assert (process.returncode, errors) == (0, b"")


def test_the_shell_completes_where_argcomplete_is_installed(monkeypatch, capsys):
    seen = []
    monkeypatch.setitem(sys.modules, "argcomplete", SimpleNamespace(autocomplete=seen.append))
    with pytest.raises(SystemExit):
        main(["--version"])
    assert seen[0].prog == "sklearn-xc"
    assert capsys.readouterr().out == f"sklearn-xc {sklearn_xc.__version__}\n"


@pytest.mark.parametrize("command", ["train", "evaluate", "predict", "explain", "tune"])
def test_help_has_examples(capsys, command):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert f"\n  sklearn-xc {command} " in capsys.readouterr().out.replace('echo "a', "")

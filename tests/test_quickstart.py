"""The demo on a reduced sample."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "examples" / "programs" / "quickstart.py"
PNG = b"\x89PNG\r\n\x1a\n"


def run(*arguments, folder, **variables):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.run(
        [sys.executable, "-W", "error", SCRIPT, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**environment, **variables},
    )


def test_a_reduced_sample(tmp_path):
    question = "How do I count the words of a text?"
    result = run("--sample", "300", "--picture", "out.png", "--ask", question, folder=tmp_path)
    assert result.stderr == ""
    assert result.returncode == 0
    assert_sizes(result.stdout)
    for name in ("precision@1", "precision@5", "nDCG@5"):  # each alone on its line
        (value,) = re.findall(rf"^{name} (0\.\d\d\d)$", result.stdout, re.M)
        assert 0.05 < float(value) < 0.95
    assert_answers(result.stdout, question)
    assert (tmp_path / "out.png").read_bytes().startswith(PNG)
    assert "The picture is in out.png" in result.stdout


def assert_sizes(output):
    assert re.search(r"^N = \d+ passages, D = \d+ words and pairs, K = 300 objects$", output, re.M)
    assert re.search(r"^training took \d+\.\d s$", output, re.M)
    assert re.search(r"^the model takes [\d.]+ MB, a dense one [\d.]+ MB$", output, re.M)


def assert_answers(output, own_question):
    questions = re.findall(r"^\S.*\n(?:  +-?\d+\.\d\d  [\w.]+\n){5}", output, re.M)
    assert len(questions) == 4
    assert questions[-1].startswith(own_question)
    for question in questions:
        scores = [float(line.split()[0]) for line in question.splitlines()[1:]]
        assert scores == sorted(scores, reverse=True)


@pytest.mark.full
def test_goes_on_without_matplotlib(tmp_path):
    """A module of that name that cannot be imported stands in the way of the real one."""
    (tmp_path / "matplotlib.py").write_text("raise ImportError('not here')")
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    result = run("--sample", "50", folder=tmp_path, PYTHONPATH=path)
    assert result.returncode == 0, result.stderr
    assert "matplotlib is missing, `pip install matplotlib` brings it" in result.stdout
    assert not list(tmp_path.glob("*.png"))


@pytest.mark.full
def test_refuses_a_sample_too_small(tmp_path):
    result = run("--sample", "4", folder=tmp_path)
    assert result.returncode == 2
    assert "--sample must be at least 5" in result.stderr

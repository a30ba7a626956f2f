"""The Dockerfile names files, extras and a command that are there."""

import json
import re
import tomllib
from pathlib import Path

from sklearn_xc.cli._main import parser

ROOT = Path(__file__).resolve().parents[1]
LINES = (ROOT / "Dockerfile").read_text().splitlines()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_copied_files_are_there():
    copied = [line.split()[1:-1] for line in LINES if line.startswith("COPY ") and "--" not in line]
    assert [name for names in copied for name in names if not (ROOT / name).exists()] == []


def test_extras_are_those_of_the_project():
    found = re.findall(r"\.whl\)\[([\w,]+)\]", "\n".join(LINES))
    extras = {extra for names in found for extra in names.split(",")}
    assert extras == {"serve"}
    assert extras <= PROJECT["optional-dependencies"].keys()


def test_the_command_takes_the_model_that_docker_run_gives():
    (line,) = [line for line in LINES if line.startswith("ENTRYPOINT ")]
    program, *arguments = json.loads(line.partition(" ")[2])
    assert program in PROJECT["scripts"]
    options = parser().parse_args([*arguments, "/models/tagger.sxc"])
    assert (options.command, options.host, options.model) == (
        "serve",
        "0.0.0.0",
        "/models/tagger.sxc",
    )


def test_what_was_compiled_elsewhere_stays_out_of_the_image():
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert {".git", ".venv", "build", "dist", "**/*.so"} <= set(ignored)
    assert not set(ignored) & {"README.md", "pyproject.toml", "setup.py", "sklearn_xc"}

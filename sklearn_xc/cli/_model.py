"""Models and files of commands: how they are opened, and how progress is shown."""

import logging
import re
import sys
import time
from contextlib import contextmanager, redirect_stdout
from io import StringIO

from ..datasets._text_rows import TextColumns, format_of
from ..persistence import load, read_notes
from ..utils._unwrap import learner_of

STEP = re.compile(r"(\d+) of (\d+),.* (about .* left)")  # of a line of `verbose`


def columns_of(options, notes: dict | None = None) -> TextColumns:
    """Return the columns that are given, and for all others those of training."""
    known = {"text": [], **((notes or {}).get("columns") or {})}
    labels = getattr(options, "labels", None)
    given = {"text": options.text, "labels": labels}
    given["separator"] = getattr(options, "separator", None)
    known |= {name: value for name, value in given.items() if value not in (None, [])}
    same = known.get("format") == "fasttext" and labels is None
    known["format"] = options.format or ("fasttext" if same else None)
    known["header"] = not options.no_header and known.get("header", True)
    known["quotes"] = not options.no_quotes and known.get("quotes", True)
    return TextColumns(**known)


def holds_numbers(path: str, columns: TextColumns, notes: dict) -> bool:
    """Return whether a file has features that a model takes as they are."""
    return "columns" not in notes and path != "-" and format_of(path, columns) == "xc"


def opened(path: str, jobs: int | None = None):
    """Return the model of a file, mapped, and its notes."""
    model = load(path, mmap_mode="r")
    learner = learner_of(model)
    if "n_jobs" in learner.get_params(deep=False):
        learner.set_params(n_jobs=jobs)
    return model, read_notes(path)


def say(text: str):
    """Tell the user about the progress."""
    print(text, file=sys.stderr, flush=True)


class Bar(logging.Handler):
    """A line of the terminal that follows the messages of a fit."""

    def __init__(self, what: str):
        super().__init__(logging.INFO)
        self._what = what

    def emit(self, record):
        if found := STEP.search(record.getMessage()):
            bar = "#" * (24 * int(found[1]) // max(int(found[2]), 1))
            text = f"\r{self._what} [{bar:24}] {found[3]}\x1b[K"
            print(text, end="", file=sys.stderr, flush=True)


@contextmanager
def told(what: str):
    """Show the progress of something that takes time on a terminal, and how long it took."""
    start, shown, logger = time.perf_counter(), sys.stderr.isatty(), logging.getLogger("sklearn_xc")
    bar, level = Bar(what), logger.level
    if shown:
        logger.addHandler(bar)
        logger.setLevel(logging.INFO)
    try:
        with redirect_stdout(StringIO()):  # where lines of `verbose` are printed too
            yield
    finally:
        logger.removeHandler(bar)
        logger.setLevel(level)
    say(f"{chr(13) if shown else ''}{what}: {time.perf_counter() - start:.1f} s" + "\x1b[K" * shown)


def counted(number: int):
    """Tell on a terminal how many samples have been read."""
    if number % 10_000 == 0 and sys.stderr.isatty():
        print(f"\r{number:,} samples read\x1b[K\r", end="", file=sys.stderr, flush=True)

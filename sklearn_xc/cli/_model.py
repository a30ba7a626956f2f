"""Models of the command line: how they are made, saved with their columns, and measured."""

import logging
import re
import sys
import time
from contextlib import contextmanager, redirect_stdout
from io import StringIO

from ..datasets._text_rows import FORMATS, TextColumns
from ..persistence import load, read_notes
from ..utils._unwrap import learner_of

STEP = re.compile(r"(\d+) of (\d+),.* (about .* left)")  # of a line of `verbose`


def add_columns(command, labels=True):
    """Add the options that say where text and labels stand in a file."""
    add = command.add_argument
    add("--text", action="append", metavar="COLUMN", help="column of the text; several are joined")
    if labels:
        add("--labels", metavar="COLUMN", help="column of the labels")
        add("--separator", metavar="CHARACTER", help="between several labels of a cell")
    add("--format", choices=FORMATS, help="of the file, where its ending does not name it")
    add("--no-header", dest="header", action="store_false", help="columns are numbers, from 1")
    add("--no-quotes", dest="quotes", action="store_false", help="quotation marks are letters")


def columns_of(options, notes: dict | None = None) -> TextColumns:
    """Return the columns that are given, and in their place those of training."""
    known = dict((notes or {}).get("columns") or {})
    given = {name: getattr(options, name, None) for name in ("text", "labels", "separator")}
    known |= {name: value for name, value in given.items() if value is not None}
    same = known.get("format") if getattr(options, "labels", None) is None else None
    known["format"] = options.format or (same if same == "fasttext" else None)
    known["header"] = options.header and known.get("header", True)
    known["quotes"] = options.quotes and known.get("quotes", True)
    known.setdefault("text", [])
    return TextColumns(**known)


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


@contextmanager
def told(what: str):
    """Show the progress of something that takes time on a terminal, and how long it took."""
    start, shown = time.perf_counter(), sys.stderr.isatty()

    class Bar(logging.Handler):
        def emit(self, record):
            if found := STEP.search(record.getMessage()):
                done, whole, left = int(found[1]), int(found[2]), found[3]
                bar = "#" * (24 * done // max(whole, 1))
                print(f"\r{what} [{bar:24}] {left}\x1b[K", end="", file=sys.stderr, flush=True)

    logger, bar = logging.getLogger("sklearn_xc"), Bar(logging.INFO)
    level = logger.level
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

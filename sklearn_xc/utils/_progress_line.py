"""Progress of programs: a line of the terminal that follows the messages of a fit."""

import logging
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO

STEP = re.compile(r"(\d+) of (\d+),.* (about .* left)")  # of a line of `verbose`


def say(text: str) -> None:
    """Tell the user about the progress."""
    print(text, file=sys.stderr, flush=True)


class Bar(logging.Handler):
    """Line of the terminal that follows the messages of a fit."""

    def __init__(self, what: str) -> None:
        super().__init__(logging.INFO)
        self._what = what

    def emit(self, record: logging.LogRecord) -> None:
        """Draw the bar again, if a message says how many steps are done."""
        if found := STEP.search(record.getMessage()):
            bar = "#" * (24 * int(found[1]) // max(int(found[2]), 1))
            text = f"\r{self._what} [{bar:24}] {found[3]}\x1b[K"
            print(text, end="", file=sys.stderr, flush=True)


@contextmanager
def told(what: str) -> Iterator[None]:
    """Show the progress of something that takes time on a terminal, and how long it took."""
    start, shown, logger = time.perf_counter(), sys.stderr.isatty(), logging.getLogger("sklearn_xc")
    bar, level = Bar(what), logger.level
    if shown:
        logger.addHandler(bar)
        logger.setLevel(logging.INFO)
    try:
        # lines of `verbose` are printed as well as logged
        with redirect_stdout(StringIO()):
            yield
    finally:
        logger.removeHandler(bar)
        logger.setLevel(level)
    say(f"{chr(13) if shown else ''}{what}: {time.perf_counter() - start:.1f} s" + "\x1b[K" * shown)


def counted(number: int) -> None:
    """Tell on a terminal how many samples have been read."""
    if number % 10_000 == 0 and sys.stderr.isatty():
        print(f"\r{number:,} samples read\x1b[K\r", end="", file=sys.stderr, flush=True)

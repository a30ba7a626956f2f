"""Progress of programs: a line of the terminal that follows the messages of a fit."""

import logging
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO

# Of a line of `verbose`: what is counted, how many are done, of how many, and the time left.
STEP = re.compile(r"(\w+) (\d+) of (\d+),.* (about .* left)")


def say(text: str) -> None:
    """Tell the user about the progress."""
    print(text, file=sys.stderr, flush=True)


class Bar(logging.Handler):
    """Line of the terminal that follows the messages of a fit: steps, their rate, time left."""

    def __init__(self, what: str) -> None:
        super().__init__(logging.INFO)
        self._what, self._kind = what, ("", 0)
        self._began = time.perf_counter()

    def emit(self, record: logging.LogRecord) -> None:
        """Draw the bar again, if a message says how many steps are done."""
        found = STEP.search(record.getMessage())
        if not found:
            return
        name, done, n_steps = found[1], int(found[2]), int(found[3])
        now = time.perf_counter()
        # A rate is of steps of one kind; the first of these is no measure, as what came before it
        # took time too.
        if (name, n_steps) != self._kind:
            self._kind, self._began, self._before = (name, n_steps), now, done
        rate = per_second(done - self._before, now - self._began)
        bar = "#" * (24 * done // max(n_steps, 1))
        text = f"{self._what} [{bar:24}] {name} {done:,} of {n_steps:,}, {rate}{found[4]}"
        print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)


def per_second(number: int, seconds: float) -> str:
    """Return how many were done in a second, as a part of a line; nothing of none."""
    rate = number / max(seconds, 1e-6)
    return f"{rate:,.0f}/s, " if rate >= 10 else f"{rate:.2g}/s, " if number else ""


@contextmanager
def told(what: str) -> Iterator[None]:
    """Show the progress of something that takes time on a terminal, and how long it took."""
    start, shown, logger = time.perf_counter(), sys.stderr.isatty(), logging.getLogger("sklearn_xc")
    bar, level = Bar(what), logger.level
    if shown:
        logger.addHandler(bar)
        logger.setLevel(logging.INFO)
    try:
        # Lines of `verbose` are printed as well as logged.
        with redirect_stdout(StringIO()):
            yield
    finally:
        logger.removeHandler(bar)
        logger.setLevel(level)
    say(f"{chr(13) if shown else ''}{what}: {time.perf_counter() - start:.1f} s" + "\x1b[K" * shown)


class Counted:
    """Line of the terminal that tells how many samples have been read, and how fast."""

    def __init__(self) -> None:
        self._began = time.perf_counter()

    def __call__(self, number: int) -> None:
        if number % 10_000 == 0 and sys.stderr.isatty():
            rate = per_second(number, time.perf_counter() - self._began).rstrip(", ")
            text = f"{number:,} samples read, {rate}"
            print(f"\r{text}\x1b[K\r", end="", file=sys.stderr, flush=True)

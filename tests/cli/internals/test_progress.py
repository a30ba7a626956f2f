"""The line of a terminal that follows a fit, and the reading of a file."""

import io
import logging
from contextlib import redirect_stderr
from types import SimpleNamespace

import pytest
from sklearn.datasets import load_digits

from sklearn_xc import LDGSClassifier
from sklearn_xc.utils import _progress_line
from sklearn_xc.utils._progress_line import Bar, Counted, told


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(_progress_line.time, "perf_counter", lambda: clock.now)
    return clock


class Terminal(io.StringIO):
    """A stream of errors that says it is a terminal."""

    def isatty(self):
        return True

    def lines(self):
        return [line.removesuffix("\x1b[K") for line in self.getvalue().split("\r") if line]


def test_steps_have_a_bar_a_rate_and_the_time_left(clock):
    bar = Bar("trained")
    screen = Terminal()
    for seconds, message in [
        (1, "Model: rate 3 of 9, 1 s, about 2 s left"),
        (2, "Model: block 10 of 2000, loss 1.5, 2 s, about 3 min left"),
        (4, "Model: block 1010 of 2000, loss 1.5, 4 s, about 2 s left"),
        (404, "Model: block 1210 of 2000, 404 s, about 1 h left"),
        (405, "Model: part, 3 s"),
    ]:
        clock.now = seconds
        with redirect_stderr(screen):
            bar.emit(logging.LogRecord("sklearn_xc", logging.INFO, "", 0, message, (), None))
    assert screen.lines() == [
        "trained [########                ] rate 3 of 9, about 2 s left",
        "trained [                        ] block 10 of 2,000, about 3 min left",
        "trained [############            ] block 1,010 of 2,000, 500/s, about 2 s left",
        "trained [##############          ] block 1,210 of 2,000, 3/s, about 1 h left",
    ]


def test_a_file_that_is_read_has_a_rate(clock):
    counted, screen = Counted(), Terminal()
    clock.now = 0.5
    for number in (9_999, 10_000, 20_000):
        with redirect_stderr(screen):
            counted(number)
    found = screen.lines()
    assert found == ["10,000 samples read, 20,000/s", "20,000 samples read, 40,000/s"]


def test_a_fit_is_followed(capsys):
    X, y = load_digits(return_X_y=True)
    screen = Terminal()
    with redirect_stderr(screen), told("trained"):
        LDGSClassifier(max_iter=3, verbose=1, random_state=0).fit(X / 16, y)
    found = screen.lines()
    assert capsys.readouterr().out == ""
    assert found[-1].startswith("trained: ")
    assert " of 3, " in found[1]
    assert "/s, about " in found[1]

"""What turns.py keeps, for its own page and for the requirements on that of run.py."""

import statistics

import _runner

UNITS = {"fits": "seconds", "predictions": "microseconds", "processor": "microseconds"}


def key_of(data, systems):
    return f"{data}, {' and '.join(systems)}"


def times(what, data, first, second):
    """How many times as long the second takes as the first, the median of the turns, or None."""
    found = _runner.kept("turns").get(what, {}).get(key_of(data, [first, second]))
    return found and statistics.median(b / a for a, b in found[UNITS[what]])

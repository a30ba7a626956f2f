"""Fits one system on one data set; then fits again, or predicts, whenever it is asked to.

    python _turn_worker.py WHAT SYSTEM DATA FOLDER

Each line of its input is answered by a line that begins with `ANSWER`: seconds of a fit or, where
WHAT is "predictions", microseconds a row. One that nobody has asked for tells that it is ready.
"""

import sys
from pathlib import Path

import _common
from _systems import SYSTEMS

ANSWER = "it took:"
WARM_UP = 2000  # rows before each turn, for a processor that has slept
LEAST = 0.3  # seconds of a turn of predictions


def microseconds(contender, X):
    contender.predict(X[:WARM_UP])
    seconds = n_rows = 0
    while seconds < LEAST:
        seconds += _common.timed(contender.predict, X)[0]
        n_rows += X.shape[0]
    return 1e6 * seconds / n_rows


def main(what, name, data, folder):
    split, system = _common.load(data), SYSTEMS[name]
    contender = system.factory(system.threads, folder, **(system.params or {}))
    inputs = contender.inputs(split.X, split.Y)
    contender.fit(*inputs)
    if what == "predictions":
        contender.save(folder)
    print(ANSWER, 0, flush=True)
    while sys.stdin.readline():
        if what == "fits":
            took = _common.timed(contender.fit, *inputs)[0]
        else:
            took = microseconds(contender, split.X_test)
        print(ANSWER, took, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:4], Path(sys.argv[4]))

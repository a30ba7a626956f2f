"""Fits one system on one data set, and predicts its test rows whenever it is asked to.

    python _turn_worker.py SYSTEM DATA FOLDER

Each line of its input is answered by microseconds a row, a line that begins with `ANSWER`; one that
nobody has asked for tells that the model is there.
"""

import sys
from pathlib import Path

import _common
from _systems import SYSTEMS

ANSWER = "microseconds a row:"
WARM_UP = 2000  # rows before each turn, for a processor that has slept
LEAST = 0.3  # seconds of a turn


def main(name, data, folder):
    split, system = _common.load(data), SYSTEMS[name]
    contender = system.factory(system.threads, folder, **(system.params or {}))
    contender.fit(*contender.inputs(split.X, split.Y))
    contender.save(folder)
    X, few = split.X_test, split.X_test[:WARM_UP]
    while True:
        contender.predict(few)
        seconds = n_rows = 0
        while seconds < LEAST:
            seconds += _common.timed(contender.predict, X)[0]
            n_rows += X.shape[0]
        print(ANSWER, 1e6 * seconds / n_rows, flush=True)
        if not sys.stdin.readline():
            return


if __name__ == "__main__":
    main(*sys.argv[1:3], Path(sys.argv[3]))

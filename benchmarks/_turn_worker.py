"""Fits one system on one data set; then fits again, or predicts, whenever it is asked to.

    python _turn_worker.py WHAT SYSTEM DATA FOLDER

Each line of its input is answered by a line that begins with `ANSWER`: seconds of a fit or, where
WHAT is "predictions", microseconds a row; where it is "processor", those of the processor with one
thread. One that nobody has asked for tells that it is ready, and how many MB the saved model has.
"""

import sys
import time
from pathlib import Path

import _common
from _systems import SYSTEMS

ANSWER = "it took:"
WARM_UP = 2000  # rows before each turn, for a processor that has slept
LEAST = 0.3  # seconds of a turn of predictions


def microseconds(contender, X, clock):
    contender.predict(X[:WARM_UP])
    seconds = n_rows = 0
    while seconds < LEAST:
        began = clock()
        contender.predict(X)
        seconds += clock() - began
        n_rows += X.shape[0]
    return 1e6 * seconds / n_rows


def main(what, name, data, folder):
    split, system = _common.load(data), SYSTEMS[name]
    threads = 1 if what == "processor" else system.threads
    contender = system.factory(threads, folder, **(system.params or {}))
    inputs, log = contender.inputs(split.X, split.Y), folder / "log.txt"
    contender.fit(*inputs)
    mb = 0
    if what != "fits":
        contender.save(folder)
        files = [path for path in folder.rglob("*") if path.is_file() and path != log]
        if hasattr(contender.model, "predict_topk"):  # ours, saved as a pickle
            files = [folder / "model.sxc"]
            contender.model.save(files[0])
        mb = sum(path.stat().st_size for path in files) / 1e6
    print(ANSWER, mb, flush=True)
    clock = time.process_time if what == "processor" else time.perf_counter
    while sys.stdin.readline():
        if what == "fits":
            took = _common.timed(contender.fit, *inputs)[0]
        else:
            took = microseconds(contender, split.X_test, clock)
        print(ANSWER, took, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:4], Path(sys.argv[4]))

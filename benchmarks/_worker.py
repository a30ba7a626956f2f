"""One system in a process of its own, perhaps in another environment.

    python -m benchmarks._worker measure SYSTEM DATA FOLDER REPEATS LONG

writes FOLDER/result.json and FOLDER/labels.npz. The first fit is the warm-up of the timed ones
and tells the peak memory; where it takes longer than LONG seconds it is itself the measurement.
So is the first prediction.

    python -m benchmarks._worker turns WHAT SYSTEM DATA FOLDER

fits; then it fits again, or predicts, for each line of its input, and answers by a line that begins
with `ANSWER`: seconds of a fit or, where WHAT is "predictions", microseconds a row; where it is
"processor", those of the processor with one thread. One that nobody has asked for tells that it is
ready, and how many MB the saved model has or, of "fits", a second fit has taken.

    python -m benchmarks._worker best FOLDER SYSTEM

reads X.npz, Y.npz and X_test.npz in FOLDER, and writes best.npy, the five best labels of test rows,
and seconds.npy, wall and processor seconds of the fit.
"""

import json
import os
import shutil
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks import _common
from benchmarks._systems import SYSTEMS

ANSWER = "it took:"
WARM_UP = 2000  # rows before each turn, for a processor that has slept
LEAST = 0.3  # seconds of a turn of predictions


def measure(system, data, folder, repeats, long):
    saved = folder / "model"
    shutil.rmtree(saved, ignore_errors=True)
    saved.mkdir()
    split = _common.load(data)
    contender = system.factory(system.threads, saved, **(system.params or {}))
    inputs = contender.inputs(split.X, split.Y)

    with _common.PeakMemory() as memory:
        before = sum(os.times()[:4])
        train = [_common.timed(contender.fit, *inputs)[0]]
        processor = sum(os.times()[:4]) - before
    if train[0] <= long:
        train = [_common.timed(contender.fit, *inputs)[0] for _ in range(repeats)]

    as_trained = None
    if getattr(contender, "reloads", False):
        as_trained, _ = predict(contender, split.X_test, repeats, long)
    contender.save(saved)
    per_row, raw = predict(contender, split.X_test, repeats, long)
    np.savez(folder / "labels.npz", labels=contender.labels(raw))
    size = sum(f.stat().st_size for f in saved.rglob("*") if f.is_file())
    shutil.rmtree(saved)
    return {
        "train_s": train,
        "train_cpu_s": processor,
        "predict_ms": per_row,
        "predict_as_trained_ms": as_trained,
        "memory_mb": memory.mb,
        "resident_mb": memory.resident_mb,
        "model_mb": size / 1e6,
        "versions": contender.versions,
    }


def predict(contender, X, repeats, long):
    """Milliseconds a row of every repetition after a warm-up, and the prediction.

    A warm-up that takes long is the measurement, as that of a fit is.
    """
    first, raw = _common.timed(contender.predict, X)
    seconds = [first]
    if first <= long:
        seconds = [_common.timed(contender.predict, X)[0] for _ in range(repeats)]
    return [1e3 * s / X.shape[0] for s in seconds], raw


def turns(what, name, data, folder):
    split, system = _common.load(data), SYSTEMS[name]
    threads = 1 if what == "processor" else system.threads
    contender = system.factory(threads, folder, **(system.params or {}))
    inputs, log = contender.inputs(split.X, split.Y), folder / "log.txt"
    contender.fit(*inputs)
    if what == "fits":  # what the first fit imports is not counted
        with _common.PeakMemory() as memory:
            contender.fit(*inputs)
        mb = memory.mb
    else:
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


def microseconds(contender, X, clock):
    contender.predict(X[:WARM_UP])
    seconds = n_rows = 0
    while seconds < LEAST:
        began = clock()
        contender.predict(X)
        seconds += clock() - began
        n_rows += X.shape[0]
    return 1e6 * seconds / n_rows


def best(folder, system):
    X, Y, X_test = (sp.load_npz(folder / f"{name}.npz") for name in ("X", "Y", "X_test"))
    made = system.factory(2, folder / "model", **system.params)
    inputs = made.inputs(X, Y)
    began = time.perf_counter(), time.process_time()
    made.fit(*inputs)
    seconds = time.perf_counter() - began[0], time.process_time() - began[1]
    np.save(folder / "seconds.npy", seconds)
    np.save(folder / "best.npy", made.labels(made.predict(X_test)))


def main(command, *arguments):
    if command == "turns":
        turns(*arguments[:3], Path(arguments[3]))
    elif command == "best":
        best(Path(arguments[0]), SYSTEMS[arguments[1]])
    else:
        name, data, folder, repeats, long = arguments
        result = measure(SYSTEMS[name], data, Path(folder), int(repeats), float(long))
        Path(folder, "result.json").write_text(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Measures one system on one data set in a process of its own; run.py starts it.

    python _worker.py SYSTEM DATA FOLDER REPEATS LONG SOME

writes FOLDER/result.json and FOLDER/labels.npz. The first fit is the warm-up of the timed ones
and tells the peak memory; where it takes longer than LONG seconds it is itself the measurement.
So is the first prediction.
With SOME labels, other than 0, as many are drawn at random and trained once: only result.json.
"""

import json
import os
import shutil
import sys
from pathlib import Path

import _common
import numpy as np
from _systems import SYSTEMS


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


def measure_some(system, data, folder, n):
    """The time of n labels, by which that of one-vs-rest on all of them can be told."""
    split = _common.load(data)
    n_labels = split.Y.shape[1]
    picked = np.random.default_rng(0).choice(n_labels, n, replace=False)
    contender = system.factory(system.threads, folder, **(system.params or {}))
    inputs = contender.inputs(split.X, split.Y.tocsc()[:, np.sort(picked)].tocsr())
    seconds, _ = _common.timed(contender.fit, *inputs)
    return {"train_s": [seconds], "n_labels": [n, n_labels], "versions": contender.versions}


def predict(contender, X, repeats, long):
    """Milliseconds a row of every repetition after a warm-up, and the prediction.

    A warm-up that takes long is the measurement, as that of a fit is.
    """
    first, raw = _common.timed(contender.predict, X)
    seconds = [first]
    if first <= long:
        seconds = [_common.timed(contender.predict, X)[0] for _ in range(repeats)]
    return [1e3 * s / X.shape[0] for s in seconds], raw


if __name__ == "__main__":
    name, data, folder, repeats, long, some = sys.argv[1:]
    folder = Path(folder)
    if int(some):
        result = measure_some(SYSTEMS[name], data, folder, int(some))
    else:
        result = measure(SYSTEMS[name], data, folder, int(repeats), float(long))
    (folder / "result.json").write_text(json.dumps(result))

"""What a fit of PPDSparseClassifier costs: a model of its seconds and bytes, and what it foretells.

    python benchmarks/costs.py [--part constants workers ratio]

`constants`: phases of fits on parts of the shape of Amazon-670K, one thread, and the constants that
fit them best. `workers`: fits on Dask clusters of one, two and four worker processes beside what
the model says. `ratio`: two worker processes beside two threads, by turns, on sets of titles.
Writes measurements/costs.md, which reads the model out for larger sets.
"""

import time
from contextlib import contextmanager, nullcontext
from functools import cache

import _common
import _runner
import numpy as np

# Shares of the rows and labels of Amazon-670K.
CONSTANTS = [(64, 64), (32, 32), (16, 16), (16, 64), (64, 16)]
SIZES = [64, 32, 16]
WORKERS = [1, 2, 4]
TURNS = {"yso_finna_en_small": 5, "yso_finna_en": 1}  # beside a first one, which is not counted
PENALTIES = {"l1": 0.1, "l2": 1}
# name: rows, words, labels, words a row, labels a row (manikvarma.org/downloads/XC)
SETS = {
    "Amazon-670K": (490_449, 135_909, 670_091, 75.7, 5.45),
    "WikiLSHTC-325K": (1_778_351, 1_617_899, 325_056, 42.1, 3.19),
    "Amazon-3M": (1_717_899, 337_067, 2_812_281, 49.6, 36.0),
}
CLUSTERS = [(1, 2), (1, 16), (10, 16), (100, 16)]  # machines, processors of each
NETWORK = 1e9  # bytes a second to each machine: ten gigabits


@cache
def data(rows, labels):
    """A part of the shape: rows of unit length, labels."""
    from sklearn_xc.datasets import make_xc_classification

    X, Y = make_xc_classification(
        490_449 // rows,
        n_classes=670_091 // labels,
        n_topics=12_000 // labels,
        preset="amazon-670k",
        random_state=0,
    )
    return _common.tfidf_rows(X)[0], Y


@contextmanager
def phases():
    """Seconds of preparing, solving and assembling in the fit that is made inside."""
    from sklearn_xc.ppdsparse import _solver

    solve, found = _solver._solve_missing, {}

    def timed(*arguments):
        found["begin"] = time.perf_counter()
        solve(*arguments)
        found["end"] = time.perf_counter()

    _solver._solve_missing = timed
    start = time.perf_counter()
    try:
        yield found
    finally:
        _solver._solve_missing = solve
        found["prepare_s"] = found["begin"] - start
        found["solve_s"] = found["end"] - found["begin"]
        found["assemble_s"] = time.perf_counter() - found["end"]


def fit(rows, labels, **options):
    """The figures of one fit."""
    from sklearn_xc import PPDSparseClassifier

    X, Y = data(rows, labels)
    model = PPDSparseClassifier(**PENALTIES, random_state=0, **options)
    with phases() as found:
        model.fit(X, Y)
    sizes = np.bincount(Y.indices, minlength=Y.shape[1])
    found |= {
        "rows": X.shape[0],
        "nnz": X.nnz,
        "labels": int((sizes > 0).sum()),
        "positives": Y.nnz,
        "weights": model.coef_.nnz,
    }
    del found["begin"], found["end"]
    print(found, flush=True)
    return found


def measure_constants():
    fit(64, 64)  # a warm-up
    for rows, labels in CONSTANTS:
        _runner.keep("costs", "constants", f"1/{rows} rows, 1/{labels} labels", fit(rows, labels))


@contextmanager
def cluster(workers):
    """A Dask cluster on this machine; joblib uses it inside `parallel_config("dask")`."""
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=workers, threads_per_worker=1) as processes, Client(processes):
        yield


def whole_set():
    """The fit of all of the shape that benchmarks/amazon670k_shape.py has measured."""
    found = _runner.kept("amazon670k_shape")["amazon670k_shape"]["ppdsparse_2"]
    n, _, k, words, labels = SETS["Amazon-670K"]
    return {
        "rows": n,
        "nnz": int(n * words),
        "labels": k,
        "positives": int(n * labels),
        "weights": int(found["model_mb"] * 1e6 / 8),
        "solve_s": found["train_cpu_s"],
    }


def measure_workers():
    import joblib

    for workers in WORKERS:
        with cluster(workers), joblib.parallel_config(backend="dask"):
            fit(64, 64)  # imports sklearn_xc on the workers
            for size in SIZES:
                found = fit(size, size)
                _runner.keep("costs", "workers", f"1/{size}, {workers}", found)


def measure_ratio():
    import joblib

    from sklearn_xc import PPDSparseClassifier

    with cluster(2):
        for name, turns in TURNS.items():
            split = _common.load(name)
            seconds = {"processes": [], "threads": []}
            for turn in range(turns + 1):
                for kind in seconds:
                    there = joblib.parallel_config("dask") if kind == "processes" else nullcontext()
                    model = PPDSparseClassifier(random_state=0, n_jobs=2)
                    start = time.perf_counter()
                    with there:
                        model.fit(split.X, split.Y)
                    if turn:  # the first fit imports sklearn_xc on the workers
                        seconds[kind].append(time.perf_counter() - start)
            _runner.keep("costs", "ratio", name, seconds)


# ------------------------------------------------------------------------------------- the model


def terms(f):
    """What solving is linear in: classes, positives, classes times non-zeros of X."""
    return [f["labels"], f["positives"], f["labels"] * f["nnz"]]


def constants(fits):
    """Seconds of each term, of preparing a non-zero, and of assembling a weight."""
    from scipy.optimize import nnls

    A = np.array([terms(f) for f in fits], dtype=float)
    seconds = np.array([f["solve_s"] for f in fits])
    fits = [f for f in fits if "prepare_s" in f]
    scale = A.max(axis=0)
    relative = nnls(A / scale / seconds[:, None], np.ones(len(A)))[0] / scale
    return {
        "solve": relative,
        "prepare": np.median([f["prepare_s"] / f["nnz"] for f in fits]),
        "assemble": np.median([f["assemble_s"] / f["weights"] for f in fits]),
        "weights": np.median([f["weights"] / f["positives"] for f in fits]),
    }


def predicted(c, f, workers=1, machines=1):
    """Seconds of a fit: what one process does, what workers share, and the network."""
    solve = float(np.dot(c["solve"], terms(f)))
    weights = f.get("weights", c["weights"] * f["positives"])
    alone = c["prepare"] * f["nnz"] + c["assemble"] * weights
    sent = 0 if machines == 1 else (16 * f["nnz"] * np.log2(machines) + 8 * weights) / NETWORK
    return alone + solve / workers + sent, alone, solve


def write_page(found):
    fits, workers = found.get("constants", {}), found.get("workers", {})
    fits = {**fits, "all": whole_set()}
    c = constants(list(fits.values()))
    parts = [
        "# What it costs",
        _runner.source("costs"),
        "Seconds and bytes of `PPDSparseClassifier` on sets of many small classes, those that a "
        "cluster is for. A fit prepares the data in one process (copies in another order, "
        "columns), solves blocks of classes in as many workers as there are, and puts the weights "
        "together in one process.",
        "## The model",
        _terms_in_words(c),
        "## What it was made from",
        "Shares of the rows and labels of the shape of Amazon-670K, one thread; the last row is "
        "the whole of it, the processor time of two threads "
        "([more](amazon670k_shape.md)).",
        _table_of_fits(c, fits),
    ]
    if workers:
        parts += [
            "## Compared with a cluster",
            "Worker processes of a Dask cluster on this machine of two processors, on which four "
            "workers count as two; its start aside.",
            _table_of_workers(c, workers),
        ]
    if "ratio" in found:
        parts += [
            "## Processes beside threads",
            "Two worker processes of one thread beside two threads of one process, by turns, in "
            "median; the start of the cluster and the first import of sklearn_xc aside.",
            _table_of_ratios(found["ratio"]),
        ]
    parts += [
        "## Estimates",
        "Hours of a fit (and of one core in all) by machines of so many processors, with a network "
        f"of {NETWORK / 1e9:g} GB a second. Beyond measured sizes this is the model's word: "
        "classes of hundreds of positives are searched in another way, sixteen at a time.",
        _common.table(
            ["set", *(f"{m} x {p}" for m, p in CLUSTERS), "core-hours", "GB a machine"],
            [_read_out(name, c) for name in SETS],
        ),
    ]
    _runner.write_page("costs", "\n\n".join(parts))


def _terms_in_words(c):
    per_class, per_positive, per_pair = c["solve"]
    lines = [
        f"* preparing: {1e9 * c['prepare']:.0f} ns a non-zero of X;",
        f"* solving: {1e3 * per_class:.2f} ms a class, {1e3 * per_positive:.2f} ms a positive, and "
        f"{1e9 * per_pair:.4f} ns a class and non-zero of X (columns are longer where rows are "
        "more); shared by the workers;",
        f"* putting together: {1e9 * c['assemble']:.0f} ns a weight, of which a positive brings "
        f"{c['weights']:.0f} with these penalties (l1=0.1, l2=1);",
        "* bytes: 8 a non-zero of X where it comes from, 16 more in this process and each worker "
        "process, 117 a feature and thread of a worker, 16 a weight in the end;",
        "* network: 16 bytes a non-zero of X to each machine, passed on from machine to machine, "
        "and 8 a weight back.",
    ]
    return "\n".join(lines)


def _table_of_fits(c, fits):
    rows = []
    for key, f in fits.items():
        seconds = f.get("prepare_s"), f["solve_s"], predicted(c, f)[2], f.get("assemble_s")
        shown = ["" if s is None else f"{s:.1f}" for s in seconds]
        rows.append([key, f"{f['nnz']:,}", f"{f['labels']:,}", *shown])
    header = ["part", "non-zeros of X", "labels", "prepare s", "solve s", "model s", "assemble s"]
    return _common.table(header, rows)


def _table_of_workers(c, fits):
    rows = []
    for key, f in fits.items():
        part, n = key.split(", ")
        seconds = f["prepare_s"] + f["solve_s"] + f["assemble_s"]
        told = predicted(c, f, min(int(n), 2))[0]
        rows.append([part, n, f"{seconds:.1f}", f"{told:.1f}", f"{seconds / told:.2f}"])
    return _common.table(["part", "workers", "measured s", "model s", "ratio"], rows)


def _table_of_ratios(found):
    rows = []
    for name, seconds in found.items():
        processes, threads = (np.median(seconds[kind]) for kind in ("processes", "threads"))
        turns = len(seconds["threads"])
        rows.append(
            [name, turns, f"{processes:.1f}", f"{threads:.1f}", f"{processes / threads:.2f}"]
        )
    return _common.table(["data", "turns", "processes s", "threads s", "ratio"], rows)


def _read_out(name, c):
    n, d, k, words, labels = SETS[name]
    f = {"rows": n, "nnz": n * words, "labels": k, "positives": n * labels}
    hours = [
        f"{predicted(c, f, machines * processors, machines)[0] / 3600:.2f}"
        for machines, processors in CLUSTERS
    ]
    _, alone, solve = predicted(c, f)
    memory = (16 * f["nnz"] + 16 * 117 * d) / 1e9
    return [name, *hours, f"{(alone + solve) / 3600:.2f}", f"{memory:.1f}"]


PARTS = {"constants": measure_constants, "workers": measure_workers, "ratio": measure_ratio}


def main():
    options = _runner.parser(__doc__, parts=tuple(PARTS)).parse_args()
    if not options.report:
        for part in options.part:
            PARTS[part]()
    write_page(_runner.kept("costs"))


if __name__ == "__main__":
    main()

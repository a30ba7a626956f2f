"""Two threads beside one: on a quiet machine, and on one whose processors others keep busy.

    python -m benchmarks.costs.busy [--repeats 5] [--only LDGS softmax]

Each fit and each prediction is timed with n_jobs=1 and n_jobs=2 by turns, first as the machine is
and then beside as many endless loops as it has processors. Generated data. Writes
measurements/busy.md; it takes some minutes.
"""

import os
import statistics
import subprocess
import sys
import warnings
from contextlib import contextmanager
from functools import cache

import numpy as np
from sklearn.base import clone

import sklearn_xc
from benchmarks import _common, _runner
from sklearn_xc.datasets import make_xc_classification

BAR = 1.3  # two threads on a busy machine, as a multiple of the seconds of one
# Ends with the process that started it, however that ends.
HOG = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"


def models():
    """Estimators by name, with fits of about a second."""
    softmax, seed = sklearn_xc.ImplicitSoftmaxRegressor, {"random_state": 0}
    ldgs, reduce = sklearn_xc.LDGSClassifier, sklearn_xc.AugmentReduceClassifier
    return {
        "PPDSparse": sklearn_xc.PPDSparseClassifier(**seed),
        "MEMOIR": sklearn_xc.MemoirSVC(max_iter=10, **seed),
        "softmax, exact": softmax("exact", learning_rate=1.0, max_iter=5, **seed),
        "softmax, U-max": softmax("umax", batch_size=100, learning_rate=0.1, max_iter=30, **seed),
        "Augment-and-Reduce": reduce(max_iter=2, **seed),
        "Augment-and-Reduce, probit": reduce(model="probit", max_iter=2, **seed),
        "LDGS": ldgs(hidden_dim=64, max_iter=5, **seed),
        "LDGS, exact": ldgs(hidden_dim=64, gradient="exact", max_iter=3, **seed),
        "LDGS, word vectors": sklearn_xc.LDGSWordEmbedding(dim=50, max_iter=5, **seed),
    }


@cache
def samples():
    X, Y = make_xc_classification(6_000, 10_000, 3_000, random_state=0)
    return X, np.asarray(Y.argmax(axis=1)).ravel() if Y.ndim == 2 else Y


@cache
def documents():
    """Words of frequencies as in texts."""
    rng = np.random.default_rng(0)
    share = 1 / np.arange(1, 4001)
    words = rng.choice(4_000, size=(20_000, 20), p=share / share.sum())
    return [[str(word) for word in document] for document in words]


def given_to(model):
    return (documents(),) if isinstance(model, sklearn_xc.LDGSWordEmbedding) else samples()


@contextmanager
def hogs(n):
    """So many endless loops beside us."""
    started = [subprocess.Popen([sys.executable, "-c", HOG]) for _ in range(n)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def measure(name, model, repeats):
    """Median seconds: {("fit" or "predict", n_jobs): ...}, after one fit that does not count."""
    given = given_to(model)
    seconds = {}
    for repeat in range(repeats + 1):
        for n_jobs in (1, 2):
            one = clone(model).set_params(n_jobs=n_jobs)
            took = {"fit": _common.timed(one.fit, *given)[0]}
            if hasattr(one, "predict"):
                took["predict"] = _common.timed(one.predict, given[0])[0]
            for what, time in took.items():
                if repeat:
                    seconds.setdefault((what, n_jobs), []).append(time)
    medians = {key: statistics.median(times) for key, times in seconds.items()}
    print(name, {f"{w} {n}": f"{s:.3f}" for (w, n), s in medians.items()}, flush=True)
    return medians


def rows_of(name, quiet, busy):
    """Lines of the table, and the busy machine's multiples by their names."""
    rows, multiples = [], {}
    for what in ("fit", "predict"):
        if (what, 1) not in quiet:
            continue
        figures = [measured[what, n] for measured in (quiet, busy) for n in (1, 2)]
        gain, multiple = figures[0] / figures[1], figures[3] / figures[2]
        one, two, busy_one, busy_two = map(_common.figure, figures)
        rows.append(
            [f"{name}, {what}", one, two, f"{gain:.2f}", busy_one, busy_two, f"{multiple:.2f}"]
        )
        multiples[f"{name}, {what}"] = multiple
    return rows, multiples


def write_page(rows, multiples, n_hogs, load):
    worst = max(multiples, key=multiples.get)
    verdict = "holds" if multiples[worst] <= BAR else "**does not hold**"
    header = " | 1 thread s | 2 threads s | gain | busy, 1 thread s | busy, 2 threads s | multiple"
    _runner.write_page(
        "busy",
        "# Two threads on a quiet machine and on a busy one",
        _runner.source("busy"),
        f"Medians of turns. Busy: {n_hogs} other processes that compute all the time. The gain is "
        "by two threads on the machine as it was; the last column has the time of two "
        "threads on the busy machine as a multiple of one.",
        _common.table(header, rows),
        f"At most {BAR} times the seconds of one thread on the busy machine: {verdict}, at "
        f"most {multiples[worst]:.2f} ({worst}).",
        f"(Load average at the end: {_common.figure(load)}; the benchmark itself makes "
        f"about {n_hogs + 1}.)",
    )


def main():
    parser = _runner.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", nargs="+", default=[""], metavar="PART_OF_NAME")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # passes are few on purpose
    chosen = {n: m for n, m in models().items() if any(part in n for part in options.only)}
    if not options.report:
        n_hogs = os.cpu_count()
        quiet = {name: measure(name, model, options.repeats) for name, model in chosen.items()}
        with hogs(n_hogs):
            busy = {name: measure(name, model, options.repeats) for name, model in chosen.items()}
        for name in chosen:
            rows, multiples = rows_of(name, quiet[name], busy[name])
            _runner.keep("busy", "models", name, {"rows": rows, "multiples": multiples})
        load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
        _runner.keep("busy", "machine", "last run", {"n_hogs": n_hogs, "load": load})
    kept = _runner.kept("busy")
    rows, multiples = [], {}
    for found in kept["models"].values():
        rows, multiples = rows + found["rows"], multiples | found["multiples"]
    write_page(rows, multiples, **kept["machine"]["last run"])


if __name__ == "__main__":
    main()

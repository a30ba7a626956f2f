"""MemoirSVC: accuracy, time and memory by search and penalty, beside other programs.

    python benchmarks/memoir.py [--part table choices batch l1 passes threads profile]
                                [--data NAME ...] [--systems NAME ...] [--patience SECONDS]
                                [--report]

Every fit runs in a process of its own and has ten minutes, or `--patience`. Figures are kept in
the repository; the page measurements/memoir.md is written from all of them.
"""

import argparse
import contextlib
import functools
import json
import subprocess
import sys
import time
from unittest import mock

import _common
import _runner
import _softmax_data as data
import numpy as np
from _memoir_report import report
from _memoir_systems import (
    BATCHES,
    CHOICE_SETS,
    CHOICES,
    DIMENSIONS,
    EXACT,
    PASSES,
    PASSES_SETS,
    PHASES,
    PROFILE_SETS,
    PUBLISHED,
    SCRIPT,
    SETS,
    STRENGTHS,
    SYSTEMS,
    THREAD_SETS,
    TITLES,
)
from scipy import sparse

from sklearn_xc import MemoirSVC, PPDSparseClassifier

PATIENCE = 600  # seconds, if not given
FEW_CLASSES_ONLY = ["crammer_singer", "one_vs_rest"]


def load(name):
    """Training and test rows of one class each; see the text of the page."""
    name, *forms = name.split("-")
    if name == "omniglot":
        rows = data.load(name, form="unit")
    elif name == "docstrings":
        rows = embedded(data.load(name))
    elif name == "yso_finna_en_small":
        rows = repeated(name)
    elif "all" in forms:
        rows = with_test_rows(name)
    else:
        rows = data.load(name)
    if "dense" in forms:
        rows = embedded(rows)
    for n_classes in filter(str.isdigit, forms):
        rows = data.subset(rows, int(n_classes))
    return rows


def with_test_rows(name):
    """Trained on all rows: for the time of a pass over all classes, not for accuracy."""
    from sklearn_xc.datasets import first_label

    split = _common.load(name)
    X = sparse.vstack([split.X, split.X_test], format="csr")
    (y, labelled), (y_test, labelled_test) = first_label(split.Y), first_label(split.Y_test)
    X = X[np.append(labelled, labelled_test)]
    return data.rows_of(X, np.append(y, y_test), split.X_test[labelled_test], y_test)


def embedded(rows):
    from sklearn.decomposition import TruncatedSVD
    from sklearn.preprocessing import normalize

    svd = TruncatedSVD(DIMENSIONS, random_state=data.SEED).fit(rows.X)
    X, X_test = (normalize(svd.transform(X)).astype(np.float32) for X in (rows.X, rows.X_test))
    return rows._replace(X=X, X_test=X_test)


def repeated(name):
    """A row for each label, in the test part as well: as the paper does."""
    from sklearn_xc.datasets import repeat_per_label

    split = _common.load(name)
    X, y, _ = repeat_per_label(split.X, split.Y)
    X_test, y_test, _ = repeat_per_label(split.X_test, split.Y_test)
    return data.rows_of(X, y, X_test, y_test)


def estimator(system, threads=2, **changes):
    if system in SYSTEMS:
        options = SYSTEMS[system][1] | changes
        return MemoirSVC(n_jobs=threads, random_state=data.SEED, **options)
    if system == "ppdsparse":
        return PPDSparseClassifier(n_jobs=threads, random_state=data.SEED)
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import LinearSVC

    if system == "crammer_singer":
        return LinearSVC(multi_class="crammer_singer", random_state=data.SEED)
    return OneVsRestClassifier(LinearSVC(random_state=data.SEED), n_jobs=threads)


def evaluated(model, rows):
    """Accuracy (of classes never trained on too), macro-F1, seconds of prediction."""
    from sklearn.metrics import f1_score

    chosen = np.random.default_rng(data.SEED).permutation(len(rows.y_test))[: data.EVALUATED]
    X, y = rows.X_test[chosen], rows.y_test[chosen]
    seconds, found = _common.timed(model.predict, X)
    return {
        "accuracy": float((found == y).mean()),
        "macro_f1": float(f1_score(y, found, average="macro", zero_division=0)),
        "predict_s": seconds,
        "evaluated": len(y),
    }


def n_weights(model):
    inner = getattr(model, "estimators_", None)
    coefs = [model.coef_] if inner is None else [part.coef_ for part in inner]
    return int(sum(c.nnz if hasattr(c, "nnz") else np.count_nonzero(c) for c in coefs))


# --------------------------------------------------------------------------------- measuring


def measure(rows, model):
    data.release()
    with _common.PeakMemory() as memory:
        before = time.process_time()
        seconds, model = _common.timed(model.fit, rows.X, rows.y)
        cpu = time.process_time() - before
    figures = {"seconds": seconds, "cpu_s": cpu, "memory_mb": memory.mb}
    figures["n_weights"] = n_weights(model)
    figures |= evaluated(model, rows)
    for name in ("search_", "n_scored_", "recall_", "n_iter_"):
        if hasattr(model, name):
            figures[name] = getattr(model, name)
    n, k, d = len(rows.y), rows.n_classes, rows.X.shape[1]
    return figures | {"n": n, "classes": k, "features": d}


def run_table(name, system):
    return measure(load(name), estimator(system))


def run_choices(name, arm):
    """On a tenth of the training rows, held out."""
    rows = data.hold_out(load(name))
    options = dict(CHOICES[arm])
    scaled = options.pop("scaled_alpha", None)
    if scaled is not None:
        options["alpha"] = scaled / len(rows.y)  # rows have unit length
    if "published" in arm:
        options |= EXACT | {"max_iter": 10}
    return measure(rows, estimator("exact", **options))


def run_batch(name, factor):
    rows = load(name)
    size = max(1, round(float(factor) * np.sqrt(rows.n_classes)))
    figures = {"batch_size": size}
    for title, options in ("default", {}), ("published", PUBLISHED["l2"] | EXACT):
        model = estimator("exact", **options | {"batch_size": size, "max_iter": 3})
        figures[title] = measure(rows, model)
    return figures


def run_l1(name, alpha):
    rows = load(name)
    model = estimator("published_l1", alpha=float(alpha), max_iter=10)
    return measure(rows, model)


def run_passes(name, passes):
    """The searches after few passes, on one thread."""
    rows = load(name)
    systems = ("exact", "hnsw")
    return {s: measure(rows, estimator(s, 1, max_iter=int(passes))) for s in systems}


def run_threads(name, threads):
    rows = load(name)
    figures = {}
    for system in ("exact", "hnsw"):
        figures[system] = measure(rows, estimator(system, int(threads), max_iter=1))
    return figures


def run_profile(name, system):
    """Seconds of each phase of one pass."""
    rows = load(name)
    model = estimator(system, 1, max_iter=1)
    spent, calls = dict.fromkeys(PHASES, 0.0), dict.fromkeys(PHASES, 0)

    def clocked(phase, function):
        @functools.wraps(function)
        def run(*args, **options):
            start = time.perf_counter()
            try:
                return function(*args, **options)
            finally:
                spent[phase] += time.perf_counter() - start
                calls[phase] += 1

        return run

    with contextlib.ExitStack() as patches:
        for phase, (owner, method) in PHASES.items():
            function = clocked(phase, getattr(owner, method))
            patches.enter_context(mock.patch.object(owner, method, function))
        figures = measure(rows, model)
    return figures | {"spent": spent, "calls": calls}


PARTS = {
    "table": run_table,
    "choices": run_choices,
    "batch": run_batch,
    "l1": run_l1,
    "passes": run_passes,
    "threads": run_threads,
    "profile": run_profile,
}


def jobs(part, options):
    """Measurements of a part: pairs of a data set and what to do on it."""
    if part == "table":
        for name in options.data or SETS:
            for system in options.systems or TITLES:
                if system not in FEW_CLASSES_ONLY or "-" in name:
                    yield name, system
        return
    sets = {
        "choices": CHOICE_SETS,
        "passes": PASSES_SETS,
        "threads": THREAD_SETS,
        "profile": PROFILE_SETS,
    }
    sets = sets.get(part, ["oewn_hypernym"])
    arms = {
        "choices": CHOICES,
        "batch": BATCHES,
        "l1": STRENGTHS,
        "threads": [1, 2],
        "profile": ["exact", "hnsw"],
        "passes": PASSES,
    }[part]
    for name in options.data or sets:
        for arm in arms:
            yield name, str(arm)


def run_child(part, name, arm, patience):
    call = [sys.executable, __file__, "--child", part, "--data", name, "--arm", arm]
    try:
        outcome = subprocess.run(
            call, capture_output=True, text=True, check=False, timeout=patience
        )
    except subprocess.TimeoutExpired:
        key = key_of(part, name, arm)
        data.save(SCRIPT, key, part=part, data=name, arm=arm, failed=patience)
        print(f"{part:8} {name:20} {arm:20} more than {patience} s", flush=True)
        return
    lines = (outcome.stdout if outcome.returncode == 0 else outcome.stderr).splitlines()
    print(f"{part:8} {name:20} {arm:20} {lines[-1] if lines else 'failed'}", flush=True)


def key_of(part, name, arm):
    return f"{part}-{name}-{arm}".replace(" ", "_").replace(",", "")


def main():
    parser = _runner.parser(__doc__, data=(), parts=PARTS)
    add = parser.add_argument
    add("--systems", nargs="+", choices=list(TITLES), metavar="NAME")
    add("--patience", type=int, default=PATIENCE, metavar="SECONDS", help="of each fit")
    add("--child", choices=list(PARTS), help=argparse.SUPPRESS)
    add("--arm", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        name = options.data[0]
        figures = PARTS[options.child](name, options.arm)
        key = key_of(options.child, name, options.arm)
        data.save(SCRIPT, key, part=options.child, data=name, arm=options.arm, **figures)
        print(json.dumps(figures))
        return
    if not options.report:
        for part in options.part:
            for name, arm in jobs(part, options):
                run_child(part, name, arm, options.patience)
    report()


if __name__ == "__main__":
    main()

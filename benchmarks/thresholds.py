"""Tuned thresholds beside "score > 0", a fixed number of labels and oracles.

    python benchmarks/thresholds.py [--data NAME ...] [--report]

Figures are kept; the page measurements/thresholds.md is written from all
of them.
"""

import _common
import _runner
import numpy as np
import scipy.sparse as sp
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import f1_score

from sklearn_xc import PPDSparseClassifier, TopKThresholdClassifier
from sklearn_xc.metrics import macro_f1, micro_f1

DATA_SETS = ["bibtex", "cooking_fasttext", "yso_finna_en_small"]
MEASURES = ["micro_f1", "macro_f1", "example_f1"]
RUNS = [(metric, "global") for metric in MEASURES]
RUNS += [("micro_f1", "per_label"), ("macro_f1", "per_label")]


def measured(truth, found):
    """The three measures, and how many labels a row was given."""
    return {
        "micro_f1": micro_f1(truth, found),
        "macro_f1": macro_f1(truth, found),
        "example_f1": f1_score(truth, found, average="samples", zero_division=0),
        "labels": found.sum() / found.shape[0],
    }


def best_labels(codes, numbers, shape):
    """The indicator of the first labels of each row, so many of each."""
    chosen = np.arange(codes.shape[1]) < numbers[:, None]
    row = np.repeat(np.arange(len(codes)), chosen.sum(axis=1))
    return sp.csr_matrix((np.ones(len(row)), (row, codes[chosen])), shape=shape)


def measure(name):
    X, Y, X_test, Y_test = _common.load(name)
    plain = PPDSparseClassifier(random_state=0, n_jobs=2)
    seconds, _ = _common.timed(plain.fit, X, Y)
    found = {"score > 0": measured(Y_test, plain.predict(X_test)) | {"seconds": seconds}}
    codes, _ = plain.predict_topk(X_test, k=min(100, Y.shape[1]))
    for k in range(1, 6):
        numbers = np.full(len(codes), k)
        found[f"the {k} best"] = measured(Y_test, best_labels(codes, numbers, Y_test.shape))
    for metric, scope in RUNS:
        model = TopKThresholdClassifier(
            PPDSparseClassifier(random_state=0, n_jobs=2), metric=metric, scope=scope
        )
        seconds, _ = _common.timed(model.fit, X, Y)
        figures = measured(Y_test, model.predict(X_test))
        figures |= {"seconds": seconds, "held_out": model.best_score_}
        if scope == "global":
            figures["threshold"] = model.best_threshold_
        found[f"{scope}, {metric}"] = figures
    for metric in MEASURES:
        oracle = TopKThresholdClassifier(FrozenEstimator(plain), metric=metric).fit(X_test, Y_test)
        figures = measured(Y_test, oracle.predict(X_test))
        found[f"oracle threshold, {metric}"] = figures | {"threshold": oracle.best_threshold_}
    numbers = np.asarray(Y_test.sum(axis=1)).ravel()
    found["oracle number of labels"] = measured(Y_test, best_labels(codes, numbers, Y_test.shape))
    _runner.keep("thresholds", name, "runs", found)
    for run, figures in found.items():
        measures = " ".join(f"{m} {100 * figures[m]:.2f}" for m in MEASURES)
        print(f"{name:20}{run:32}{measures} labels {figures['labels']:.2f}", flush=True)


def write_page():
    parts = [
        "# Thresholds",
        _runner.source("thresholds"),
        "F measures on the test parts in percent, with the labels predicted for a row and the "
        "threshold; *held out* is the measure that was maximised, on the held-out parts of the "
        "training data (five folds). An *oracle threshold* is chosen on the test part itself, and "
        "the *oracle number of labels* gives each row as many of its best labels as it has. "
        "PPDSparseClassifier with its defaults; seconds of the whole fit on two threads of a "
        "machine that was busy with other work.",
    ]
    header = "decision | micro F1 | macro F1 | example F1 | labels | threshold | held out | fit s"
    for name, found in _runner.kept("thresholds").items():
        rows = []
        for run, figures in found["runs"].items():
            cells = [run, *(f"{100 * figures[m]:.2f}" for m in MEASURES)]
            cells.append(f"{figures['labels']:.2f}")
            cells.append(f"{figures['threshold']:.3f}" if "threshold" in figures else "")
            cells.append(f"{100 * figures['held_out']:.2f}" if "held_out" in figures else "")
            cells.append(_common.figure(figures["seconds"]) if "seconds" in figures else "")
            rows.append(cells)
        parts += [f"## {name}", _common.table(header, rows)]
    _runner.write_page("thresholds", *parts)


def main():
    options = _runner.parser(__doc__, data=DATA_SETS).parse_args()
    for name in [] if options.report else options.data:
        measure(name)
    write_page()


if __name__ == "__main__":
    main()

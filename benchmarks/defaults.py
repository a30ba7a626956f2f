"""The measurement behind the defaults of PPDSparseClassifier; the test parts are never read.

    python benchmarks/defaults.py [--data bibtex ...] [--stage tol pruning]

A fifth of each training part is held out (fixed seed). `tol` and `pruning` vary one parameter at a
pair of penalties. Figures are kept; the page measurements/defaults.md is written from all of them.
penalties.py measures how l1 and l2 are chosen.
"""

import _common
import _runner
import numpy as np
import scipy.sparse as sp

TOL = [0.003, 0.01, 0.03, 0.1, 0.3]
PRUNE = [0.0, 0.003, 0.01, 0.03, 0.1]
BASE = {"l1": 0.05, "l2": 0.5, "tol": 0.03, "pruning": 0.01}
DATA_SETS = [
    "bibtex",
    "cooking_fasttext",
    "delicious",
    "corel5k",
    "yso_finna_en_small",
    "oewn_hypernym",
    "omniglot",
]
STAGES = {
    "tol": [{"tol": t} for t in TOL],
    "pruning": [{"pruning": p} for p in PRUNE],
}


def held_out(name):
    """The training part alone, split by rows into four fifths and a fifth, and then weighted."""
    X, Y, *_ = _common.read_raw(name)
    order = np.random.default_rng(0).permutation(X.shape[0])
    fit, held = np.sort(order[len(order) // 5 :]), np.sort(order[: len(order) // 5])
    X_fit, X_held = X[fit], X[held]
    if name not in _common.NOT_TEXT:
        X_fit, X_held = _common.tfidf_rows(X_fit, X_held)
    return X_fit, sp.csr_matrix(Y[fit]), X_held, sp.csr_matrix(Y[held])


def try_out(parts, setting):
    """Held-out accuracy, seconds and size of one setting."""
    from sklearn_xc import PPDSparseClassifier
    from sklearn_xc.metrics import ndcg_at_k, precision_at_k

    X_fit, Y_fit, X_held, Y_held = parts
    model = PPDSparseClassifier(**(BASE | setting), n_jobs=2, random_state=0)
    seconds, _ = _common.timed(model.fit, X_fit, Y_fit)
    labels, _ = model.predict_topk(X_held, k=_common.TOP)
    return {
        "setting": setting,
        "p1": float(precision_at_k(Y_held, labels, k=1)),
        "ndcg5": float(ndcg_at_k(Y_held, labels, k=5)),
        "seconds": seconds,
        "non_zeros": model.coef_.nnz / model.coef_.shape[0],
    }


def measure(data, stages):
    parts = held_out(data)
    try_out(parts, {})  # warm-up
    for stage in stages:
        figures = [try_out(parts, setting) for setting in STAGES[stage]]
        _runner.keep("defaults", stage, data, figures)
        best = max(figures, key=lambda f: f["p1"])
        print(
            f"{data:20}{stage:6} best P@1 {100 * best['p1']:.2f} at {best['setting']}", flush=True
        )


def read(stage):
    """All figures of a stage: {data: list in the order of the settings}."""
    return _runner.kept("defaults").get(stage, {})


def line_page(stage, figures):
    """Accuracy, time and size along one parameter."""
    rows = []
    for data, column in figures.items():
        for f in column:
            cells = [100 * f["p1"], 100 * f["ndcg5"]]
            rows.append([f"{data}, {f['setting'][stage]:g}", *(f"{c:.2f}" for c in cells)])
            rows[-1] += [_common.figure(f["seconds"]), f"{f['non_zeros']:.1f}"]
    header = [f"data, {stage}", "P@1", "nDCG@5", "train s", "non-zeros a class"]
    return f"At l1={BASE['l1']}, l2={BASE['l2']}.\n\n" + _common.table(header, rows)


def write_page():
    parts = ["# How the defaults were chosen", _runner.source("defaults")]
    parts.append("A fifth of each *training* part held out; the test parts are not used.")
    for stage in STAGES:
        if figures := read(stage):
            parts += [f"## {stage}", line_page(stage, figures)]
    _runner.write_page("defaults", "\n\n".join(parts))


def main():
    parser = _runner.parser(__doc__, data=DATA_SETS)
    parser.add_argument("--stage", nargs="+", choices=list(STAGES), default=list(STAGES))
    options = parser.parse_args()
    for data in [] if options.report else options.data:
        measure(data, options.stage)
    write_page()


if __name__ == "__main__":
    main()

"""Results of the papers' own settings, which the tables of the methods lack.

    python benchmarks/papers.py [--part ppdsparse memoir ldgs implicit] [--data NAME ...] [--report]

Rows of PPDSparse's table 2; the LSH of MEMOIR's table 3; the sampled softmax of the LDGS paper,
unweighted and of K / 100 classes; table 3 of the implicit SGD paper with rates by its own rule. One
thread; seconds are those of the processor. The page measurements/papers.md is written from all
figures that are kept.
"""

import time

import _common
import _runner
import _softmax_data as data
import ldgs as ldgs_program
import memoir as memoir_program
import numpy as np

from sklearn_xc import (
    ImplicitSoftmaxRegressor,
    LDGSClassifier,
    MemoirSVC,
    PPDSparseClassifier,
)

SCRIPT = "papers"
LDGS_SETS = ["omniglot", "yso_finna_en_small"]
SAMPLED = {  # the paper's baseline; the same classes with weights
    "sampled_softmax": ("sampled softmax, unweighted (the paper's)", "exclude"),
    "sampled_weighted": ("sampled softmax, importance weights", "sampled"),
}
SOLVERS = ["implicit", "umax", "sgd", "one_vs_each", "nce", "importance"]
PASSES = 3  # of MEMOIR: the paper's 25 batches of 100 sqrt(K) are 2.2 passes over LSHTC1
L2 = MemoirSVC.PUBLISHED["l2"] | {"search": "exact"}
MEMOIR = {
    "l2": L2,
    "lsh": MemoirSVC.PUBLISHED["lsh"],
    "l2_average": L2 | {"average": True},
    "lsh_average": MemoirSVC.PUBLISHED["lsh"] | {"average": True},
}
RATES = [10.0**i for i in range(-3, 4)]
PAPER_TABLE_2 = [63.69, 39.43, 28.67, 2.5]
PAPER_TABLE_3 = {"implicit": 1, "umax": 9.77, "sgd": 15.18, "one_vs_each": 29.03, "nce": 28.52}
PAPER_TABLE_3 |= {"importance": 32.71}


def cpu_seconds(function, *arguments):
    start = time.process_time()
    result = function(*arguments)
    return time.process_time() - start, result


def keep(part, key, figures):
    _runner.keep(SCRIPT, part, key, figures)
    print(part, key, figures, flush=True)


# ----------------------------------------------------------------------------------- PPDSparse


def run_ppdsparse(names):
    """Raw rows of unit length: the counts of the file, each row divided by its length."""
    from sklearn.preprocessing import normalize

    for name in names or ["bibtex"]:
        X, Y, X_test, Y_test = _common.read_raw(name)
        for key, settings in PPDSparseClassifier.PUBLISHED.items():
            model = PPDSparseClassifier(**settings, random_state=0, n_jobs=1)
            seconds, _ = cpu_seconds(model.fit, normalize(X), Y)
            found = model.predict_topk(normalize(X_test), _common.TOP)[0].astype(int)
            hits = Y_test.tocsr()[np.arange(len(found))[:, None], found].toarray() > 0
            keep(
                "ppdsparse",
                f"{name}-{key}",
                {
                    "precision": [float(100 * hits[:, :k].mean()) for k in _common.CUTS],
                    "model_mb": 8 * model.coef_.nnz / 2**20,
                    "cpu_s": seconds,
                },
            )


def ppdsparse_text(kept):
    rows = [["the paper", *map(str, PAPER_TABLE_2), "-"]]
    for key, r in kept.items():
        rows.append([key, *(f"{p:.2f}" for p in r["precision"])])
        rows[-1] += [f"{r['model_mb']:.2f}", _common.figure(r["cpu_s"])]
    return _common.table(["settings", "P@1", "P@3", "P@5", "model MB", "fit, CPU s"], rows)


# -------------------------------------------------------------------------------------- MEMOIR


def run_memoir(names):
    """Table 3's l2 and LSH on the same rows, as many passes, by the same parameters."""
    for name in names or ["oewn_hypernym"]:
        rows = memoir_program.load(name)
        for key, options in MEMOIR.items():
            model = MemoirSVC(**options, max_iter=PASSES, random_state=data.SEED, n_jobs=1)
            seconds, _ = cpu_seconds(model.fit, rows.X, rows.y)
            found = memoir_program.evaluated(model, rows)
            figures = {k: found[k] for k in ("accuracy", "macro_f1")} | {"cpu_s": seconds}
            figures |= {"n_scored": model.n_scored_, "recall": model.recall_}
            figures |= {"n_classes": len(model.classes_), "n_weights": int(model.coef_.nnz)}
            keep("memoir", f"{name}-{key}", figures)


def memoir_text(kept):
    rows = []
    for key, r in kept.items():
        rows.append([key, *(f"{100 * r[k]:.1f}" for k in ("accuracy", "macro_f1"))])
        rows[-1] += [f"{r['n_scored']:,.0f}", f"{r['recall']:.2f}", _common.figure(r["cpu_s"])]
    header = ["parameters", "accuracy %", "macro-F1 %", "classes scored", "recall@10", "fit, CPU s"]
    return _common.table(header, rows)


# ---------------------------------------------------------------------------------------- LDGS


def run_ldgs(names):
    """The systems of benchmarks/ldgs.py, with K / 100 drawn classes a sample."""
    for name in names or LDGS_SETS:
        X, y, X_test, Y_test, *_ = ldgs_program.load(name)
        options = ldgs_program.CURVES[name] | ldgs_program.SHARED
        options |= {"gradient": "sampled", "query_size": 0.01, "n_jobs": 1}
        options["max_iter"] = ldgs_program.CURVE_PASSES[name]
        for key, (_, unretrieved) in SAMPLED.items():
            model = LDGSClassifier(**options, unretrieved=unretrieved)
            seconds, _ = cpu_seconds(model.fit, X, y)
            found = ldgs_program.precision(model, X_test, Y_test)
            figures = {"precision": [100 * p for p in found], "cpu_s": seconds}
            figures |= {"n_scored": model.n_scored_, "n_classes": len(model.classes_)}
            keep("ldgs", f"{name}-{key}", figures | {"passes": options["max_iter"]})


def ldgs_text(kept):
    rows = []
    for name in LDGS_SETS:
        for key, (title, _) in SAMPLED.items():
            r = kept.get(f"{name}-{key}")
            if r:
                found = [f"{p:.2f}" for p in r["precision"]]
                rows.append([name, title, *found, f"{r['n_scored'] / r['n_classes']:.3f}"])
    return _common.table(["data", "gradient", "P@1", "P@3", "P@5", "classes scored / K"], rows)


# ------------------------------------------------------------------------------------ implicit


def tenth(rows):
    """A tenth of the training rows instead of all."""
    chosen = np.random.default_rng(data.SEED).permutation(len(rows.y))[: len(rows.y) // 10]
    return data.rows_of(rows.X[chosen], rows.y[chosen], rows.X_test, rows.y_test)


def loss_of(settings, rows):
    """The training log-loss, infinite where steps leave the range of float32."""
    model = ImplicitSoftmaxRegressor(**settings, random_state=data.SEED, n_jobs=1)
    try:
        model.fit(rows.X, rows.y)
    except ValueError as error:
        if "float32" not in str(error):
            raise
        return np.inf
    return -float(model.log_likelihood(rows.X, rows.y))


def run_implicit(names):
    """Rates by the rule of section 4.1: the least training loss of a tenth of the rows."""
    for name in names or ["bibtex"]:
        rows = data.load(name, "unit")
        part = tenth(rows)
        for solver in SOLVERS:
            settings = ImplicitSoftmaxRegressor.PUBLISHED[solver]
            losses = [loss_of(settings | {"learning_rate": rate}, part) for rate in RATES]
            rate = RATES[int(np.argmin(losses))]
            loss = loss_of(settings | {"learning_rate": rate}, rows)
            figures = {"rate": rate, "loss": None if np.isinf(loss) else loss}
            keep("implicit", f"{name}-{solver}", figures)


def implicit_text(kept):
    rows, base = [], kept["bibtex-implicit"]["loss"]
    for solver in SOLVERS:
        r = kept.get(f"bibtex-{solver}")
        if r:
            ratio = "not finite" if r["loss"] is None else _common.figure(r["loss"] / base)
            rows.append([solver, PAPER_TABLE_3[solver], ratio, f"{r['rate']:g}"])
    return _common.table(["solver", "ratio, paper", "ratio, ours", "rate"], rows)


PARTS = {
    "ppdsparse": (run_ppdsparse, ppdsparse_text, "PPDSparse, table 2: Bibtex"),
    "memoir": (run_memoir, memoir_text, "MEMOIR, table 3: LSH beside l2"),
    "ldgs": (run_ldgs, ldgs_text, "LDGS: the sampled softmax of the paper"),
    "implicit": (run_implicit, implicit_text, "Unbiased softmax, table 3: rates by its rule"),
}
TEXTS = {
    "ppdsparse": "Rows of the file divided by their length, `PPDSparseClassifier.PUBLISHED`. The "
    "model is counted as 8 bytes a weight.",
    "memoir": "oewn_hypernym instead of LSHTC1, `MemoirSVC.PUBLISHED`, three passes (the "
    "paper's 25 batches are 2.2); l2 by exact search, LSH by codes of 64 bits whatever they find. "
    "Exact predictions of 6,000 test rows.",
    "ldgs": "Layer, passes, rate and test rows are those of [earlier figures of LDGS]"
    "(earlier.md), which has the exact gradients; `query_size=0.01`.",
    "implicit": "Rows of unit length with their first label, `ImplicitSoftmaxRegressor.PUBLISHED`. "
    "The training loss after 50 epochs, over that of implicit SGD; the rate is the best of 0.001, "
    "0.01, ..., 1000 by the training loss of a tenth of the rows after 50 epochs.",
}


def report():
    lines = ["# What the papers' own settings give", "", _runner.source(SCRIPT), ""]
    kept = _runner.kept(SCRIPT)
    for part, (_, text, title) in PARTS.items():
        if part in kept:
            lines += [f"## {title}", "", TEXTS[part], "", text(kept[part]), ""]
    _runner.write_page(SCRIPT, "\n".join(lines))


def main():
    parser = _runner.parser(__doc__, data=(), parts=PARTS)
    options = parser.parse_args()
    if not options.report:
        for part in options.part:
            PARTS[part][0](options.data)
    report()


if __name__ == "__main__":
    main()

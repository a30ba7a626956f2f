"""The papers' tables again: their figures, and ours by their settings and by our defaults.

    python -m benchmarks.methods.papers [--part ppdsparse memoir ldgs augment_reduce implicit]
    python -m benchmarks.methods.papers --part augment_reduce --data bibtex --epochs 5   a quick try

PPDSparse's table 2; MEMOIR's table 3; the gradients of the LDGS paper and its sampled softmax;
section 4.1 and tables 2 and 3 of Augment-and-Reduce; table 3 of the implicit SGD paper, with rates
by its rule and by "auto". One thread; seconds are those of the processor. Writes
measurements/papers.md.
"""

import time

import numpy as np
import scipy.sparse as sp

import sklearn_xc as xc
from benchmarks import _common, _runner
from benchmarks import _softmax_data as data

SCRIPT = "papers"
EXACT = {"search": "exact"}
L2, LSH = xc.MemoirSVC.PUBLISHED["l2"] | EXACT, xc.MemoirSVC.PUBLISHED["lsh"]
PASSES = {"max_iter": 3}  # the paper's 25 batches of 100 sqrt(K) are 2.2 passes over LSHTC1
MEMOIR = {
    "exact": EXACT,
    "l1": EXACT | {"penalty": "l1", "average": False},
    "hnsw": {"search": "hnsw"},
    "published": L2,
    "ppdsparse": None,  # PPDSparseClassifier
    "l2": L2 | PASSES,
    "lsh": LSH | PASSES,
    "l2_average": L2 | PASSES | {"average": True},
}
MEMOIR_SETS = ["oewn_hypernym", "omniglot", "yso_finna_en_small", "oewn_hypernym-500"]
# Layer, passes and searched classes of each set.
LDGS = {
    "omniglot": {"hidden_dim": 128, "n_chunks": 8, "max_iter": 10},
    "oewn_hypernym": {"hidden_dim": 128, "n_chunks": 8, "max_iter": 3},
    "yso_finna_en_small": {"hidden_dim": 100, "n_chunks": 4, "max_iter": 4, "query_size": 300},
    "delicious": {"hidden_dim": 100, "n_chunks": 4, "max_iter": 4},
}
ONE_CLASS = ("omniglot", "oewn_hypernym")
SAMPLED = {"gradient": "sampled", "query_size": 0.01}
GRADIENTS = {
    "sampled_softmax": SAMPLED | {"unretrieved": "exclude"},  # the paper's baseline
    "sampled_weighted": SAMPLED | {"unretrieved": "sampled"},
    "exact_softmax": {"gradient": "exact"},
    "exact_margin": {"gradient": "exact", "loss": "margin"},
    "mips_margin": {"gradient": "mips", "loss": "margin"},
    "decomposed_softmax": {"gradient": "decomposed"},
    "decomposed_margin": {"gradient": "decomposed", "loss": "margin"},
}
SIZES = xc.AugmentReduceClassifier.PUBLISHED_SIZES
BOUNDS = {"augment_reduce": "softmax", "one_vs_each": "one_vs_each"}
SOLVERS = ["implicit", "umax", "sgd", "one_vs_each", "nce", "importance"]
RATES = [10.0**i for i in range(-3, 4)]
TABLE_2 = [63.69, 39.43, 28.67, 2.5]  # of PPDSparse
SECTION_4_1 = {"augment_reduce": (-2.62e6, 3.00e-6), "one_vs_each": (-1.40e9, 3.65e-6)}
TABLES_2_3 = {  # of Augment-and-Reduce: seconds an epoch, test log-likelihood, accuracy
    "bibtex-exact": (None, -3.188, 0.361),
    "bibtex-one_vs_each": (0.181, -3.300, 0.352),
    "bibtex-softmax": (0.188, -3.036, 0.361),
    "bibtex-probit": (0.244, -4.184, 0.346),
    "bibtex-logistic": (0.246, -3.151, 0.353),
    "omniglot-exact": (None, None, None),
    "omniglot-one_vs_each": (4.47, -5.667, 0.179),
    "omniglot-softmax": (4.65, -5.171, 0.201),
    "omniglot-probit": (5.63, -7.350, 0.178),
    "omniglot-logistic": (5.57, -5.395, 0.184),
}
TABLE_3 = {  # of implicit SGD: training log-loss over that of implicit
    "bibtex": [1, 9.77, 15.18, 29.03, 28.52, 32.71],
    "delicious": [1, 1.11, 1.25, 1.90, 1.91, 1.89],
}


def fitted(model, X, y):
    """The model, and processor seconds of its fit."""
    start = time.process_time()
    model.fit(X, y)
    return model, time.process_time() - start


def keep(part, key, figures):
    _runner.keep(SCRIPT, part, key, figures)
    print(part, key, figures, flush=True)


# ----------------------------------------------------------------------------------- PPDSparse


def run_ppdsparse(names, _):
    """Raw rows of unit length: the counts of the file, each row divided by its length."""
    from sklearn.preprocessing import normalize

    for name in names or ["bibtex"]:
        X, Y, X_test, Y_test = _common.read_raw(name)
        for key, settings in xc.PPDSparseClassifier.PUBLISHED.items():
            model = xc.PPDSparseClassifier(**settings, random_state=0, n_jobs=1)
            model, seconds = fitted(model, normalize(X), Y)
            figures = {"precision": precision(model, normalize(X_test), Y_test)}
            figures |= {"model_mb": 8 * model.coef_.nnz / 2**20, "cpu_s": seconds}
            keep("ppdsparse", f"{name}-{key}", figures)


def precision(model, X, Y):
    """Precision@1, 3 and 5 in per cent."""
    found = model.predict_topk(X, _common.TOP)[0].astype(int)
    hits = np.asarray(Y.tocsr()[np.arange(len(found))[:, None], found].todense()) > 0
    return [float(100 * hits[:, :k].mean()) for k in _common.CUTS]


def ppdsparse_text(kept):
    rows = [["the paper", *map(str, TABLE_2), "-"]]
    for key, r in kept["ppdsparse"].items():
        rows.append([key, *(f"{p:.2f}" for p in r["precision"])])
        rows[-1] += [f"{r['model_mb']:.2f}", _common.figure(r["cpu_s"])]
    return _common.table(["settings", "P@1", "P@3", "P@5", "model MB", "fit, CPU s"], rows)


# -------------------------------------------------------------------------------------- MEMOIR


def one_class_rows(name):
    """Rows of one class each; of yso_finna_en_small each row once for each label, as the paper."""
    name, _, n_classes = name.partition("-")
    if name == "yso_finna_en_small":
        from sklearn_xc.datasets import repeat_per_label

        split = _common.load(name)
        parts = repeat_per_label(split.X, split.Y), repeat_per_label(split.X_test, split.Y_test)
        return data.rows_of(*(part for X, y, _ in parts for part in (X, y)))
    rows = data.load(name, form="unit" if name == "omniglot" else "tfidf")
    return data.subset(rows, int(n_classes)) if n_classes else rows


def run_memoir(names, _):
    from sklearn.metrics import f1_score

    for name in names or MEMOIR_SETS:
        rows = one_class_rows(name)
        order = np.random.default_rng(data.SEED).permutation(len(rows.y_test))
        some = order[: data.EVALUATED]
        for key, options in MEMOIR.items():
            if options is None:
                model = xc.PPDSparseClassifier(random_state=data.SEED, n_jobs=1)
            else:
                model = xc.MemoirSVC(**options, random_state=data.SEED, n_jobs=1)
            data.release()
            with _common.PeakMemory() as memory:
                model, seconds = fitted(model, rows.X, rows.y)
            found, y = model.predict(rows.X_test[some]), rows.y_test[some]
            figures = {
                "accuracy": float((found == y).mean()),
                "macro_f1": float(f1_score(y, found, average="macro", zero_division=0)),
                "cpu_s": seconds,
                "memory_mb": memory.mb,
                "n_scored": getattr(model, "n_scored_", None),
                "recall": getattr(model, "recall_", None),
                "classes": rows.n_classes,
                "features": rows.X.shape[1],
                "n_weights": int(model.coef_.nnz),
            }
            keep("memoir", f"{name}-{key}", figures)


def memoir_text(kept):
    rows = []
    for key, r in kept["memoir"].items():
        cells = [f"{r['n_scored']:,.0f}", f"{r['recall']:.2f}"] if r.get("n_scored") else ["-", "-"]
        seconds = r["cpu_s"] if "cpu_s" in r else r["seconds"]
        rows.append([key, *(f"{100 * r[k]:.1f}" for k in ("accuracy", "macro_f1")), *cells])
        rows[-1] += [_common.figure(seconds), _common.figure(r.get("memory_mb"))]
    header = ["data, parameters", "accuracy %", "macro-F1 %", "classes scored", "recall@10"]
    return _common.table([*header, "fit s", "peak MB"], rows)


# ---------------------------------------------------------------------------------------- LDGS


def ldgs_rows(name):
    """Rows, targets, and some test rows with their indicators."""
    from sklearn_xc.datasets import first_label

    X, y, X_test, Y_test = _common.load(name)
    if name in ONE_CLASS:
        (y, labelled), (_, tested) = first_label(y), first_label(Y_test)
        X, y, X_test, Y_test = X[labelled], y[labelled], X_test[tested], Y_test[tested]
    some = np.random.default_rng(data.SEED).permutation(X_test.shape[0])[: data.EVALUATED]
    return X, y, X_test[some], Y_test.tocsr()[some]


def run_ldgs(names, _):
    for name in names or LDGS:
        X, y, X_test, Y_test = ldgs_rows(name)
        mu = {"mu": 1.0 if name in ONE_CLASS else 5.0}
        for key, options in GRADIENTS.items():
            options = {"learning_rate": 0.5, "alpha": 0.0} | mu | LDGS[name] | options
            model = xc.LDGSClassifier(**options, random_state=data.SEED, n_jobs=1)
            model, seconds = fitted(model, X, y)
            figures = {"precision": precision(model, X_test, Y_test), "cpu_s": seconds}
            figures |= {"n_scored": model.n_scored_, "n_classes": len(model.classes_)}
            keep("ldgs", f"{name}-{key}", figures | {"passes": options["max_iter"]})


def ldgs_text(kept):
    rows = []
    for key, r in kept["ldgs"].items():
        found = [f"{p:.2f}" for p in r["precision"]]
        scored = f"{r['n_scored'] / r['n_classes']:.3f}"
        rows.append([key, *found, scored, _common.figure(r.get("cpu_s"))])
    header = ["data, gradient", "P@1", "P@3", "P@5", "classes scored / K", "fit, CPU s"]
    return _common.table(header, rows)


# --------------------------------------------------------------------------- Augment and Reduce


def run_augment_reduce(names, epochs):
    for name in names or ["synthetic", "bibtex", "omniglot"]:
        options = SIZES[name] | ({"max_iter": epochs} if epochs else {})
        if name == "synthetic":
            run_synthetic(options)
            continue
        rows = data.load(name, "raw")
        for column, given in xc.AugmentReduceClassifier.PUBLISHED.items():
            model = xc.AugmentReduceClassifier(random_state=data.SEED, **given | options)
            model, seconds = fitted(model, rows.X, rows.y)
            figures = {"epochs": model.n_iter_, "iterations": model.n_steps_, "seconds": seconds}
            found = data.evaluate(model, rows, np.arange(len(rows.y_test)))
            figures |= {"accuracy@1": found.pop("accuracy"), **found}
            keep("augment_reduce", f"{name}-{column}", figures)


def run_synthetic(options):
    """Labels with probabilities as squares of uniform numbers, and intercepts alone to learn."""
    rng = np.random.default_rng(data.SEED)
    p = rng.random(10_000) ** 2
    y = rng.choice(len(p), 300_000, p=p / p.sum())
    counts = np.unique(y, return_counts=True)[1]
    X = sp.csr_array((len(y), 1), dtype=np.float32)
    for bound, column in BOUNDS.items():
        given = xc.AugmentReduceClassifier.PUBLISHED[column] | options
        model, seconds = fitted(xc.AugmentReduceClassifier(random_state=data.SEED, **given), X, y)
        b = model.intercept_.astype(float)
        share = np.exp(b - b.max()) / np.exp(b - b.max()).sum()
        figures = {
            "epochs": model.n_iter_,
            "iterations": model.n_steps_,
            "seconds": seconds,
            "error_empirical": float(np.abs(share - counts / len(y)).mean()),
            "watched": float(-model.loss_curve_[-1] * len(y)),
            "bound": one_vs_each_bound(b, counts) if bound == "one_vs_each" else None,
        }
        keep("augment_reduce", f"synthetic-{bound}", figures)


def one_vs_each_bound(b, counts):
    """Eq. 10 over all samples, with intercepts only."""
    total = 0.0
    for k in range(0, len(b), 500):  # the own class has the gap 0 and no term
        terms = np.logaddexp(0, b[None, :] - b[k : k + 500, None]).sum(axis=1) - np.log(2)
        total -= counts[k : k + 500] @ terms
    return float(total)


def augment_reduce_text(kept):
    found, show = kept["augment_reduce"], _common.figure
    rows = []
    for key, (bound, error) in SECTION_4_1.items():
        if r := found.get(f"synthetic-{key}"):
            ours = r["watched"] if r["bound"] is None else r["bound"]
            cells = [f"{v:.2e}" for v in (bound, ours, error, r["error_empirical"])]
            rows.append([key, *cells, show(r["seconds"] / r["epochs"])])
    header = ["section 4.1", "bound, paper", "ours", "error, paper", "ours", "s an epoch"]
    parts = [_common.table(header, rows)]
    rows = []
    for key, (seconds, likelihood, accuracy) in TABLES_2_3.items():
        if r := found.get(key):
            cells = [likelihood, r["log_likelihood"], accuracy, r["accuracy@1"]]
            cells = [show(seconds), show(r["seconds"] / r["epochs"]), *map(data.decimals, cells)]
            rows.append([key, *cells])
    header = ["tables 2 and 3", "s an epoch, paper", "ours", "log-likelihood, paper", "ours"]
    return "\n\n".join([*parts, _common.table([*header, "accuracy, paper", "ours"], rows)])


# ------------------------------------------------------------------------------------ implicit


def loss_of(settings, rows):
    """The training log-loss and the rate; infinite where steps leave the range of float32."""
    model = xc.ImplicitSoftmaxRegressor(**settings, random_state=data.SEED, n_jobs=1)
    try:
        model.fit(rows.X, rows.y)
    except ValueError as error:
        if "float32" not in str(error):
            raise
        return np.inf, None
    return -float(model.log_likelihood(rows.X, rows.y)), model.learning_rate_


def run_implicit(names, _):
    """Rates by the rule of section 4.1, the least training loss of a tenth of the rows; by auto."""
    for name in names or TABLE_3:
        rows = data.load(name, "unit")
        chosen = np.random.default_rng(data.SEED).permutation(len(rows.y))[: len(rows.y) // 10]
        part = data.rows_of(rows.X[chosen], rows.y[chosen], rows.X_test, rows.y_test)
        for solver in SOLVERS:
            settings = xc.ImplicitSoftmaxRegressor.PUBLISHED[solver]
            losses = [loss_of(settings | {"learning_rate": rate}, part)[0] for rate in RATES]
            for group, rate in ("implicit", RATES[int(np.argmin(losses))]), (AUTO, "auto"):
                loss, rate = loss_of(settings | {"learning_rate": rate}, rows)
                figures = {"rate": rate, "loss": None if np.isinf(loss) else loss}
                keep(group, f"{name}-{solver}", figures)


AUTO = "implicit, auto"


def implicit_text(kept):
    rows = []
    for name, paper in TABLE_3.items():
        for solver, theirs in zip(SOLVERS, paper, strict=True):
            rows.append([f"{name}, {solver}", theirs])
            for group in ("implicit", AUTO):
                found = kept.get(group, {})
                r, base = (found.get(f"{name}-{s}") for s in (solver, "implicit"))
                finite = r and r["loss"] is not None
                rows[-1].append(_common.figure(r["loss"] / base["loss"]) if finite else "-")
                rows[-1].append(f"{float(format(r['rate'], '.3g')):g}" if finite else "-")
    header = ["data, solver", "ratio, paper", "by its rule", "rate", "by auto", "rate"]
    return _common.table(header, rows)


PARTS = {
    "ppdsparse": (run_ppdsparse, ppdsparse_text, "PPDSparse, table 2"),
    "memoir": (run_memoir, memoir_text, "MEMOIR, table 3"),
    "ldgs": (run_ldgs, ldgs_text, "LDGS: gradients, and the sampled softmax of the paper"),
    "augment_reduce": (run_augment_reduce, augment_reduce_text, "Augment and Reduce"),
    "implicit": (run_implicit, implicit_text, "Unbiased softmax, table 3"),
}
TEXTS = {
    "ppdsparse": "Rows of the file divided by their length, `PPDSparseClassifier.PUBLISHED`. The "
    "model is counted as 8 bytes a weight.",
    "memoir": "oewn_hypernym instead of LSHTC1. *exact*, *l1* and *hnsw* are defaults except "
    "search and penalty; *published* has `MemoirSVC.PUBLISHED` for ten passes, *l2* and *lsh* for "
    "three (the paper's 25 batches are 2.2), LSH by codes of 64 bits whatever they find. Exact "
    "predictions of 6,000 test rows; a class never trained on is a miss. Kept figures with a "
    "peak are seconds of the clock with two threads.",
    "ldgs": "P@1, P@3 and P@5 on 6,000 test rows. *sampled* have `query_size=0.01`. "
    "[Earlier figures](earlier.md) have exact, searched and decomposed gradients.",
    "augment_reduce": "`AugmentReduceClassifier.PUBLISHED` and `PUBLISHED_SIZES`. Section 4.1: "
    "intercepts alone, N = 300,000, K = 10^4; the error is to the relative frequencies. "
    "Log-likelihood is over test rows of a class that was trained on, accuracy over all. Omniglot "
    "has another split than the paper's.",
    "implicit": "Rows of unit length with their first label, `ImplicitSoftmaxRegressor.PUBLISHED`. "
    "The training loss after 50 epochs, over the loss of implicit SGD; the rate is the best of "
    "0.001, 0.01, ..., 1000 by the training loss of a tenth of the rows after 50 epochs, or "
    '`learning_rate="auto"`. A dash: not finite, or not measured.',
}


def main():
    parser = _runner.parser(__doc__, data=(), parts=PARTS)
    parser.add_argument("--epochs", type=int, help="of augment_reduce, instead of the paper's")
    options = parser.parse_args()
    if not options.report:
        for part in options.part:
            PARTS[part][0](options.data, options.epochs)
    lines, kept = ["# The papers' tables again", _runner.source(SCRIPT)], _runner.kept(SCRIPT)
    for part, (_, text, title) in PARTS.items():
        if part in kept:
            lines += [f"## {title}", TEXTS[part], text(kept)]
    _runner.write_page(SCRIPT, *lines)


if __name__ == "__main__":
    main()

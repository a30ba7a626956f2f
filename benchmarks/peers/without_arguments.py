"""Estimators without arguments beside LogisticRegression() and LinearSVC(), on many data sets.

    python -m benchmarks.peers.without_arguments [--data iris_raw bibtex ...] [--systems memoir ...]

One class a sample. Everything runs with its defaults, only `random_state` is given, on one thread.
The bars are those of `BARS`. Figures are kept in results/without_arguments.json; the page
measurements/without_arguments.md is written from all of them.
"""

import time
import warnings
from typing import NamedTuple

import numpy as np

from benchmarks import _runner, _softmax_data
from benchmarks._common import figure, table
from benchmarks._softmax_data import Rows, rows_of, subset

PAGE = "without_arguments"
SEED = 0
SMALL = ("iris", "wine", "breast_cancer", "digits")
TEXTS = ("bibtex", "cooking_fasttext", "delicious", "corel5k")
N_SPLITS = 5  # of small data, a test part of which has few rows
DIMENSIONS = 256
# What scikit-learn's solvers can do in minutes: of the other data sets, classes with most rows.
MOST_CLASSES = {"omniglot": 200, "docstrings": 300}
REFERENCES = ("logistic", "svc")
POINTS, POINTS_UNSCALED, STANDARD_ERRORS = 1.0, 3.0, 2.0
LOG_LOSS_RATIO, CPU_RATIO, CPU_MORE = 1.15, 3.0, 2.0
BARS = (
    f"accuracy at most {POINTS:g} point ({POINTS_UNSCALED:g} on raw columns) plus "
    f"{STANDARD_ERRORS:g} standard errors of the test part below the better of the two; log-loss "
    f"at most {LOG_LOSS_RATIO:g} times the loss of LogisticRegression(); CPU seconds of fit at "
    f"most {CPU_RATIO:g} times the seconds of the slower of the two, plus {CPU_MORE:g}"
)
TITLES = {
    "logistic": "LogisticRegression",
    "svc": "LinearSVC",
    "ppdsparse": "PPDSparseClassifier",
    "memoir": "MemoirSVC",
    "ldgs": "LDGSClassifier",
    "augment_reduce": "AugmentReduceClassifier",
    "implicit": "ImplicitSoftmaxRegressor",
}
HEADER = "data | logistic | LinearSVC | PPD sparse | Memoir SVC | LDGS | augment, reduce | "
HEADER += "implicit softmax"
DATA_SETS = [
    *(f"{name}_{form}" for name in SMALL for form in ("raw", "standardised")),
    *TEXTS,
    "bibtex_counts",
    "omniglot",
    "docstrings",
    *(f"{name}_svd" for name in TEXTS),
]


def splits(name):
    """The splits of a data set into training and test rows: some of small data, else one."""
    base, _, form = name.rpartition("_")
    if base in SMALL:
        return [small(base, form, seed) for seed in range(N_SPLITS)]
    if form == "svd":
        return [embedded(_softmax_data.load(base))]
    if name == "bibtex_counts":
        return [_softmax_data.load("bibtex", form="raw")]
    rows = _softmax_data.load(name)
    return [subset(rows, MOST_CLASSES[name]) if name in MOST_CLASSES else rows]


def small(name, form, seed):
    from sklearn import datasets
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
    if form == "standardised":
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    return rows_of(X, y, X_test, y_test)


def embedded(rows):
    """Dense rows: the truncated SVD of TF-IDF, of unit length."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.preprocessing import normalize

    svd = TruncatedSVD(DIMENSIONS, random_state=SEED).fit(rows.X)
    dense = (normalize(svd.transform(X)).astype(np.float32) for X in (rows.X, rows.X_test))
    return Rows(next(dense), rows.y, next(dense), rows.y_test)


def make(system):
    if system in REFERENCES:
        from sklearn.linear_model import LogisticRegression
        from sklearn.svm import LinearSVC

        return {"logistic": LogisticRegression, "svc": LinearSVC}[system](random_state=SEED)
    import sklearn_xc

    return getattr(sklearn_xc, TITLES[system])(random_state=SEED)


class Fit(NamedTuple):
    """One fit: right answers and log-losses of test rows, CPU seconds, warnings."""

    hits: np.ndarray
    losses: np.ndarray  # empty without probabilities
    cpu: float
    warned: list


def fit(system, rows):
    from threadpoolctl import threadpool_limits

    model = make(system)
    with warnings.catch_warnings(record=True) as found, threadpool_limits(1):
        warnings.simplefilter("always")
        start = time.process_time()
        model.fit(rows.X, rows.y)
        cpu = time.process_time() - start
    hits = model.predict(rows.X_test) == rows.y_test
    return Fit(hits, log_losses(model, rows), cpu, [w.category.__name__ for w in found])


def log_losses(model, rows):
    """Minus the log-probability of the class of each test row that training has seen."""
    if not hasattr(model, "predict_proba"):
        return np.empty(0)
    losses = []
    for part in np.array_split(np.arange(len(rows.y_test)), len(rows.y_test) // 1000 + 1):
        y = rows.y_test[part]
        p = np.asarray(model.predict_proba(rows.X_test[part]), dtype=np.float64)
        own = p[np.flatnonzero(y >= 0), y[y >= 0]]
        losses.append(-np.log(np.clip(own, np.finfo(float).eps, 1)))
    return np.concatenate(losses)


def measure(data, system):
    """The figures of a system on a data set, over its splits."""
    fits = [fit(system, rows) for rows in splits(data)]
    hits = np.concatenate([f.hits for f in fits])
    losses = np.concatenate([f.losses for f in fits])
    accuracy = float(hits.mean())
    # The splits of small data overlap: a test part is as large as one of them.
    n_test = len(hits) / len(fits)
    return {
        "accuracy": 100 * accuracy,
        "standard_error": 100 * float(np.sqrt(accuracy * (1 - accuracy) / n_test)),
        "log_loss": float(losses.mean()) if len(losses) else None,
        "cpu": float(np.mean([f.cpu for f in fits])),
        "warned": sorted({w for f in fits for w in f.warned}),
    }


def misses(data, figures, references, timed=True):
    """The bars that a system misses on a data set, in words; empty if it holds them all.

    Without those of seconds if not `timed`, as tests want it.
    """
    best = max(references.values(), key=lambda f: f["accuracy"])
    allowed = POINTS_UNSCALED if data.endswith("_raw") else POINTS
    allowed += STANDARD_ERRORS * best["standard_error"]
    slowest = max(f["cpu"] for f in references.values())
    found = []
    if figures["accuracy"] < best["accuracy"] - allowed:
        lost = best["accuracy"] - figures["accuracy"]
        found.append(f"accuracy {lost:.1f} points below ({allowed:.1f} allowed)")
    if figures["log_loss"] is not None:
        ratio = figures["log_loss"] / references["logistic"]["log_loss"]
        if ratio > LOG_LOSS_RATIO:
            found.append(f"log-loss {ratio:.2f} times that of LogisticRegression")
    if timed and figures["cpu"] > CPU_RATIO * slowest + CPU_MORE:
        found.append(f"{figures['cpu']:.1f} CPU seconds ({slowest:.1f})")
    return found


# ------------------------------------------------------------------------------------ figures, page


def read(data, system):
    """The figures of a system on a data set, or None."""
    return _runner.kept(PAGE).get(data, {}).get(system)


def references_on(data):
    """The figures of scikit-learn's estimators, measured if they are not there."""
    return {system: read(data, system) or write(data, system) for system in REFERENCES}


def write(data, system):
    figures = measure(data, system)
    _runner.keep(PAGE, data, system, figures)
    return figures


def one_line(figures):
    loss = "-" if figures["log_loss"] is None else f"{figures['log_loss']:.3f}"
    warned = ", ".join(figures["warned"])
    return f"{figures['accuracy']:.1f} / {loss} / {figure(figures['cpu'])} s {warned}".rstrip()


def cell(data, figures, references):
    if figures is None:
        return "-"
    loss = "-" if figures["log_loss"] is None else f"{figures['log_loss']:.2f}"
    text = f"{figures['accuracy']:.1f} / {loss} / {figure(figures['cpu'], 2)}"
    return f"**{text}**" if references and misses(data, figures, references) else text


def write_page():
    rows, missed = [], []
    for data in DATA_SETS:
        figures = {system: read(data, system) for system in TITLES}
        references = {system: figures.pop(system) for system in REFERENCES}
        if not all(references.values()):
            continue
        both = [cell(data, f, None) for f in references.values()]
        own = [cell(data, f, references) for f in figures.values()]
        rows.append([data.replace("_", " "), *both, *own])
        missed += [
            f"* {data}, {TITLES[system]}: {'; '.join(found)}"
            for system, f in figures.items()
            if f and (found := misses(data, f, references))
        ]
    _runner.write_page(
        PAGE,
        "# Without arguments",
        _runner.source(PAGE),
        "Test accuracy in per cent / log-loss / CPU seconds of `fit` on one thread. One class a "
        f"sample; {', '.join(TITLES.values())}, all with their defaults. *raw* columns are as they "
        f"come, *counts* are words counted, *svd* rows are {DIMENSIONS} dimensions of a truncated "
        "SVD; other texts "
        f"are unit rows of TF-IDF. Small data: means over {N_SPLITS} splits. "
        + "; ".join(f"{k} has its {v} largest classes" for k, v in MOST_CLASSES.items())
        + f". The bars: {BARS}. Bold: a bar is missed.",
        table(HEADER, rows),
        "## Bars missed",
        "\n".join(missed) or "None.",
    )


def main():
    parser = _runner.parser(__doc__, data=DATA_SETS)
    systems = [s for s in TITLES if s not in REFERENCES]
    parser.add_argument("--systems", nargs="+", choices=systems, default=systems, metavar="NAME")
    parser.add_argument("--references", action="store_true", help="measure scikit-learn's anew too")
    options = parser.parse_args()
    for data in [] if options.report else options.data:
        for system in REFERENCES if options.references else ():
            write(data, system)
        references = references_on(data)
        for system, figures in references.items():
            print(f"{data:26}{TITLES[system]:26}{one_line(figures)}", flush=True)
        for system in options.systems:
            figures = write(data, system)
            verdict = "; ".join(misses(data, figures, references)) or "holds"
            print(f"{data:26}{TITLES[system]:26}{one_line(figures)}: {verdict}", flush=True)
    write_page()


if __name__ == "__main__":
    main()

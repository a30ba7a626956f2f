"""Softmax models without arguments on 10^3 to 2 * 10^4 classes, beside exact steps.

One fit after the other on one thread, in processor seconds, since other programs share the machine.
"""

import time
import warnings

import _common
import _softmax_data as data
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sklearn_xc import AugmentReduceClassifier, ImplicitSoftmaxRegressor, LDGSClassifier

SCRIPT = "softmax_many"
BASES = [
    "docstrings",
    "omniglot",
    "oewn_hypernym",
    "yso_finna_en_small",
    "codespell_fix",
    "esco_occupations",
]
FORMS = {"": "", "30": ", 30 % of the rows", "svd": ", 128 singular vectors", "raw": ", counts"}
MANY = [f"{base}-{form}".rstrip("-") for form in ("", "30", "svd") for base in BASES]
MANY += ["esco_occupations-raw"]
RATES = [3.0, 10.0, 30.0]  # on rows of length 1
# The estimator, and what the page claims of it: times the log-loss, points, times the seconds.
MODELS = {
    "implicit": ("ImplicitSoftmaxRegressor", ImplicitSoftmaxRegressor, {}, (1.05, 1, 2)),
    "ldgs": ("LDGSClassifier", LDGSClassifier, {}, (1.05, 1, 2)),
    "softmax": ("AugmentReduceClassifier", AugmentReduceClassifier, {}, (1.1, 2, 4)),
    "probit": ("... probit", AugmentReduceClassifier, {"model": "probit"}, (1.1, 2, 4)),
    "logistic": ("... logistic", AugmentReduceClassifier, {"model": "logistic"}, (1.1, 2, 4)),
}


def load(name):
    """The rows of a set: words of docstrings; "-30": a part of them, "-svd": singular vectors."""
    base, _, form = name.partition("-")
    if base == "docstrings":
        rows = data.docstrings(ngram_range=(1, 1), min_df=1)
    else:
        rows = data.load(base, "raw" if form == "raw" else "tfidf")
    if form == "30":
        chosen = np.random.default_rng(1).permutation(len(rows.y))[: int(0.3 * len(rows.y))]
        rows = data.rows_of(rows.X[chosen], rows.y[chosen], rows.X_test, rows.y_test)
    if form == "svd":
        from sklearn.decomposition import TruncatedSVD

        svd = TruncatedSVD(128, n_iter=2, random_state=0)
        X = svd.fit_transform(rows.X).astype(np.float32)
        rows = rows._replace(X=X, X_test=svd.transform(rows.X_test).astype(np.float32))
    return rows


def measured(model, rows, test):
    """Log-loss and accuracy over test rows of classes that were trained on, and seconds."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(rows.X, rows.y)
    seconds, loss, hits = time.process_time() - start, 0.0, 0
    for part in np.array_split(test, max(1, len(test) // 500)):
        log_p = data.scores_of(model, rows.X_test[part], True)
        y = rows.y_test[part]
        loss -= log_p[np.arange(len(y)), y].sum(dtype=np.float64)
        hits += (log_p.argmax(axis=1) == y).sum()
    return {"log_loss": loss / len(test), "accuracy": float(hits / len(test)), "seconds": seconds}


def run(names):
    for name in names:
        rows = load(name)
        known = np.flatnonzero(rows.y_test >= 0)
        test = known[np.random.default_rng(data.SEED).permutation(len(known))[: data.EVALUATED]]
        unit = ImplicitSoftmaxRegressor(max_iter=1, n_jobs=1).fit(rows.X, rows.y).learning_rate_
        sizes = {"n": len(rows.y), "classes": rows.n_classes, "evaluated": len(test)}
        for rate in RATES:
            given = {"learning_rate": rate / 10 * unit, "random_state": data.SEED, "n_jobs": 1}
            figures = measured(ImplicitSoftmaxRegressor("exact", **given), rows, test)
            data.save(SCRIPT, f"{name}-exact-{rate:g}", **figures, **sizes)
            print(name, f"exact, rate {rate:g}", figures, flush=True)
        for key, (_, kind, options, _) in MODELS.items():
            model = kind(random_state=data.SEED, n_jobs=1, **options)
            figures = measured(model, rows, test)
            data.save(SCRIPT, f"{name}-{key}", **figures, **sizes)
            print(name, key, figures, flush=True)


def text(every):
    """The table, the sets in which a model lost most of the log-loss first, and what holds."""
    rows, worst = [], {key: [0.0, 100.0, 0.0] for key in MODELS}
    for name in MANY:
        found = [every[key] for rate in RATES if (key := f"{name}-exact-{rate:g}") in every]
        if len(found) < len(RATES):
            continue
        best = min(found, key=lambda r: r["log_loss"])
        cells, most = [], 0.0
        for key in MODELS:
            r = every.get(f"{name}-{key}")
            if r is None:
                cells.append("-")
                continue
            times = r["log_loss"] / best["log_loss"]
            points = 100 * (r["accuracy"] - best["accuracy"])
            seconds = r["seconds"] / best["seconds"]
            cells.append(f"{times:.3f}, {points:+.1f}, {seconds:.1f}")
            most = max(most, times)
            low = worst[key]
            low[:] = max(low[0], times), min(low[1], points), max(low[2], seconds)
        base, _, form = name.partition("-")
        sizes = f"{best['n']:,}, {best['classes']:,}"
        own = f"{best['log_loss']:.3f}, {100 * best['accuracy']:.1f} %, {best['seconds']:.1f} s"
        rows.append((most, [base + FORMS[form], sizes, own, *cells]))
    if not rows:
        return []
    rows = [cells for _, cells in sorted(rows, key=lambda pair: -pair[0])]
    header = ["data", "rows, classes", "exact", *(title for title, *_ in MODELS.values())]
    claims = [
        f"* {title}: log-loss at most {worst[key][0]:.3f} times, accuracy at worst "
        f"{worst[key][1]:+.1f} points, seconds at most {worst[key][2]:.1f} times (wanted: "
        f"{wanted[0]}, -{wanted[1]}, {wanted[2]})"
        for key, (title, _, _, wanted) in MODELS.items()
    ]
    return [
        "## Without arguments on 1,600 to 18,600 classes",
        "Each model beside exact steps at the best of the rates 3, 10 and 30 for rows of length 1 "
        "(*exact*: log-loss, accuracy, processor seconds of one thread): log-loss and seconds as "
        "multiples, accuracy as a difference in points, on test rows of a class that was trained "
        "on. Nothing was chosen on these rows: rates and ridges were on a tenth of the training "
        "rows, held out. Other programs ran on the two processors.",
        _common.table(header, rows),
        "\n".join(claims),
    ]

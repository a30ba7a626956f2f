"""Softmax models without arguments on 10^3 to 2 * 10^4 classes, beside exact steps.

One fit after the other on one thread, in processor seconds, since other programs share the machine.
"""

import re
import statistics
import time
import warnings
from contextlib import contextmanager

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks import _common
from benchmarks import _softmax_data as data
from sklearn_xc import AugmentReduceClassifier, ImplicitSoftmaxRegressor, LDGSClassifier
from sklearn_xc.implicit_softmax import _regressor as regressor
from sklearn_xc.softmax._full_softmax import RIDGE, usual_rate

SCRIPT = "softmax_many"
EVALUATED = 3000  # test rows, at random: probabilities of a probit take as long as fits
# Of a name after its base: "svd" or "raw" for other rows, then how many per cent of the rows: a fit
# of the larger sets, and of dense rows, took minutes otherwise.
KINDS = {
    "": "",
    "svd": ", 128 singular vectors",
    "raw": ", counts",
    "svdraw": ", 128 singular vectors of counts",
}
FORMS = {
    "docstrings": ["", "30", "svd30"],
    "omniglot": ["", "30", "svd30"],
    "oewn_hypernym": ["15", "svd5"],
    "yso_finna_en_small": ["15", "svd5"],
    "codespell_fix": ["15", "svd5"],
    "esco_occupations": ["", "30", "svd30", "raw"],
}
# Sets that were named before any model was fitted to them, and decided nothing since.
UNSEEN = {
    "tldr_commands": ["5", "raw5", "svd3", "svdraw3"],
    "yso_finna_en": ["1"],
    "next_word": ["3", "12"],
    "missing_word": ["2", "svd2"],
    "oewn_hypernym_chars": ["5"],
    "esco_occupations_chars": ["15"],
    "eurlex4k_shape": ["40"],
    "places_10_percent": ["10"],
}
DECIDED, JUDGES = (
    [f"{base}-{form}".rstrip("-") for base, forms in of.items() for form in forms]
    for of in (FORMS, UNSEEN)
)
MANY = DECIDED + JUDGES
RATES = [3.0, 10.0, 30.0]  # on rows of length 1; from there on while it gets better
RATE_STEP = 3.0
# The estimator, and what the page claims of it: times the log-loss, points, times the seconds.
MODELS = {
    "implicit": ("ImplicitSoftmaxRegressor", ImplicitSoftmaxRegressor, {}, (1.05, 1, 2)),
    "ldgs": ("LDGSClassifier", LDGSClassifier, {}, (1.05, 1, 2)),
    "softmax": ("AugmentReduceClassifier", AugmentReduceClassifier, {}, (1.1, 2, 4)),
    "probit": ("... probit", AugmentReduceClassifier, {"model": "probit"}, (1.1, 2, 4)),
    "logistic": ("... logistic", AugmentReduceClassifier, {"model": "logistic"}, (1.1, 2, 4)),
}


def parts_of(name):
    """A set's base, the kind of its rows, and how many per cent of them, "" for all."""
    return re.fullmatch(r"(.*?)(?:-([a-z]*)(\d*))?", name).groups(default="")


def load(name):
    """The rows of a set: words of docstrings; "-30": a part of them, "-svd": singular vectors."""
    base, kind, percent = parts_of(name)
    if base == "docstrings":
        rows = data.docstrings(ngram_range=(1, 1), min_df=1)
    else:
        rows = data.load(base, "raw" if "raw" in kind else "tfidf")
    if percent:
        n_chosen = len(rows.y) * int(percent) // 100
        chosen = np.random.default_rng(1).permutation(len(rows.y))[:n_chosen]
        rows = data.rows_of(rows.X[chosen], rows.y[chosen], rows.X_test, rows.y_test)
    if "svd" in kind:
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
    seconds = time.process_time() - start
    found = data.evaluate(model, rows, test)
    return {"log_loss": -found["log_likelihood"], "accuracy": found["accuracy"], "seconds": seconds}


@contextmanager
def fixed_ridge(ridge):
    """Let exact steps have this ridge on rows of length 1, and take no time to find it."""
    before = regressor.pilot_of, regressor.ridge_by
    regressor.pilot_of, regressor.ridge_by = lambda *_, **__: None, lambda *_: ridge
    try:
        yield
    finally:
        regressor.pilot_of, regressor.ridge_by = before


def constant_ridge(rows):
    """The ridge that "auto" sets out from, on weights for X as it is."""
    with fixed_ridge(RIDGE):
        return ImplicitSoftmaxRegressor("exact", max_iter=1, n_jobs=1).fit(rows.X, rows.y).alpha_


def exact_losses(losses, rates):
    """The log-loss at each rate, and further up and down for as long as it gets better."""
    found = {rate: losses(rate) for rate in rates}
    while (best := min(found, key=found.get)) in (min(found), max(found)):
        further = best * RATE_STEP if best == max(found) else best / RATE_STEP
        if not 1e-3 < further < 1e4:
            break
        found[further] = losses(further)
    return found


def run(names, only=()):
    for name in names:
        run_set(name, only)


def run_set(name, only=()):
    """Exact steps at some rates, then every model without arguments, or `only` some."""
    rows = load(name)
    known = np.flatnonzero(rows.y_test >= 0)
    test = known[np.random.default_rng(data.SEED).permutation(len(known))[:EVALUATED]]
    sizes = {"n": len(rows.y), "classes": rows.n_classes, "evaluated": len(test)}
    found = ImplicitSoftmaxRegressor("exact", random_state=data.SEED, n_jobs=1).fit(rows.X, rows.y)
    unit = found.learning_rate_ / usual_rate(len(rows.y), rows.n_classes)
    ridge = RIDGE * np.mean(found.alpha_ / constant_ridge(rows))

    def loss_at(rate):
        given = {"learning_rate": rate * unit, "random_state": data.SEED, "n_jobs": 1}
        with fixed_ridge(ridge):
            figures = measured(ImplicitSoftmaxRegressor("exact", **given), rows, test)
        data.save(SCRIPT, f"{name}-exact-{rate:g}", **figures, **sizes)
        print(name, f"exact, rate {rate:g}", figures, flush=True)
        return figures["log_loss"]

    if not only:
        exact_losses(loss_at, RATES)
    for key in only or MODELS:
        _, kind, options, _ = MODELS[key]
        model = kind(random_state=data.SEED, n_jobs=1, **options)
        figures = measured(model, rows, test)
        data.save(SCRIPT, f"{name}-{key}", **figures, **sizes)
        print(name, key, figures, flush=True)


def text(every):
    """The sets that decided defaults, and below them those that judge."""
    decided, judges = table_of(every, DECIDED), table_of(every, JUDGES)
    return [
        "## Without arguments on 1,000 to 7,000 classes",
        "Each model beside exact steps at the best of the rates 3, 10 and 30 for rows of length 1, "
        "and further ones where the last was the best (*exact*: log-loss, accuracy, median "
        "processor seconds of one thread, without the search for the ridge): log-loss and seconds "
        "as multiples, accuracy as a difference in points, on test rows of a class that was "
        "trained on. Large sets, and most singular vectors, are samples of the rows so that a fit "
        "takes seconds. Other programs ran on the two processors.",
        "### Sets that decided nothing",
        "They were named before a model was fitted to any of them.",
        *judges,
        "### Sets that decided defaults",
        "Rates and ridges were chosen on a tenth of the training rows, held out; but on the rows "
        "here the probit's ridge of rows that are alike, its rate where labels are clean, and the "
        "rate of LDGSClassifier in mini-batches of 32. Exact steps and ImplicitSoftmaxRegressor "
        "were measured with the ridge that they find on the parts of docstrings, esco_occupations, "
        "oewn_hypernym and codespell_fix that are words and on the singular vectors of "
        "codespell_fix, AugmentReduceClassifier on all that are parts but omniglot's pixels, "
        "LDGSClassifier and the probit on all; on the others with the constant one.",
        *decided,
    ]


def table_of(every, names):
    """A table of sets, those in which a model lost most of the log-loss first, and what holds."""
    rows, found = [], {key: [] for key in MODELS}
    for name in names:
        exact = [r for key, r in every.items() if key.startswith(f"{name}-exact-")]
        if len(exact) < len(RATES) or any(f"{name}-{key}" not in every for key in MODELS):
            continue
        best = min(exact, key=lambda r: r["log_loss"])
        usual = statistics.median(r["seconds"] for r in exact)  # rates do not change the work
        base, kind, percent = parts_of(name)
        title = base + KINDS[kind] + (f", {percent} % of the rows" if percent else "")
        own = f"{best['log_loss']:.3f}, {100 * best['accuracy']:.1f} %, {usual:.1f} s"
        cells, most = [title, f"{best['n']:,}, {best['classes']:,}", own], 0.0
        for key in MODELS:
            r = every[f"{name}-{key}"]
            times = r["log_loss"] / best["log_loss"]
            points = 100 * (r["accuracy"] - best["accuracy"])
            seconds = r["seconds"] / usual
            cells.append(f"{times:.3f}, {points:+.1f}, {seconds:.1f}")
            most = max(most, times)
            found[key].append((title, times, points, seconds))
        rows.append((most, cells))
    if not rows:
        return []
    rows = [cells for _, cells in sorted(rows, key=lambda pair: -pair[0])]
    header = ["data", "rows, classes", "exact", *(title for title, *_ in MODELS.values())]
    return [_common.table(header, rows), "\n".join(claim_of(key, found[key]) for key in MODELS)]


def claim_of(key, found):
    """Return the worst figures of a model, the bars, and the sets that miss one."""
    title, _, _, wanted = MODELS[key]
    _, times, points, seconds = zip(*found, strict=True)
    missed = [
        f"{of} ({t:.3f}, {p:+.1f}, {s:.1f})"
        for of, t, p, s in found
        if t > wanted[0] or p < -wanted[1] or s > wanted[2]
    ]
    return (
        f"* {title}: log-loss at most {max(times):.3f} times, accuracy at worst {min(points):+.1f} "
        f"points, seconds at most {max(seconds):.1f} times (wanted: {wanted[0]}, -{wanted[1]}, "
        f"{wanted[2]}); missed on {'; '.join(missed) or 'none'}"
    )

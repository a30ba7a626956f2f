"""Losses of alpha="auto" to a grid of ridges, of MemoirSVC and of the softmax models.

    python -m benchmarks.methods.ridges [--data "digits, all" ...] [--systems memoir ...]

One class a sample, the first of its labels; of the test rows whose class training has, 2,000 at
most are scored. Everything else is the default, on one thread. Writes measurements/ridges.md.
"""

import time
from importlib import import_module

import numpy as np

from benchmarks import _common, _penalties_data, _runner
from sklearn_xc.softmax._full_softmax import RIDGE

DATA = (
    "digits, all",
    "digits, standardised",
    "docstrings, standard library",
    "esco_occupations, 30 %",
    "esco_occupations, svd",
    "codespell_fix, 10 %",
    "tldr_commands, 10 %",
    "bibtex",
    "bibtex, counts",
    "cooking_fasttext, 10 %",
    "omniglot, 40 %",
    "generated, clean",
    "generated, noisy",
    "generated, pure",
)
FACTORS = 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0
# Where the constant of "auto" stands, or the search that starts from it.
CONSTANTS = {
    "memoir": ["memoir._auto:AUTO_ALPHA"],
    "implicit": ["implicit_softmax._regressor:ridge_by"],
    "ldgs": ["ldgs._ridge:ridge_by"],
    "augment_reduce": ["augment_reduce._auto:RIDGE", "augment_reduce._exact_steps:ridge_by"],
}
TITLES = {
    "memoir": "MemoirSVC",
    "implicit": "ImplicitSoftmaxRegressor",
    "ldgs": "LDGSClassifier",
    "augment_reduce": "AugmentReduceClassifier",
}
SEARCHED = "implicit", "ldgs", "augment_reduce"
BEFORE = {}  # what these are without a factor
MOST_TEST_ROWS = 2000
CAPTION = f"""\
Accuracy and nDCG@5 in per cent, log-loss where there are probabilities, on at most
{MOST_TEST_ROWS:,} test rows; *best* is of the multiples {", ".join(f"{f:g}" for f in FACTORS)}
of the constant ridge, which "auto" is or sets out from, each figure for itself and chosen on the
test rows, which favours the grid, with the multiple in parentheses. Each
row has the first of its labels."""


def split_of(name):
    """X, y, X_test, y_test with test rows of known classes, in random order."""
    return _penalties_data.one_class(_penalties_data.split_of(name), MOST_TEST_ROWS)


def model_of(system):
    import sklearn_xc

    return getattr(sklearn_xc, TITLES[system])(random_state=0, n_jobs=1)


def set_factor(system, factor):
    """Multiply the constants of "auto", without a search for a better one; None is "auto"."""
    for place in CONSTANTS[system]:
        path, name = place.split(":")
        module = import_module(f"sklearn_xc.{path}")
        value = BEFORE.setdefault(place, getattr(module, name))
        if factor is not None and callable(value):

            def value(pilot, rate, usual=RIDGE):
                return factor * usual

        elif factor is not None:
            many = isinstance(value, dict)
            value = {k: factor * v for k, v in value.items()} if many else factor * value
        setattr(module, name, value)


def measure(system, factor, X, y, X_test, y_test):
    """Accuracy, nDCG@5, log-loss or None, processor seconds of the fit."""
    set_factor(system, factor)
    model, began = model_of(system), time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - began
    hits = model.predict_topk(X_test, 5)[0] == y_test[:, None]
    loss = None
    if hasattr(model, "predict_proba"):
        own = model.predict_proba(X_test)[np.arange(len(y_test)), y_test]
        loss = -np.log(np.maximum(own, 1e-15)).mean(dtype=np.float64)
    ndcg = (hits / np.log2(np.arange(2, 2 + hits.shape[1]))).sum(axis=1).mean()
    return [100 * hits[:, 0].mean(), 100 * ndcg, loss, seconds]


# ------------------------------------------------------------------------------------------- page


def of_auto(found):
    """The figures of "auto", which is the constant where nothing is searched."""
    return found.get("auto", found["1"])


def lost(found):
    """Points of accuracy and of nDCG@5 below the best, and the log-loss over the best."""
    figures = np.array([found[f"{f:g}"][:3] for f in FACTORS], dtype=float)
    auto = np.array(of_auto(found)[:3], dtype=float)
    return [*(figures[:, :2].max(axis=0) - auto[:2]), auto[2] / figures[:, 2].min()]


def cells_of(found):
    auto, cells = of_auto(found), []
    for place, best in enumerate((max, max, min)):
        if auto[place] is None:
            continue
        form = ".2f" if place == 2 else ".1f"
        factor = best(FACTORS, key=lambda f: found[f"{f:g}"][place])
        there = found[f"{factor:g}"][place]
        cells.append(f"{auto[place]:{form}} / {there:{form}} ({factor:g})")
    return ", ".join(cells)


def sentence(system, kept):
    found = [kept[name][system] for name in DATA if system in kept.get(name, {})]
    losses = np.array([lost(f) for f in found])
    text = (
        f"* {TITLES[system]}: of {len(found)} sets the default is within a point of accuracy of "
        f"the best on {(losses[:, 0] <= 1).sum()} and within a point of nDCG@5 on "
        f"{(losses[:, 1] <= 1).sum()}; it loses {losses[:, 0].mean():.1f} and "
        f"{losses[:, 1].mean():.1f} points on average, {losses[:, 0].max():.1f} and "
        f"{losses[:, 1].max():.1f} at most"
    )
    if not np.isnan(losses[:, 2]).all():
        text += (
            f"; its log-loss is {np.mean(losses[:, 2]):.2f} times the best on average, "
            f"{losses[:, 2].max():.2f} times at most"
        )
    return text + "."


def page(kept, note):
    header = ["data", "rows", "classes", *(f"{t}: auto / best" for t in TITLES.values())]
    rows = []
    for name in DATA:
        if found := kept.get(name):
            cells = [cells_of(found[s]) if s in found else "-" for s in TITLES]
            rows.append([name, *(f"{n:,}" for n in kept["sizes"][name]), *cells])
    there = [s for s in TITLES if any(s in kept.get(name, {}) for name in DATA)]
    return "\n\n".join(
        [
            "# Ridges that follow the rows",
            "\n".join(sentence(system, kept) for system in there),
            *_runner.note("ridges", note),
            _common.table(header, rows),
            CAPTION,
            _runner.source("ridges"),
        ]
    )


def main():
    parser = _runner.parser(__doc__, data=DATA, note=True)
    parser.add_argument("--systems", nargs="+", choices=list(TITLES), default=list(TITLES))
    options = parser.parse_args()
    for name in [] if options.report else options.data:
        split = split_of(name)
        _runner.keep("ridges", "sizes", name, [len(split[1]), int(split[1].max()) + 1])
        for system in options.systems:
            found = {f"{f:g}": measure(system, f, *split) for f in FACTORS}
            if system in SEARCHED:
                found["auto"] = measure(system, None, *split)
            _runner.keep("ridges", name, system, found)
            print(name, system, np.round(lost(found), 2), found, flush=True)
    _runner.write_page("ridges", page(_runner.kept("ridges"), options.note))


if __name__ == "__main__":
    main()

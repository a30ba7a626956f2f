"""One class a sample: losses of PPDSparseClassifier, MemoirSVC, the exact softmax and omikuji.

    python -m benchmarks.methods.one_class [--data bibtex ...] [--systems squared_hinge ...]

Rows have the first of their labels; of the test rows whose class training has, 4,000 at most are
scored. Defaults, one thread (omikuji, three wide trees, two). Writes measurements/one_class.md.
"""

import time

import numpy as np

from benchmarks import _common, _environment, _penalties_data, _runner

CLEAN = "esco_occupations", "codespell_fix", "codespell_fix, 30 %", "codespell_fix, 10 %"
CLEAN += ("tldr_commands", "tldr_commands, 10 %", "docstrings")
CLEAN += ("omniglot", "omniglot, 40 %", "omniglot, 10 %")
OTHERS = "docstrings, standard library", "cooking_fasttext", "bibtex"
SYSTEMS = {
    "squared_hinge": "PPDSparseClassifier()",
    "crammer_singer": 'PPDSparseClassifier(loss="crammer_singer")',
    "memoir": "MemoirSVC()",
    "softmax": 'ImplicitSoftmaxRegressor(solver="exact")',
    "omikuji": "omikuji",
}
MOST_TEST_ROWS = 4000
CAPTION = f"""\
P@1 and nDCG@5 in per cent on at most {MOST_TEST_ROWS:,} test rows, and processor seconds of `fit`,
without arguments, on one thread (omikuji: three trees, `collapse_every_n_layers=5`, two threads).
Each row has the first of its labels; test rows whose class no training row has are left out. A
share behind the name is a share of the training rows, drawn at random. The
last three were not looked at when the loss was chosen (the first is a part of docstrings); rows of
the last two have several labels, of which the first is mostly chance."""


def split_of(name):
    """X, y, X_test, y_test; training rows in random order."""
    if name.startswith("docstrings"):
        split = _penalties_data.docstrings(["stdlib"] if "," in name else None)
    elif name.endswith("%"):
        split = _penalties_data.split_of(name)
    else:
        split = _common.load(name)
    return _penalties_data.one_class(split, MOST_TEST_ROWS)


def model_of(system):
    from sklearn_xc import ImplicitSoftmaxRegressor, MemoirSVC, PPDSparseClassifier

    if system == "memoir":
        return MemoirSVC(random_state=0)
    if system == "softmax":
        return ImplicitSoftmaxRegressor(solver="exact", random_state=0)
    return PPDSparseClassifier(loss=system, random_state=0)


def measure(system, X, y, X_test, y_test):
    """P@1, nDCG@5, processor seconds of the fit; None where the system cannot be had."""
    if system == "omikuji":
        Y = _penalties_data.indicator(y, y.max() + 1)
        if (found := _environment.best_labels("omikuji_wide", X, Y, X_test)) is None:
            return None
        best, (_, seconds) = found
    else:
        model, began = model_of(system), time.process_time()
        model.fit(X, y)
        seconds = time.process_time() - began
        best = model.predict_topk(X_test, 5)[0]
    hits = best == y_test[:, None]
    ndcg = (hits / np.log2(np.arange(2, 7))).sum(axis=1).mean()
    return [100 * hits[:, 0].mean(), 100 * ndcg, float(seconds)]


def page(kept):
    header = ["data", "rows", "classes", *SYSTEMS.values()]
    rows = []
    for name in (*CLEAN, *OTHERS):
        found = kept.get(name, {})
        if not found:
            continue
        cells = [
            "{:.1f}, {:.1f}, {:.3g} s".format(*found[s]) if found.get(s) else "-" for s in SYSTEMS
        ]
        rows.append([name, *(f"{n:,}" for n in kept["sizes"][name]), *cells])
    return "\n\n".join(
        ["# One class a sample", CAPTION, _common.table(header, rows), _runner.source("one_class")]
    )


def main():
    parser = _runner.parser(__doc__, data=[*CLEAN, *OTHERS])
    parser.add_argument("--systems", nargs="+", choices=list(SYSTEMS), default=list(SYSTEMS))
    options = parser.parse_args()
    for name in [] if options.report else options.data:
        split = split_of(name)
        _runner.keep("one_class", "sizes", name, [len(split[1]), int(split[1].max()) + 1])
        for system in options.systems:
            figures = measure(system, *split)
            _runner.keep("one_class", name, system, figures)
            print(name, system, figures, flush=True)
    text = page(_runner.kept("one_class"))
    _runner.write_page("one_class", text)


if __name__ == "__main__":
    main()

"""Cost of growing, paths of penalties and pruning beside fits from nothing.

    python benchmarks/growing.py [--data NAME ...] [--part path add prune partial] [--report]

The page measurements/growing.md is written from all figures kept. Seconds are CPU time of one
thread, so that other work on the machine matters less.
"""

import time

import _common
import _runner
import numpy as np

DATA_SETS = ["bibtex", "yso_finna_en_small"]
PATHS = {"0.01 to 0.2": (0.01, 0.2), "0.01 to 1": (0.01, 1.0)}
N_PENALTIES = 10
MANY_LABELS = 1000  # where the wide path takes a quarter of an hour
SHARES = (0.1, 0.3)  # of the labels that are added
THRESHOLDS = [0.0, 0.02, 0.05, 0.1, 0.2, 0.4]
PASSES = 5


def cpu_seconds(call, *args):
    start = time.process_time()
    result = call(*args)
    return time.process_time() - start, result


def fresh(**parameters):
    from sklearn_xc import PPDSparseClassifier

    return PPDSparseClassifier(random_state=0, **parameters)


def path(split):
    """Ten fits from nothing, and ten that each start from the one before, in both directions."""
    figures = []
    for name, (low, high) in PATHS.items():
        if high == 1 and split.Y.shape[1] > MANY_LABELS:
            continue
        penalties = np.geomspace(low, high, N_PENALTIES)
        cold = []
        for l1 in penalties:
            model = fresh(l1=l1)
            seconds, _ = cpu_seconds(model.fit, split.X, split.Y)
            cold.append((seconds, model._n_visits))
        for direction, order in (
            ("weak to strong", penalties),
            ("strong to weak", penalties[::-1]),
        ):
            model = fresh(warm_start=True)
            warm = []
            for l1 in order:
                seconds, _ = cpu_seconds(model.set_params(l1=l1).fit, split.X, split.Y)
                warm.append((seconds, model._n_visits))
            (fit, fit_visits), (all_fits, visits) = np.mean(cold, axis=0), np.sum(warm, axis=0)
            figures.append([name, direction, fit, all_fits, visits / fit_visits])
            print(figures[-1], flush=True)
    return figures


def add(split):
    """A fit on all labels, and one on some and the rest added."""
    figures = []
    order = np.random.default_rng(0).permutation(split.Y.shape[1])
    Y = split.Y[:, order]
    seconds_all, whole = cpu_seconds(fresh().fit, split.X, Y)
    for share in SHARES:
        n_old = round((1 - share) * Y.shape[1])
        model = fresh().fit(split.X, Y[:, :n_old])
        seconds, _ = cpu_seconds(model.add_labels, split.X, Y[:, n_old:])
        difference = float(abs(whole.coef_ - model.coef_).max())
        figures.append([share, seconds_all, seconds, difference])
        print(figures[-1], flush=True)
    return figures


def prune(split):
    """Size and precision of a model whose small weights are dropped."""
    from sklearn_xc.metrics import precision_at_k

    model = fresh(pruning=0.0).fit(split.X, split.Y)
    figures = []
    for threshold in THRESHOLDS:
        model.prune(threshold)
        labels, _ = model.predict_topk(split.X_test, 5)
        precision = [100 * float(precision_at_k(split.Y_test, labels, k=k)) for k in (1, 5)]
        figures.append([threshold, model.coef_.nnz, model.nbytes_ / 1e6, *precision])
        print(figures[-1], flush=True)
    return figures


def first_labels(X, Y):
    """The rows that have a label, and the first of each."""
    from sklearn_xc.datasets import first_label

    labels, has_label = first_label(Y)
    return X[has_label], labels[has_label]


def partial(split):
    """Half the classes come in the second part of the data; accuracy on the test rows."""
    from sklearn_xc import AugmentReduceClassifier, ImplicitSoftmaxRegressor, MemoirSVC

    X, y = first_labels(split.X, split.Y)
    X_test, y_test = first_labels(split.X_test, split.Y_test)
    late = np.random.default_rng(0).permutation(split.Y.shape[1])[::2]
    early = ~np.isin(y, late)
    figures = []
    for estimator in (AugmentReduceClassifier, ImplicitSoftmaxRegressor, MemoirSVC):
        scores = []
        for known in (np.unique(y[early]), np.unique(y)):
            model = estimator(random_state=0)
            for _ in range(PASSES):
                model.partial_fit(X[early], y[early], classes=known)
            for _ in range(PASSES):
                model.partial_fit(X, y)
            found = model.predict(X_test)
            is_late = np.isin(y_test, late)
            scores += [100 * float((found == y_test)[part].mean()) for part in (~is_late, is_late)]
        figures.append([estimator.__name__, *scores])
        print(figures[-1], flush=True)
    return figures


PARTS = {"path": path, "add": add, "prune": prune, "partial": partial}
ONLY = {"partial": ["bibtex"]}  # dense weights, and accuracy of first labels only there


def section(part):
    """The text and table of a part from all figures kept."""
    found = _runner.kept("growing").get(part, {})
    return [[data, *figures] for data in found for figures in found[data]]


def path_page(rows):
    header = ["data, l1", "direction", "mean of a fit, s", "path, s", "in fits", "in rows read"]
    cells = [
        [f"{d}, {name}", way, f"{cold:.2f}", f"{warm:.2f}", f"{warm / cold:.2f}", f"{read:.2f}"]
        for d, name, way, cold, warm, read in rows
    ]
    return (
        f"{N_PENALTIES} values of l1 in equal ratios. *In fits*: seconds of the path over the mean "
        f"of {N_PENALTIES} separate fits at the same values; *in rows read*: the same of the rows "
        "of X that the solver reads, the row of a search for sixteen classes counting for a "
        "sixteenth each. The aim is less than 4.\n\n"
    ) + _common.table(header, cells)


def add_page(rows):
    header = [
        "data, share added",
        "fit on all, s",
        "add_labels, s",
        "largest difference of a weight",
    ]
    cells = [[f"{d}, {s:g}", f"{a:.2f}", f"{b:.2f}", f"{e:.1g}"] for d, s, a, b, e in rows]
    return "Some labels, drawn at random, added to a fit on the others.\n\n" + _common.table(
        header, cells
    )


def prune_page(rows):
    header = ["data, threshold", "non-zeros", "MB", "P@1", "P@5"]
    cells = [[f"{d}, {t:g}", n, f"{m:.1f}", f"{p:.2f}", f"{q:.2f}"] for d, t, n, m, p, q in rows]
    return (
        "`PPDSparseClassifier(pruning=0)`, then `prune(threshold)`; precision on the test part.\n\n"
    ) + _common.table(header, cells)


def partial_page(rows):
    header = [
        "data, estimator",
        "grown: early classes",
        "late",
        "declared: early classes",
        "late",
    ]
    cells = [[f"{d}, {name}", *(f"{s:.1f}" for s in scores)] for d, name, *scores in rows]
    return (
        f"{PASSES} passes over the rows of half of the classes, then {PASSES} over all: accuracy "
        "in percent of the first label on the test rows of early and of late classes, where the "
        "late ones were met and where they were declared at the first call.\n\n"
    ) + _common.table(header, cells)


PAGES = {
    "path": ("A path of penalties", path_page),
    "add": ("Labels added", add_page),
    "prune": ("Pruning", prune_page),
    "partial": ("Classes met late", partial_page),
}


def write_page(note):
    parts = ["# Growing and shrinking", _runner.source("growing")]
    parts += [*_runner.note("growing", note), "CPU seconds of one thread."]
    for part, (title, page) in PAGES.items():
        if rows := section(part):
            parts += [f"## {title}", page(rows)]
    _runner.write_page("growing", "\n\n".join(parts))


def main():
    options = _runner.parser(__doc__, data=DATA_SETS, parts=PARTS, note=True).parse_args()
    for part in [] if options.report else options.part:
        for data in options.data:
            if data in ONLY.get(part, options.data):
                figures = PARTS[part](_common.load(data))
                _runner.keep("growing", part, data, figures)
    write_page(options.note)


if __name__ == "__main__":
    main()

"""From how many classes on cheap steps beat exact ones: log-loss and seconds on generated rows.

A pass of cheap steps takes a small part of the time of an exact one, and is worth less: they win
where they come to a lower log-loss in the seconds of the exact fit.
"""

from benchmarks import _common
from benchmarks import _softmax_data as data
from benchmarks.methods import _softmax_many as many
from sklearn_xc import AugmentReduceClassifier, ImplicitSoftmaxRegressor, LDGSClassifier
from sklearn_xc.datasets import make_xc_classification

SCRIPT = "softmax_crossing"
CLASSES = [1000, 10_000, 20_000, 50_000]
N_FEATURES, TOKENS, ROWS_A_CLASS, FEWEST_ROWS, N_TEST = 2000, 12, 2, 10_000, 2000
LONGER = 4  # times the passes
TITLES = {
    "exact": "exact",
    "implicit": "implicit",
    "implicit-4": "implicit, 4 times the passes",
    "implicit-16": "implicit, 16 times the passes",
    "drawn": "A&R, drawn classes",
    "decomposed": "LDGS, searched classes",
}


def rows_of(n_classes):
    """Generated rows of words, about two of each class and 10,000 at least."""
    n = max(FEWEST_ROWS, ROWS_A_CLASS * n_classes) + N_TEST
    made = make_xc_classification(
        n, N_FEATURES, n_classes, n_tokens=TOKENS, class_exponent=0.0, random_state=data.SEED
    )
    X, y = made[:2]
    return data.rows_of(X[N_TEST:], y[N_TEST:], X[:N_TEST], y[:N_TEST])


def run(sizes):
    for n_classes in sizes:
        run_size(n_classes)


def run_size(n_classes):
    """Exact steps, and cheap ones for as long as they take no longer."""
    rows = rows_of(n_classes)
    test = (rows.y_test >= 0).nonzero()[0]
    shape = {"n": len(rows.y), "classes": rows.n_classes, "evaluated": len(test)}
    found = {}

    def measure(key, model):
        figures = many.measured(model.set_params(random_state=data.SEED, n_jobs=1), rows, test)
        found[key] = figures["seconds"]
        data.save(SCRIPT, f"{n_classes}-{key}", **figures, **shape)
        print(n_classes, key, figures, flush=True)
        return model

    measure("exact", ImplicitSoftmaxRegressor("exact"))
    short = measure("implicit", ImplicitSoftmaxRegressor("implicit"))
    given = {"learning_rate": short.learning_rate_, "solver": "implicit"}
    for times in (LONGER, LONGER**2):
        n_passes = times * short.n_iter_
        longer = ImplicitSoftmaxRegressor(max_iter=n_passes, **given)
        measure(f"implicit-{times}", longer)
        if found[f"implicit-{times}"] * LONGER > 2 * found["exact"]:
            break  # the next would take more than twice the seconds of exact steps
    measure("drawn", AugmentReduceClassifier(bound="augment_reduce"))
    measure("decomposed", LDGSClassifier(gradient="decomposed"))


def text(every):
    """The table, and from how many classes on one of the cheap steps wins."""
    rows, winners = [], []
    for n_classes in CLASSES:
        exact = every.get(f"{n_classes}-exact")
        if exact is None:
            continue
        cells = [f"{exact['n']:,}, {exact['classes']:,}"]
        for key in TITLES:
            r = every.get(f"{n_classes}-{key}")
            if r is None:
                cells.append("-")
                continue
            cells.append(f"{r['log_loss']:.3f}, {100 * r['accuracy']:.1f} %, {r['seconds']:.1f} s")
            if r["log_loss"] < exact["log_loss"] and r["seconds"] <= exact["seconds"]:
                winners.append(n_classes)
        rows.append(cells)
    if not rows:
        return []
    largest = max(n for n in CLASSES if f"{n}-exact" in every)
    if winners:
        says = f"Cheap steps win from {min(winners):,} classes on."
    else:
        says = f"Cheap steps never win up to {largest:,} classes: no log-loss is as low "
        says += "as the loss of exact steps in their seconds."
    return [
        "## From how many classes on cheap steps win",
        "Generated rows of twelve words among 2,000, two a class (10,000 at least), without "
        "arguments except the kind of steps: log-loss, accuracy, processor seconds of one thread "
        "with the search of a rate. Longer fits of implicit steps are given the rate that was "
        "found. Cheap steps win where their log-loss is lower in no more seconds.",
        _common.table(["rows, classes", *TITLES.values()], rows),
        says,
    ]

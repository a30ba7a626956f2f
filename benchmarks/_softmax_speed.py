"""Speed of the softmax estimators: against the number of classes, updates a second, threads.

What is timed are passes over the rows alone, inside the fits: not the random weights before the
first pass, not the bound that is watched between passes, not the order of prediction after them.
"""

import time
from unittest import mock

import _common
import _runner
import _softmax_data as data
import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

import sklearn_xc.augment_reduce._train as augment_reduce
from sklearn_xc import AugmentReduceClassifier
from sklearn_xc.implicit_softmax._data import NONE, SoftmaxData
from sklearn_xc.implicit_softmax._solvers import SolverSettings
from sklearn_xc.implicit_softmax._train import PUBLISHED_SIZES, solver_class
from sklearn_xc.softmax._full_softmax import BATCH
from sklearn_xc.utils._matrix import as_rows, normalise

SCRIPT = "softmax_speed"
CLASSES = [10**3, 10**4, 10**5, 10**6]
N_FEATURES, ENTRIES = 1000, 10  # of the synthetic rows
METHODS = {"exact": "exact", "augment_reduce": "A&R", "implicit": "implicit (1,1)"}
ROWS = 40_000  # of a pass
EXACT_WORK = 10**8  # rows times classes of a pass of the exact softmax
TURNS = 9  # of which the fastest counts, for one thread and for two
SPEED_TEXT = (
    "A&R and exact: the fastest of nine turns of one thread and two, and in brackets the median: "
    "both live on memory that other programs of a shared machine slow down for minutes."
)
AUTHORS_MS = 21  # an iteration of the program of A&R's authors


class Enough(Exception):  # noqa: N818
    """All passes that were wanted are made."""


def clocked_watch(n_passes, seconds):
    """A stand-in for what watches the bound, which notes the time between passes."""

    class Clock:
        def __init__(self, tol, patience):
            self.times, self.curve = [], []

        def add(self, value):
            self.times.append(time.perf_counter())
            self.curve.append(value)
            if len(self.times) > n_passes:
                seconds.extend(np.diff(self.times))
                raise Enough

        def done(self):
            return False

    return Clock


def pass_of_augment_reduce(X, y, threads, n_passes=3, **options):
    """Seconds of a pass after the first, the best of some."""
    seconds = []
    watch = clocked_watch(n_passes, seconds)
    published = AugmentReduceClassifier.PUBLISHED["softmax"]
    options |= {"max_iter": n_passes + 1, "n_jobs": threads, "random_state": data.SEED}
    model = AugmentReduceClassifier(**published | options)
    with mock.patch.multiple(augment_reduce, MOST_WATCHED=1, FEWEST_WATCHED=1, _Watch=watch):
        try:
            model.fit(X, y)
        except Enough:
            return float(min(seconds))
    raise AssertionError("the fit ended before its passes were made")


def pass_of_solver(solver, X, y, n_classes, threads, n_passes=3, rate=0.1):
    """Seconds of a pass of a solver of ImplicitSoftmaxRegressor after the first, the best."""
    batch_size, n_sampled = PUBLISHED_SIZES[solver]
    settings = SolverSettings(
        solver=solver,
        raman=False,
        batch_size=batch_size,
        n_sampled=n_sampled,
        sampling="uniform",
        alpha=0.0,
        delta=1.0,
        intercept=1.0,
        shuffle=True,
    )
    rows = SoftmaxData(as_rows(normalise(X)), y.astype(np.int32), NONE)
    stop = np.zeros(1, dtype=np.int32)
    worker = solver_class(settings)(rows, n_classes, settings, data.SEED, threads, stop).begin()
    return min(_common.timed(worker.epoch, i, rate)[0] for i in range(n_passes + 1))


def synthetic(n_rows, n_features, n_classes, entries):
    """Rows of random non-zeros and random classes, of which every one occurs if rows suffice."""
    rng = np.random.default_rng(data.SEED)
    indices = rng.integers(n_features, size=(n_rows, entries))
    indices = np.sort(indices, axis=1).ravel()
    values = np.full(n_rows * entries, entries**-0.5, dtype=np.float32)
    X = sparse.csr_array((values, indices, np.arange(n_rows + 1) * entries), (n_rows, n_features))
    X.sum_duplicates()
    y = rng.permutation(np.arange(n_rows) % n_classes)
    return X, y


# --------------------------------------------------------------------------------- measuring


def run_classes(classes):
    """Microseconds a row of a pass against the number of classes."""
    for n_classes in classes:
        figures = {"classes": n_classes}
        n_rows = max(16, min(ROWS, EXACT_WORK // n_classes))
        X, y = synthetic(n_rows, N_FEATURES, n_classes, ENTRIES)
        seconds = pass_of_solver("exact", X, y, n_classes, 1, 1 if n_classes > 10**5 else 3)
        figures["exact"] = 1e6 * seconds / n_rows
        X, y = synthetic(max(ROWS, n_classes), N_FEATURES, n_classes, ENTRIES)
        seconds = pass_of_solver("implicit", X, y, n_classes, 1)
        figures["implicit"] = 1e6 * seconds / len(y)
        few = 1 if n_classes > 10**5 else 3
        figures["augment_reduce"] = 1e6 * pass_of_augment_reduce(X, y, 1, few) / len(y)
        data.save(SCRIPT, f"classes-{n_classes}", **figures)
        print({k: round(v, 3) for k, v in figures.items()}, flush=True)


def run_speed(scale):
    """Updates a second, milliseconds an iteration, two threads against one."""
    for name in ("bibtex", "yso_finna_en_small"):
        rows = data.load(name, "unit")
        seconds = pass_of_solver("implicit", rows.X, rows.y, rows.n_classes, 1)
        entries = rows.X.nnz / len(rows.y)
        figures = {"per_second": len(rows.y) / seconds, "entries": entries}
        data.save(SCRIPT, f"updates-{name}", **figures, classes=rows.n_classes)
        print(name, figures, flush=True)
    X, y = synthetic(int(20_000 * scale), 5000, 300, 40)
    iterations = -(-len(y) // 500)
    (one, two), (median, of_two) = in_turns(
        lambda t: pass_of_augment_reduce(X, y, t, 10, n_sampled_classes=20)
    )
    figures = {"ms": 1e3 * one / iterations, "gain": one / two}
    figures |= {"median_ms": 1e3 * median / iterations, "median_gain": median / of_two}
    data.save(SCRIPT, "iteration", **figures)
    print("iteration", figures, flush=True)
    run_exact(scale)


def in_turns(seconds_of):
    """Seconds of one thread and of two: the least, and the medians."""
    seconds = [[seconds_of(t) for t in (1, 2)] for _ in range(TURNS)]
    return np.min(seconds, axis=0).tolist(), np.median(seconds, axis=0).tolist()


def run_exact(scale):
    """Rows a second of the exact softmax beside what memory allows, both in one run."""
    rows = data.load("oewn_hypernym")
    chosen = np.random.default_rng(data.SEED).permutation(len(rows.y))[: int(20_000 * scale)]
    X, y, n_classes = rows.X[chosen], rows.y[chosen], rows.n_classes
    (one, two), (median, of_two) = in_turns(
        lambda t: pass_of_solver("exact", X, y, n_classes, t, 3)
    )
    # The weights of each distinct feature of a mini-batch are read once, if
    # none of them are still in the caches from the mini-batch before. What a rounded step reads and
    # writes comes on top.
    touched = sum(
        len(np.unique(X[start : start + BATCH].indices)) for start in range(0, len(y), BATCH)
    )
    figures = {"rows_per_second": len(y) / one, "gain": one / two, "classes": n_classes}
    figures |= {"median_rows": len(y) / median, "median_gain": median / of_two}
    figures |= {"entries": X.nnz / len(y), "megabytes": 4e-6 * n_classes * touched / len(y)}
    figures |= {"gigabytes_per_second": memory_speed()}
    data.save(SCRIPT, "exact", **figures)
    print("exact", figures, flush=True)


def memory_speed():
    """Gigabytes that one thread reads in a second from an array far larger than the caches."""
    numbers = np.ones(2**28, dtype=np.float32)
    with threadpool_limits(1):
        seconds = min(_common.timed(np.dot, numbers, numbers)[0] for _ in range(3))
    return numbers.nbytes / seconds / 1e9


# ---------------------------------------------------------------------------------- the page


def overtaking(results, method):
    """The number of classes from which on a method's pass takes less time than the exact one."""
    kept = [r for r in results if method in r]
    log_k = np.log([r["classes"] for r in kept])
    gap = np.log([r["exact"] / r[method] for r in kept])
    for i in range(len(gap)):
        if gap[i] > 0 and (gap[i:] > 0).all():
            if i == 0:
                return f"at every K measured, from {kept[0]['classes']:,} on"
            at = np.interp(0, gap[i - 1 : i + 1], log_k[i - 1 : i + 1])
            return f"from about {float(f'{np.exp(at):.2g}'):,.0f} classes on"
    return "nowhere up to the largest K measured"


def classes_text(every):
    results = [r for key, r in every.items() if key.startswith("classes-")]
    results.sort(key=lambda r: r["classes"])
    if not results:
        return []
    rows = [
        [f"{r['classes']:,}", *(_common.figure(r[m]) for m in METHODS)]
        + [_common.figure(r["exact"] / r[m]) for m in ("augment_reduce", "implicit")]
        for r in results
    ]
    header = ["K", *(f"{title}, us a row" for title in METHODS.values())]
    header += ["exact / A&R", "exact / implicit"]
    text = [
        "## Time of a row in a pass against the number of classes",
        f"Synthetic rows of {ENTRIES} non-zeros, D = {N_FEATURES}, one thread; A&R with |B| = 500, "
        "|S| = 20. A pass of one method is not worth a pass of another: see the curves above.",
        _common.table(header, rows),
    ]
    for method in ("augment_reduce", "implicit"):
        text.append(f"* {METHODS[method]} takes less time a pass {overtaking(results, method)}.")
    text[-2:] = ["\n".join(text[-2:])]
    first, largest = results[0], results[-1]
    growth = [largest[m] / first[m] for m in ("augment_reduce", "implicit")]
    text.append(
        f"From K = {first['classes']:,} to {largest['classes']:,} a row of A&R takes "
        f"{growth[0]:.1f} times as long, one of implicit {growth[1]:.1f} times. The number of "
        "operations does not depend on K; the weights leave the caches, and every class drawn is "
        "then a wait for memory."
    )
    if largest["classes"] == 10**6:
        ratios = [largest["exact"] / largest[m] for m in ("augment_reduce", "implicit")]
        holds = "holds" if min(ratios) >= 50 else "**does not hold**"
        text.append(
            f"At K = 10^6 a pass at least 50 times as fast as the exact one: {holds}, "
            f"{ratios[0]:.0f} (A&R) and {ratios[1]:.0f} (implicit)."
        )
    figure, (axis,) = _runner.axes(1)
    for method, title in METHODS.items():
        axis.loglog(
            [r["classes"] for r in results], [r[method] for r in results], "o-", label=title
        )
    axis.set(xlabel="number of classes K", ylabel="microseconds a row of a pass, one thread")
    axis.legend()
    return [*text, _runner.picture(figure, "benchmark_softmax_classes", "time a row against K")]


def bar(text, value, holds, median=None):
    verdict = "holds" if holds else "**does not hold**"
    line = f"* {text}: {verdict}, {_common.figure(value)}"
    return line if median is None else f"{line} ({_common.figure(median)})"


def speed_text(every):
    lines = []
    for key, r in every.items():
        if key.startswith("updates-"):
            name = key.removeprefix("updates-")
            text = (
                f"implicit (1,1) on {name} ({r['entries']:.1f} non-zeros a row, {r['classes']:,} "
            )
            text += "classes), at least a million updates a second on one thread (millions)"
            lines.append(bar(text, r["per_second"] / 1e6, r["per_second"] >= 1e6))
        if key == "iteration":
            text = "A&R iteration (|B| = 500, |S| = 20, 40 non-zeros, K = 300, D = 5000), "
            text += f"at most 1.5 ms on one thread (the authors' program: {AUTHORS_MS} ms)"
            lines.append(bar(text, r["ms"], r["ms"] <= 1.5, r["median_ms"]))
            text = "the same on two threads, at least 1.6 times as fast"
            lines.append(bar(text, r["gain"], r["gain"] >= 1.6, r["median_gain"]))
        if key == "exact":
            text = f"exact softmax on oewn_hypernym (K = {r['classes']:,}, {r['entries']:.1f} "
            text += "non-zeros a row), at least 20,000 rows a second on one thread"
            rate = r["rows_per_second"]
            lines.append(bar(text, rate, rate >= 20_000, r["median_rows"]))
            most = 1e3 * r["gigabytes_per_second"] / r["megabytes"]
            text = f". Its scores read {r['megabytes']:.2f} MB of weights, those "
            text += "that stay in the caches between mini-batches counted too; one thread read "
            text += f"{r['gigabytes_per_second']:.0f} GB a second in the same run, which would do "
            lines[-1] += text + f"for {most:,.0f} rows without any arithmetic: a rough limit"
            text = "the same on two threads, at least 1.6 times as fast"
            lines.append(bar(text, r["gain"], r["gain"] >= 1.6, r["median_gain"]))
    return ["## Speed", SPEED_TEXT, "\n".join(lines)] if lines else []

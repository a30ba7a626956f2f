"""LDGSClassifier: five gradients against time and passes, time by number of classes, fastText.

    python benchmarks/ldgs.py [--part curves classes fasttext] [--data NAME ...] [--passes N]
                              [--systems NAME ...] [--peer PYTHON] [--note TEXT]
                              [--report]

Figures are kept; the page doc/benchmark_ldgs.md is written from all of
them. fastText needs an environment of its own: ``--peer`` (or SKLEARN_XC_FASTTEXT) names its
Python, with numpy before 2, scipy and fasttext-wheel.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import _common
import _runner
import _softmax_data as data
import numpy as np

from sklearn_xc import LDGSClassifier, PPDSparseClassifier
from sklearn_xc.datasets import first_label

SCRIPT = "ldgs"
THREADS = 2
PASSES = 10
EVALUATED = 6000  # test rows, and training rows, at random
CURVES = {
    "omniglot": {"hidden_dim": 128, "n_chunks": 8},
    "oewn_hypernym": {"hidden_dim": 128, "n_chunks": 8},
    "yso_finna_en_small": {"hidden_dim": 100, "n_chunks": 4, "query_size": 300},
    "delicious": {"hidden_dim": 100, "n_chunks": 4},
}
MULTICLASS = ("omniglot", "oewn_hypernym")
CURVE_PASSES = {"omniglot": 10, "oewn_hypernym": 3, "yso_finna_en_small": 4, "delicious": 4}
SHARE = 0.2  # of the classes may be scored
OF_ALL = {"random_state": data.SEED, "n_jobs": THREADS}
SHARED = OF_ALL | {"learning_rate": 0.5, "alpha": 0.0}
DECOMPOSED = {"gradient": "decomposed"}
PRINTED = {"gradient": "mips", "loss": "margin", "unretrieved": "zero"}
WIDE = "mips_wide", "sampled"  # as many classes as all chunks and those drawn come to
SYSTEMS = {
    "softmax": ("exact softmax", {"gradient": "exact"}),
    "margin": ("exact margin", {"gradient": "exact", "loss": "margin"}),
    "sampled": ("sampled softmax", {"gradient": "sampled"}),
    "mips": ("MIPS, margin", {"gradient": "mips", "loss": "margin"}),
    "mips_wide": (
        "MIPS, margin, as many candidates as all chunks",
        {"gradient": "mips", "loss": "margin"},
    ),
    "mips_printed": ("MIPS, margin, others count as 0", PRINTED),
    "decomposed": ("decomposed, margin", {"gradient": "decomposed", "loss": "margin"}),
    "decomposed_softmax": ("decomposed, softmax", {"gradient": "decomposed"}),
    "messages": (
        "decomposed, margin, one message pass",
        {"gradient": "decomposed", "loss": "margin", "n_message_passes": 1},
    ),
}
TWINS = {
    "decomposed": "margin", "messages": "margin", "mips": "margin", "mips_wide": "margin",
    "mips_printed": "margin", "decomposed_softmax": "softmax", "sampled": "softmax",
}  # fmt: skip
CLASSES = [10**3, 10**4, 10**5, 10**6]
NOISE = np.float32(0.7)  # of an embedding around its cluster; that of a sample around it is 1
OWN = 1.5  # the score of the own class, times log K
CHUNKS = 8
CLASS_SYSTEMS = {
    "softmax": ("exact softmax", {"gradient": "exact"}),
    "margin": ("exact margin", {"gradient": "exact", "loss": "margin"}),
    "mips": ("MIPS, margin", {"gradient": "mips", "loss": "margin"}),
    "decomposed": ("decomposed, margin", {"loss": "margin"} | DECOMPOSED),
    "decomposed_softmax": ("decomposed, softmax", DECOMPOSED),
    "half": (
        "decomposed, margin, half as many retrieved",
        {"loss": "margin", "query_share": 2 / CHUNKS} | DECOMPOSED,
    ),
    "half_softmax": (
        "decomposed, softmax, half as many retrieved",
        {"query_share": 2 / CHUNKS} | DECOMPOSED,
    ),
}
CLASS_TWINS = {
    "mips": "margin", "decomposed": "margin", "half": "margin",
    "decomposed_softmax": "softmax", "half_softmax": "softmax",
}  # fmt: skip
FASTTEXT_SETS = ["cooking_fasttext", "yso_finna_en_small"]
FASTTEXT = ["softmax", "hs", "ova"]
BESIDE_FASTTEXT = [("margin", 100), ("cross_entropy", 100), ("margin", 300), ("margin", 1000)]
MU = 5.0  # of several labels a sample, as published
PATIENCE = 300  # seconds


def load(name):
    """Training and test rows, targets as the estimator takes them, and indicators to evaluate with.

    The last two are rows of the training part and their indicators.
    """
    X, Y, X_test, Y_test = _common.load(name)
    y = Y
    if name in MULTICLASS:
        y, labelled = first_label(Y)
        _, labelled_test = first_label(Y_test)
        X, Y = X[labelled], Y[labelled]
        X_test, Y_test = X_test[labelled_test], Y_test[labelled_test]
    return X, y, *some(X_test, Y_test), *some(X, Y)


def some(X, Y):
    chosen = np.random.default_rng(data.SEED).permutation(X.shape[0])[:EVALUATED]
    return X[chosen], Y.tocsr()[chosen]


def precision(model, X, Y):
    """Precision@1, 3 and 5."""
    found = model.predict_topk(X, _common.TOP)[0].astype(int)
    hits = np.stack([np.asarray(Y[np.arange(Y.shape[0]), f]).ravel() > 0 for f in found.T], axis=1)
    return [float(hits[:, :k].mean()) for k in _common.CUTS]


class Clock:
    """A callback that takes the time of each pass, and nothing else's."""

    def __init__(self):
        self.seconds, self._begin = [], None

    def setup(self, estimator, context):
        pass

    teardown = setup

    def on_fit_task_begin(self, estimator, context):
        self._begin = time.perf_counter()

    def on_fit_task_end(self, estimator, context):
        if context.task_name == "pass":
            self.seconds.append(time.perf_counter() - self._begin)


class Evaluate(Clock):
    """A callback that takes the precision of the model after each pass, behind the clock."""

    def __init__(self, X, Y):
        super().__init__()
        self.rows, self.points = (X, Y), []

    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        if context.task_name == "pass":
            self.points.append(precision(fitted_estimator, *self.rows))


def curves(names, systems, passes):
    for name in names:
        X, y, X_test, Y_test, *seen = load(name)
        n_classes = len(np.unique(y)) if name in MULTICLASS else y.shape[1]
        for system in systems:
            mu = 1.0 if name in MULTICLASS else 5.0
            options = CURVES[name] | SYSTEMS[system][1] | SHARED | {"mu": mu}
            options["max_iter"] = passes or CURVE_PASSES[name]
            options["query_size"] = query_size(n_classes, options, system in WIDE)
            clock, on_test, on_train = Clock(), Evaluate(X_test, Y_test), Evaluate(*seen)
            model = LDGSClassifier(**options).set_callbacks(clock, on_test, on_train).fit(X, y)
            seconds = np.cumsum(clock.seconds).tolist()
            data.save(
                SCRIPT, f"curves-{name}-{system}", seconds=seconds, precision=on_test.points,
                training=on_train.points, n_scored=model.n_scored_, n_classes=n_classes,
                options={key: str(value) for key, value in options.items()},
            )  # fmt: skip
            found = " ".join(f"{100 * p:.2f}" for p in on_test.points[-1])
            print(
                f"{name:20}{SYSTEMS[system][0]:38}{seconds[-1]:8.1f} s  P@ {found}, "
                f"{model.n_scored_ / n_classes:.3f} K scored", flush=True,
            )  # fmt: skip


def query_size(n_classes, options, wide):
    """Classes that an index names, or, if `wide`, that all chunks and those drawn come to."""
    sums = options["n_chunks"] + 1
    wanted = options.get("query_size", int(np.ceil(n_classes**0.5)))
    each = min(wanted, int(SHARE * n_classes / sums))
    return each * sums if wide else each


def synthetic(n_classes, n_samples=2048, dim=128, seed=0):
    """Label embeddings in clusters, and samples near the embedding of their class.

    The scores of own classes grow with log K: else softmax would be flat, as without training.
    """
    rng = np.random.default_rng(seed)

    def normal(*shape):
        return rng.standard_normal(shape, dtype=np.float32)

    centres = normal(max(10, int(n_classes**0.5)), dim)
    W = centres[rng.integers(len(centres), size=n_classes)]
    for start in range(0, n_classes, 10_000):
        part = W[start : start + 10_000]
        part += NOISE * normal(*part.shape)
    y = rng.integers(n_classes, size=n_samples)
    X = W[y] + normal(n_samples, dim)
    X *= np.float32(OWN * np.log(n_classes) / (dim * (1 + NOISE**2)))
    return X, y, W


def classes(sizes, systems, busy):
    """Seconds of a training sample, on weights as they may be in the middle of training.

    On a busy machine those of the processor, on one thread: waiting for others does not count.
    """
    for n_classes in sizes:
        X, y, W = synthetic(n_classes)
        for system in systems:
            figures = time_of_steps(system, X, y, W, 1 if busy else THREADS, busy)
            key = f"classes-{system}-{n_classes}"
            data.save(SCRIPT, key, n_classes=n_classes, busy=busy, **figures)
            print(n_classes, system, figures, flush=True)


def seconds_of(busy, function, *arguments):
    clock = time.process_time if busy else time.perf_counter
    start = clock()
    function(*arguments)
    return clock() - start


def time_of_steps(system, X, y, W, n_threads, busy):
    """Seconds a sample of steps, and of building indexes again; what the gradients miss."""
    from sklearn_xc.ldgs._candidate_gradients import Positives
    from sklearn_xc.ldgs._steps import REBUILD_AFTER, Layout, Steps, Weights
    from sklearn_xc.ldgs._train import Problem, first_state, settings_of
    from sklearn_xc.utils._matrix import as_rows
    from sklearn_xc.utils._parallel import single_threaded_blas

    n_classes, options = len(W), dict(CLASS_SYSTEMS[system][1])
    if "query_share" in options:
        options["query_size"] = int(np.ceil(options.pop("query_share") * n_classes**0.5))
    model = LDGSClassifier(
        n_chunks=CHUNKS, warmup=0, learning_rate=0.5, **options, random_state=0, n_jobs=n_threads
    )
    positives = Positives(np.arange(len(y) + 1, dtype=np.int64), y.astype(np.int32))
    problem = Problem(X, positives, None, np.zeros(len(y), dtype=bool), n_classes, False, True)
    settings = settings_of(model, first_state(model, X, n_classes).plan, problem, len(X))
    layout = Layout(X.shape[1], settings.n_chunks, "linear", True)
    weights = Weights(layout.weights(W, np.zeros(n_classes, np.float32)), None, True)
    steps = Steps(
        as_rows(X), positives, None, np.arange(len(y)), weights, layout, settings, 0, n_threads
    )
    rng, size = np.random.default_rng(0), settings.batch_size
    found = {"built": 0.0, "again": 0.0, "missed": 0.0}
    with single_threaded_blas():
        if settings.gradient != "exact":
            found["built"] = seconds_of(busy, steps.reindex)
            steps.work_since = np.inf
            spent = seconds_of(busy, steps.reindex)
            found["missed"] = missed(steps, y)
        steps.step(np.arange(size), 1e-3, rng)
        steps.n_scored = steps.n_visited = steps.work_since = 0
        times = []
        while len(times) < 10 or (sum(times) < 4 and len(times) < 60):
            first = (len(times) + 1) * size % (len(y) - size)
            batch = np.arange(first, first + size)
            times.append(seconds_of(busy, steps.step, batch, 1e-3, rng))
    if settings.gradient != "exact":
        # how often the indexes are built again depends on what the steps between have cost
        n_samples = REBUILD_AFTER * steps.cost_of_building() / steps.work_since * steps.n_visited
        found["again"] = spent / n_samples
    n_scored = steps.n_scored / steps.n_visited
    return found | {"seconds": float(np.median(times)) / size, "n_scored": n_scored}


def missed(steps, y, n=64):
    """The sum of what is wrong with gradients in scores, over that of the exact gradients."""
    from sklearn_xc._kernels.ldgs import _losses
    from sklearn_xc.ldgs._candidate_gradients import Positives

    H = steps.layout.queries(steps.embed(np.arange(n)))
    positives = Positives(np.arange(n + 1, dtype=np.int64), y[:n].astype(np.int32))
    found = steps.approximate(H, positives, np.random.default_rng(0))
    wrong = whole = 0.0
    for i, h in enumerate(H):
        z = steps.weights.W @ h
        z[[0, y[i]]] = z[[y[i], 0]]  # positives first
        exact = np.empty_like(z)
        kind = _losses.KINDS[steps.settings.loss]
        _losses.of_set(kind, steps.settings.mu, 0.0, z, np.empty(0, np.float32), 1, exact)
        exact[[0, y[i]]] = exact[[y[i], 0]]
        whole += abs(exact).sum()
        ids, values = found.ids[i, : found.counts[i]], found.values[i, : found.counts[i]]
        exact[ids] -= values
        wrong += abs(exact).sum()
    return float(wrong / whole) if whole else None


def fasttext(names, peer, passes, dims, modes):
    for name in names:
        X, y, X_test, Y_test, *_ = load(name)
        for loss, dim in BESIDE_FASTTEXT:
            if dim not in dims:
                continue
            options = {"hidden_dim": dim, "max_iter": passes, "mu": MU} | SHARED | DECOMPOSED
            model = LDGSClassifier(loss, **options)
            seconds, _ = _common.timed(model.fit, X, y)
            found = precision(model, X_test, Y_test)
            key = f"fasttext-{name}-{loss}_{dim}"
            data.save(SCRIPT, key, seconds=seconds, precision=found, n_scored=model.n_scored_)
            print(key, seconds, found, flush=True)
        seconds, model = _common.timed(PPDSparseClassifier(**OF_ALL).fit, X, y)
        data.save(
            SCRIPT, f"fasttext-{name}-ppdsparse", seconds=seconds,
            precision=precision(model, X_test, Y_test),
        )  # fmt: skip
        for loss in modes if peer else []:
            result = ask_fasttext(name, loss, peer)
            data.save(SCRIPT, f"fasttext-{name}-{loss}", **result)
            print(name, loss, result, flush=True)


def ask_fasttext(name, loss, peer):
    """Train fastText's supervised mode on the words of the rows, in the other environment."""
    X, Y, X_test, Y_test = _common.read_raw(name)
    with tempfile.TemporaryDirectory() as folder:
        for part, rows, labels in [("train", X, Y), ("test", X_test, Y_test)]:
            write_lines(Path(folder, part), rows.tocsr(), labels.tocsr())
        call = [peer, Path(__file__).with_name("_fasttext.py"), folder, loss, str(THREADS)]
        try:
            done = subprocess.run(
                call, capture_output=True, text=True, check=False, timeout=PATIENCE
            )
        except subprocess.TimeoutExpired:
            return {"failure": f"> {PATIENCE}"}
    if done.returncode:
        return {"failure": done.stderr.strip().splitlines()[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def write_lines(path, rows, labels):
    """The words of rows (their numbers) behind the labels, in random order."""
    lines = []
    for i in range(rows.shape[0]):
        own = labels.indices[labels.indptr[i] : labels.indptr[i + 1]]
        part = slice(rows.indptr[i], rows.indptr[i + 1])
        words = np.repeat(rows.indices[part], np.maximum(rows.data[part], 1).astype(int))
        lines.append(" ".join([*(f"__label__{k}" for k in own), *(f"w{j}" for j in words)]))
    order = np.random.default_rng(data.SEED).permutation(len(lines))
    path.write_text("\n".join(lines[i] for i in order) + "\n")


# -------------------------------------------------------------------------------------- report


def report(note):
    results = data.read(SCRIPT)
    lines = [data.head("LDGSClassifier", SCRIPT, results), "", *([note, ""] if note else [])]
    lines += report_curves(results) + report_classes(results) + report_fasttext(results)
    _runner.write_page("ldgs", "\n".join(lines))


def report_curves(results):
    lines = ["## Precision by seconds and by passes", ""]
    for name in CURVES:
        found = {s: results[f"curves-{name}-{s}"] for s in SYSTEMS
                 if f"curves-{name}-{s}" in results}  # fmt: skip
        if not found:
            continue
        n_classes = next(iter(found.values()))["n_classes"]
        rows = []
        for system, result in found.items():
            p1, title = result["precision"], SYSTEMS[system][0]
            last, twin, kept = result["precision"][-1], found.get(TWINS.get(system)), "-"
            if twin and len(twin["precision"]) == len(p1):
                kept = f"{100 * last[0] / twin['precision'][-1][0]:.1f} %"
            factor = _common.CUTS if name in MULTICLASS else (1, 1, 1)
            last = (f"{100 * p * n:.2f}" for p, n in zip(last, factor, strict=True))
            rows.append(
                [title, len(p1), f"{result['seconds'][-1]:.1f}", *last,
                 kept, f"{result['n_scored'] / n_classes:.3f}"]
            )  # fmt: skip
        figure = draw_curves(found)
        figure.suptitle(f"{name}, {n_classes} classes")
        header = ["gradient", "passes", "seconds", "P@1", "P@3", "P@5", "of its exact twin",
                  "classes scored / K"]  # fmt: skip
        lines += [f"### {name}", "", _common.table(header, rows), "",
                  _runner.picture(figure, f"ldgs_{name}", f"Precision on {name}"), ""]  # fmt: skip
    if any("training" in result for result in results.values()):
        lines += [f"Precision on training rows is that of {EVALUATED} of them, at random.", ""]
    lines += [
        "With one class a sample, P@3 and P@5 are the shares of samples whose class is among the",
        "first three and five. mu is 1 with one class a sample, 5 with several; the rate falls to",
        "zero over the passes named, and the mini-batches have 32 samples, for all. Seconds are",
        "those of the passes; evaluation between them does not count. Classes scored are those of",
        "the whole fit, the drawn ones of its beginning with them. An index is queried for sqrt(K)",
        "classes, or fewer where all chunks would come to 0.2 K, and on yso_finna_en_small for 300",
        "(margin, on training rows held out: 120 keep 95.7 % of the exact twin, 300 keep 98.2 % in",
        "no more time; the table has one seed, over three of them P@1 is 18.56 and that of the",
        "exact twin 19.04, 97.5 %); `sampled` and `as many as all chunks` take as many as the",
        "chunks and the drawn classes together.",
        "",
    ]
    return lines


def draw_curves(found):
    """Precision@1 by seconds and by passes, on test rows and, where it was taken, training rows."""
    kinds = {"precision": "precision@1", "training": "precision@1 on training rows"}
    kinds = {kind: label for kind, label in kinds.items() if any(kind in r for r in found.values())}
    figure, axes = _runner.axes(2, len(kinds))
    for (kind, label), left, right in zip(kinds.items(), axes[::2], axes[1::2], strict=True):
        for system, result in found.items():
            p1 = [100 * point[0] for point in result.get(kind, [])]
            title = SYSTEMS[system][0]
            left.plot(result["seconds"][: len(p1)], p1, ".-", label=title)
            right.plot(range(1, len(p1) + 1), p1, ".-", label=title)
        left.set(xlabel="seconds of training", ylabel=f"{label}, %", xscale="log")
        left.tick_params(axis="x", which="minor", labelsize=6)
        right.set(xlabel="passes")
        right.locator_params(axis="x", integer=True)
    handles = axes[1].get_legend_handles_labels()
    figure.legend(*handles, fontsize=7, ncols=3, loc="outside lower center")
    return figure


def report_classes(results):
    curves = {}
    for system in CLASS_SYSTEMS:
        points = [r for k, r in results.items() if k.rpartition("-")[0] == f"classes-{system}"]
        if points:
            curves[system] = sorted(points, key=lambda point: point["n_classes"])
    if not curves:
        return []
    figure, (axis,) = _runner.axes(1)
    rows, crossings = [], []
    for system, points in curves.items():
        title, twin = CLASS_SYSTEMS[system][0], CLASS_TWINS.get(system)
        sizes = [p["n_classes"] for p in points]
        each = [p["seconds"] + p["again"] for p in points]
        axis.loglog(sizes, [1e3 * t for t in each], "o-" if twin else "s--", label=title)
        exact = {p["n_classes"]: p["seconds"] for p in curves.get(twin, [])}
        gains = [exact[k] / t if k in exact else np.nan for k, t in zip(sizes, each, strict=True)]
        for k, p, gain, t in zip(sizes, points, gains, each, strict=True):
            beside = ["-"] * 4
            if twin:
                lost = "-" if p["missed"] is None else f"{100 * p['missed']:.1f} %"
                again = _common.figure(1e3 * p["again"])
                beside = [f"{gain:.2f}", lost, f"{p['built']:.2f}", again]
            row = [title, f"{k:,}", _common.figure(1e3 * t), f"{p['n_scored']:.0f}", *beside]
            rows.append(row)
        if twin:
            crossings.append(f"* {title}: {crossing(sizes, gains)}; {growth(sizes, each)}.")
    sizes = np.array([p["n_classes"] for p in curves[next(iter(curves))]])
    start = min(p["seconds"] for points in curves.values() for p in points)
    axis.loglog(sizes, 1e3 * start * (sizes / sizes[0]) ** 0.5, "k:", label="sqrt(K)")
    axis.set(xlabel="classes K", ylabel="ms a training sample")
    axis.set_ylim(top=300 * axis.get_ylim()[1])  # room for the legend
    axis.legend(fontsize=7, loc="upper left")
    clock = "two threads"
    if any(point.get("busy") for points in curves.values() for point in points):
        clock = "in time of the processor on one thread, since the machine was busy"
    header = ["gradient", "K", "ms a sample", "classes scored", "times as fast as exact",
              "gradient missed", "first build, s", "of it building again, ms"]  # fmt: skip
    return [
        "## Time by number of classes", "",
        "Synthetic label embeddings of 128 dimensions in sqrt(K) clusters: normal centres, plus",
        "0.7 times normal noise for a class, plus normal noise for a sample, scaled so that the",
        "score of its own class is 1.5 log K on average. Gradients are thus concentrated on some",
        "classes of the same cluster, as later in training. Mini-batches of 32 samples,",
        f"{CHUNKS} chunks; the median of 10 to 60 steps,",
        f"{clock}. The exact gradients are",
        "matrix products through BLAS, with the same loss and mini-batches. Indexes are built",
        "again when the steps have cost four times as much; the share of a sample is counted.",
        "The gradient missed is the sum of all errors of the gradients in scores of 64 samples",
        "over the sum of those gradients; with softmax it is mostly the noise of drawn classes,",
        "which has no bias.", "",
        _common.table(header, rows), "", *crossings, "",
        _runner.picture(figure, "ldgs_classes", "Time of a training sample by number of classes"),
        "",
    ]  # fmt: skip


def crossing(sizes, gains):
    """From which K a gradient is faster than its exact twin, between the sizes measured."""
    if not gains[-1] > 1:
        return "slower than exact"
    last = max((i for i, gain in enumerate(gains) if not gain > 1), default=None)
    if last is None:
        return f"faster than exact from K = {sizes[0]:,} or less"
    low, high = np.log(gains[last : last + 2])
    k = np.exp(np.interp(0, [low, high], np.log(sizes[last : last + 2])))
    return f"faster than exact from about K = {float(f'{k:.1g}'):,.0f}"


def growth(sizes, each):
    slope = np.polyfit(np.log(sizes), np.log(each), 1)[0]
    last = np.log(each[-1] / each[-2]) / np.log(sizes[-1] / sizes[-2]) if len(each) > 1 else slope
    return f"time grows as K^{slope:.2f} over all, K^{last:.2f} at the end"


def report_fasttext(results):
    rows = []
    for name in FASTTEXT_SETS:
        systems = {mode: f"fastText, {mode}" for mode in FASTTEXT} | {
            f"{loss}_{dim}": f"LDGSClassifier, {loss}, hidden_dim={dim}"
            for loss, dim in BESIDE_FASTTEXT
        }
        systems["ppdsparse"] = "PPDSparseClassifier, one-vs-rest without a hidden layer"
        for system, title in systems.items():
            result = results.get(f"fasttext-{name}-{system}")
            if result and "failure" in result:
                rows.append([f"{name}: {title}", result["failure"], "", "", ""])
            elif result:
                rows.append([f"{name}: {title}", *figures(result["seconds"], result["precision"])])
    if not rows:
        return []
    header = ["", "seconds", "P@1", "P@3", "P@5"]
    text = (
        "Rows of TF-IDF, four passes, mu 5; fastText has the words themselves, 100 dimensions, 25 "
    )
    text += "passes, at the first of the rates 0.5, 0.2 and 0.1 with which its weights stay finite."
    text += " Four passes and not ten were taken after both had been seen on these test rows; on "
    text += "rows held out from training four are near the best as well (see the user guide)."
    return ["## Beside fastText", "", text, "", _common.table(header, rows), ""]


def figures(seconds, precisions):
    return [f"{seconds:.1f}", *(f"{100 * p:.2f}" for p in precisions)]


def main():
    parts = ["curves", "classes", "fasttext"]
    parser = _runner.parser(__doc__, data=(), parts=parts, note=True)
    every = sorted({*SYSTEMS, *CLASS_SYSTEMS})
    parser.add_argument("--systems", nargs="+", choices=every)
    parser.add_argument("--sizes", nargs="+", type=int, default=CLASSES)
    parser.add_argument("--passes", type=int)
    parser.add_argument("--dims", nargs="*", type=int, default=[100, 300, 1000])
    parser.add_argument("--modes", nargs="*", choices=FASTTEXT, default=FASTTEXT)
    parser.add_argument("--busy", action="store_true", help="time by number of classes: count "
                        "seconds of the processor on one thread")  # fmt: skip
    parser.add_argument("--peer", default=os.environ.get("SKLEARN_XC_FASTTEXT"))
    options = parser.parse_args()
    if not options.report:
        if "curves" in options.part:
            names = [n for n in options.data or CURVES if n in CURVES]
            curves(names, [s for s in options.systems or SYSTEMS if s in SYSTEMS], options.passes)
        if "classes" in options.part:
            systems = [s for s in options.systems or CLASS_SYSTEMS if s in CLASS_SYSTEMS]
            classes(options.sizes, systems, options.busy)
        if "fasttext" in options.part:
            names = [n for n in options.data or FASTTEXT_SETS if n in FASTTEXT_SETS]
            passes = options.passes or PASSES
            fasttext(names, options.peer, passes, options.dims, options.modes)
    report(options.note)


if __name__ == "__main__":
    sys.exit(main())

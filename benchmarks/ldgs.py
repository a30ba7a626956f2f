"""LDGSClassifier: five gradients against time and passes, time by number of classes, fastText.

    python benchmarks/ldgs.py [--part curves classes fasttext] [--data NAME ...] [--passes N]
                              [--systems NAME ...] [--peer PYTHON] [--note TEXT]
                              [--report]

Figures are kept; the page measurements/ldgs.md is written from all of
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
from _ldgs_report import report
from _ldgs_systems import (
    BESIDE_FASTTEXT,
    CHUNKS,
    CLASS_SYSTEMS,
    CURVES,
    DECOMPOSED,
    EVALUATED,
    FASTTEXT,
    FASTTEXT_SETS,
    MULTICLASS,
    SCRIPT,
    SYSTEMS,
)

from sklearn_xc import LDGSClassifier, PPDSparseClassifier
from sklearn_xc.datasets import first_label

THREADS = 2
PASSES = 10
CURVE_PASSES = {"omniglot": 10, "oewn_hypernym": 3, "yso_finna_en_small": 4, "delicious": 4}
SHARE = 0.2  # of the classes may be scored
OF_ALL = {"random_state": data.SEED, "n_jobs": THREADS}
SHARED = OF_ALL | {"learning_rate": 0.5, "alpha": 0.0}
WIDE = "mips_wide", "sampled"  # as many classes as all chunks and those drawn come to
CLASSES = [10**3, 10**4, 10**5, 10**6]
NOISE = np.float32(0.7)  # of an embedding around its cluster; that of a sample around it is 1
OWN = 1.5  # the score of the own class, times log K
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
                SCRIPT,
                f"curves-{name}-{system}",
                seconds=seconds,
                precision=on_test.points,
                training=on_train.points,
                n_scored=model.n_scored_,
                n_classes=n_classes,
                options={key: str(value) for key, value in options.items()},
            )
            found = " ".join(f"{100 * p:.2f}" for p in on_test.points[-1])
            print(
                f"{name:20}{SYSTEMS[system][0]:38}{seconds[-1]:8.1f} s  P@ {found}, "
                f"{model.n_scored_ / n_classes:.3f} K scored",
                flush=True,
            )


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
    from sklearn_xc.ldgs._steps import REBUILD_AFTER, ColumnLayout, LDGSSteps, Weights
    from sklearn_xc.ldgs._train import LDGSProblem, first_state, settings_of
    from sklearn_xc.utils._matrix import as_rows
    from sklearn_xc.utils._parallel import single_threaded_blas

    n_classes, options = len(W), dict(CLASS_SYSTEMS[system][1])
    if "query_share" in options:
        options["query_size"] = int(np.ceil(options.pop("query_share") * n_classes**0.5))
    model = LDGSClassifier(
        n_chunks=CHUNKS, warmup=0, learning_rate=0.5, **options, random_state=0, n_jobs=n_threads
    )
    positives = Positives(np.arange(len(y) + 1, dtype=np.int64), y.astype(np.int32))
    rows = as_rows(X)
    problem = LDGSProblem(
        rows, positives, None, np.zeros(len(y), dtype=bool), n_classes, False, True
    )
    settings = settings_of(model, first_state(model, rows, n_classes)[0], problem, len(X))
    layout = ColumnLayout(X.shape[1], settings.n_chunks, "linear", True)
    weights = Weights(layout.weights(W, np.zeros(n_classes, np.float32)), None, True)
    steps = LDGSSteps(
        rows, positives, None, np.arange(len(y)), weights, layout, settings, 0, n_threads
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
            SCRIPT,
            f"fasttext-{name}-ppdsparse",
            seconds=seconds,
            precision=precision(model, X_test, Y_test),
        )
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


def main():
    parts = ["curves", "classes", "fasttext"]
    parser = _runner.parser(__doc__, data=(), parts=parts, note=True)
    every = sorted({*SYSTEMS, *CLASS_SYSTEMS})
    parser.add_argument("--systems", nargs="+", choices=every)
    parser.add_argument("--sizes", nargs="+", type=int, default=CLASSES)
    parser.add_argument("--passes", type=int)
    parser.add_argument("--dims", nargs="*", type=int, default=[100, 300, 1000])
    parser.add_argument("--modes", nargs="*", choices=FASTTEXT, default=FASTTEXT)
    parser.add_argument(
        "--busy",
        action="store_true",
        help="time by number of classes: count seconds of the processor on one thread",
    )
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

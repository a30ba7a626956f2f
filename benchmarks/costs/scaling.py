"""How the time of training grows with the number of classes, of samples, and of small classes.

    python -m benchmarks.costs.scaling [--repeats 2] [--part curves serial]

Generated data (make_xc_classification), one and two threads. Writes measurements/scaling.md and
doc/images/benchmark_scaling.png; the exponent is the slope of the line fitted to the logarithms.
`serial` tells what of a fit runs on one thread whatever their number.
"""

import time
from functools import cache

import numpy as np

from benchmarks import _common, _runner
from sklearn_xc import PPDSparseClassifier
from sklearn_xc.datasets import make_xc_classification

N, K = 20_000, 4_000  # what stays fixed while the other one grows
CLASSES = [1_000, 2_000, 4_000, 8_000, 16_000]
SAMPLES = [5_000, 10_000, 20_000, 40_000, 80_000]
ROWS_OF_CLASS = 3  # of small classes, where both grow
SMALL = [2_500, 5_000, 10_000, 20_000, 40_000]
THREADS = (1, 2)
CORES = (8, 32, 64)
ALONE = [5_000, 20_000, 60_000, 120_000]  # of small classes, for what runs on one thread
BOTH = f"N = {ROWS_OF_CLASS} K"


@cache
def seconds(n_samples, n_classes, threads, repeats):
    """Training time of the fastest repetition."""
    X, y = make_xc_classification(n_samples, 50_000, n_classes, random_state=0)
    model = PPDSparseClassifier(n_jobs=threads, random_state=0)
    best = min(_common.timed(model.fit, X, y)[0] for _ in range(repeats))
    print(f"N {n_samples:7} K {n_classes:6} threads {threads}: {best:.2f} s", flush=True)
    return best


def serial_seconds(n_samples, n_classes):
    """Processor seconds of a fit on two threads, and those of them of the thread that calls it.

    It hands all that is shared out to threads of their own, and waits for these.
    """
    X, y = make_xc_classification(n_samples, 50_000, n_classes, random_state=0)
    model = PPDSparseClassifier(n_jobs=2, random_state=0)
    began = time.process_time(), time.thread_time()
    model.fit(X, y)
    return [n_samples, n_classes, time.process_time() - began[0], time.thread_time() - began[1]]


def serial_table(found):
    """The share, and by how much so many cores can be faster at most (Amdahl)."""
    rows = []
    for n_samples, n_classes, total, alone in found:
        share = alone / total
        bounds = (f"{1 / (share + (1 - share) / cores):.1f}" for cores in CORES)
        rows.append([f"{n_samples:,}", f"{n_classes:,}", _common.figure(total)])
        rows[-1] += [_common.figure(alone), f"{100 * share:.1f} %", *bounds]
    header = "N | K | all s | serial s | share | " + " | ".join(f"{cores} cores" for cores in CORES)
    return _common.table(header, rows)


def exponent(sizes, times):
    """Slope in the double logarithmic picture: 1 is linear growth."""
    return np.polyfit(np.log(sizes), np.log(times), 1)[0]


def curves(repeats):
    """One series: the size that varies, its values, what is fixed, times by number of threads."""
    by_classes = {t: [seconds(N, k, t, repeats) for k in CLASSES] for t in THREADS}
    by_samples = {t: [seconds(n, K, t, repeats) for n in SAMPLES] for t in THREADS}
    small = {t: [seconds(ROWS_OF_CLASS * k, k, t, repeats) for k in SMALL] for t in THREADS}
    yield "K", CLASSES, f"N = {N:,}", by_classes
    yield "N", SAMPLES, f"K = {K:,}", by_samples
    yield "K", SMALL, BOTH, small


def draw(measured):
    from matplotlib.ticker import LogLocator, NullLocator

    names = {"K": "number of classes K", "N": "number of training samples N"}
    figure, axes = _runner.axes(3, figsize=(12, 3.8), sharey=True)
    for axis, (what, sizes, fixed, times) in zip(axes, measured, strict=True):
        for marker, (threads, t) in zip("os", times.items(), strict=True):
            label = f"{threads} thread{'s' * (threads > 1)}, exponent {exponent(sizes, t):.2f}"
            axis.loglog(sizes, t, marker=marker, label=label)
        line = times[1][0] * np.array(sizes) / sizes[0]
        axis.loglog(sizes, line, color="0.6", linestyle=":", label="linear growth")
        axis.set_xticks(sizes, [f"{s:,}" for s in sizes], rotation=30)
        axis.xaxis.set_minor_locator(NullLocator())
        axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.yaxis.set_minor_locator(NullLocator())
        axis.yaxis.set_major_formatter("{x:g}")
        axis.set_xlabel(names[what])
        axis.set_title(fixed)
        axis.legend(loc="upper left")
    axes[0].set_ylabel("training time in seconds")
    return _runner.picture(figure, "benchmark_scaling", "training time against K and N")


def main():
    parser = _runner.parser(__doc__, parts=("curves", "serial"))
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    if not options.report:
        seconds(5_000, 500, 2, 1)  # warm-up
    if not options.report and "curves" in options.part:
        _runner.keep("scaling", "curves", "all", list(curves(options.repeats)))
    if not options.report and "serial" in options.part:
        found = [serial_seconds(ROWS_OF_CLASS * k, k) for k in ALONE]
        _runner.keep("scaling", "serial", "all", found)
    if "curves" not in _runner.kept("scaling"):
        return
    measured = [
        (what, sizes, fixed, {int(t): seconds for t, seconds in times.items()})
        for what, sizes, fixed, times in _runner.kept("scaling")["curves"]["all"]
    ]
    parts = ["# How training time grows", _runner.source("scaling")]
    for what, sizes, fixed, times in measured:
        rows = [
            [f"{size:,}", *(_common.figure(times[t][i]) for t in THREADS)]
            + [f"{times[1][i] / times[2][i]:.2f}"]
            for i, size in enumerate(sizes)
        ]
        rows.append(["exponent", *(f"{exponent(sizes, times[t]):.2f}" for t in THREADS), ""])
        parts.append(f"## {fixed}, {what} grows")
        parts.append(_common.table(f"{what} | one thread s | two threads s | ratio", rows))
        worst = max(exponent(sizes, t) for t in times.values())
        bound = f"as K N, with {what} squared" if fixed == BOTH else f"linear in {what}"
        verdict = "holds" if worst <= 1 + (fixed == BOTH) else "**does not hold**"
        parts.append(f"Growth no faster than {bound}: {verdict}, exponent {worst:.2f}.")
    parts.append(draw(measured))
    if (found := _runner.kept("scaling").get("serial")) is not None:
        parts += ["## What runs on one thread", serial_table(found["all"])]
        parts.append(
            "Processor seconds of a fit on two threads, of the calling thread, which hands "
            "out the rest, and by how many times a fit on so many cores is faster than on one at "
            "most, if the rest is shared evenly (Amdahl's law). It is a bound: the fits of the "
            "pilot of penalties may have no more than 32 blocks of classes for all threads."
        )
    _runner.write_page("scaling", *parts)


if __name__ == "__main__":
    main()

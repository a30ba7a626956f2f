"""Training at the shape of Amazon-670K: 490,449 rows, 135,909 words, 670,091 labels.

    python benchmarks/amazon670k_shape.py                       all systems; hours
    python benchmarks/amazon670k_shape.py --systems ppdsparse_2

Generated data (`make_xc_classification(preset="amazon-670k")`), TF-IDF; 2,000 rows to test on.
Systems as in run.py, each in a process of its own, two threads. Beside them `cluster`: the fit of
`ppdsparse_2` on a Dask cluster of two worker processes of at most 3 GB, each of which is killed
once. Writes measurements/amazon670k_shape.md.
"""

import os
import signal
import threading
import time
from pathlib import Path

import _common
import _report
import _runner
import run
from _systems import SYSTEMS

DATA = "amazon670k_shape"
CLUSTER = "cluster"
NAMES = ["ppdsparse_2", "ppdsparse", CLUSTER, "pecos_xr", "omikuji", "omikuji_wide"]
TITLES = {name: system.title for name, system in SYSTEMS.items()} | {
    CLUSTER: "PPDSparseClassifier (l1=0.1, l2=1) on a cluster, two kills"
}
HEADER = [
    "system",
    "wall s",
    "core-hours",
    "resident GB",
    "model GB",
    "ms a row",
    "P@1",
    "P@3",
    "P@5",
    "PSP@5",
]


KILLS = 300, 600  # seconds after the start
WORKER_GB = 3


def measure_cluster():
    """The fit of `ppdsparse_2` on a cluster of two worker processes, of which each dies once."""
    import joblib
    import numpy as np
    from distributed import Client, LocalCluster

    from sklearn_xc import PPDSparseClassifier

    split = _common.load(DATA)
    params = SYSTEMS["ppdsparse_2"].params
    model = PPDSparseClassifier(random_state=0, **params)
    processor, peak, stop = {}, [0.0], threading.Event()

    def watch(cluster, start):
        """Processor seconds by process, the largest worker, and the kills."""
        kills = list(KILLS)
        while not stop.wait(0.5):
            nannies = list(cluster.workers.values())
            pids = [nanny.pid for nanny in nannies if nanny.pid]
            for pid in pids:
                processor[pid] = max(processor.get(pid, 0), cpu_seconds(pid))
                peak[0] = max(peak[0], _common.status_kb(pid, "VmRSS") / 1e6)
            if kills and pids and time.monotonic() - start > kills[0]:
                os.kill(max(pids, key=processor.get), signal.SIGKILL)  # the oldest
                kills.pop(0)

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, memory_limit=f"{WORKER_GB}GB") as cluster,
        Client(cluster),
        _common.PeakMemory() as memory,
    ):
        here, start = time.process_time(), time.monotonic()
        thread = threading.Thread(target=watch, args=(cluster, start))
        thread.start()
        with joblib.parallel_config(backend="dask"):
            model.fit(split.X, split.Y)
        seconds, here = time.monotonic() - start, time.process_time() - here
        stop.set()
        thread.join()
    model.set_params(n_jobs=2)
    labels = model.predict_topk(split.X_test, k=_common.TOP)[0]
    best = min(_common.timed(model.predict_topk, split.X_test, _common.TOP)[0] for _ in range(3))
    result = run.scores(split, np.asarray(labels)) | {
        "train_s": [seconds],
        "train_cpu_s": here + sum(processor.values()),
        "predict_ms": [1e3 * best / split.X_test.shape[0]],
        "resident_mb": memory.resident_mb,
        "largest_worker_gb": peak[0],
        "model_mb": None,
        "workers": len(processor),
    }
    print(result)
    _runner.keep(DATA, DATA, CLUSTER, result)


def cpu_seconds(pid):
    """Processor seconds of a process so far; 0 for one that has gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def row(name, result):
    if "failure" in result:
        return [TITLES[name], result["failure"], *["-"] * (len(HEADER) - 2)]
    train = _report.best(result, "train_s")
    return [
        TITLES[name],
        f"{train:.0f}",
        f"{result['train_cpu_s'] / 3600:.3f}",
        f"{result['resident_mb'] / 1e3:.2f}",
        "-" if result["model_mb"] is None else f"{result['model_mb'] / 1e3:.2f}",
        _report.prediction(result) if result["predict_ms"] else "-",
        *map(_report.percent, result["precision"]),
        _report.percent(result["psp"]),
    ]


def parse_arguments():
    parser = _runner.parser(__doc__)
    parser.add_argument(
        "--systems", nargs="+", choices=NAMES, default=NAMES, metavar="NAME", help=" ".join(NAMES)
    )
    parser.add_argument("--repeats", type=int, default=3, help="timed predictions; the best counts")
    parser.add_argument("--timeout", type=float, default=4 * 3600, help="seconds for one system")
    parser.set_defaults(long=0, some_labels=0)  # one fit
    return parser.parse_args()


def main():
    options = parse_arguments()
    for name in [] if options.report else options.systems:
        if name == CLUSTER:
            measure_cluster()
        else:
            run.measure(name, DATA, options, page=DATA)
    found = _runner.kept(DATA).get(DATA, {})
    rows = [row(name, found[name]) for name in NAMES if name in found]
    parts = [
        "# The shape of Amazon-670K",
        _runner.source(DATA),
        "Generated data of 490,449 rows of 75 words, 135,909 words, 670,091 labels, 5.5 of them a "
        "row. Core-hours are processor seconds of all threads and processes, from rows and labels "
        "in memory to the model (omikuji: from its text file). Resident memory is that of the "
        "whole process, data and interpreter included.",
        _common.table(HEADER, rows),
    ]
    _runner.write_page(DATA, "\n\n".join(parts))


if __name__ == "__main__":
    main()

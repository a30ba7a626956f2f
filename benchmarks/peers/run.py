"""Compares PPDSparseClassifier with other libraries on the shared data sets.

    python -m benchmarks.peers.run                        all but runs of over ten minutes: 2¼ hours
    python -m benchmarks.peers.run --data bibtex --systems ppdsparse pecos_xr
    python -m benchmarks.peers.run --report               only the page, from the figures there are

Each system runs in its own process. Writes measurements/peers.md. coming_from.py and sizes.py
measure and show systems alike.
"""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import scipy.sparse as sp

from benchmarks import _common, _environment, _runner
from benchmarks._common import figure
from benchmarks._systems import SYSTEMS

SMALL = ["bibtex", "cooking_fasttext", "delicious"]
MEDIUM = ["yso_finna_en_rare", "yso_finna_en_small"]
LONG_TEXTS = ["eurlex4k_shape", "wiki10_shape"]
THOUSAND_LABELS = "yso_finna_en_1000"
DATA_SETS = [*SMALL, *MEDIUM, "yso_finna_en_small_rare", "oewn_hypernym_rare"]
DATA_SETS += [*LONG_TEXTS, *_common.IN_CHARACTERS]
DATA_SETS += ["oewn_hypernym", THOUSAND_LABELS, *_common.RUNNING_TEXT, "yso_finna_en"]
ELSEWHERE = "ppdsparse_2", "ovr_logistic", "ovr_sgd", "class_", "given_"  # of other scripts
NAMES = [name for name in SYSTEMS if not name.startswith(ELSEWHERE)]
RESULTS = _common.BUILD / "results"
# A system that is not named here runs on all data sets. The others are left out where they would
# take more than ten minutes, or all of the memory, unless --long-runs asks for it; what is left
# takes 2¼ hours.
SHORT_TEXTS = [*SMALL, *MEDIUM, "oewn_hypernym"]
RUNS_ON = {
    "ppdsparse_1": [*SHORT_TEXTS[2:], "yso_finna_en"],
    "pecos_ova": SHORT_TEXTS,
    "napkinxc_br": SMALL,
    "libmultilabel_ova": [*SMALL, "yso_finna_en_rare"],
    "libmultilabel_tree": SHORT_TEXTS,
    "liblinear": [*SMALL, "yso_finna_en_rare"],
    "ovr_svc": SMALL,
}


def run_group(call, output, env, timeout):
    """Run a process; if it takes too long or we are interrupted, its children end with it."""
    streams = {"stdout": output, "stderr": subprocess.STDOUT, "cwd": _common.ROOT}
    with subprocess.Popen(call, env=env, start_new_session=True, **streams) as process:
        try:
            return process.wait(timeout)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise


def run_worker(name, data, folder, options):
    """One system on one data set; its figures, with the precisions added from its top five."""
    system = SYSTEMS[name]
    python, reason = _environment.python_of_system(system.environment)
    if python is None:
        raise RuntimeError(reason)
    numbers = options.repeats, options.long
    call = [*_limit(options)]
    call += _environment.worker(python, "measure", name, data, folder, *numbers)
    log = folder / "log.txt"
    with open(log, "w") as f:
        returncode = run_group(call, f, _environment.variables(system.threads), options.timeout)
    if returncode:
        last = (log.read_text().strip() or "no message").splitlines()[-1]
        raise RuntimeError(f"failed: {last} (whole output in {log.relative_to(_common.ROOT)})")
    result = json.loads((folder / "result.json").read_text())
    with np.load(folder / "labels.npz") as f:
        result |= scores(_common.load(data), f["labels"])
    return result


def _limit(options):
    """The beginning of a command that may have so much memory of its own: more fails in it."""
    gigabytes = getattr(options, "memory_gb", None)
    return [] if gigabytes is None else ["prlimit", f"--data={round(gigabytes * 1e9)}"]


def scores(split, labels):
    """Precision@1/3/5, and propensity-scored precision@5 with propensities of the training part."""
    from sklearn_xc.metrics import precision_at_k, propensities, psprecision_at_k

    # As sparse scores, because a tree may return fewer than five labels: -1 stands for none.
    rows, places = np.nonzero(labels >= 0)
    ranks = np.float32(_common.TOP) - places
    top = sp.csr_array((ranks, (rows, labels[rows, places])), shape=split.Y_test.shape)
    p = propensities(split.Y)
    return {
        "precision": [float(precision_at_k(split.Y_test, top, k=k)) for k in _common.CUTS],
        "psp": float(psprecision_at_k(split.Y_test, top, k=_common.TOP, propensities=p)),
    }


def measure(name, data, options, page="peers"):
    folder = RESULTS / data / name
    folder.mkdir(parents=True, exist_ok=True)
    _common.prepare(data)
    start = time.perf_counter()
    try:
        result = run_worker(name, data, folder, options)
    except subprocess.TimeoutExpired:
        result = {"failure": f"did not finish in {options.timeout} s"}
    except (RuntimeError, subprocess.CalledProcessError) as error:
        result = {"failure": str(error)}
    result |= {
        "machine": _common.machine(),
        "commit": _common.commit(),
        "when": time.strftime("%Y-%m-%d"),
        "command": _common.command(sys.argv[0], sys.argv[1:]),
    }
    _runner.keep(page, data, name, result)
    spent = time.perf_counter() - start
    print(f"{data:26}{name:20}{one_line(result)}  [{spent:.0f} s]", flush=True)


# -------------------------------------------------------------------------------- their tables

HEADER = ["system", "train s", "predict ms a row", "P@1", "P@3", "P@5", "PSP@5"]
HEADER += ["peak MB", "model MB"]


def best(result, field):
    """The best repetition, None where it was not measured."""
    return min(result[field]) if result and result.get(field) else None


def percent(share):
    return "-" if share is None else f"{100 * share:.2f}"


def prediction(result):
    """Time a row; in brackets that of a model which is faster when saved and loaded again."""
    each = [best(result, f) for f in ("predict_ms", "predict_as_trained_ms")]
    shown, *rest = [figure(ms) for ms in each if ms is not None]
    return shown + "".join(f" ({ms} as trained)" for ms in rest)


def cells(result):
    """A system's figures as the cells of its row."""
    if "n_labels" in result:  # told from some labels, which no run does any more
        some, every = result["n_labels"]
        about = float(f"{best(result, 'train_s') * every / some:.2g}")
        return [f"about {about:.0f}, by {some} labels", *["-"] * (len(HEADER) - 2)]
    return [
        figure(best(result, "train_s")),
        prediction(result),
        *map(percent, result["precision"]),
        percent(result["psp"]),
        f"{result['memory_mb']:.0f}",
        figure(result["model_mb"]),
    ]


def one_line(result):
    """Line that is printed when a system is done."""
    if "failure" in result:
        return result["failure"]
    return "  ".join(f"{h} {c}" for h, c in zip(HEADER[1:], cells(result), strict=True))


def section(title, found, names, header=HEADER, cells=cells):
    """A table of the systems that were measured, and what failed."""
    found = {SYSTEMS[name].title: found[name] for name in names if name in found}
    rows = [[name, *cells(r)] for name, r in found.items() if "failure" not in r]
    failed = [f"* {name}: {r['failure']}" for name, r in found.items() if "failure" in r]
    parts = [_common.table(header, rows)] if rows else []
    parts += ["\n".join(failed)] if failed else []
    return [f"## {title}", *parts] if parts else []


def versions(kept):
    """All versions of the systems' packages."""
    found = [r.get("versions", {}) for systems in kept.values() for r in systems.values()]
    every = {name: version for some in found for name, version in some.items()}
    return ", ".join(f"{name} {version}" for name, version in sorted(every.items()))


def write_page():
    kept = _runner.kept("peers")
    parts = [
        "# Against other libraries",
        "Unit-length TF-IDF rows, two threads, each system in its own process after a warm-up fit, "
        "best repetition (one where a fit takes longer than the limit). Peak memory is of training "
        "beyond the interpreter and the data, the model as it is saved. "
        f"`benchmarks/README.md` says more. Versions: {versions(kept)}.",
        _runner.source("peers"),
    ]
    for data in DATA_SETS:
        parts += section(data, kept.get(data, {}), SYSTEMS)
    _runner.write_page("peers", *parts)


def parse_arguments():
    parser = _runner.parser(__doc__, data=DATA_SETS)
    add = parser.add_argument
    add("--systems", nargs="+", choices=NAMES, default=NAMES, metavar="NAME")
    add("--repeats", type=int, default=3, help="timed fits; the best counts")
    add("--long", type=float, default=30, help="what takes more seconds is not repeated")
    add("--timeout", type=float, default=1200, help="seconds for one system")
    add("--long-runs", action="store_true", help="also what is left out for its time or memory")
    add("--list", action="store_true", help="print the names and stop")
    return parser.parse_args()


def main():
    options = parse_arguments()
    if options.list:
        print("data sets:", *DATA_SETS)
        print("systems:", *NAMES)
        return
    for data in [] if options.report else options.data:
        for name in options.systems:
            left_out = data not in RUNS_ON.get(name, DATA_SETS)
            if options.long_runs or not left_out:
                measure(name, data, options)
            elif left_out:
                print(f"{data:26}{name:20}left out (--long-runs has it)")
    write_page()


if __name__ == "__main__":
    main()

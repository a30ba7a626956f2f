"""How fast and how evenly folds are made, beside scikit-learn's and two packages' splitters.

    python benchmarks/splitting.py [--large yso_finna_en] [--small bibtex corel5k] [--repeats 3]

Five folds, shuffled. The peers (iterative-stratification, scikit-multilearn) get a dense indicator
and an environment of their own, build/splitting-peers; on the large set it would take
13 GB and more, so they are left out. Writes measurements/splitting.md.
"""

import argparse
import os
import subprocess
import sys

import _common
import _runner
import numpy as np

PEERS = _common.ROOT / "build" / "splitting-peers"
PEER_PACKAGES = ["iterative-stratification==0.1.9", "scikit-multilearn==0.2.0"]
PEER_NAMES = {
    "iterstrat": "iterative-stratification, MultilabelStratifiedKFold",
    "skmultilearn": "scikit-multilearn, IterativeStratification (order=1)",
}
N_SPLITS = 5
SEED = 0


def our_splitters():
    from sklearn.model_selection import KFold

    from sklearn_xc.model_selection import IterativeStratifiedKFold, RareLabelKFold

    options = {"n_splits": N_SPLITS, "shuffle": True, "random_state": SEED}
    yield "KFold of scikit-learn", KFold(**options)
    for splitter in (RareLabelKFold, IterativeStratifiedKFold):
        yield splitter.__name__, splitter(**options)
        unpinned = splitter(**options, pin_singletons=False)
        yield f"{splitter.__name__}, not pinned", unpinned


def quality(Y, tests):
    """Test sizes, labels missing from a training part, unevenness of the labels."""
    counts = np.array([np.bincount(Y[test].indices, minlength=Y.shape[1]) for test in tests])
    total = np.bincount(Y.indices, minlength=Y.shape[1])
    missing = (counts == total).any(axis=0)
    spread = np.ptp(counts, axis=0)[total >= N_SPLITS]
    ideal = np.abs(counts - counts.sum(axis=0) / N_SPLITS).mean(axis=0)[total >= N_SPLITS]
    sizes = [len(test) for test in tests]
    return [
        f"{min(sizes)} to {max(sizes)}",
        Y.shape[0] - sum(sizes),
        int((missing & (total >= 2)).sum()),
        int((missing & (total == 1)).sum()),
        f"{ideal.mean():.2f}",
        f"{(spread <= 1).mean():.1%}",
    ]


def measure(Y, repeats):
    X = np.empty((Y.shape[0], 0))
    for name, splitter in our_splitters():
        runs = [_common.timed(lambda s=splitter: list(s.split(X, Y))) for _ in range(repeats)]
        seconds = min(seconds for seconds, _ in runs)
        yield [name, _common.figure(seconds), *quality(Y, [test for _, test in runs[0][1]])]


def peers_python():
    """The interpreter of the peers' environment, made at the first call."""
    python = PEERS / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not (PEERS / "installed").exists():
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([sys.executable, "-m", "venv", "--clear", PEERS], check=True)
        subprocess.run([*pip, "numpy", "scipy", "scikit-learn", *PEER_PACKAGES], check=True)
        (PEERS / "installed").touch()
    return python


def measure_peers(data, Y):
    """The peers' folds come back through files, from this script run as a worker."""
    folder = _common.BUILD / "splitting"
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / f"{data}.npz", Y=Y.toarray().astype(np.uint8))
    python = peers_python()
    for peer, name in PEER_NAMES.items():
        out = folder / f"{data}_{peer}.npz"
        worker = [python, __file__, "--worker", peer, folder / f"{data}.npz", out]
        outcome = subprocess.run(worker, capture_output=True, text=True, check=False)
        if outcome.returncode:
            print(f"{name} failed: {outcome.stderr.splitlines()[-1]}")
            continue
        with np.load(out) as found:
            tests = [found[f"test{number}"] for number in range(N_SPLITS)]
            yield [name, _common.figure(float(found["seconds"])), *quality(Y, tests)]


def work(peer, path, out):
    """In the peers' environment: one timed split."""
    with np.load(path) as file:
        Y = file["Y"]
    X = np.zeros((len(Y), 1))
    if peer == "iterstrat":
        from iterstrat.ml_stratifiers import MultilabelStratifiedKFold

        splitter = MultilabelStratifiedKFold(N_SPLITS, shuffle=True, random_state=SEED)
    else:
        from skmultilearn.model_selection import IterativeStratification

        np.random.seed(SEED)  # noqa: NPY002  (it has no seed of its own)
        splitter = IterativeStratification(n_splits=N_SPLITS, order=1)
    seconds, folds = _common.timed(lambda: list(splitter.split(X, Y)))
    np.savez(out, seconds=seconds, **{f"test{i}": np.asarray(t) for i, (_, t) in enumerate(folds)})


HEADER = [
    "splitter",
    "seconds",
    "rows tested a fold",
    "rows never tested",
    "labels missing, 2 or more positives",
    "labels missing, 1 positive",
    "unevenness",
    "labels within one",
]
NOTES = f"""\
{N_SPLITS} folds. A label is missing if some training part has none of its positives. Unevenness is
the mean distance of a label's positives in a test part from a {N_SPLITS}th of those tested, and
*labels within one* the share of labels whose positives differ by at most one between test parts;
both over the labels with {N_SPLITS} positives or more. Seconds are the best of the repetitions, on
one thread, from the indicator to all row numbers; of the peers, one run. *Not pinned* is
``pin_singletons=False``."""


def main():
    parser = _runner.parser(__doc__, note=True)
    parser.add_argument("--large", nargs="*", default=["yso_finna_en"], metavar="NAME")
    parser.add_argument("--small", nargs="*", default=["bibtex", "corel5k"], metavar="NAME")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(*options.worker)
        return
    for data in [] if options.report else [*options.large, *options.small]:
        from sklearn_xc.datasets import load_xc

        _, Y = load_xc(_common.data_folder(data) / "train.txt.xz")
        rows = list(measure(Y, options.repeats))
        if data in options.small:
            rows += measure_peers(data, Y)
        print(data, *rows, sep="\n", flush=True)
        title = f"## {data}: {Y.shape[0]} rows, {Y.shape[1]} labels, {Y.nnz} positives"
        _runner.keep("splitting", "tables", data, {"title": title, "rows": rows})
    text = ["# Splitting", _runner.source("splitting"), NOTES]
    text += _runner.note("splitting", options.note)
    for kept in _runner.kept("splitting").get("tables", {}).values():
        text += [kept["title"], _common.table(HEADER, kept["rows"])]
    _runner.write_page("splitting", "\n\n".join(text))


if __name__ == "__main__":
    main()

"""Model files: size, the loss of float16 and of dropped weights, and models of a gigabyte.

    python -m benchmarks.costs.saving [--data bibtex ...] [--gigabytes 1.0] [--note TEXT]

Trains PPDSparseClassifier with its defaults on each data set and saves it in every way; and opens
made-up models of a gigabyte in processes of their own. Writes measurements/saving.md.
"""

import json
import os
import pickle
import subprocess
import sys
import time
from pathlib import Path

import joblib
import numpy as np
from scipy import sparse

from benchmarks import _common, _runner
from sklearn_xc import ImplicitSoftmaxRegressor, PPDSparseClassifier, load
from sklearn_xc.base._labels import LabelEncoding
from sklearn_xc.metrics import precision_at_k

DATA_SETS = ["bibtex", "cooking_fasttext", "yso_finna_en_small", "codespell_fix_chars"]
FOLDER = _common.BUILD / "saving"
THRESHOLDS = [0.02, 0.05, 0.1]
ROW = 11  # features of a row of the large models, as in a title
N_ROWS = 201
LIMITS = {"open": 0.2, "row": 5.0}


def main():
    parser = _runner.parser(__doc__, data=DATA_SETS, note=True)
    add = parser.add_argument
    add("--gigabytes", type=float, default=1.0, help="of each large model; 0 for none")
    add("--opened", nargs=3, metavar=("FILE", "MODE", "ROWS"), help="internal")
    options = parser.parse_args()
    if options.opened:
        print(json.dumps(opened(*options.opened)))
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    if not options.report:
        if options.gigabytes:
            _runner.keep("saving", "large", "text", large_models(options.gigabytes))
        for name in options.data:
            _runner.keep("saving", "size", name, precision_and_size(name))
    kept = _runner.kept("saving")
    parts = [_runner.source("saving"), *_runner.note("saving", options.note)]
    parts += [*kept.get("large", {}).values(), *kept.get("size", {}).values()]
    _runner.write_page("saving", "# Model files", *parts)


# ----------------------------------------------------------------------------- size and precision


def precision_and_size(name):
    X, Y, X_test, Y_test = _common.load(name)
    model = PPDSparseClassifier(n_jobs=2, random_state=0).fit(X, Y)
    path = FOLDER / name
    rows = []

    def add(what, found):
        labels, _ = found.predict_topk(X_test, k=_common.TOP)
        at = [100 * precision_at_k(Y_test, labels, k=k) for k in _common.CUTS]
        if not rows:
            add.full = at
        figures = [f"{p:.2f} ({p - full:+.2f})" for p, full in zip(at, add.full, strict=True)]
        weights = f"{found.coef_.nnz:,}" if sparse.issparse(found.coef_) else ""
        rows.append([what, f"{path.stat().st_size / 1e6:.2f}", weights, *figures])

    path.write_bytes(pickle.dumps(model))
    add("pickle", pickle.loads(path.read_bytes()))
    for compress in (0, 3):
        joblib.dump(model, path, compress=compress)
        add(f"joblib, compress={compress}", joblib.load(path))
    ways = [{}, {"dtype": "float16"}, *({"threshold": t} for t in THRESHOLDS)]
    for options in (*ways, {"dtype": "float16", "threshold": THRESHOLDS[0]}):
        model.save(path, **options)
        arguments = ["path", *(f"{k}={v!r}" for k, v in options.items())]
        add(f"`save({', '.join(arguments)})`", load(path))
    path.unlink()
    header = ["how", "MB", "weights", *(f"P@{k} (change)" for k in _common.CUTS)]
    n_classes, n_features = model.coef_.shape
    title = f"## {name}: K = {n_classes:,}, D = {n_features:,}"
    return f"{title}\n\n{_common.table(header, rows)}"


# --------------------------------------------------------------------------------- large models


def large_models(gigabytes):
    rng = np.random.default_rng(0)
    rows = []
    for name, model in (
        ("sparse", sparse_model(int(gigabytes * 1e9 / 8), 200_000, 500_000, rng)),
        ("dense", dense_model(20_000, int(gigabytes * 1e9 / 80_000), rng)),
    ):
        path, pickled = FOLDER / f"{name}.sxc", FOLDER / f"{name}.joblib"
        saving, _ = _common.timed(model.save, path)
        joblib.dump(model, pickled)
        X = test_rows(model.n_features_in_, rng)
        sparse.save_npz(FOLDER / "rows.npz", X)
        shape = f"{model.coef_.shape[0]:,} x {model.coef_.shape[1]:,}"
        print(f"{name} {shape}: saved in {saving:.1f} s", flush=True)
        del model
        for how in ("r", "r, not in the page cache", "None", "joblib"):
            file = pickled if how == "joblib" else path
            found = in_process(file, how)
            if how == "None":
                found["how"] += f" (save took {saving:.1f} s)"
            rows.append([f"{name}, {shape}", f"{file.stat().st_size / 1e9:.2f}", *found.values()])
            print(rows[-1], flush=True)
        path.unlink()
        pickled.unlink()
    header = (
        "model, K x D | GB | opened with | open s | first row ms | row ms | 95 % ms | memory MB"
    )
    text = (
        "## Models of a gigabyte\n\nOpened in a separate process; then the five best classes of "
        f"{N_ROWS} rows of {ROW} features, row by row: the first, and of the others the median and "
        "the quantile of 95 %. Memory is the private memory of the process at the end, without the "
        "pages of the mapped file. Features are drawn by Zipf's law, as words are, in weights and "
        f"in rows. The limits are to open a gigabyte in {LIMITS['open']} s and to predict a row in "
        f"{LIMITS['row']:g} ms."
    )
    return f"{text}\n\n{_common.table(header, rows)}"


def draw_features(rng, n, n_features):
    """Features by Zipf's law."""
    cumulated = np.cumsum(1 / np.arange(10, n_features + 10))
    return np.searchsorted(cumulated, rng.random(n) * cumulated[-1]).astype(np.int32)


def fitted(model, coef, intercept):
    """An estimator with these weights, as after a fit on that many labels."""
    classes = np.arange(coef.shape[0])
    kind = "multilabel" if isinstance(model, PPDSparseClassifier) else "multiclass"
    container = sparse.csr_array if kind == "multilabel" else None
    model._encoding = LabelEncoding(kind, classes, np.dtype(np.int64), container)
    model.classes_, model.n_features_in_ = classes, coef.shape[1]
    model._set_linear_model(coef, intercept)
    return model


def sparse_model(nnz, n_classes, n_features, rng):
    of_class = np.sort(rng.integers(n_classes, size=nnz).astype(np.int32))
    features = draw_features(rng, nnz, n_features)
    values = rng.standard_normal(nnz, dtype=np.float32)
    coef = sparse.coo_array((values, (of_class, features)), shape=(n_classes, n_features)).tocsr()
    intercept = rng.standard_normal(n_classes, dtype=np.float32) - 1
    return fitted(PPDSparseClassifier(), coef, intercept)


def dense_model(n_classes, n_features, rng):
    W = rng.standard_normal((n_features, n_classes), dtype=np.float32)
    return fitted(ImplicitSoftmaxRegressor(), W.T, np.zeros(n_classes, np.float32))


def test_rows(n_features, rng):
    features = draw_features(rng, N_ROWS * ROW, n_features)
    values = rng.random(N_ROWS * ROW, dtype=np.float32)
    rows = np.repeat(np.arange(N_ROWS), ROW)
    return sparse.csr_array((values, (rows, features)), shape=(N_ROWS, n_features))


def in_process(file, how):
    command = [sys.executable, "-m", __spec__.name, "--opened", file, how, FOLDER / "rows.npz"]
    result = subprocess.run(command, capture_output=True, text=True, check=True, cwd=_common.ROOT)
    return json.loads(result.stdout)


def opened(file, how, rows):
    """Open a model in this process and predict row by row."""
    X = sparse.csr_array(sparse.load_npz(rows))
    dense_model(3, 5, np.random.default_rng(0)).predict_topk(X[[0], :5])  # imports, threads
    if "not in" in how:
        forget(file)
    start = time.perf_counter()
    if how == "joblib":
        model = joblib.load(file)
    else:
        model = load(file, mmap_mode="r" if how.startswith("r") else None)
    seconds = time.perf_counter() - start
    times = []
    for i in range(X.shape[0]):
        row = X[[i]]
        start = time.perf_counter()
        model.predict_topk(row, k=_common.TOP)
        times.append(1e3 * (time.perf_counter() - start))
    ms = times[0], float(np.median(times[1:])), float(np.quantile(times[1:], 0.95))
    return {
        "how": how if how == "joblib" else f"mmap_mode={how}",
        "open": f"{seconds:.3f}",
        **dict(zip(("first", "median", "most"), map(_common.figure, ms), strict=True)),
        "memory": f"{_common.status_kb(os.getpid(), 'RssAnon') / 1e3:.0f}",
    }


def forget(file):
    """Have the system drop what it has cached of a file."""
    handle = os.open(Path(file), os.O_RDONLY)
    os.fsync(handle)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(handle)


if __name__ == "__main__":
    main()

"""A fit of PPDSparseClassifier on 8 GB of X and 20,000 classes in a process of 2 GB.

    python benchmarks/on_disk.py [--pieces 10] [--rows 200000] [--limit 2]

Generated data, written as a folder of mapped CSR (`load_xc(path, to=folder)` makes such ones). Each
of the pieces has 200,000 rows of about 500 non-zeros and 2,000 classes of its own. The fit runs in
a process that ends when its private memory in use passes the limit. Writes
measurements/on_disk.md.
"""

import json
import os
import shutil
import subprocess
import sys
import threading
import time

import _common
import _runner
import numpy as np
import scipy.sparse as sp

FOLDER = _common.BUILD / "on_disk"
WORDS, CLASSES = 200_000, 2_000
ASKED = 2_000  # rows that are predicted


def piece(number, n_pieces, n_rows):
    """Rows of the classes of one piece."""
    from sklearn_xc.datasets import make_xc_classification

    X, Y = make_xc_classification(
        n_rows,
        WORDS,
        CLASSES,
        n_labels=1,
        n_tokens=580,
        signal=0.05,
        class_exponent=0.5,
        feature_shift=20,
        random_state=number,
    )
    shape = Y.shape[0], n_pieces * CLASSES
    return X, sp.csr_matrix((Y.data, Y.indices + number * CLASSES, Y.indptr), shape=shape)


def folder_of(n_pieces, n_rows):
    """The folder of all pieces, written once."""
    from sklearn_xc.datasets._mapped_csr import write_folder

    folder = FOLDER / f"data-{n_pieces}-{n_rows}"
    if not folder.exists():
        shape = n_pieces * n_rows, WORDS, n_pieces * CLASSES
        write_folder((piece(i, n_pieces, n_rows) for i in range(n_pieces)), shape, folder)
    return folder


class Watch(threading.Thread):
    """The most private memory in use, in MB, looked at every 20 ms; beyond the limit all ends."""

    def __init__(self, limit_gb):
        super().__init__(daemon=True)
        self.private, self._limit = 0.0, 1e3 * limit_gb

    def run(self):
        while True:
            self.private = max(self.private, _common.status_kb(os.getpid(), "RssAnon") / 1024)
            if self.private > self._limit:
                print(f"more than {self._limit:.0f} MB of private memory", file=sys.stderr)
                os._exit(1)
            time.sleep(0.02)


def fit(folder, limit_gb):
    """In a process of its own: fit, and print the figures as JSON."""
    from sklearn_xc import PPDSparseClassifier
    from sklearn_xc.datasets import load_xc

    X, Y = load_xc(folder)
    watch = Watch(limit_gb)
    watch.start()
    model = PPDSparseClassifier(scratch=FOLDER / "scratch", n_jobs=2, random_state=0)
    start, cpu = time.perf_counter(), time.process_time()
    model.fit(X, Y)
    seconds, processor = time.perf_counter() - start, time.process_time() - cpu
    row = np.arange(0, X.shape[0], max(1, X.shape[0] // ASKED))
    best = model.predict_topk(X[row], k=1)[0].ravel()
    right = np.mean(best == Y[row].indices)
    figures = {
        "x_gb": X.nnz * 8 / 1e9,
        "rows": X.shape[0],
        "classes": Y.shape[1],
        "fit_s": seconds,
        "cpu_s": processor,
        "limit_gb": limit_gb,
        "private_mb": watch.private,
        "weights": model.coef_.nnz,
        "training_accuracy": float(right),
    }
    print(json.dumps(figures))


def main():
    parser = _runner.parser(__doc__)
    parser.add_argument("--pieces", type=int, default=10)
    parser.add_argument("--rows", type=int, default=200_000, help="of a piece")
    parser.add_argument("--limit", type=float, default=2, help="GB of private memory")
    parser.add_argument("--fit", help="a folder; only for the process that fits")
    options = parser.parse_args()
    if options.fit:
        fit(options.fit, options.limit)
        return
    if not options.report:
        call = [sys.executable, __file__, "--fit", folder_of(options.pieces, options.rows)]
        call += ["--limit", str(options.limit)]
        done = subprocess.run(call, stdout=subprocess.PIPE, text=True, check=True)
        found = json.loads(done.stdout.splitlines()[-1])
        print(found)
        _runner.keep("on_disk", "fits", f"{options.pieces} x {options.rows}", found)
        shutil.rmtree(FOLDER / "scratch", ignore_errors=True)
    header = "X GB | rows | classes | fit s | core-hours | limit GB | private memory used MB"
    rows = []
    for f in sorted(_runner.kept("on_disk")["fits"].values(), key=lambda f: f["x_gb"]):
        rows.append([_common.figure(f["x_gb"]), f"{f['rows']:,}", f"{f['classes']:,}"])
        rows[-1] += [f"{f['fit_s']:.0f}", f"{f['cpu_s'] / 3600:.3f}", f"{f['limit_gb']:g}"]
        rows[-1].append(f"{f['private_mb']:.0f}")
    _runner.write_page(
        "on_disk",
        "# X on disk",
        _runner.source("on_disk"),
        "`PPDSparseClassifier(scratch=folder, n_jobs=2)` on memory-mapped CSR, in a process that "
        "ends when its private memory in use (RssAnon, looked at every 20 ms) passes the limit. "
        "Mapped files are not private: the system gives and takes their pages.",
        _common.table(header, rows),
    )


if __name__ == "__main__":
    main()

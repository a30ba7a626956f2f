"""PPDSparseClassifier on threads and processes: the same bits, and Ctrl-C."""

import contextlib
import math
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import joblib
import numpy as np
import pytest
from _full import rest_in_full
from _same_model import assert_same_bits

import sklearn_xc
from sklearn_xc import PPDSparseClassifier
from sklearn_xc.datasets import make_xc_classification

pytestmark = pytest.mark.filterwarnings("ignore:sklearn-xc was built without OpenMP")

OPTIONS = [
    {},
    {"loss": "hinge", "sparsification": "random", "feature_threshold": 0.1},
    {"warm_start": True},
]


@pytest.fixture(scope="module")
def data():
    """Enough classes for six blocks, and an X of well over joblib's limit for memory mapping."""
    X, Y = make_xc_classification(6000, 3000, 100, n_labels=2, random_state=0)
    assert X.data.nbytes > 400_000
    return X, Y


def fit(data, options=None, **more):
    return PPDSparseClassifier(random_state=0, **(options or {}), **more).fit(*data)


@pytest.mark.parametrize(
    "options", rest_in_full(OPTIONS, OPTIONS[1]), ids=["plain", "sparsified", "warm"]
)
@pytest.mark.parametrize("dense", [False, True])
def test_same_bits_for_any_number_of_threads(data, options, dense):
    X, Y = data
    if dense:
        X, Y = X[:1000, :300].toarray(), Y[:1000]
    expected = fit((X, Y), options, n_jobs=1)
    for n_jobs in None, 2, 3, -1:
        model = fit((X, Y), options, n_jobs=n_jobs)
        assert_same_bits(model, expected)
        np.testing.assert_array_equal(
            model.predict_topk(X[:50])[1], expected.predict_topk(X[:50])[1]
        )


@pytest.mark.parametrize("options", OPTIONS, ids=["plain", "sparsified", "warm"])
def test_same_bits_in_processes(data, options):
    expected = fit(data, options)
    with joblib.parallel_config(backend="loky"):
        assert_same_bits(fit(data, options, n_jobs=2), expected)


# --------------------------------------------------------------------------------------- Ctrl-C


INTERRUPTED = """
import signal, sys, threading, time, joblib, numpy as np
from sklearn_xc import PPDSparseClassifier
from sklearn_xc.datasets import make_xc_classification

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    backend, n_jobs, kind = sys.argv[1:]
    if kind == "dense":
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(4000, 5000)).astype(np.float32), rng.integers(0, 40, 4000)
    else:
        X, y = make_xc_classification(20_000, 20_000, 2000, random_state=0)
    model = PPDSparseClassifier(tol=1e-12, max_iter=10**9, n_jobs=int(n_jobs))
    earlier = PPDSparseClassifier().fit(np.eye(3), [0, 1, 2]).set_params(**model.get_params())
    for estimator in model, earlier:
        before = vars(estimator).copy()
        threading.Timer(WARM_UP, print, ["fitting"], {"flush": True}).start()
        try:
            with joblib.parallel_config(backend=backend):
                estimator.fit(X, y)
        except KeyboardInterrupt:
            same = vars(estimator).keys() == before.keys() and all(
                vars(estimator)[name] is before[name] for name in before
            )
            print("interrupted", same, time.process_time(), flush=True)
            if estimator is earlier:
                raise
        else:
            print("finished?", flush=True)
"""


def wait_for(path, pattern):
    """Until the file matches, two minutes at most; returns the match."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        if found := re.fullmatch(pattern, path.read_text()):
            return found
        time.sleep(0.005)
    raise AssertionError(f"{path.read_text()!r} does not match {pattern!r}")


def processor_seconds(pid):
    """Of all threads of a process; a number beyond all where nothing tells."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return math.inf
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT to send to one process")
@pytest.mark.parametrize(
    ("backend", "n_jobs", "kind"),
    [
        pytest.param("threading", 1, "sparse", marks=pytest.mark.full),  # long searches
        pytest.param("threading", 1, "dense", marks=pytest.mark.full),  # long descents
        ("threading", 2, "sparse"),
        pytest.param("loky", 2, "sparse", marks=pytest.mark.full),
    ],
)
def test_ctrl_c(tmp_path, backend, n_jobs, kind):
    """Stops within a second, twice: a new estimator stays unfitted, an earlier fit intact.

    The second is one of each thread's processor: on a busy machine it takes longer.
    """
    script, output = tmp_path / "interrupted.py", tmp_path / "output.txt"
    script.write_text(INTERRUPTED.replace("WARM_UP", "2.5" if backend == "loky" else "1"))
    root = str(Path(sklearn_xc.__file__).parents[1])
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    with output.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, script, backend, str(n_jobs), kind],
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONPATH": path, "JOBLIB_TEMP_FOLDER": str(tmp_path)},
            start_new_session=True,
        )
    try:
        expected = ""
        for _ in range(2):
            expected += r"fitting\n"
            wait_for(output, expected)
            before = processor_seconds(process.pid)
            process.send_signal(signal.SIGINT)
            expected += r"interrupted True ([\d.]+)\n"
            found = wait_for(output, f"{expected}(?s:.*)")  # in the end with a traceback
            assert float(found[found.lastindex]) - before < n_jobs
        process.wait(timeout=120)
        assert process.returncode in (-signal.SIGINT, 130)
        assert output.read_text().rstrip().endswith("KeyboardInterrupt") or n_jobs == 1
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)  # joblib's workers too, which wait for more
        process.wait(timeout=120)

"""A mapped model in a service: threads and processes, for a minute; single rows without growth."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from _memory import resident

from sklearn_xc import LDGSClassifier, MemoirSVC, PPDSparseClassifier, load
from sklearn_xc.datasets import make_xc_classification

SERVER = """
import sys, threading, time
import numpy as np
from scipy import sparse
import sklearn_xc

path, rows, expected, seconds = sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])
X, expected = sparse.load_npz(rows), np.load(expected)
model = sklearn_xc.load(path, "r")
start, counts = time.monotonic(), [0] * 8
end = start + seconds

def own_memory():  # kB that are not of the mapped file
    lines = open("/proc/self/status").read().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("RssAnon")))

def serve(number):
    rng = np.random.default_rng(number)
    while time.monotonic() < end:
        some = rng.integers(X.shape[0], size=int(rng.integers(1, 9)))
        assert (model.predict_topk(X[some], k=3)[0] == expected[some]).all()
        counts[number] += 1

threads = [threading.Thread(target=serve, args=(i,)) for i in range(8)]
[thread.start() for thread in threads]
time.sleep(seconds / 4)
before = own_memory()
[thread.join() for thread in threads]
assert own_memory() < before + 8192
assert min(counts) > 0
print(sum(counts))
"""


@pytest.fixture(scope="module")
def data():
    return make_xc_classification(n_samples=3000, n_features=2000, n_classes=300, random_state=0)


@pytest.mark.full
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
@pytest.mark.parametrize("name", ["ppdsparse", "ldgs"])
def test_eight_threads_in_four_processes(name, data, tmp_path):
    from scipy import sparse

    X, y = data
    model = {
        "ppdsparse": PPDSparseClassifier(random_state=0),
        "ldgs": LDGSClassifier(hidden_dim=16, max_iter=2, random_state=0),
    }[name].fit(X, y)
    model.save(tmp_path / "model")
    sparse.save_npz(tmp_path / "rows.npz", sparse.csr_matrix(X))
    np.save(tmp_path / "expected.npy", model.predict_topk(X, k=3)[0])
    names = [str(tmp_path / n) for n in ("model", "rows.npz", "expected.npy")]
    command = [sys.executable, "-c", SERVER, *names, "60"]
    servers = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(4)]
    answered = [int(server.communicate(timeout=200)[0]) for server in servers]
    assert all(server.returncode == 0 for server in servers)
    assert min(answered) > 100


@pytest.mark.full
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
@pytest.mark.parametrize("mode", [None, "r"])
@pytest.mark.parametrize("name", ["ppdsparse", "memoir"])
def test_a_hundred_thousand_single_rows_take_no_memory(name, mode, data, tmp_path):
    X, y = data
    model = {
        "ppdsparse": PPDSparseClassifier(random_state=0),
        "memoir": MemoirSVC(max_iter=2, random_state=0),
    }[name].fit(X, y)
    model.save(tmp_path / "model")
    model = load(tmp_path / "model", mode)
    rows = [X[i : i + 1] for i in range(200)]
    for row in rows:
        model.predict_topk(row)
    before = resident()
    for i in range(100_000):
        model.predict_topk(rows[i % 200])
    assert resident() - before < 4 * 2**20


def test_threads_share_a_mapped_model(data, tmp_path):
    """The same in short."""
    X, y = data
    model = PPDSparseClassifier(random_state=0).fit(X[:500], y[:500])
    model.save(tmp_path / "model")
    expected, mapped, wrong = model.predict_topk(X, k=3)[0], load(tmp_path / "model", "r"), []

    def serve(number):
        for start in range(number, 200, 4):
            part = slice(start, start + 9)
            if not np.array_equal(mapped.predict_topk(X[part], k=3)[0], expected[part]):
                wrong.append(start)

    threads = [threading.Thread(target=serve, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert os.path.getsize(tmp_path / "model") > 0

"""`scratch`: copies of X, finished blocks and the model in files, to the same bits."""

import os
import pickle
import subprocess
import sys

import joblib
import numpy as np
import pytest
from _scratch_fits import X, Y, assert_same
from sklearn.base import clone

from sklearn_xc import PPDSparseClassifier, load
from sklearn_xc.datasets import dump_xc, load_xc, make_xc_classification


def test_dense_x_and_two_classes(tmp_path):
    rng = np.random.default_rng(0)
    dense, y = rng.normal(size=(200, 10)), rng.integers(0, 2, 200)
    expected = PPDSparseClassifier(random_state=0).fit(dense, y)
    model = clone(expected).set_params(scratch=tmp_path).fit(dense, y)
    np.testing.assert_array_equal(model.coef_.toarray(), expected.coef_.toarray())
    np.testing.assert_array_equal(model.predict(dense), expected.predict(dense))


def test_with_a_checkpoint(tmp_path):
    expected = PPDSparseClassifier(random_state=0).fit(X, Y)
    both = {"scratch": tmp_path / "scratch", "checkpoint": tmp_path / "fit"}
    model = clone(expected).set_params(**both, keep_checkpoint=True)
    assert_same(model.fit(X, Y), expected)
    n_files = len(os.listdir(tmp_path / "fit"))
    assert n_files > 2
    os.unlink(sorted((tmp_path / "fit").glob("block-*"))[1])
    assert_same(model.fit(X, Y), expected)
    assert len(os.listdir(tmp_path / "fit")) == n_files
    assert_same(clone(expected).set_params(checkpoint=tmp_path / "fit").fit(X, Y), expected)
    assert not (tmp_path / "fit").exists()


def test_the_model_lives_on_without_its_folder(tmp_path):
    """It is pickled, saved, grown and used in other processes as any other."""
    expected = PPDSparseClassifier(random_state=0).fit(X[:, :], Y[:, :150])
    model = clone(expected).set_params(scratch=tmp_path / "scratch").fit(X, Y[:, :150])
    os.rmdir(tmp_path / "scratch")
    assert_same(pickle.loads(pickle.dumps(model)), expected)
    model.save(tmp_path / "model.sxc")
    assert_same(load(tmp_path / "model.sxc", mmap_mode="r"), expected)
    with joblib.parallel_config(backend="loky"):
        found = joblib.Parallel(n_jobs=2)(joblib.delayed(model.predict_topk)(X) for _ in range(2))
    for labels, _ in found:
        np.testing.assert_array_equal(labels, expected.predict_topk(X)[0])
    model.add_labels(X, Y[:, 150:])
    assert_same(model, expected.add_labels(X, Y[:, 150:]))
    assert os.listdir(tmp_path / "scratch") == []


LIMITED = """
import resource, sys
import numpy as np
from sklearn_xc import PPDSparseClassifier
from sklearn_xc.datasets import load_xc
from sklearn_xc.utils import _csr

if __name__ == "__main__":
    folder, scratch, room = sys.argv[1:]
    X, Y = load_xc(folder)
    _csr.STRETCH = 1 << 18
    lines = open("/proc/self/status").read().splitlines()
    used = next(int(line.split()[1]) for line in lines if line.startswith("VmData:")) << 10
    limit = used + int(room)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))  # of pages of its own
    model = PPDSparseClassifier(scratch=scratch or None, random_state=0, max_iter=1)
    model.fit(X, Y)
    print("fitted", model.coef_.nnz)
"""


@pytest.mark.full
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts pages as Linux does")
def test_memory_beyond_files(tmp_path):
    """X of 26 MB and its copies of 53 MB in a process with 24 MB to itself."""
    rows, labels = make_xc_classification(
        30_000, 20_000, 20, n_labels=1, n_tokens=150, signal=0.1, random_state=0
    )
    assert rows.nnz * 8 > 25e6
    dump_xc(tmp_path / "data.txt", rows, labels)
    load_xc(tmp_path / "data.txt", to=tmp_path / "data")
    script = tmp_path / "limited.py"
    script.write_text(LIMITED)

    def run(scratch, room):
        call = [sys.executable, "-W", "ignore", script, tmp_path / "data", scratch, str(room)]
        return subprocess.run(call, capture_output=True, text=True, check=False)

    assert "fitted" in run(tmp_path / "scratch", 24 << 20).stdout
    without = run("", 24 << 20)
    assert without.returncode
    assert "MemoryError" in without.stderr

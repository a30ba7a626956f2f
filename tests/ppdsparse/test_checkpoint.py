"""A fit that is ended resumes from the blocks that it has written, to the same bits."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import joblib
import numpy as np
import pytest
from _checkpoints import X, Y, assert_same
from _full import rest_in_full
from sklearn.base import clone

import sklearn_xc
from sklearn_xc import PPDSparseClassifier, load
from sklearn_xc.datasets import make_xc_classification


def test_folders_of_something_else(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="is not empty, and no folder of an earlier fit"):
        PPDSparseClassifier(checkpoint=tmp_path).fit(X, Y)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    with pytest.raises(OSError, match="notes"):
        PPDSparseClassifier(checkpoint=tmp_path / "notes.txt").fit(X, Y)
    with pytest.raises(ValueError, match="checkpoint"):
        PPDSparseClassifier(checkpoint=3).fit(X, Y)
    (tmp_path / "empty").mkdir()
    model = PPDSparseClassifier(checkpoint=str(tmp_path / "empty")).fit(X, Y)
    assert not (tmp_path / "empty").exists()
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").checkpoint is None  # a file names no folder


@pytest.mark.parametrize("damage", ["cut", "flipped", "other"])
def test_damaged_blocks_are_solved_again(folder, damage):
    model = PPDSparseClassifier(random_state=0, checkpoint=folder, keep_checkpoint=True).fit(X, Y)
    first, second, *_ = sorted(folder.glob("block-*"))
    data = bytearray(first.read_bytes())
    if damage == "cut":
        data = data[:-10]
    elif damage == "flipped":
        data[len(data) // 2] ^= 1
    else:
        data = second.read_bytes()
    first.write_bytes(data)
    with pytest.warns(UserWarning, match="is solved again"):
        again = clone(model).fit(X, Y)
    assert_same(again, model)


@pytest.mark.parametrize("backend", rest_in_full(["loky", "multiprocessing"], "loky"))
def test_processes(folder, backend):
    expected = PPDSparseClassifier(random_state=0).fit(X, Y)
    model = PPDSparseClassifier(random_state=0, checkpoint=folder, keep_checkpoint=True, n_jobs=2)
    with joblib.parallel_config(backend=backend):
        assert_same(model.fit(X, Y), expected)
    assert_same(clone(model).fit(X, Y), expected)


SCRIPT = """
import sys
from sklearn_xc import PPDSparseClassifier
from sklearn_xc.datasets import make_xc_classification

X, Y = make_xc_classification(6000, 3000, 400, n_labels=2, random_state=0)
print("fitting", flush=True)
model = PPDSparseClassifier(
    random_state=0, checkpoint=sys.argv[1], keep_checkpoint=True, n_jobs=2
).fit(X, Y)
model.save(sys.argv[2])
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kills processes")
def test_a_driver_that_was_killed_at_its_start(folder):
    """Nothing but a half-written file is there, so that the fit begins."""
    folder.mkdir()
    (folder / ".fit.0123abcd.tmp").write_bytes(b"half")
    model = PPDSparseClassifier(random_state=0, checkpoint=folder).fit(X, Y)
    assert_same(model, PPDSparseClassifier(random_state=0).fit(X, Y))
    assert not folder.exists()


@pytest.mark.full
def test_a_driver_that_is_killed(folder, tmp_path, pytestconfig):
    """At any time: what is in the folder is whole, and leads to the same model."""
    data = make_xc_classification(6000, 3000, 400, n_labels=2, random_state=0)
    expected = PPDSparseClassifier(random_state=0).fit(*data)
    environment = {**os.environ, "PYTHONPATH": str(Path(sklearn_xc.__file__).parents[1])}
    rng, n_kills, n_between = np.random.default_rng(0), 0, 0
    while n_kills < (100 if pytestconfig.getoption("--full") else 5):
        command = [sys.executable, "-c", SCRIPT, folder, tmp_path / "model"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as driver:
            assert driver.stdout.readline() == b"fitting\n"
            time.sleep(rng.uniform(0, 0.6))
            driver.kill()
        n_kills += driver.returncode == -signal.SIGKILL
        n_blocks = len(list(folder.glob("block-*")))
        n_between += n_blocks > 0
        if n_blocks > 20:  # and from the beginning again
            model = PPDSparseClassifier(random_state=0, checkpoint=folder).fit(*data)
            assert_same(model, expected)
            assert not folder.exists()
    model = PPDSparseClassifier(random_state=0, checkpoint=folder).fit(*data)
    assert_same(model, expected)
    assert n_between > 0 or n_kills < 10

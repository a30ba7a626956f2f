"""A process that is killed while it saves leaves the old model or the new one."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from sklearn_xc import (
    ImplicitSoftmaxRegressor,
    PPDSparseClassifier,
    TopKNeighborsClassifier,
    load,
)

# Children are killed at the n-th call of the system that writing makes, n = 1, 2, ..., in the
# middle of it where it is a write, until one of them comes through; and then at random times.
SCRIPT = """
import itertools, json, os, random, signal, sys, time
import numpy as np
from sklearn_xc import PPDSparseClassifier, load
from sklearn_xc.persistence import _file

folder = sys.argv[1]
path = os.path.join(folder, "model")
rng = np.random.default_rng(0)
X, y = rng.normal(size=(40, 30)), np.arange(40) % 5
old, new = PPDSparseClassifier(random_state=0).fit(X, y), PPDSparseClassifier().fit(X, y % 4)
_file.AT_ONCE = 2048  # many writes


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def killed_at(n, halfway):
    calls = itertools.count(1)

    def wrapped(function, half):
        def call(*arguments, **options):
            if next(calls) == n:
                if halfway:
                    half(*arguments)
                die()
            return function(*arguments, **options)

        return call

    write, nothing = os.write, lambda *arguments: None
    for name in ("open", "lseek", "fsync", "close"):
        setattr(os, name, wrapped(getattr(os, name), nothing))
    os.write = wrapped(write, lambda handle, block: write(handle, block[: len(block) // 2]))
    os.replace = wrapped(os.replace, os.replace)


def found():
    model = load(path)
    same = [np.array_equal(model.decision_function(X), m.decision_function(X)) for m in (old, new)]
    assert sum(same) == 1
    return "old" if same[0] else "new"


def outcome(run):
    old.save(path)
    child = os.fork()
    if child == 0:
        run()
        os._exit(0)
    return os.waitpid(child, 0)[1], found()


def save_at(n, halfway):
    killed_at(n, halfway)
    new.save(path)


def save_again_and_again():
    while True:
        new.save(path)
        old.save(path)


results = {"counted": [], "random": []}
for halfway in (False, True):
    for n in itertools.count(1):
        status, which = outcome(lambda: save_at(n, halfway))
        results["counted"].append([n, halfway, status, which])
        if status == 0:
            break
random.seed(0)
for _ in range(int(sys.argv[2])):
    child = os.fork()
    if child == 0:
        save_again_and_again()
    time.sleep(random.uniform(0.001, 0.02))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    results["random"].append(found())
results["left"] = sorted(os.listdir(folder))
print(json.dumps(results))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
def test_killed_at_any_moment(tmp_path, pytestconfig):
    n_random = 1000 if pytestconfig.getoption("--full") else 15
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT, tmp_path, str(n_random)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    for halfway in (False, True):
        runs = [run for run in found["counted"] if run[1] == halfway]
        assert len(runs) > 15  # calls of the system
        assert all(status != 0 for *_, status, _ in runs[:-1])
        which = [run[3] for run in runs]
        assert which == sorted(which, reverse=True)  # the old one, and from some call on the new
        assert which[0] == "old"
        assert which[-1] == "new"
    assert len(found["random"]) == n_random
    # what killed processes leave behind has a name of its own, which says what it is
    others = [name for name in found["left"] if name != "model"]
    assert all(name.startswith(".model.") and name.endswith(".tmp") for name in others)


def test_what_a_killed_save_left_goes_with_a_later_one(tmp_path):
    """A day later, and nothing else: it may be another process's that is at work."""
    model = PPDSparseClassifier(random_state=0).fit(np.eye(6), [0, 1, 2] * 2)
    names = ".model.0123abcd.tmp", ".model.89abcdef.tmp", ".models.0123abcd.tmp", ".model.tmp"
    for name in names:
        (tmp_path / name).write_bytes(b"x")
    for name in (names[0], *names[2:]):
        os.utime(tmp_path / name, (0, 0))
    model.save(tmp_path / "model")
    assert {path.name for path in tmp_path.iterdir()} == {"model", *names[1:]}


@pytest.mark.parametrize("dtype", ["U2", object])
def test_labels_with_half_a_character(tmp_path, dtype):
    """A lone surrogate is no character, and cannot be written as UTF-8 without care."""
    labels = np.array(["a", "b\ud800", "c"] * 2, dtype=dtype)
    for estimator in (PPDSparseClassifier, ImplicitSoftmaxRegressor, TopKNeighborsClassifier):
        model = estimator().fit(np.eye(6), labels)
        model.save(tmp_path / "model")
        for mode in (None, "r"):
            assert load(tmp_path / "model", mode).classes_.tolist() == ["a", "b\ud800", "c"]

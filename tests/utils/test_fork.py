"""Forked children of a process that has used threads: they predict and fit, and do not hang."""

import os
import subprocess
import sys

import pytest
from _full import rest_in_full

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no os.fork on this system")

# In a process of its own, whose threads nothing else has started: and a child that hangs is ended
# by its alarm, whatever it is waiting in.
COMMON = """
import os, signal, sys, threading, warnings
warnings.simplefilter("ignore")
import numpy as np
from scipy import sparse
import sklearn_xc
from sklearn_xc import *
from sklearn_xc._kernels.common._pace import region_size
from sklearn_xc.mips import *

SECONDS = 200
rng = np.random.default_rng(0)
X = rng.random((300, 200), dtype=np.float32)
X[rng.random(X.shape) > 0.1] = 0
X[:, 0] = 1
X, y = sparse.csr_array(X), np.arange(300) % 70
documents = [[str(w) for w in rng.zipf(1.5, size=20) if w < 300] for _ in range(200)]
settings = dict(random_state=0, n_jobs=2)
MODELS = {
    "ppdsparse": PPDSparseClassifier(**settings),
    "memoir": MemoirSVC(max_iter=2, **settings),
    "ldgs": LDGSClassifier(hidden_dim=4, max_iter=2, **settings),
    "augment_reduce": AugmentReduceClassifier(max_iter=2, **settings),
    "softmax": ImplicitSoftmaxRegressor("exact", max_iter=2, learning_rate=1.0, **settings),
    "u_max": ImplicitSoftmaxRegressor(
        "umax", batch_size=50, max_iter=2, learning_rate=0.1, **settings
    ),
}

def answers(model):
    return model.predict_topk(X, k=3), model.decision_function(X)

def same(a, b):
    return len(a) == len(b) and all(np.array_equal(p, q) for p, q in zip(a, b))

def in_child(function):
    pid = os.fork()
    if pid == 0:
        status = 2
        try:
            signal.alarm(SECONDS)
            status = 0 if function() else 1
        finally:
            os._exit(status)
    status = os.waitpid(pid, 0)[1]
    hung = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM
    return "hangs" if hung else status
"""

CLASSIFIER = """
model = MODELS[sys.argv[1]].fit(X, y)
before = answers(model)

def predicts():
    return same(answers(model), before)

def fits():
    return same(answers(model.fit(X, y)), before)

def forks_again():
    return region_size(2) == 2 and in_child(predicts) == 0

def forks():
    assert in_child(predicts) == 0, "predict"
    assert in_child(fits) == 0, "fit"
    assert in_child(forks_again) == 0, "a child of a child"
    assert predicts() and fits()  # the parent goes on
    assert in_child(predicts) == 0, "predict after that"

forks()
error = []
thread = threading.Thread(target=lambda: [forks(), error.append(None)])
thread.start()
thread.join()
assert error == [None], "from another thread"
"""

WORDS = """
model = LDGSWordEmbedding(dim=16, max_iter=2, min_count=1, **settings).fit(documents)
before = model.embeddings_.copy()
def fits():
    return np.array_equal(model.fit(documents).embeddings_, before)
assert in_child(fits) == 0 and fits() and in_child(fits) == 0
"""

INDEXES = """
rows = rng.normal(size=(1000, 16)).astype(np.float32)
for kind in (ExactIndex(n_jobs=2), SphericalIndex(n_jobs=2, random_state=0),
             HNSWIndex(n_jobs=2, random_state=0), SimpleLSHIndex(n_jobs=2, random_state=0)):
    index = kind.build(rows)
    before = index.query(rows[:200], 5)
    def asks():
        return same(index.query(rows[:200], 5), before)
    def builds():
        return same(index.build(rows).query(rows[:200], 5), before)
    assert in_child(asks) == 0, index
    assert in_child(builds) == 0, index
    assert asks(), index
"""

POOLS = """
import multiprocessing, joblib
from sklearn.base import clone

def ask(name, model):
    signal.alarm(SECONDS)
    model = model or clone(MODELS[name]).fit(X, y)
    signal.alarm(0)
    return answers(model)

models = {name: clone(model).fit(X, y) for name, model in MODELS.items()}
before = {name: answers(model) for name, model in models.items()}
tasks = [(name, model) for name in MODELS for model in (models[name], None)]
signal.alarm(5 * SECONDS)  # a pool waits for ever for a worker that was killed
with multiprocessing.get_context("fork").Pool(2) as pool:
    for (name, _), found in zip(tasks, pool.starmap(ask, tasks, chunksize=1)):
        assert same(found, before[name]), name
with joblib.parallel_config(backend="threading"):  # threads of joblib in the parent, too
    joblib.Parallel(n_jobs=2)(joblib.delayed(answers)(model) for model in models.values())
found = joblib.Parallel(n_jobs=2, backend="multiprocessing")(
    joblib.delayed(ask)(*task) for task in tasks
)
for (name, _), one in zip(tasks, found):
    assert same(one, before[name]), name
"""


def run(program, *arguments):
    """Return the exit status of a program, and what it said where it failed."""
    done = subprocess.run(
        [sys.executable, "-c", COMMON + program, *arguments],
        capture_output=True,
        text=True,
        timeout=2000,
    )
    return done.returncode, done.stderr[-2000:] if done.returncode else ""


@pytest.mark.parametrize(
    "name",
    rest_in_full(
        ["ppdsparse", "memoir", "ldgs", "augment_reduce", "softmax", "u_max"], "ppdsparse"
    ),
)
def test_children_predict_and_fit(name):
    assert run(CLASSIFIER, name) == (0, "")


@pytest.mark.full
def test_children_fit_word_vectors():
    assert run(WORDS) == (0, "")


def test_children_use_and_build_indexes():
    pytest.importorskip("hnswlib")
    assert run(INDEXES) == (0, "")


@pytest.mark.full
def test_pools_of_forked_processes():
    assert run(POOLS) == (0, "")


@pytest.mark.full
def test_a_child_forked_while_others_keep_blas_to_one_thread():
    ended = run(
        """
from threadpoolctl import threadpool_info, threadpool_limits
from sklearn_xc.utils._parallel import single_threaded_blas

threadpool_limits(2, user_api="blas")

def blas():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

usual, inside, done = blas(), threading.Event(), threading.Event()

def hold():
    with single_threaded_blas():
        with single_threaded_blas._lock:  # the worst moment
            inside.set()
            done.wait(SECONDS)

def works():
    free = blas()
    with single_threaded_blas():
        one = blas()
    return free == blas() == usual and one <= {1}

def forks_inside():
    with single_threaded_blas():
        child = os.fork()
        if child:
            status = os.waitpid(child, 0)[1]
    if not child:
        signal.alarm(SECONDS)
        os._exit(0 if works() else 1)
    return status

holder = threading.Thread(target=hold)
holder.start()
inside.wait()
status = in_child(works)
done.set()
holder.join()
assert status == 0, status
assert forks_inside() == 0
assert works()
"""
    )
    assert ended == (0, "")


@pytest.mark.parametrize("name", rest_in_full(["ppdsparse", "ldgs"], "ppdsparse"))
def test_a_child_forked_while_another_thread_predicts(name):
    """At the worst moment: the thread holds every lock of the package."""
    ended = run(
        """
from sklearn_xc.utils import _locks

model = MODELS[sys.argv[1]].fit(X, y)
index = ExactIndex(n_jobs=2).build(X)
before = answers(model)
inside, done = threading.Event(), threading.Event()
held = list(_locks._LOCKS)
assert held

def hold():
    for lock in held:
        lock.held.acquire()
    inside.set()
    done.wait(SECONDS)
    for lock in held:
        lock.held.release()

def works():
    return same(answers(model), before) and len(index.query(X[:5], 3)) == 2

thread = threading.Thread(target=hold)
thread.start()
inside.wait()
status = in_child(works)
done.set()
thread.join()
assert status == 0, status
assert works()
""",
        name,
    )
    assert ended == (0, "")


@pytest.mark.full
def test_a_child_forked_while_another_thread_builds_an_index():
    """The index is there with what it is of, or not at all."""
    ended = run(
        """
def found(model):
    return model.predict_topk(X, k=3, search="index")

model = LDGSClassifier(hidden_dim=4, max_iter=2, index="exact", **settings).fit(X, y)
before = found(model)
model.fit(X, y)
inside, done, build = threading.Event(), threading.Event(), ExactIndex.build

def slow(index, *arguments):
    if threading.current_thread() is threading.main_thread():
        return build(index, *arguments)
    inside.set()
    done.wait(SECONDS)
    return build(index, *arguments)

ExactIndex.build = slow

def works():
    return same(found(model), before)

thread = threading.Thread(target=works)
thread.start()
assert inside.wait(SECONDS), "no index was built"
status = in_child(works)
done.set()
thread.join()
assert status == 0, status
assert works()
"""
    )
    assert ended == (0, "")

"""What only shows after hours: memory that grows by the fit, workers that are killed."""

import ctypes
import gc
import os
import signal
import threading
import warnings
from pathlib import Path

import joblib
import numpy as np
import pytest
from _memory import resident
from joblib.externals.loky.process_executor import TerminatedWorkerError

from sklearn_xc import (
    AugmentReduceClassifier,
    ImplicitSoftmaxRegressor,
    LDGSClassifier,
    MemoirSVC,
    PPDSparseClassifier,
)
from sklearn_xc.datasets import make_xc_classification

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc"),
]

# A fit of eight hours on one core, at the half second that a block of sixteen classes of a large
# data set takes.
N_BLOCKS = 8 * 3600 * 2
GROWTH = 8 * 2**20  # bytes that the allocator may have kept


def held():
    """Memory of this process, less what the allocator only keeps for later."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of the GNU C library
    if trim is not None:
        trim(0)
    return resident()


def growth_of(call, n_calls):
    """By how much memory grows between a tenth of the calls and all of them."""
    for _ in range(n_calls // 10):
        call()
    before = held()
    for _ in range(n_calls - n_calls // 10):
        call()
    return held() - before


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_many_blocks_take_no_memory(n_jobs):
    X, y = make_xc_classification(600, 300, 320, random_state=0)
    model = PPDSparseClassifier(n_jobs=n_jobs, random_state=0)
    assert growth_of(lambda: model.fit(X, y), N_BLOCKS // 20) < GROWTH


@pytest.mark.parametrize(
    "model",
    [
        PPDSparseClassifier(warm_start=True, random_state=0),
        MemoirSVC(random_state=0),
        MemoirSVC(search="hnsw", random_state=0),
        LDGSClassifier(hidden_dim=16, random_state=0),
        AugmentReduceClassifier(random_state=0),
        ImplicitSoftmaxRegressor(random_state=0),
        ImplicitSoftmaxRegressor("exact", random_state=0),
    ],
    ids=lambda model: f"{type(model).__name__}-{len(str(model))}",
)
@pytest.mark.filterwarnings("ignore")
def test_many_parts_take_no_memory(model):
    X, y = make_xc_classification(400, 300, 60, random_state=0)
    part = model.partial_fit if hasattr(model, "partial_fit") else model.fit
    options = {"classes": np.unique(y)} if hasattr(model, "partial_fit") else {}
    part(X, y, **options)
    assert growth_of(lambda: part(X, y), 3000) < GROWTH


def loky_workers():
    """Process ids of joblib's workers."""
    found = []
    for task in Path("/proc/self/task").glob("*"):
        for child in (task / "children").read_text().split():
            command = Path(f"/proc/{child}/cmdline").read_bytes()
            if b"LokyProcess" in command:
                found.append(int(child))
    return found


def test_workers_that_are_killed():
    """One error, the estimator as it was, and the next fit the same bits."""
    X, y = make_xc_classification(6000, 3000, 400, random_state=0)
    expected = PPDSparseClassifier(random_state=0).fit(X, y)
    rng = np.random.default_rng(0)
    n_killed = n_failed = 0
    while n_killed < 100:
        model = PPDSparseClassifier(random_state=0, n_jobs=2).fit(X[:500], y[:500])
        before = vars(model).copy()
        killed = []

        def kill(killed=killed):
            workers = loky_workers()
            if workers:
                os.kill(workers[rng.integers(len(workers))], signal.SIGKILL)
                killed.append(True)

        timer = threading.Timer(rng.uniform(0.05, 2.5), kill)
        timer.start()
        try:
            with joblib.parallel_config(backend="loky"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(X, y)
        except TerminatedWorkerError:
            n_failed += 1
            assert all(vars(model)[name] is value for name, value in before.items())
            model.set_params(n_jobs=1).fit(X, y)
        timer.cancel()
        timer.join()
        n_killed += len(killed)
        assert (model.coef_ != expected.coef_).nnz == 0
    assert n_failed > 20

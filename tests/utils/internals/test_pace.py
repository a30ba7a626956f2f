"""How many threads a step has, how they wait, and that the choice never shows in a result."""

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from sklearn_xc import (
    AugmentReduceClassifier,
    ImplicitSoftmaxRegressor,
    LDGSClassifier,
    LDGSWordEmbedding,
)
from sklearn_xc._kernels import SPIN_COUNT
from sklearn_xc._kernels.common._pace import Pace, region_size
from sklearn_xc.augment_reduce import _train as augment_reduce_train
from sklearn_xc.implicit_softmax import _solvers
from sklearn_xc.ldgs import _steps as ldgs_steps
from sklearn_xc.softmax import _full_softmax
from sklearn_xc.word_embedding import _block_sums, _negative_sampling

threads = pytest.mark.skipif(region_size(2) < 2, reason="built without OpenMP, or limited by it")


def run_steps(pace, seconds_of, total, work=1.0):
    """Steps until so many seconds are over; returns how many, and the seconds of each arm."""
    n_steps, spent = 0, {1: 0.0, pace.n_threads: 0.0}
    while sum(spent.values()) < total:
        n = pace.next_threads()
        seconds = seconds_of(n, n_steps)
        pace.took(seconds, work)
        spent[n] += seconds
        n_steps += 1
    return n_steps, spent


@pytest.mark.parametrize("step", [1e-4, 1e-3, 1e-2, 0.2])
@pytest.mark.parametrize("n_threads", [2, 16])
def test_a_quiet_machine_keeps_its_gain(step, n_threads):
    """All threads take a share of the seconds: trials of one thread cost a few hundredths."""
    n_steps, _ = run_steps(
        Pace(n_threads), lambda n, _: step / (1 if n == 1 else 0.9 * n), 100 * step + 5
    )
    assert n_steps > 0.95 * (100 * step + 5) / (step / (0.9 * n_threads))


@pytest.mark.parametrize(
    ("step", "times"),
    [
        (1e-4, 1.1),
        (1e-4, 3),
        (1e-4, 30),
        (1e-3, 1.1),
        (1e-3, 3),
        (1e-3, 30),
        (1e-2, 1.1),
        (1e-2, 3),
    ],
)
def test_a_busy_machine_goes_on_with_one_thread(step, times):
    total = 200 * step + 2
    n_steps, _ = run_steps(Pace(2), lambda n, _: step * (1 if n == 1 else times), total)
    assert n_steps > total / step / 1.1


def test_stalls_now_and_then_count():
    """Most steps on two threads are quicker, one in twenty is very slow: one thread is better."""
    rng = np.random.default_rng(0)

    def seconds(n, _):
        return 1e-3 if n == 1 else 0.6e-3 + 0.04 * (rng.random() < 0.05)

    n_steps, _ = run_steps(Pace(2), seconds, 10)
    assert n_steps > 10 / 1e-3 / 1.15


def test_it_changes_when_the_machine_does():
    pace = Pace(2)
    busy = lambda n, _: 1e-3 if n == 1 else 5e-3  # noqa: E731
    quiet = lambda n, _: 1e-3 if n == 1 else 0.6e-3  # noqa: E731
    for seconds, best in [(quiet, 2), (busy, 1), (quiet, 2), (busy, 1)]:
        run_steps(pace, seconds, 1.5)  # to notice
        _, spent = run_steps(pace, seconds, 1)
        assert spent[best] > 0.85


def test_steps_of_different_work_compare():
    """Every other step has ten times the work; alone, small steps would look quicker."""
    pace = Pace(2)
    spent = {1: 0.0, 2: 0.0}
    for i in range(5000):
        n, work = pace.next_threads(), 10 if i % 2 else 1
        seconds = work * (1e-4 if n == 1 else 0.7e-4)
        pace.took(seconds, work)
        spent[n] += seconds
    assert spent[2] > 0.9 * sum(spent.values())


def test_one_thread_has_no_choice():
    pace = Pace(1)
    for _ in range(10):
        with pace.on(1):
            assert pace.next_threads() == 1


@threads
def test_regions_of_a_step_run_alone_and_others_do_not():
    pace = Pace(2)
    run_steps(pace, lambda n, _: 1e-3 if n == 1 else 0.02, 10)
    assert pace.next_threads() == 1
    with pace.on(1):
        assert region_size(2) == 1
    assert region_size(2) == 2
    with pytest.raises(ZeroDivisionError), pace.on(1):
        raise ZeroDivisionError
    assert region_size(2) == 2


# ------------------------------------------------------------------------- nothing of it shows


class Turns(Pace):
    """As `Pace`, with every step on another number of threads than the one before."""

    def on(self, work):
        self.arm = 1 - self.arm
        return super().on(work)


def samples(n_classes=2000, n=2000, d=80):
    rng = np.random.default_rng(0)
    X = rng.random((n, d), dtype=np.float32) * (rng.random((n, d)) < 0.3)
    return sparse.csr_array(X), np.arange(n) % n_classes


def documents():
    rng = np.random.default_rng(0)
    return [[str(w) for w in rng.zipf(1.5, size=20) if w < 300] for _ in range(200)]


LOOPS = augment_reduce_train, _block_sums, _solvers, _full_softmax, ldgs_steps, _negative_sampling

WITH_PACE = [
    ImplicitSoftmaxRegressor("exact", learning_rate=1.0, max_iter=2),
    ImplicitSoftmaxRegressor("umax", batch_size=20, learning_rate=0.1, max_iter=2),
    AugmentReduceClassifier(max_iter=2),
    AugmentReduceClassifier(bound="exact", max_iter=2),
    LDGSClassifier(max_iter=2, hidden_dim=16, gradient="sampled"),
    LDGSClassifier(max_iter=2, hidden_dim=16, gradient="exact"),
    LDGSWordEmbedding(dim=16, max_iter=2, min_count=1),
]


def state(model):
    return {
        name: value.toarray() if sparse.issparse(value) else value
        for name, value in vars(model).items()
        if isinstance(value, np.ndarray) or sparse.issparse(value)
    }


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", WITH_PACE, ids=lambda m: f"{type(m).__name__}-{m}"[:60])
def test_same_bits_for_any_threads_and_times(model, monkeypatch):
    given = (documents(),) if isinstance(model, LDGSWordEmbedding) else samples()
    model = clone(model).set_params(random_state=0)
    one = state(clone(model).set_params(n_jobs=1).fit(*given))
    for n_jobs in (2, 3):
        monkeypatch.setattr("joblib.cpu_count", lambda: 4)
        monkeypatch.setattr("joblib.effective_n_jobs", lambda n: n or 1)
        for module in LOOPS:
            monkeypatch.setattr(module, "Pace", Turns)
        several = state(clone(model).set_params(n_jobs=n_jobs).fit(*given))
        assert several.keys() == one.keys()
        for name, value in one.items():
            np.testing.assert_array_equal(several[name], value, err_msg=name)


# ------------------------------------------------------------------------------ how threads wait

WAIT = """
import os, time
chosen = {k: v for k, v in os.environ.items() if k in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
import sklearn_xc
from sklearn_xc._kernels.common._pace import region_size
left = {k: v for k, v in os.environ.items() if k in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
assert left == chosen, (left, chosen)
region_size(2)
cpu = []
for _ in range(5):
    start = time.process_time()
    region_size(2)
    time.sleep(0.3)
    cpu.append(time.process_time() - start)
print(min(cpu))
"""


def seconds_of_waiting(**environment):
    """Processor seconds that a region costs in which there is nothing to do."""
    names = "GOMP_SPINCOUNT", "OMP_WAIT_POLICY"
    inherited = {name: value for name, value in os.environ.items() if name not in names}
    run = subprocess.run(
        [sys.executable, "-c", WAIT],
        env={**inherited, **environment},
        timeout=600,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(run.stdout)


spins = pytest.mark.skipif(
    sys.platform != "linux" or (os.cpu_count() or 1) < 2, reason="GCC's library, two processors"
)


@pytest.mark.full
@spins
@threads
def test_threads_wait_briefly_unless_the_user_says_otherwise():
    per_million = seconds_of_waiting(GOMP_SPINCOUNT="3000000") / 3
    if per_million < 0.003:
        pytest.skip("this OpenMP library does not know GOMP_SPINCOUNT")
    # The count is a hundredth of a million; a region has a cost of its own.
    assert int(SPIN_COUNT) <= 20_000
    assert seconds_of_waiting() < 0.15 * per_million
    assert seconds_of_waiting(OMP_WAIT_POLICY="active") > 3 * per_million

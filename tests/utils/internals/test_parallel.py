"""Thread counts and blocks of work over joblib."""

import os
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from sklearn_xc.utils import _parallel
from sklearn_xc.utils._callbacks import Progress
from sklearn_xc.utils._parallel import (
    CLASS_COST,
    MAX_BLOCKS,
    MIN_BLOCKS,
    blocks_of_classes,
    effective_threads,
    in_threads,
    run_blocks,
    single_threaded_blas,
)


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.fixture
def two_threads():
    """BLAS with two threads, so that a limit of one is to be seen."""
    with threadpool_limits(limits=2, user_api="blas"):
        yield


def sum_rows(block, X, sign):
    return sign * X[block[0] : block[1]].sum(axis=1)


def describe(block, X):
    time.sleep(0.01)
    return block, os.getpid(), X.flags.writeable, blas_threads()


def fail_at_two(block):
    if block == 2:
        raise RuntimeError("block 2 is bad")
    return block


def where(block):
    return threading.get_ident(), os.getpid()


def test_threads_asked_for(monkeypatch):
    monkeypatch.setattr(joblib, "cpu_count", lambda: 4)
    monkeypatch.setattr(_parallel, "openmp_enabled", lambda: True)
    assert effective_threads(1) == 1
    assert effective_threads(None) == 1
    assert effective_threads(3) == 3
    assert effective_threads(100) == 4
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert effective_threads(None) == 2
    with pytest.raises(ValueError, match="n_jobs == 0"):
        effective_threads(0)


def test_without_openmp_one_thread_and_one_warning(monkeypatch):
    monkeypatch.setattr(_parallel, "openmp_enabled", lambda: False)
    _parallel._warn_without_openmp.cache_clear()
    assert effective_threads(1) == 1
    with pytest.warns(RuntimeWarning, match="built without OpenMP"):
        assert effective_threads(2) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert effective_threads(2) == 1
    _parallel._warn_without_openmp.cache_clear()


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 3])
def test_results_come_in_the_order_of_the_blocks(n_jobs):
    X = np.arange(60.0).reshape(20, 3)
    blocks = [(start, start + 4) for start in range(0, 20, 4)]
    results = run_blocks(sum_rows, blocks, X, -1, n_jobs=n_jobs)
    np.testing.assert_array_equal(np.concatenate(results), -X.sum(axis=1))
    assert run_blocks(sum_rows, [], X, -1, n_jobs=n_jobs) == []


def test_threads_unless_the_user_says_otherwise():
    seen = run_blocks(where, range(8), n_jobs=2)
    assert {process for _, process in seen} == {os.getpid()}


def test_processes_get_large_arrays_read_only_and_blas_one_thread():
    # Nested, so that it travels by value: workers cannot import this module.
    def describe(block, X):
        threads = [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]
        return block, os.getpid(), X.flags.writeable, threads

    X = np.zeros(400_000)
    with joblib.parallel_config(backend="loky"):
        seen = run_blocks(describe, range(4), X, n_jobs=2)
    assert [block for block, *_ in seen] == list(range(4))
    assert all(process != os.getpid() for _, process, *_ in seen)
    assert not any(writeable for _, _, writeable, _ in seen)
    assert all(set(threads) <= {1} for *_, threads in seen)


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_blas_is_limited_inside_and_restored(n_jobs):
    before = blas_threads()
    seen = run_blocks(describe, range(6), np.zeros(3), n_jobs=n_jobs)
    assert all(set(threads) <= {1} for *_, threads in seen)
    assert blas_threads() == before


@pytest.mark.usefixtures("two_threads")
def test_overlapping_limits_are_restored_by_the_last():
    before = blas_threads()
    first, second = single_threaded_blas(), single_threaded_blas()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert set(blas_threads()) <= {1}
    second.__exit__(None, None, None)
    assert blas_threads() == before


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_errors_reach_the_caller_and_limits_are_restored(n_jobs):
    before = blas_threads()
    with pytest.raises(RuntimeError, match="block 2 is bad"):
        run_blocks(fail_at_two, range(5), n_jobs=n_jobs)
    assert blas_threads() == before


def test_blocks_are_followed_one_by_one(capsys):
    progress = Progress(object(), verbose=1).start(2, name="block")
    run_blocks(
        fail_at_two, [0, 1], n_jobs=1, progress=progress, reached=lambda block: {"gap": block}
    )
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("object: block 1 of 2, gap 0, ")
    assert second.startswith("object: block 2 of 2, gap 1, ")


@given(
    counts=st.lists(st.sampled_from([0, 0, 1, 2, 5, 40, 1000, 0.25]), max_size=200),
    smallest=st.integers(1, 20),
)
def test_blocks_hold_every_class_with_positives_once(counts, smallest):
    counts = np.array(counts, dtype=np.float32)
    blocks = blocks_of_classes(counts, smallest)
    classes = np.concatenate([np.zeros(0, dtype=np.int32), *blocks])
    assert classes.dtype == np.int32
    np.testing.assert_array_equal(np.sort(classes), np.flatnonzero(counts))
    assert (np.diff(counts[classes]) <= 0).all()  # frequent ones first
    assert all(len(block) for block in blocks)
    assert len(blocks) <= -(-len(classes) // smallest) + 1


def test_blocks_are_of_about_equal_work():
    counts = np.sort(1000 / np.arange(1, 5001))[::-1]
    blocks = blocks_of_classes(counts, 16)
    assert MIN_BLOCKS <= len(blocks) <= 5000 // 16
    work = np.array([(counts[block] + CLASS_COST * counts.mean()).sum() for block in blocks])
    largest_class = counts.max() + CLASS_COST * counts.mean()
    assert work.max() <= work.mean() + 2 * largest_class
    assert len(blocks_of_classes(np.ones(10**6), 16)) == MAX_BLOCKS


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("n_ahead", [None, 3])
def test_threads_give_results_in_order_and_not_too_far_ahead(n_threads, n_ahead):
    begun = []

    def slow(i, factor):
        begun.append(i)
        time.sleep(0.002 * (i % 3))
        return factor * i, os.getpid()

    found = in_threads(slow, range(20), 3, n_threads=n_threads, n_ahead=n_ahead)
    for taken, result in enumerate(found):
        assert result == (3 * taken, os.getpid())
        assert n_ahead is None or len(begun) <= taken + n_ahead
    assert sorted(begun) == list(range(20))
    assert taken == 19


@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_error_in_a_thread_ends_the_rest(n_threads, monkeypatch):
    """What is begun at the error goes on to its end, and here that is after the rest is off."""
    begun, off = [], threading.Event()

    class Pool(ThreadPoolExecutor):
        def shutdown(self, wait=True, *, cancel_futures=False):
            super().shutdown(wait=False, cancel_futures=cancel_futures)
            off.set()
            super().shutdown(wait)

    def fail(i):
        begun.append(i)
        if i > 2:
            off.wait(60)
        return 1 // (i - 2)

    monkeypatch.setattr(_parallel, "ThreadPoolExecutor", Pool)
    found = in_threads(fail, range(100), n_threads=n_threads)
    with pytest.raises(ZeroDivisionError):
        list(found)
    assert len(begun) <= 2 + 2 * n_threads

"""Threads of a kernel, and blocks of work over joblib's backends."""

import os
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any

import joblib
import numpy as np
from threadpoolctl import ThreadpoolController

from .._kernels.common._pace import openmp_enabled
from ._callbacks import Progress
from ._cluster import in_task, is_dask, run_on_cluster

# MIN_BLOCKS blocks of classes keep the workers of one machine busy; beyond that a block is better
# large, since its last classes leave lanes idle, and more than MAX_BLOCKS only add overhead.
MIN_BLOCKS, MAX_BLOCKS = 32, 2048
# Work of a class in addition to its positives, in multiples of their mean number.
CLASS_COST = 2


def local_workers(n_jobs: int | None) -> int:
    """Count the workers that joblib runs on this machine; a cluster has its own."""
    n_workers = joblib.effective_n_jobs(n_jobs)
    # counting processors reads files of the system: a third of the time of a single sample
    return 1 if n_workers == 1 else max(1, min(n_workers, joblib.cpu_count()))


def effective_threads(n_jobs: int | None) -> int:
    """Return the number of threads a kernel may use, for `n_jobs` as in joblib.

    At least 1, and 1 where the kernels were built without OpenMP; at most the cores of this
    machine, although joblib counts the workers of a cluster.
    """
    n_threads = joblib.effective_n_jobs(n_jobs)
    if n_threads > 1 and not openmp_enabled():
        _warn_without_openmp()
        return 1
    return local_workers(n_jobs)


@cache
def _warn_without_openmp() -> None:
    """Warn once in a process."""
    warnings.warn(
        "sklearn-xc was built without OpenMP: predictions use one thread whatever n_jobs is",
        RuntimeWarning,
        stacklevel=3,
    )


class _SingleThreadedBlas:
    """Limit of BLAS to one thread while at least one caller in this process is inside."""

    # The limit is global to the process: if every thread set and restored it on its own, one that
    # entered second would restore the limit of the first for good. So callers are counted.
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._limits = None
        self._controller = None
        self._n_modules = 0

    def forget_threads(self) -> None:
        """Forget threads in a forked child: nobody else is inside, nobody holds the lock."""
        self._lock = threading.Lock()
        self._inside = 0
        if self._limits is not None:
            self._limits.restore_original_limits()
            self._limits = None

    def _libraries(self) -> ThreadpoolController:
        """Return the controller that finds and limits the BLAS libraries."""
        # The search reads the process's memory map, which takes milliseconds, and fits enter for
        # every mini-batch. A library comes in by an import: only imports make a new search.
        if self._controller is None or len(sys.modules) != self._n_modules:
            self._n_modules = len(sys.modules)
            self._controller = ThreadpoolController()
        return self._controller

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Enter the limit, for a ``with``."""
        lock = self._lock
        with lock:
            if self._inside == 0:
                self._limits = self._libraries().limit(limits=1, user_api="blas")
            self._inside += 1
        try:
            yield
        finally:
            self._leave(lock)

    def _leave(self, lock: threading.Lock) -> None:
        """Count a caller off, and lift the limit after the last one."""
        # another lock in a child that was forked since: there is nothing to restore
        if lock is not self._lock:
            return
        with lock:
            self._inside -= 1
            if self._inside == 0:
                self._limits.restore_original_limits()
                self._limits = None


single_threaded_blas = _SingleThreadedBlas()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=single_threaded_blas.forget_threads)


def _run_numbered(function: Callable, number: int, block: Any, *shared: Any) -> tuple[int, Any]:
    """Run a block, and return its number with the result."""
    # in a worker process too, which has BLAS threads of its own
    with single_threaded_blas():
        return number, function(block, *shared)


def run_blocks(
    function: Callable,
    blocks: Sequence,
    *shared: Any,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    reached: Callable[[Any], dict] | None = None,
    keep: Callable[[int, Any], Any] | None = None,
) -> list:
    """Return ``function(block, *shared)`` of every block, in their order, computed over joblib.

    Threads by default, for kernels that release the GIL; :func:`joblib.parallel_config` chooses
    processes or a cluster. `function` is at module level, where other processes find it, `blocks`
    are small descriptions of the work, such as ranges of classes. Large arrays belong into
    ``shared``, each as an argument of its own: processes get them memory mapped and read-only, each
    worker of a Dask cluster once. Inside, BLAS has one thread.

    As soon as a block is done, whichever it is, ``keep(number, result)`` is called here and returns
    what is kept instead of the result; ``reached(result)`` returns a dict for `progress`.
    """
    with single_threaded_blas():
        backend, _ = joblib.parallel.get_active_backend(prefer="threads")
        # In a task of a cluster the blocks run in threads of its worker: the other workers have
        # tasks of their own, such as fits of a search of parameters.
        if is_dask(backend) and in_task():
            with joblib.parallel_config(backend="threading"):
                return run_blocks(
                    function,
                    blocks,
                    *shared,
                    n_jobs=n_jobs,
                    progress=progress,
                    reached=reached,
                    keep=keep,
                )
        if is_dask(backend):
            found = run_on_cluster(backend.client, _run_numbered, function, blocks, shared)
        else:
            at_once = keep is not None or (progress is not None and progress.followed)
            if type(backend) is joblib.parallel.BACKENDS["threading"] and not at_once:
                n_threads = joblib.effective_n_jobs(n_jobs)
                found = _run_in_threads(function, blocks, shared, n_threads)
            else:
                found = _run_with_joblib(function, blocks, shared, n_jobs, at_once, backend)
        results = [None] * len(blocks)
        for number, result in found:
            results[number] = result if keep is None else keep(number, result)
            tell(progress, result, reached)
    return results


def _run_in_threads(
    function: Callable, blocks: Sequence, shared: tuple, n_threads: int
) -> list[tuple[int, Any]]:
    """Run blocks in threads without joblib's look for results every ten milliseconds."""
    if n_threads == 1:
        return [_run_numbered(function, q, block, *shared) for q, block in enumerate(blocks)]
    pool = ThreadPoolExecutor(n_threads)
    try:
        calls = [
            pool.submit(_run_numbered, function, number, block, *shared)
            for number, block in enumerate(blocks)
        ]
        return [call.result() for call in calls]
    finally:
        # without waiting: after Ctrl-C the caller makes those at work stop
        pool.shutdown(wait=False, cancel_futures=True)


def _run_with_joblib(
    function: Callable,
    blocks: Sequence,
    shared: tuple,
    n_jobs: int | None,
    at_once: bool,
    backend: Any,
) -> Iterator[tuple[int, Any]]:
    """Yield (number, result) of each block, with `at_once` as soon as one is done."""
    return_as, step = "list", len(blocks)
    if at_once and backend.supports_return_generator:
        return_as = "generator_unordered"
    elif at_once:  # results come all at the end: the blocks are given out in rounds
        step = 4 * max(1, joblib.effective_n_jobs(n_jobs))
    for start in range(0, len(blocks), max(1, step)):
        run = joblib.Parallel(n_jobs=n_jobs, prefer="threads", return_as=return_as)
        yield from run(
            joblib.delayed(_run_numbered)(function, number, blocks[number], *shared)
            for number in range(start, min(start + step, len(blocks)))
        )


def tell(progress: Progress | None, result: Any, reached: Callable[[Any], dict] | None) -> None:
    """Tell a `Progress`, or None, that a block is done."""
    if progress is not None and progress.followed:
        progress.begin()
        progress.end(**({} if reached is None or not progress.verbose else reached(result)))


def in_threads(
    function: Callable, items: Iterable, *shared: Any, n_threads: int, n_ahead: int | None = None
) -> Iterator:
    """Yield ``function(item, *shared)`` of every item, in order, from threads of this process.

    At most `n_ahead` calls are begun or done before their results are taken; None for all.
    """
    # Not by joblib, for calls of milliseconds that change arrays in place: it looks for results
    # every ten milliseconds, and may be configured to use processes.
    if n_threads == 1:
        yield from (function(item, *shared) for item in items)
        return
    items, begun = iter(items), deque()
    pool = ThreadPoolExecutor(n_threads)
    try:
        for item in items:
            begun.append(pool.submit(function, item, *shared))
            if len(begun) == n_ahead:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def blocks_of_classes(counts: np.ndarray, smallest: int) -> list[np.ndarray]:
    """Return the classes that have positives, in blocks of about equal work.

    `counts` are the positives of each class, or sums of their weights; a block has at least
    `smallest` classes, about, in the mean.
    """
    # Classes that are neighbours in frequency converge alike. The blocks depend on the data alone,
    # never on the number of workers, so that results do not either.
    order = np.argsort(-counts, kind="stable")
    order = order[: int((counts > 0).sum())].astype(np.int32)
    if not len(order):
        return []
    work = np.cumsum(counts[order] + CLASS_COST * counts[order].mean())
    n_blocks = min(MAX_BLOCKS, max(MIN_BLOCKS, len(order) // (8 * smallest)))
    n_blocks = max(1, min(n_blocks, -(-len(order) // smallest)))
    # of an odd number of few blocks the last keeps one of two workers waiting
    n_blocks += n_blocks > 1 and n_blocks % 2
    block = np.minimum((work - work[0]) * n_blocks // work[-1], n_blocks - 1).astype(int)
    return np.split(order, np.flatnonzero(np.diff(block)) + 1)

"""Blocks of work on a Dask cluster: data go to each worker once, all tasks out at once."""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import wait
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:  # an optional package
    from distributed import Client, Future

LOOK_EVERY = 0.5  # seconds
PATIENCE = 10  # seconds
SLOW_NETWORK = 5e6  # bytes a second
ROUNDS = 10  # of sending the data: again where the workers that had them have died
WAIT_FOR_WORKERS = 30  # seconds


def is_dask(backend: Any) -> bool:
    """Return whether a backend of joblib is that of Dask."""
    return type(backend).__name__ == "DaskDistributedBackend"


def in_task() -> bool:
    """Return whether this is a task on a worker of a cluster; needs `distributed`."""
    from distributed import get_worker

    try:
        get_worker()
    except ValueError:
        return False
    return True


def run_on_cluster(
    client: "Client",
    call: Callable[..., tuple[int, Any]],
    function: Callable,
    blocks: Sequence,
    shared: tuple,
) -> Iterator[tuple[int, Any]]:
    """Yield ``call(function, number, block, *shared)`` of each block as soon as one is done.

    `call` and `function` are at module level; `shared` is sent to each worker once.

    Raises RuntimeError if a worker has no sklearn_xc, or another version of it, or if workers die
    again and again.
    """
    # Not by joblib, which would keep two tasks a worker in flight, put several into one, and look
    # for results every ten milliseconds; where a block takes fifty, workers wait.
    require_same_version(client)
    left = dict(enumerate(blocks))
    # The first round is all, unless data are lost with workers; blocks that are done stay done.
    for _ in range(ROUNDS):
        for number, result in _round(client, call, function, left, shared):
            del left[number]
            yield number, result
        if not left:
            return
    raise RuntimeError(
        f"workers of the Dask cluster came or died {ROUNDS} times while data were sent, or with "
        "data that only they had; if they die, give them more memory, or fewer threads each"
    )


def _round(
    client: "Client",
    call: Callable[..., tuple[int, Any]],
    function: Callable,
    blocks: dict[int, Any],
    shared: tuple,
) -> Iterator[tuple[int, Any]]:
    """Yield the results of all blocks, unless the data are lost with the workers that had them."""
    from distributed import as_completed

    data = _sent(client, shared)
    if data is None:
        return
    # All at once, in their order: the scheduler gives a block whose worker dies to another one. Not
    # `pure`, for which all arguments would be hashed, and equal ones make one task.
    futures = [
        client.submit(_run, call, function, number, block, data, priority=-number, pure=False)
        for number, block in blocks.items()
    ]
    try:
        for future, result in as_completed(futures, with_results=True):
            # the scheduler cancels tasks whose data no worker has any more
            if future.cancelled():
                return
            yield result
            future.release()
    finally:
        client.cancel([future for future in futures if not future.done()])


def _sent(client: "Client", shared: tuple) -> "Future | None":
    """Return the future of data that all workers have; None if one of these cannot get them."""
    client.wait_for_workers(1, timeout=WAIT_FOR_WORKERS)
    workers, n_bytes = _workers(client), sum(getattr(value, "nbytes", 0) for value in shared)
    end = time.monotonic() + PATIENCE + n_bytes * len(workers) / SLOW_NETWORK
    # Where a worker dies or joins meanwhile, `scatter` may fail, or never return: so it runs in the
    # client's event loop, and this thread looks at the workers and the clock.
    sending = asyncio.run_coroutine_threadsafe(
        client.scatter([shared], broadcast=True, hash=False, asynchronous=True),
        client.loop.asyncio_loop,
    )
    try:
        while not wait([sending], timeout=LOOK_EVERY).done:
            if _workers(client) != workers or time.monotonic() > end:
                return None
        return sending.result()[0]
    except OSError:  # a connection that was closed
        return None
    finally:
        sending.cancel()


def _workers(client: "Client") -> set[str]:
    """Return the addresses of the workers."""
    return set(client.scheduler_info(n_workers=-1)["workers"])


def _run(
    call: Callable[..., tuple[int, Any]], function: Callable, number: int, block: Any, shared: tuple
) -> tuple[int, Any]:
    """Run a block on a worker."""
    return call(function, number, block, *map(_aligned, shared))


def _aligned(value: Any) -> Any:
    """Align an array: one out of a message may begin anywhere, and kernels read it in place."""
    return np.require(value, requirements="A") if isinstance(value, np.ndarray) else value


def require_same_version(client: "Client") -> None:
    """Raise one error for workers that cannot do the work, before anything is sent."""
    from .._version import __version__

    # a function of our own would have to be imported there to be called
    found = client.run(eval, "__import__('sklearn_xc').__version__", on_error="return")
    other = {  # a worker that has just died is no answer
        address: what
        for address, what in found.items()
        if what != __version__ and not isinstance(what, OSError)
    }
    if other:
        address, what = min(other.items())
        what = f"cannot import it ({what})" if isinstance(what, Exception) else f"has {what}"
        raise RuntimeError(
            f"{len(other)} of {len(found)} workers of the Dask cluster lack sklearn_xc "
            f"{__version__}, which is here: {address} {what}; install the same version there"
        )

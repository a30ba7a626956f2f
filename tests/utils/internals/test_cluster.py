"""Functions inside of what `utils/test_cluster.py` tests from outside."""

import contextlib
import operator

import numpy as np
import pytest

from sklearn_xc.utils import _cluster, _parallel

distributed = pytest.importorskip("distributed", reason="needs the extra dask")


@contextlib.contextmanager
def two_workers():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def client():
    with two_workers() as client:
        yield client


def test_an_error_of_a_block_comes_back(client):
    run = _cluster.run_on_cluster
    with pytest.raises(ZeroDivisionError):
        list(run(client, _parallel._run_numbered, operator.floordiv, [1, 0], (0,)))
    found = run(client, _parallel._run_numbered, operator.floordiv, [6, 4, 2], (2,))
    assert dict(found) == {0: 3, 1: 2, 2: 1}


def _called(function, number, block, *shared):
    return number, function(block, *shared)


@pytest.mark.parametrize("address", [1, 2, 3])
def test_arrays_of_a_message_are_aligned(address):
    memory = np.zeros(4 * 10 + 8, np.uint8)
    misaligned = memory[address : address + 40].view(np.float32)
    misaligned[...] = np.arange(10)
    found = _cluster._run(_called, _is_aligned, 0, None, (misaligned, "text", None))
    assert found == (0, (True, list(range(10))))


def _is_aligned(block, array, text, nothing):
    assert (text, nothing) == ("text", None)
    return array.flags.aligned, array.tolist()

"""Estimators without arguments: the bars of benchmarks/peers/without_arguments.py.

Those of accuracy and log-loss; seconds stand on the page that the benchmark writes.
"""

import sys

import pytest
from _full import rest_in_full
from conftest import ROOT

sys.path.insert(0, str(ROOT))

from benchmarks.peers import without_arguments as benchmark

SYSTEMS = [system for system in benchmark.TITLES if system not in benchmark.REFERENCES]
RAW = [f"{name}_raw" for name in benchmark.SMALL]
OTHERS = [data for data in benchmark.DATA_SETS if data not in RAW]


@pytest.fixture(scope="module", autouse=True)
def few_splits(pytestconfig):
    """Two of the five splits of small data: `make test-full` takes all (time)."""
    with pytest.MonkeyPatch.context() as patch:
        if not pytestconfig.getoption("--full"):
            patch.setattr(benchmark, "N_SPLITS", 2)
        yield


@pytest.fixture(scope="module")
def references():
    """The figures of LogisticRegression and LinearSVC, each measured once."""
    found = {}

    def of(data):
        if data not in found:
            found[data] = {r: benchmark.measure(data, r) for r in benchmark.REFERENCES}
        return found[data]

    return of


@pytest.mark.parametrize("data", rest_in_full(RAW, "wine_raw"))
@pytest.mark.parametrize("system", SYSTEMS)
def test_raw_columns(data, system, references):
    assert (
        benchmark.misses(data, benchmark.measure(data, system), references(data), timed=False) == []
    )


@pytest.mark.full
@pytest.mark.parametrize("data", OTHERS)
@pytest.mark.parametrize("system", SYSTEMS)
def test_other_data(data, system, references, data_folder):
    assert (
        benchmark.misses(data, benchmark.measure(data, system), references(data), timed=False) == []
    )

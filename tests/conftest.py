"""What all tests share: the folder of the data sets, the marker `full`, hypothesis settings."""

import os
from pathlib import Path

import hypothesis
import pytest

import sklearn_xc

ROOT = Path(__file__).resolve().parents[1]

# No deadline and no complaint about slow examples: the time of one example says more about the
# machine's other work than about the code. CI draws the same examples on every run.
hypothesis.settings.register_profile(
    "sklearn-xc",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    derandomize="CI" in os.environ,
)
hypothesis.settings.load_profile("sklearn-xc")


def pytest_addoption(parser):
    parser.addoption("--full", action="store_true", help="also run the tests marked `full`")


def pytest_report_header():
    build = os.environ.get("SKLEARN_XC_BUILD", "release")
    return f"sklearn-xc {sklearn_xc.__version__} ({build}) from {Path(sklearn_xc.__file__).parent}"


def pytest_runtest_setup(item):
    if item.get_closest_marker("full") and not item.config.getoption("--full"):
        pytest.skip("large data or a long run: `make test-full` runs it")


@pytest.fixture(scope="session")
def data_folder():
    """Folder of the shared data sets: SKLEARN_XC_DATA, or ../shared/data from the project root."""
    folder = Path(os.environ.get("SKLEARN_XC_DATA", ROOT / "../shared/data"))
    if not folder.is_dir():
        pytest.skip(f"no data sets at {folder}: SKLEARN_XC_DATA names their folder")
    return folder

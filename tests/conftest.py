"""Shared by all tests: the folder of the data sets, the marker `full`, hypothesis settings."""

import gc
import lzma
import os
from pathlib import Path
from typing import NamedTuple

import hypothesis
import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer

import sklearn_xc
from sklearn_xc import load
from sklearn_xc.datasets import load_xc
from sklearn_xc.persistence import _mixin

ROOT = Path(__file__).resolve().parents[1]


def pytest_addoption(parser):
    parser.addoption("--full", action="store_true", help="also run the tests marked `full`")


def pytest_configure(config):
    # No deadline and no complaint about slow examples: the time of one example says more about the
    # machine's other work than about the code. `make test` draws the same examples on every run:
    # it judges a change. New and more ones are looked for by `make test-full` and `make fuzz`.
    full = config.getoption("--full")
    hypothesis.settings.register_profile(
        "sklearn-xc",
        deadline=None,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
        derandomize=not full,
        max_examples=200 if full else 40,
    )
    hypothesis.settings.load_profile("sklearn-xc")


def pytest_report_header():
    build = os.environ.get("SKLEARN_XC_BUILD", "release")
    return f"sklearn-xc {sklearn_xc.__version__} ({build}) from {Path(sklearn_xc.__file__).parent}"


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Keep the garbage collector from the modules and thousands of tests, which stay (time)."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_collection_modifyitems(config, items):
    """Leave large data and long runs to `make test-full`."""
    if not config.getoption("--full"):
        full = [item for item in items if item.get_closest_marker("full")]
        config.hook.pytest_deselected(items=full)
        items[:] = [item for item in items if item.get_closest_marker("full") is None]


@pytest.fixture(autouse=True)
def saved_files_load(monkeypatch):
    """Load every file that any test saves, in both modes."""
    write = _mixin.write

    def write_and_load(path, *arguments):
        write(path, *arguments)
        if isinstance(path, (str, os.PathLike)):
            for mode in (None, "r"):
                load(path, mode)

    monkeypatch.setattr(_mixin, "write", write_and_load)


@pytest.fixture(scope="session")
def data_folder():
    """Folder of the shared data sets: SKLEARN_XC_DATA, or ../shared/data from the project root."""
    folder = Path(os.environ.get("SKLEARN_XC_DATA", ROOT / "../shared/data"))
    if not folder.is_dir():
        pytest.skip(f"no data sets at {folder}: SKLEARN_XC_DATA names their folder")
    return folder


class BibTeX(NamedTuple):
    """A part of the data set bibtex: records as bags of words, and their tags."""

    X: sparse.csr_array  # TF-IDF
    Y: sparse.csr_array
    texts: list  # the words of each record
    tags: list  # the names of its tags
    y: np.ndarray  # name of one tag a record, one of eight, where it has one of them, or "other"


@pytest.fixture(scope="session")
def bibtex(data_folder):
    """300 records of bibtex, for tests of flows through scikit-learn."""
    X, Y = load_xc(data_folder / "bibtex" / "train.txt.xz")
    rows = np.random.default_rng(0).permutation(X.shape[0])[:300]
    X, Y = sparse.csr_array(X)[rows], sparse.csr_array(Y, dtype=int)[rows]
    words, names = (
        np.array(lzma.decompress(path.read_bytes()).decode().splitlines())
        for path in (data_folder / "bibtex" / f"{what}.txt.xz" for what in ("features", "labels"))
    )
    frequent = np.argsort(-Y.sum(axis=0), kind="stable")[:8]
    has = Y[:, frequent].toarray()
    y = np.where(has.any(axis=1), names[frequent][has.argmax(axis=1)], "other")
    return BibTeX(
        TfidfTransformer().fit_transform(X).astype(np.float32),
        Y,
        [" ".join(row) for row in np.split(words[X.indices], X.indptr[1:-1])],
        [row.tolist() for row in np.split(names[Y.indices], Y.indptr[1:-1])],
        y,
    )

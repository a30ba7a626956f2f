"""Versions and settings that a report of a problem needs."""

import importlib.metadata
import os
import platform
import sys

from threadpoolctl import threadpool_info

from .._version import __version__

NEEDED = "numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl"
OPTIONAL = "pandas", "matplotlib", "hnswlib", "dask", "starlette", "uvicorn", "rich", "pyarrow"


def show_versions() -> None:
    """Print the versions of Python, the packages and the libraries of threads, for a report.

    Environment variables that begin with ``SKLEARN_XC_`` are printed too; they may hold paths.

    Examples
    --------
    >>> from sklearn_xc import show_versions
    >>> show_versions()  # doctest: +ELLIPSIS
    sklearn-xc ...
    """
    system = {
        "sklearn-xc": __version__,
        "python": sys.version.replace("\n", " "),
        "machine": f"{platform.platform()}, {os.cpu_count()} processors",
    }
    packages = {name: _version_of(name) for name in (*NEEDED, *OPTIONAL)}
    variables = {name: text for name, text in os.environ.items() if name.startswith("SKLEARN_XC_")}
    for name, value in (system | packages | variables).items():
        print(f"{name:20} {value}")
    for pool in threadpool_info():
        kind = pool.get("internal_api") or pool.get("user_api")
        print(f"{kind:20} {pool.get('version')}, {pool.get('num_threads')} threads")


def _version_of(name: str) -> str:
    """Return the version of a package by its metadata, without an import of it."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"

"""Imports of packages that only some features need."""

from importlib import import_module
from types import ModuleType

# How to get each of them. hnswlib has no wheels: ours serve machines without a compiler, and do not
# ask for it.
HOW_TO_GET = {
    "dask": 'Install it with `pip install "dask[array,distributed]"`.',
    "hnswlib": (
        "Install it with `pip install hnswlib`: it is compiled on the spot and needs a C++ "
        "compiler; set HNSWLIB_NO_NATIVE=1 for a build that runs on other machines too."
    ),
    "matplotlib": "Install it with `pip install matplotlib`.",
    "onnx": "Install it with `pip install onnx`.",
    "pandas": "Install it with `pip install pandas`.",
    "starlette": "Install it with `pip install starlette uvicorn`.",
    "uvicorn": "Install it with `pip install uvicorn`.",
}


def optional_import(name: str, feature: str) -> ModuleType:
    """Import a package of `HOW_TO_GET`, or a module of one, that one feature needs.

    ImportError says ``"<feature> needs <package>, ..."``, with the reason and how to get it.
    """
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ImportError(
            f"{feature} needs {package}, which cannot be imported here ({error}). "
            f"{HOW_TO_GET[package]}",
            name=package,
        ) from error


def is_available(name: str) -> bool:
    """Return whether a package can be imported, which is then done."""
    try:
        import_module(name)
    except ImportError:
        return False
    return True

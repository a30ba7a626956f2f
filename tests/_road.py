"""Which files of the package the samples come to in a call, by watching one."""

import sys
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path

import numpy as np
from _imports import PACKAGE
from scipy import sparse

from sklearn_xc.utils._rows import Rows

# What functions call the samples and what is made of them; and how, beside their names, arguments
# are known: as matrices of that many rows, as `Rows`, and as records that hold such.
NAMES = {"X", "rows", "problem", "data", "samples"}
# `InvertedIndex` hands the arrays of rows to the kernels that score them, block by block: calls of
# it are calls of a kernel.
KERNEL_CALLS = {"topk/_inverted_index"}


def road_of(estimator, X, y, **fit_params):
    """The files of the package that the samples come to in a fit, in order.

    A file is come to when a function or method of another file calls one of its functions with the
    samples as an argument. A method of the samples themselves brings them nowhere, and a function
    that returns to its caller is where the caller was before: so a file that is there twice was
    gone back to. Kernels are not in it.

    Parameters
    ----------
    estimator : estimator
    X, y, **fit_params : object
        Of its fit; X with other numbers of rows and columns than there are classes.

    Returns
    -------
    road : list of str
        Paths within the package, without the suffix.
    """
    return road_of_call(lambda: estimator.fit(X, y, **fit_params), X.shape[0])


def road_of_call(call, n_samples):
    """The same of any call with so many samples."""
    road = []

    def watch(frame, event, _):
        if event != "call":
            return
        place = _place(frame.f_code.co_filename)
        if place in (None, _place(frame.f_back.f_code.co_filename)) or place in KERNEL_CALLS:
            return
        brought = any(_is_samples(name, value, n_samples) for name, value in _arguments(frame))
        if brought and road[-1:] != [place]:
            road.append(place)

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return road


def n_returns(road):
    """How often a file was gone back to."""
    return len(road) - len(set(road))


@cache
def _place(filename):
    path = Path(filename)
    if not path.is_relative_to(PACKAGE) or path.suffix != ".py":
        return None
    return path.relative_to(PACKAGE).with_suffix("").as_posix()


def _arguments(frame):
    """Names and values of what a function was given, but for the object whose method it is."""
    code = frame.f_code
    n_arguments = code.co_argcount + code.co_kwonlyargcount
    n_arguments += bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)  # *args, **kwargs
    for name in code.co_varnames[:n_arguments]:
        if name not in ("self", "cls") and name in frame.f_locals:
            yield name, frame.f_locals[name]


def _is_samples(name, value, n_samples, depth=2):
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return False  # numbers of samples, or one number for each
    if isinstance(value, Rows):
        return True
    if isinstance(value, np.ndarray) or sparse.issparse(value):
        return value.shape[0] == n_samples and value.shape[1] > 1 and value.dtype.kind == "f"
    if depth and _is_record(value):
        return any(_is_samples("", part, n_samples, depth - 1) for part in _parts(value))
    return name in NAMES and value is not None


def _is_record(value):
    return isinstance(value, (tuple, list, dict)) or is_dataclass(value)


def _parts(value):
    if isinstance(value, dict):
        return value.values()
    return vars(value).values() if is_dataclass(value) else value

"""The classes that a file of a model may name, and what their attributes must be there."""

from collections.abc import Callable
from math import isfinite
from mmap import mmap
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

Test: TypeAlias = Callable[[Any], bool]  # of a value that was loaded
Class = TypeVar("Class", bound=type)

RECORDS: dict[str, type] = {}  # parts of estimators: see `record`
ESTIMATORS: dict[str, type] = {}  # see `savable`


def record(**fields: Test) -> Callable[[Class], Class]:
    """Declare, as a class decorator, that objects of the class can be saved by their ``vars``.

    `fields` has a test of a loaded value for each attribute that an object has. The names of
    attributes are part of the file format from then on. If the class has a method
    ``_check_record``, it is called after loading, once each attribute is of its kind, and raises
    ValueError where they do not fit together.
    """

    def register(cls: Class) -> Class:
        RECORDS[cls.__name__] = cls
        cls._fields_of_record = fields
        return cls

    return register


def made_record(cls: type, values: dict[str, Any]) -> Any:
    """Return an object of a record's class with these attributes, all of which have been checked.

    Raises
    ------
    ValueError
        If one is missing, unknown, of the wrong kind, or does not fit the others.
    """
    tests = cls._fields_of_record
    if values.keys() != tests.keys():
        names = sorted(map(str, values.keys() ^ tests.keys()))
        raise ValueError(f"a {cls.__name__} lacks {names}, or has them and should not")
    # without `__init__`, which would compute attributes from arguments that no file holds
    found = cls.__new__(cls)
    vars(found).update(values)
    check_record(found)
    return found


def check_record(found: Any) -> None:
    """Raise ValueError if attributes of an object of a record's class are not what they must be."""
    # Called when an object is saved as well: no file is written that could not be read.
    cls = type(found)
    for name, test in cls._fields_of_record.items():
        value = vars(found).get(name)
        require(name in vars(found) and test(value), f"{name} of a {cls.__name__}", value)
    if hasattr(found, "_check_record"):
        found._check_record()


def savable(cls: Class) -> Class:
    """Declare, as a class decorator, that a file may hold this estimator under its class's name."""
    ESTIMATORS[cls.__name__] = cls
    return cls


# Class of an estimator -> names that `require_attributes` has tests for.
DECLARED: dict[type, set[str]] = {}


def require_attributes(estimator: Any, **tests: Test) -> None:
    """Raise ValueError for attributes of a loaded estimator that are there and fail their tests.

    The names become attributes that a file may hold.
    """
    DECLARED.setdefault(type(estimator), set()).update(tests)
    for name, test in tests.items():
        if name in vars(estimator):
            value = vars(estimator)[name]
            require(test(value), f"{name} of a {type(estimator).__name__}", value)


def require(fulfilled: bool, what: str, value: Any) -> None:
    """Raise ValueError, naming a value that was loaded, unless a condition is fulfilled."""
    if not fulfilled:
        raise ValueError(f"{what} cannot be {_described(value)}")


def _described(value: Any) -> str:
    """Return a value in the words of a message."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} of shape {value.shape}"
    return f"a {type(value).__name__}, {value!r:.60}"


# ------------------------------------------------------------------------------- tests of values


def is_number(value: Any) -> bool:
    """Say whether a value is a finite number, no truth value."""
    kinds = int, float, np.integer, np.floating
    return isinstance(value, kinds) and not isinstance(value, bool) and isfinite(value)


def is_positive(value: Any) -> bool:
    """Say whether a value is a finite number above 0."""
    return is_number(value) and value > 0


def is_not_negative(value: Any) -> bool:
    """Say whether a value is a finite number from 0 on."""
    return is_number(value) and value >= 0


def is_count(value: Any) -> bool:
    """Say whether a value is a whole number from 0 on, as can be counted."""
    # below 2**53, up to which float64 holds every integer
    kinds = int, np.integer
    return isinstance(value, kinds) and not isinstance(value, bool) and bool(0 <= value < 2**53)


def is_int32(value: Any) -> bool:
    """Say whether a whole number from 0 on leaves a kernel room to count in 32 bits."""
    return is_count(value) and value < 2**30


def is_truth(value: Any) -> bool:
    """Say whether a value is True or False, of Python or NumPy."""
    return isinstance(value, (bool, np.bool_))


def is_text(value: Any) -> bool:
    """Say whether a value is a text."""
    return isinstance(value, str)


def is_labels(value: Any) -> bool:
    """Say whether a value is a vector whose items, as objects, can be looked up and compared."""
    if not isinstance(value, np.ndarray) or value.ndim != 1:
        return False
    simple = str, bytes, bool, int, float, np.generic
    return value.dtype.kind != "O" or all(isinstance(item, simple) for item in value.tolist())


def is_sparse(value: Any) -> bool:
    """Say whether a value is a sparse matrix or array."""
    return sparse.issparse(value)


def is_array(
    dtype: DTypeLike, ndim: int = 1, finite: bool = True, least: float | None = None
) -> Test:
    """Return a test for arrays of one dtype, with all numbers finite and none below `least`."""

    def test(value: Any) -> bool:
        return (
            isinstance(value, np.ndarray)
            and value.dtype == np.dtype(dtype)
            and value.ndim == ndim
            and (_is_mapped(value) or _is_within(value, finite, least))
        )

    return test


def _is_within(value: np.ndarray, finite: bool, least: float | None) -> bool:
    """Return whether numbers are finite, if they must be, and none is below the least."""
    if finite and not np.isfinite(value).all():
        return False
    return least is None or not value.size or value.min() >= least


def _is_mapped(array: Any) -> bool:
    """Return whether the numbers are in a mapped file: looking at them would read it."""
    # views of views, down to what owns the memory
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array.obj if isinstance(array, memoryview) else array, mmap)


def is_one_of(*values: Any) -> Test:
    """Return a test for some values: texts that are equal, and others that are the same object."""
    return lambda value: any(value is one or (is_text(one) and value == one) for one in values)


def is_a(*classes: type) -> Test:
    """Return a test for objects of some classes."""
    return lambda value: isinstance(value, classes)


def either(*tests: Test | None) -> Test:
    """Return a test for what fulfils one of several; None among them stands for the value None."""
    return lambda value: any(value is None if test is None else test(value) for test in tests)

"""Methods that an estimator has with some parameters only."""

from collections.abc import Callable
from functools import update_wrapper
from types import MethodType
from typing import Any


def available_if(check: Callable[[Any], None]) -> Callable[[Callable], "_Available"]:
    """Make a method available if a check passes, with the reason in the error itself.

    scikit-learn's says only that there is no such attribute, and the reason stands far above it in
    the traceback.

    Parameters
    ----------
    check : callable
        ``check(estimator)`` raises AttributeError, which says how to get the method, where there is
        none.
    """
    return lambda method: _Available(method, check)


class _Available:
    def __init__(self, method: Callable, check: Callable[[Any], None]) -> None:
        self._method, self._check = method, check
        update_wrapper(self, method)  # type: ignore[arg-type] # a descriptor

    def __get__(self, estimator: Any, owner: type | None = None) -> Callable:
        if estimator is None:
            return self._method
        try:
            self._check(estimator)
        except AttributeError as error:
            name = self._method.__name__
            raise AttributeError(
                f"This {type(estimator).__name__!r} has no attribute {name!r}: {error}"
            ) from error
        return MethodType(self._method, estimator)

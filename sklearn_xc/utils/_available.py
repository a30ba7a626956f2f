"""Methods that an estimator has with some parameters only."""

from collections.abc import Callable
from functools import update_wrapper
from types import MethodType
from typing import Any


def available_if(check: Callable[[Any], Any]) -> Callable[[Callable], "_Available"]:
    """Return a decorator of methods that are there only if ``check(estimator)`` raises no
    AttributeError, whose text says how to get the method.
    """
    # Not scikit-learn's `available_if`: its error says only that there is no such attribute, and
    # the reason stands far above it in the traceback.
    return lambda method: _Available(method, check)


class _Available:
    """Descriptor that checks an estimator before it binds a method to it."""

    def __init__(self, method: Callable, check: Callable[[Any], Any]) -> None:
        self._method, self._check = method, check
        update_wrapper(self, method)  # type: ignore[arg-type] # a descriptor

    def __get__(self, estimator: Any, owner: type | None = None) -> Callable:
        # of the class: documentation and inspection see the method itself
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

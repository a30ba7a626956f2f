"""Calls that are made to their end, however often Ctrl-C comes meanwhile."""

from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def to_the_end(action: Callable[[], Result]) -> Result:
    """Return the result of an action, called again until Ctrl-C does not end it; raise the first
    Ctrl-C then.

    The action may be broken off anywhere and called again.
    """
    interrupted = None
    while True:
        try:
            found = action()
            break
        except KeyboardInterrupt as error:
            interrupted = interrupted or error
    if interrupted is not None:
        raise interrupted
    return found

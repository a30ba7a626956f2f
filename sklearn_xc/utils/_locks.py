"""Locks that a forked child can take, whoever held them in its parent."""

import os
import threading
from weakref import WeakSet

_LOCKS = WeakSet()


class ForkSafeLock:
    """Lock whose ``held`` is for a ``with``; a forked child finds it free.

    Protected data must be whole at every moment, as a reference that is replaced is.
    """

    _make = staticmethod(threading.Lock)

    def __init__(self) -> None:
        # The lock itself goes into the ``with``: Ctrl-C between `acquire` and the end of an
        # `__enter__` written in Python would leave it locked.
        self.held = self._make()
        _LOCKS.add(self)


class ForkSafeRLock(ForkSafeLock):
    """Lock like :class:`ForkSafeLock` that the thread which holds it may take again."""

    _make = staticmethod(threading.RLock)


def _renew_in_child() -> None:
    """Replace all locks in a forked child."""
    # The thread that holds a lock in the parent is not there in the child to release it.
    for lock in _LOCKS:
        lock.held = lock._make()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_in_child)

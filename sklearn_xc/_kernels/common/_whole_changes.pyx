"""Changes of an estimator that happen as a whole or not at all.

Problem: restore the attributes of an estimator when a `with` block fails, whatever Ctrl-C does.
Python raises a pending KeyboardInterrupt at the start of each function that it interprets, the
``__exit__`` of a context manager included: a second Ctrl-C would skip the restoration. Compiled
methods have no such moment.

Invariant: an estimator is a key of `changing` while a thread is inside a block, and then only.
"""

from itertools import count
from threading import get_ident

changing = {}  # id of an estimator -> the thread that changes it, and the attributes of before
begun = count()  # changes that began, of any estimator


class WholeChange:
    """Context manager that restores all attributes of an estimator if its block fails.

    Parameters
    ----------
    estimator : estimator
    kept : frozenset of str
        Attributes that keep what the block has given them.

    Raises
    ------
    RuntimeError
        On entry, if another thread changes the estimator: of two fits at once nothing whole
        would come.
    """

    def __init__(self, estimator, kept):
        self.estimator, self.kept = estimator, kept
        self.before, self.nested = None, False

    def __enter__(self):
        estimator, mine = self.estimator, get_ident()
        self.before = vars(estimator).copy()
        # Counted before it is written down, so that `as_it_is` misses no change.
        next(begun)
        # `setdefault` is one step of the interpreter: no lock, which Ctrl-C could leave held.
        thread, before = changing.setdefault(id(estimator), (mine, self.before))
        if thread != mine:
            raise RuntimeError(
                f"thread {thread} is training this {type(estimator).__name__}; train a clone in "
                "each thread"
            )
        self.nested = before is not self.before
        return self

    def __exit__(self, kind, error, trace):
        estimator = self.estimator
        try:
            if kind is not None:
                broken_off = estimator.__dict__
                estimator.__dict__ = self.before  # needs no memory
                kept = {name: broken_off[name] for name in self.kept if name in broken_off}
                if kept:
                    estimator.__dict__ = self.before | kept
        finally:
            if not self.nested:
                changing.pop(id(estimator), None)
        return False

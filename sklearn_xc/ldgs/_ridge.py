"""The ridge of LDGS: how strong it is, and its steps on one of the tables, in their metric."""

import copy
from typing import Any

import numpy as np

from .._kernels.ldgs import _row_updates
from ..softmax._full_softmax import usual_rate
from ..softmax._pilot import pilot_of, ridge_and_rate
from ._auto import LDGSCall

NO_STRENGTH, NOTHING_SETTLED = np.empty(0, dtype=np.float32), np.empty(0)
# Rows that no step touches bear the ridge when it has grown to this share of a typical one: that is
# one pass over all of them.
RIDGE_AT_ONCE = 0.01


def automatic_ridge(problem: Any, call: LDGSCall, usual: float) -> tuple[float, float]:
    """Return the ridge of alpha="auto" for all samples, in the units of the steps, and what it asks
    of the rate of steps on all classes: a factor.

    A softmax of one class a sample has what serves samples held out best, parts and all else the
    usual one. `problem` is an LDGSProblem with rows in these units.
    """
    if not problem.whole or problem.multilabel or call.params.loss != "cross_entropy":
        return usual, 1.0
    samples = problem.visited()
    pilot = pilot_of(
        problem.rows,
        problem.positives.ids,
        problem.sample_weight,
        samples,
        call.n_passes,
        call.seed,
        fit_intercept=call.params.fit_intercept,
        n_texts=problem.n_texts,
        n_threads=call.n_threads,
    )
    rate = usual_rate(len(samples), problem.n_classes)
    ridge, found = ridge_and_rate(pilot, rate, usual)
    return ridge, found / rate


class Ridge:
    """The ridge on the rows of a table: alpha for each column is its `strength`.

    A step divides the rate of a row by the root of its squared gradients so far; the ridge has to
    do the same, for else the two balance at another point than the minimum of the objective. Rows
    bear it when they are touched, for all steps since they last were; the others now and then.
    Without Adagrad, and so without `squares`, all rows have one rate, and bear it at once. `norms`
    are bounds of chunks whose last columns hold minus the squared length of the others, or none.
    """

    def __init__(
        self, table: np.ndarray, squares: np.ndarray, strength: np.ndarray, norms: np.ndarray
    ) -> None:
        self._table, self._squares, self._norms = table, squares, norms
        self._most = float(strength.max(initial=0))
        self._adaptive = len(squares) > 0
        self._strength = strength
        lazy = self._adaptive and self._most > 0
        # Row k owes alpha (now - settled[k]) / sqrt(squares[k]) of itself. Only Adagrad needs it
        # row by row; kernels take empty arrays for none.
        self._settled = np.zeros(len(table)) if lazy else NOTHING_SETTLED
        self._of_kernel = strength if lazy else NO_STRENGTH
        self._before = self._now = self._finished = 0.0  # sums of rates
        self._typical = 0.0  # root of the squares of a row, when they last were looked at

    def advance(self, rate: float) -> None:
        """Begin a step at such a rate."""
        self._before, self._now = self._now, self._now + rate

    def of_step(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, float, float]:
        """Return the ridge in the form of the kernels of a step."""
        return self._norms, self._of_kernel, self._settled, self._before, self._now

    def all_are_settled(self) -> None:
        """Note that the step has touched all rows."""
        # Adagrad's kernels settle each row that they touch. Without it steps bear no ridge.
        if self._adaptive:
            self._finished = self._now

    def is_due(self) -> bool:
        """Return whether what rows owe that were not touched is worth a pass over all."""
        # A row has to lose owed / sqrt(its squares) of itself.
        owed = (self._now - self._finished) * self._most
        return owed > RIDGE_AT_ONCE * (self._typical if self._adaptive else 1)

    def finish(self, n_threads: int) -> bool:
        """Take off all that is owed; returns whether weights changed."""
        owed, self._finished = self._now - self._finished, self._now
        if owed == 0 or self._most == 0:
            return False
        if self._adaptive:
            _row_updates.settle(
                self._table,
                self._squares,
                self._norms,
                self._of_kernel,
                self._settled,
                self._now,
                n_threads,
            )
            known = self._squares > 0
            self._typical = float(np.sqrt(self._squares[known].mean())) if known.any() else 0.0
            return True
        # w' = -alpha w over so much time, exactly.
        self._table *= np.exp(-owed * self._strength)
        if len(self._norms):
            last = self._norms[1:] - 1
            # Last columns hold minus the squared length: shrunk rows have another.
            self._table[:, last] = 0
            squares = np.add.reduceat(self._table * self._table, self._norms[:-1], axis=1)
            self._table[:, last] = -squares
        return True

    def taken_off(self, n_threads: int) -> np.ndarray:
        """Return the table without what it still owes; it stays as it is."""
        if self._now == self._finished or self._most == 0:
            return self._table
        # Callbacks ask for the model while training goes on: a copy bears what it owes.
        twin = copy.copy(self)
        twin._table, twin._settled = self._table.copy(), self._settled.copy()
        twin.finish(n_threads)
        return twin._table

    def forget_untouched(self) -> None:
        """Zero rows that never had a gradient: for them the ridge is the whole objective."""
        if self._adaptive and self._most > 0:
            self._table[self._squares == 0] = 0

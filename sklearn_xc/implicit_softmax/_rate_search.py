"""The rate search of the implicit SGD paper."""

from collections.abc import Callable, Sequence
from copy import copy
from typing import NamedTuple

import numpy as np

from ..softmax._coordinates import Weights
from ..training._convergence import warn_not_converged
from ..utils._callbacks import SILENT, Progress
from ..utils._parallel import run_blocks
from ._solvers import DivergenceError, Solver
from ._train import fit_softmax

DECADE = 2  # places
RATES = 10.0 ** (np.arange(-4 * DECADE, 4 * DECADE + 1) / DECADE)  # for samples of length 1
FIRST = [3 * DECADE, 4 * DECADE, 5 * DECADE]  # places of 0.1, 1 and 10
MOST_TRIED = 8  # three, three in one direction, two between decades
WORTH_MORE = 1e-3  # a gain of less than that, relatively, is not worth another fit


class Found(NamedTuple):
    """Result of a rate search.

    Attributes
    ----------
    rate : float
    at_end : bool
        Whether the last rate tried was still better than the one before.
    """

    rate: float
    at_end: bool


class Trials:
    """Fits of a part of the samples, each with another rate.

    `solver` is of the part and has not begun; ``loss(W, b)`` is what rates are compared by, see
    `SoftmaxData.part_for_rates`; `start` are weights to go on from, `shares` the factors on the
    rate.
    """

    def __init__(
        self, solver: Solver, loss: Callable[..., float], start: Weights | None, shares: np.ndarray
    ) -> None:
        self._solver, self._loss, self._start, self._shares = solver, loss, start, shares

    def loss(self, rate: float) -> float:
        """Return the loss of the weights at this rate; infinite where steps are not finite."""
        start = None if self._start is None else (self._start[0].copy(), self._start[1].copy())
        # A solver of its own: trials run at the same time.
        solver = copy(self._solver).begin(start)
        try:
            _, weights = fit_softmax(solver, rate, self._shares)
        except DivergenceError:
            return np.inf
        found = self._loss(*weights)
        return found if np.isfinite(found) else np.inf


def search_rate(trials: Trials, n_jobs: int | None, progress: Progress = SILENT) -> Found:
    """Return the best rate for a tenth of the samples (section 4.1), among powers of ten and of
    their root; of equal ones the smallest.

    Raises DivergenceError if every rate did.
    """
    progress = progress.before(MOST_TRIED, "rate")

    def losses(places: Sequence[int]) -> list[float]:
        return run_blocks(
            _loss_of,
            [float(RATES[p]) for p in places],
            trials,
            n_jobs=n_jobs,
            progress=progress,
            reached=lambda loss: {"loss": loss},
        )

    return climb(losses)


def _loss_of(rate: float, trials: Trials) -> float:
    return trials.loss(rate)


def climb(losses: Callable[[Sequence[int]], list[float]]) -> Found:
    """Return the place of the least loss, looked for from the middle of the grid on;
    ``losses(places)`` is not finite where a fit is not.
    """
    # From 0.1, 1 and 10 on it goes in the direction of the best for as long as that gets better,
    # and looks half a decade to both sides in the end. The paper tries all of 10^-3 ... 10^3.
    found = dict(zip(FIRST, losses(FIRST), strict=True))
    while True:
        best = _best(found)
        # None where the best lies between others that were tried.
        direction = {min(found): -1, max(found): 1}.get(best)
        if direction is None or not _gains(found, best - direction * DECADE, best):
            break
        if not 0 <= best + direction * DECADE < len(RATES):
            if not np.isfinite(found[best]):
                raise DivergenceError(f"every rate from {RATES[0]:g} to {RATES[max(found)]:g} did")
            return Found(float(RATES[best]), True)
        found[best + direction * DECADE] = losses([best + direction * DECADE])[0]
    between = [best + step for step in (-1, 1) if 0 <= best + step < len(RATES)]
    found |= zip(between, losses(between), strict=True)
    return Found(float(RATES[_best(found)]), False)


def _best(found: dict[int, float]) -> int:
    """Return the smallest place of the least loss; the lowest of all if no loss is finite."""
    best = min(found, key=lambda place: (found[place], place))
    return best if np.isfinite(found[best]) else min(found)


def _gains(found: dict[int, float], before: int, best: int) -> bool:
    """Return whether the way to the best place has still been worth a fit."""
    if not np.isfinite(found[before]):
        return True
    return found[before] - found[best] > WORTH_MORE * abs(found[best])


def searched_rate(trials: Trials, workers: int, progress: Progress) -> float:
    """Return the best rate of the first epoch on a part, in the coordinates."""
    found = search_rate(trials, workers, progress)
    if found.at_end:
        warn_not_converged(
            f"learning_rate='auto' ends with {found.rate:g} for samples of length 1, the last "
            "rate that it tries, which was better than the one before: check the scale of the "
            "features, or choose a learning_rate",
            stacklevel=5,
        )
    return found.rate

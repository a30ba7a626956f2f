"""The passes of a fit that watches samples kept apart, and its warning where they end too early."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from ..utils._callbacks import FIT_CALLER, Progress
from ._convergence import still_rose, warn_not_converged


class Passes(NamedTuple):
    """Loss of each pass, score of the samples kept apart after it, if there are any.

    `stopped` says that this score or a callback ended the passes.
    """

    losses: list[float]
    scores: list[float]
    stopped: bool


def make_passes(
    epoch: Callable[[int], float],
    numbers: range,
    progress: Progress,
    model: Any,
    score: Callable[[], float] | None,
    *,
    name: str,
    patience: int,
    advice: str,
) -> Passes:
    """Make passes with these numbers until a callback ends them, or no score of `patience` is best.

    `epoch` returns the loss of a pass; `score`, called `name`, is None where no samples are kept
    apart. Callbacks get `model`. Raises ValueError with the `advice` where weights diverge.
    """
    losses, scores, stopped = [], [], False
    for number in numbers:
        progress.begin()
        try:
            losses.append(epoch(number))
        except FloatingPointError as error:
            raise ValueError(f"{error}: {advice}, or scale the features") from error
        if score is not None:
            scores.append(score())
        n_worse = len(scores) - 1 - int(np.argmax(scores or [0]))
        reached = {"loss": losses[-1], name: scores[-1] if scores else None}
        stopped = progress.end(model, **reached) or n_worse >= patience
        if stopped:
            break
    return Passes(losses, scores, stopped)


def warn_if_still_rising(model: BaseEstimator, passes: Passes, measure: str) -> None:
    """Warn where the score of the samples kept apart still rose when `max_iter` ended a fit."""
    if passes.scores and not passes.stopped and still_rose(passes.scores):
        warn_not_converged(
            f"the {measure} of the samples kept apart was still rising within "
            f"n_iter_no_change={model.n_iter_no_change} passes when max_iter ended the fit "
            f"after {model.n_iter_}: use a larger max_iter",
            stacklevel=FIT_CALLER + 1,
        )

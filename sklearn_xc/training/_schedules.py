"""How learning rates fall, in the words of the parameter `decay` of all estimators."""

from numbers import Real
from typing import TypeVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ._rows_seen import RowsSeen

Passes = TypeVar("Passes", float, np.ndarray)
SKETCHED = 0.05  # of a pass, which counting samples by a sketch may be wrong by
# The constraint of a parameter `decay`.
DECAY = [StrOptions({"linear", "inverse"}), Interval(Real, 0, 1, closed="right")]


def share_of_rate(decay: str | float, t: Passes, n_passes: int | None = None) -> Passes:
    """Return the factor on the learning rate after t passes over the samples, counted in fractions,
    of `n_passes` in all; None for a stream, which has no last pass.
    """
    # "inverse" is 1 / (1 + t), "linear" falls to zero over the passes or, in a stream, as 1 /
    # sqrt(1 + t); a number multiplies the rate after each whole pass.
    if decay == "inverse":
        return 1 / (1 + t)
    if decay != "linear":
        return float(decay) ** np.floor(t)
    return (1 + t) ** -0.5 if n_passes is None else np.maximum(0.0, 1 - t / n_passes)


def share_of_part(decay: str | float, seen: RowsSeen) -> float:
    """Return the factor on the rate in a part of a stream, whose number of passes is not known;
    `seen` has the samples of this part.
    """
    # Each whole pass over all samples so far lowers the rate. At one rate for ever the noise of the
    # last steps would stay, and a stream would not come to what a fit comes to.
    n_before = max(0, int(seen.n_visits / max(seen.n_rows, 1) - SKETCHED))
    return share_of_rate(decay, n_before)

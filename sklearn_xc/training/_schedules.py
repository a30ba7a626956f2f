"""How learning rates fall, in the words of the parameter `decay` of all estimators."""

from numbers import Real
from typing import TypeVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ._rows_seen import RowsSeen

Passes = TypeVar("Passes", float, np.ndarray)
SKETCHED = 0.05  # of a pass, which counting rows by a sketch may be wrong by
# The constraint of a parameter `decay`.
DECAY = [StrOptions({"linear", "inverse"}), Interval(Real, 0, 1, closed="right")]


def share_of_rate(decay: str | float, t: Passes, n_passes: int | None = None) -> Passes:
    """Return the factor on the learning rate after this many passes over the samples.

    Parameters
    ----------
    decay : {"linear", "inverse"} or float
        "linear" falls to zero over `n_passes`, "inverse" is 1 / (1 + t); a number is multiplied
        with the rate after each whole pass.
    t : float, or ndarray of float
        Passes that are over, counted in fractions.
    n_passes : int, default=None
        Passes of the whole fit. None for a stream, which has no last pass: "linear" is then
        1 / sqrt(1 + t).

    Returns
    -------
    share : float or ndarray
    """
    if decay == "inverse":
        return 1 / (1 + t)
    if decay != "linear":
        return float(decay) ** np.floor(t)
    return (1 + t) ** -0.5 if n_passes is None else np.maximum(0.0, 1 - t / n_passes)


def share_of_part(decay: str | float, seen: RowsSeen) -> float:
    """Return the factor on the rate in a part of a stream, whose number of passes is not known.

    Passes over all rows so far are counted, and each whole one lowers the rate: by `decay` as in a
    fit, or, where that would be linear, as one over the root. At one rate for ever the noise of the
    last steps would stay, and a stream would not come to what a fit comes to.

    Parameters
    ----------
    decay : {"linear", "inverse"} or float
    seen : RowsSeen
        With the rows of this part.
    """
    n_before = max(0, int(seen.n_visits / max(seen.n_rows, 1) - SKETCHED))
    return share_of_rate(decay, n_before)

"""How many passes a fit makes, and the warnings of one that ended too early."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..utils._callbacks import FIT_CALLER

# With fewer steps than these no stochastic method has learnt much, however well its rate is chosen:
# small data needs more passes.
FEWEST_STEPS = 1000


def number_of_passes(max_iter: int | str, usual: int, n_samples: int, batch_size: int) -> int:
    """Return passes of ``max_iter="auto"``, the usual ones or as many as make FEWEST_STEPS steps;
    of a number that number.
    """
    if max_iter != "auto":
        return int(max_iter)
    steps_a_pass = max(1, -(-n_samples // batch_size))
    return max(usual, -(-FEWEST_STEPS // steps_a_pass))


def still_rose(scores: list[float]) -> bool:
    """Return whether scores of held-out samples, 1 at most, rose until a fit ended that had found
    no best one.
    """
    # Not where the first pass was as good as any other, or nothing is left to gain.
    best = int(np.argmax(scores))
    return best > 0 and scores[best] < 1


def warn_not_converged(message: str, stacklevel: int = FIT_CALLER) -> None:
    """Warn the caller of fit with a ConvergenceWarning.

    The message says what ended, what was reached of what was wanted, and which parameter to change;
    `stacklevel` is that of :func:`warnings.warn` called here, and FIT_CALLER suits a call inside
    `fit`.
    """
    warnings.warn(message, ConvergenceWarning, stacklevel=stacklevel + 1)

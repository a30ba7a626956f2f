"""How many passes a fit makes, and the warnings of one that ended too early."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..utils._callbacks import FIT_CALLER

# With fewer steps than these no stochastic method has learnt much, however well its rate is chosen:
# small data needs more passes.
FEWEST_STEPS = 1000


def number_of_passes(max_iter: int | str, usual: int, n_samples: int, batch_size: int) -> int:
    """Return passes of ``max_iter="auto"``: the usual ones, or as many as make FEWEST_STEPS steps.

    Parameters
    ----------
    max_iter : "auto" or int
    usual : int
        Passes that suffice on data of many mini-batches.
    n_samples : int
        That a pass visits.
    batch_size : int
        Samples of a step.

    Returns
    -------
    n_passes : int
        `max_iter` itself if it is a number.
    """
    if max_iter != "auto":
        return int(max_iter)
    steps_a_pass = max(1, -(-n_samples // batch_size))
    return max(usual, -(-FEWEST_STEPS // steps_a_pass))


def still_rose(scores: list[float]) -> bool:
    """Return whether scores of held-out samples rose until a fit ended that had found no best one.

    Parameters
    ----------
    scores : list of float
        After each pass, 1 at most; the best is too recent to end the fit.

    Returns
    -------
    rose : bool
        False where the first pass was as good as any other, or nothing is left to gain.
    """
    best = int(np.argmax(scores))
    return best > 0 and scores[best] < 1


def warn_not_converged(message: str, stacklevel: int = FIT_CALLER) -> None:
    """Warn the caller of fit with a ConvergenceWarning.

    Parameters
    ----------
    message : str
        What ended, what was reached of what was wanted, and which parameter to change.
    stacklevel : int, default=FIT_CALLER
        As in :func:`warnings.warn` called in place of this function; FIT_CALLER suits a call inside
        `fit` itself.
    """
    warnings.warn(message, ConvergenceWarning, stacklevel=stacklevel + 1)

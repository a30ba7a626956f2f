"""Sets on which U-max projects its iterates."""

from typing import NamedTuple

import numpy as np

from ._data import SoftmaxData
from ._solver_settings import SolverSettings


class Projection(NamedTuple):
    """The sets on which U-max projects (appendix A): they contain the optimum.

    Attributes
    ----------
    lowest_u, highest_u : float
    radius : float
        Of the ball of each w_k; infinite without ridge.
    """

    lowest_u: float
    highest_u: float
    radius: float


def projection(
    data: SoftmaxData,
    n_classes: int,
    settings: SolverSettings,
    squares: np.ndarray,
    total_weight: float,
) -> Projection:
    """Return the sets on which U-max projects, by lemmas 1 and 2, with a bound on u that holds with
    an intercept as well; `total_weight` is of all samples, of which `data` may be a part.
    """
    # At the optimum alpha / 2 ||W||^2 and all losses together are at most the losses of W = 0, log
    # K each (lemma 1): B_W^2 = (2 / alpha) sum_i s_i log K.
    at_zero = total_weight * np.log(n_classes)
    radius = np.sqrt(2 * at_zero / settings.alpha) if settings.alpha > 0 else np.inf
    if settings.solver != "umax":
        return Projection(-np.inf, np.inf, np.inf)
    visited = data.visited()
    lightest = data.weight[visited].min() if data.weight.size else 1.0
    # In the pairwise formulation the best u of a sample is its log-loss, which alone is at most the
    # sum of all at W = 0. Lemma 2 needs intercepts bounded like the weights.
    highest, reach = at_zero / lightest, np.inf
    if settings.alpha > 0 and not settings.intercept:
        reach = np.sqrt(squares[visited].max()) * radius
        # Lemma 2: B_u = log(1 + (K - 1) e^(2 B_x B_W)).
        highest = min(highest, np.logaddexp(0, np.log(n_classes - 1) + 2 * reach))
    if settings.raman:  # where the best u is larger by the score of the own class
        return Projection(-reach, highest + reach, radius)
    return Projection(0.0, highest, radius)

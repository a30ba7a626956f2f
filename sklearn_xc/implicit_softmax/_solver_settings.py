"""Settings of the solvers of the double sum."""

from dataclasses import dataclass

import numpy as np

from ._stream import Whole


@dataclass(frozen=True)
class SolverSettings:
    """Settings of a solver (see the parameters of ImplicitSoftmaxRegressor).

    `alpha` is that of the whole objective, and `whole` says of what the samples at hand are a part;
    None if they are all. One strength for each feature is for "exact" alone.
    """

    solver: str
    raman: bool
    batch_size: int
    n_sampled: int
    sampling: str
    alpha: float | np.ndarray
    delta: float
    intercept: float  # the constant feature of the intercepts; 0 without
    shuffle: bool
    whole: Whole | None = None

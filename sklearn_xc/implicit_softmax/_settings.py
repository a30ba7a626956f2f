"""The settings of a fit, from the parameters of ImplicitSoftmaxRegressor and what X is.

Every function takes the estimator as `model`, and reads its parameters only.
"""

from typing import Any

import numpy as np

from ..base._used_columns import moved
from ..softmax._base import BaseSoftmaxClassifier
from ..softmax._full_softmax import INTERCEPT
from ..training._convergence import warn_not_converged
from ..utils._coordinates import Coordinates
from ._solver_settings import SolverSettings
from ._stream import Stream
from ._train import PUBLISHED_SIZES, WITH_RAMAN, chosen_solver


def settings_of(
    model: BaseSoftmaxClassifier, entries_a_row: float, before: str | None
) -> SolverSettings:
    """Return the solver's settings but for `inside_of`; refuses what it does not have."""
    solver = _solver_of(model, entries_a_row, before)
    n, m = PUBLISHED_SIZES[solver]
    n = n if model.batch_size is None else model.batch_size
    if solver == "exact" and model.n_sampled_classes is not None:
        raise ValueError(
            f"n_sampled_classes={model.n_sampled_classes!r}: solver='exact' draws no classes; "
            "leave it at None"
        )
    m = m if model.n_sampled_classes is None else model.n_sampled_classes
    if model.formulation == "raman" and solver not in WITH_RAMAN:
        raise ValueError(
            f"formulation='raman' is for solver='umax' and solver='sgd', not for "
            f"solver={model.solver!r}"
        )
    # Proposition 4, which can weight its one class; Proposition 3 draws for the whole mini-batch.
    singly = solver == "implicit" and (n, m) == (1, 1)
    sampling = model.sampling
    if sampling is None:
        sampling = "frequency" if singly else "uniform"
    only_uniform = solver in ("implicit", "exact") and not singly
    if only_uniform and sampling != "uniform":
        raise ValueError(
            f"sampling={model.sampling!r} is not for solver='exact', nor for solver='implicit' "
            "with mini-batches (batch_size or n_sampled_classes above 1)"
        )
    return SolverSettings(
        solver=solver,
        raman=model.formulation == "raman",
        batch_size=n,
        n_sampled=m,
        sampling=sampling,
        alpha=0.0,
        delta=float(model.delta),
        intercept=0.0,
        shuffle=bool(model.shuffle),
    )


def _solver_of(model: BaseSoftmaxClassifier, entries_a_row: float, before: str | None) -> str:
    """Return the solver, where it is "auto" the one of the calls before, or the one that is worth
    its cost.
    """
    if model.solver != "auto":
        return model.solver
    if before is not None:
        return before
    if model.n_sampled_classes is not None or model.sampling not in (None, "uniform"):
        return "implicit"
    return chosen_solver(len(model.classes_), entries_a_row)


def inside_of(
    model: BaseSoftmaxClassifier, empty: bool, stream: Stream, ridge: float
) -> dict[str, Any]:
    """Return the strength of the ridge and the constant feature in scaled coordinates; `empty`
    samples have no entries, and `ridge` is the one of "auto".
    """
    alpha = ridge
    if model.alpha != "auto":
        # w = v / scale, so that alpha ||w||^2 is (alpha / scale^2) ||v||^2.
        alpha = float(model.alpha) / np.square(stream.coordinates.scale)
    if not model.fit_intercept:
        return {"alpha": alpha, "intercept": 0.0}
    if model.intercept_scaling != "auto":
        intercept = float(model.intercept_scaling) / stream.typical
    else:
        intercept = 1.0 if empty else INTERCEPT
    return {"alpha": alpha, "intercept": intercept}


def alpha_outside(
    model: BaseSoftmaxClassifier, coordinates: Coordinates, ridge: float
) -> float | np.ndarray:
    """Return the ridge on weights for X as it is."""
    if model.alpha != "auto":
        return float(model.alpha)
    alpha = ridge * np.square(coordinates.scale)
    if not np.ndim(alpha) or model._columns is None:
        return alpha
    return moved(alpha, model._columns, np.arange(model.n_features_in_))


def divergence(model: BaseSoftmaxClassifier, solver: str, error: Exception) -> str:
    """Return the advice for steps that left the range of float32."""
    return (
        f"solver={solver!r} with learning_rate={model.learning_rate!r} left the range of float32 "
        f"({error}): use a smaller learning_rate, solver='implicit', or scale the features"
    )


def warn_above_start(reached: float, n_classes: int, solver: str) -> None:
    """Warn where the objective of some samples ended above that of weights of zero."""
    if not reached <= 1.01 * np.log(n_classes):
        warn_not_converged(
            f"the objective a sample is {reached:.4g}, above the {np.log(n_classes):.4g} of "
            f"weights of zero from which solver={solver!r} started: use a smaller learning_rate, "
            "or more epochs (max_iter)",
            stacklevel=4,
        )

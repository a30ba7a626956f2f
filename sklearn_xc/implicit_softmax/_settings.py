"""The settings of a fit, from the parameters of ImplicitSoftmaxRegressor and what X is.

Every function takes the estimator as `model`, and reads its parameters only.
"""

import numpy as np
from scipy import sparse

from ..utils._convergence import warn_not_converged
from ..utils._coordinates import Coordinates
from ..utils._matrix import as_rows
from ._coordinates import coordinates_for
from ._sizes import scale_of
from ._solvers import Settings
from ._stream import Stream
from ._train import PUBLISHED, WITH_RAMAN, chosen_solver

SHARE_OF_LENGTH = 0.1  # of a row, for the constant feature of the intercepts
RIDGE = 0.05  # of alpha="auto", on rows of length 1


def settings_of(model, X, before):
    """The solver's settings but for `inside_of`; refuses what it does not have."""
    solver = _solver_of(model, X, before)
    n, m = PUBLISHED[solver]
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
    return Settings(
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


def _solver_of(model, X, before):
    """The solver, where it is "auto" that of the calls before or the cheaper for its worth."""
    if model.solver != "auto":
        return model.solver
    if before is not None:
        return before
    if model.n_sampled_classes is not None or model.sampling not in (None, "uniform"):
        return "implicit"
    entries = X.nnz / max(X.shape[0], 1) if sparse.issparse(X) else X.shape[1]
    return chosen_solver(len(model.classes_), entries)


def stream_of(model, X, sample_weight, settings, before):
    """The record with these samples after those of the calls before, in coordinates that suit all.

    Where one call brings all rows they are those of a fit.
    """
    columns, rows = settings.solver == "exact" or model.alpha == "auto", as_rows(X)

    def of_fit():
        return {
            "coordinates": coordinates_for(X, sample_weight, columns, model.fit_intercept),
            "typical": coordinates_for(X, sample_weight, False, False).scale,
        }

    stream = before
    if before is None:
        stream = Stream(Coordinates())
        stream = stream.replaced(**(found := of_fit()), length=found["typical"])
    stream = stream.with_samples(X, rows, sample_weight, settings.solver == "exact")
    if before is None:
        return stream
    n_visited = X.shape[0] if sample_weight is None else np.count_nonzero(sample_weight)
    if stream.seen.n_rows <= n_visited:
        return stream.replaced(**of_fit())
    dense = not sparse.issparse(X)
    if stream.sizes is None:
        return stream if dense or stream.coordinates.mean is None else stream.replaced(**of_fit())
    return stream.replaced(
        coordinates=stream.sizes.coordinates(dense, columns, model.fit_intercept),
        typical=scale_of(stream.sizes.lengths),
    )


def inside_of(model, X, stream):
    """Strength of the ridge and constant feature, for weights and samples inside."""
    alpha = RIDGE
    if model.alpha != "auto":
        alpha = float(model.alpha) / np.square(stream.coordinates.scale)
    if not model.fit_intercept:
        return {"alpha": alpha, "intercept": 0.0}
    if model.intercept_scaling != "auto":
        intercept = float(model.intercept_scaling) / stream.typical
    else:
        empty = not np.any(X.data if sparse.issparse(X) else X)
        intercept = 1.0 if empty else SHARE_OF_LENGTH
    return {"alpha": alpha, "intercept": intercept}


def alpha_outside(model, coordinates):
    """The ridge on weights for X as it is."""
    if model.alpha != "auto":
        return float(model.alpha)
    return RIDGE * np.square(coordinates.scale)


def divergence(model, solver, error):
    """Advice for steps that left the range of float32."""
    return (
        f"solver={solver!r} with learning_rate={model.learning_rate!r} left the range of float32 "
        f"({error}): use a smaller learning_rate, solver='implicit', or scale the features"
    )


def warn_above_start(reached, n_classes, solver):
    """Warn where the objective of some samples ended above that of weights of zero."""
    if not reached <= 1.01 * np.log(n_classes):
        warn_not_converged(
            f"the objective a sample is {reached:.4g}, above the {np.log(n_classes):.4g} of "
            f"weights of zero from which solver={solver!r} started: use a smaller learning_rate, "
            "or more epochs (max_iter)",
            stacklevel=4,
        )

"""The fit of ImplicitSoftmaxRegressor: which solver, how many passes, which rate.

All of it works in coordinates in which samples have length 1 about (see `_coordinates`), so that
one grid of rates, one ridge and one constant feature suit data of any scale.
"""

from collections.abc import Callable

import numpy as np

from ..softmax._base import BaseSoftmaxClassifier
from ..softmax._coordinates import Weights
from ..softmax._full_softmax import BATCH, ROUNDED_FROM, usual_rate
from ..training._convergence import number_of_passes
from ..training._schedules import share_of_rate
from ..utils._callbacks import SILENT, Progress
from ..utils._parallel import single_threaded_blas
from ._data import FEWEST_A_CLASS, FEWEST_ROWS
from ._implicit_batches import ImplicitBatches
from ._solver_settings import SolverSettings
from ._solvers import ExactBatches, SampledBatches, SingleSteps, Solver
from ._stream import Stream

# Section 4.1: samples and classes of a mini-batch.
PUBLISHED_SIZES = {
    "implicit": (1, 1),
    "umax": (1, 1),
    "sgd": (1, 1),
    "one_vs_each": (100, 5),
    "nce": (100, 5),
    "importance": (100, 5),
    "exact": (BATCH, 0),
}
STEPPED_SINGLY = "implicit", "umax", "sgd"
WITH_RAMAN = "umax", "sgd"
# Passes of max_iter="auto" on data of a thousand steps a pass: the published 50, or fewer where a
# step sees all classes.
USUAL_PASSES = dict.fromkeys(PUBLISHED_SIZES, 50) | {"exact": 10}
# Rates of a stream, of which nothing is known when its first part comes.
RATES_OF_STREAMS = dict.fromkeys(PUBLISHED_SIZES, 1.0) | {"umax": 0.1, "sgd": 0.01}
# Operations of a step on one sample and one class, in addition to four for each entry of a sample,
# and how many times the operations of "implicit" those of "exact" may be for the sake of the better
# model.
STEP_COST = 100
WORTH = 2000


def chosen_solver(n_classes: int, entries_a_row: float) -> str:
    """Return the solver of "auto": "exact", unless it takes very many times the operations of
    "implicit".
    """
    # Operations are counted over the usual passes of both. A step of "exact" sees all classes where
    # one of "implicit" sees two, and is worth far more; only where classes are some ten thousands
    # does it take too long. Rounding spares most of the steps, see `_full_softmax`.
    rounded = n_classes >= ROUNDED_FROM
    exact = (1.5 if rounded else 3) * (entries_a_row + 1) * n_classes * USUAL_PASSES["exact"]
    singly = (STEP_COST + 4 * entries_a_row) * USUAL_PASSES["implicit"]
    return "exact" if exact <= WORTH * singly else "implicit"


def is_searched(solver: str, n_visited: int, n_classes: int) -> bool:
    """Return whether rates are tried on a part of the samples before a fit."""
    # A part makes fewer steps, for which higher rates look better than they are for all samples: on
    # bibtex exact steps took 100 with one seed and 3.2 with another. Theirs is known, but where the
    # part is all samples, and some hundred classes at most.
    few = n_visited <= FEWEST_ROWS and FEWEST_A_CLASS * n_classes <= FEWEST_ROWS
    return solver != "exact" or few


def known_rate(
    model: BaseSoftmaxClassifier,
    settings: SolverSettings,
    stream: Stream,
    start: Weights | None,
    part: bool,
    sizes: tuple[int, int],
) -> float:
    """Return the rate of the first epoch in scaled coordinates, before any is searched; `sizes` are
    the numbers of samples visited and of classes.
    """
    if model.learning_rate != "auto":
        # In coordinates x / c a step of rate r c^2 is one of rate r on the original samples.
        return float(model.learning_rate) * stream.typical**2
    if not part:
        return usual_rate(*sizes, settings.batch_size)
    if start is not None and hasattr(model, "learning_rate_"):  # of a fit, or a part
        return model.learning_rate_ * stream.length**2
    return RATES_OF_STREAMS[settings.solver]


def solver_class(settings: SolverSettings) -> type[Solver]:
    if settings.solver == "exact":
        return ExactBatches
    if settings.solver in STEPPED_SINGLY and (settings.batch_size, settings.n_sampled) == (1, 1):
        return SingleSteps
    return ImplicitBatches if settings.solver == "implicit" else SampledBatches


def passes(max_iter: int | str, settings: SolverSettings, n_visited: int) -> int:
    """Return the epochs of a fit."""
    return number_of_passes(max_iter, USUAL_PASSES[settings.solver], n_visited, settings.batch_size)


def shares_of_epochs(decay: str | float, n_epochs: int) -> np.ndarray:
    """Return the factor on the rate in each epoch, ndarray (n_epochs,)."""
    # All steps of an epoch have one rate, that of its middle.
    middle = 0.5 if decay == "linear" else 0.0
    return share_of_rate(decay, np.arange(n_epochs) + middle, n_epochs)


def fit_softmax(
    solver: Solver,
    rate: float,
    shares: np.ndarray,
    *,
    first_epoch: int = 0,
    on_epoch: Callable[[Callable[[], Weights]], float | None] | None = None,
    progress: Progress = SILENT,
    outside: Callable[..., Weights] | None = None,
) -> tuple[int, Weights]:
    """Train for an epoch at each share of the rate, and return the number of epochs made, fewer if
    a callback stopped them, and the weights.

    The solver has begun. ``on_epoch(weights)``, with a function that returns weights, gives the
    loss to report; `outside` maps weights to the original coordinates for callbacks.
    """
    with single_threaded_blas():
        for epoch, share in enumerate(shares):
            progress.begin()
            solver.epoch(first_epoch + epoch, rate * share)
            loss = None if on_epoch is None else on_epoch(solver.weights)
            if progress.end(lambda: outside(*solver.weights()), loss=loss):
                break
        return epoch + 1, solver.weights()

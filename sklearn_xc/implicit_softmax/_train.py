"""The fit of ImplicitSoftmaxRegressor: which solver, how many passes, which rate.

All of it works in coordinates in which rows have length 1 about (see `_coordinates`), so that one
grid of rates, one ridge and one constant feature suit data of any scale.
"""

from dataclasses import replace

import numpy as np

from ..softmax._full_softmax import BATCH, BEYOND, ROUNDED_FROM, ExactSteps
from ..topk._feature_major import feature_major, n_places, padded_intercept, untouched_zeros
from ..utils._callbacks import SILENT
from ..utils._convergence import number_of_passes
from ..utils._matrix import squared_norms
from ..utils._parallel import single_threaded_blas
from ..utils._random import stream
from ..utils._schedules import share_of_rate
from ._implicit_batches import ImplicitBatches
from ._solvers import Data, DivergenceError, SampledBatches, SingleSteps, Solver

# Section 4.1: samples and classes of a mini-batch.
PUBLISHED = {
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
USUAL_PASSES = dict.fromkeys(PUBLISHED, 50) | {"exact": 10}
# Rates of a stream, of which nothing is known when its first part comes.
RATES_OF_STREAMS = dict.fromkeys(PUBLISHED, 1.0) | {"umax": 0.1, "sgd": 0.01}
# Operations of a step on one sample and one class, beside four for each entry of the row, and how
# many times the operations of "implicit" those of "exact" may be for the sake of the better model.
STEP_COST = 100
WORTH = 500
SEARCH = 1.7  # a fit with its rate search, in fits
LONGEST_MOVE = 16.0  # of a score, in a step on its own row


def chosen_solver(n_classes, entries_a_row):
    """The solver of "auto": "exact", unless it takes very many times the operations of "implicit".

    They are counted over the usual passes of both. A step of "exact" sees all classes where one of
    "implicit" sees two, and is worth far more; only where classes are some ten thousands does it
    take too long.

    Parameters
    ----------
    n_classes : int
    entries_a_row : float
        Non-zeros of a sparse row, features of a dense one.
    """
    rounded = n_classes >= ROUNDED_FROM  # which spares most of the steps, see `_full_softmax`
    exact = (1.5 if rounded else 3) * (entries_a_row + 1) * n_classes * USUAL_PASSES["exact"]
    singly = (STEP_COST + 4 * entries_a_row) * USUAL_PASSES["implicit"]
    return "exact" if exact <= WORTH * singly else "implicit"


class ExactBatches(Solver):
    """Mini-batch steps on the softmax over all classes."""

    def __init__(self, data, n_classes, start, settings, seed, n_threads, stop):
        super().__init__(data, n_classes, start, settings, seed, n_threads, stop)
        entries, alpha = self.whole.entries, settings.alpha
        if entries is None:
            alpha = alpha * self.share
        self.steps = ExactSteps(
            data.rows, data.y, data.weight if data.weight.size else None, self.W, self.b,
            self.visited, alpha=alpha, intercept=settings.intercept, adaptive=False,
            n_threads=n_threads, stop=stop, entries=entries,
        )  # fmt: skip
        self.squares = squared_norms(data.rows)
        if data.weight.size:
            self.squares *= data.weight

    @staticmethod
    def by_feature(dense):
        return True

    def initial(self, start, n_classes, n_features):
        if start is None:
            return (
                untouched_zeros((n_features, n_places(n_classes))),
                padded_intercept(np.zeros(n_classes), BEYOND),
            )
        return feature_major(start[0]), padded_intercept(start[1], BEYOND)

    def epoch(self, number, rate):
        self.check_stop()
        seed = stream(self.seed, "rounding", number).integers(2**63)
        loss = self.steps.epoch(
            self.order(number), self.settings.batch_size, rate, seed, self.weights_at(rate)
        )
        if not np.isfinite(loss):
            raise DivergenceError(f"a step of epoch {number + 1} was not finite")

    def weights_at(self, rate):
        """Weights of the samples that keep a step from moving the scores of its own row far.

        A score moves by up to the rate times ||x||^2. The log-loss asks for no more than some tens;
        what goes beyond, on rows much longer than the others, throws all other scores off. An
        implicit step would stop by itself. As the rate falls the weights come back.
        """
        moves = rate * self.squares
        if not moves.size or moves.max() <= LONGEST_MOVE:
            return None
        weight = self.data.weight if self.data.weight.size else np.ones(len(moves), np.float32)
        return (weight * np.minimum(1, LONGEST_MOVE / np.maximum(moves, 1e-30))).astype(np.float32)

    def weights(self):
        self.steps.finish()
        return self.W[:, : self.n_classes].T, self.b[: self.n_classes]


def solver_class(settings):
    if settings.solver == "exact":
        return ExactBatches
    if settings.solver in STEPPED_SINGLY and (settings.batch_size, settings.n_sampled) == (1, 1):
        return SingleSteps
    return ImplicitBatches if settings.solver == "implicit" else SampledBatches


def passes(max_iter, settings, n_visited):
    """The epochs of a fit."""
    return number_of_passes(max_iter, USUAL_PASSES[settings.solver], n_visited, settings.batch_size)


def shares_of_epochs(decay, n_epochs):
    """The factor on the rate in each epoch, ndarray (n_epochs,)."""
    middle = 0.5 if decay == "linear" else 0.0  # of an epoch, all of which has one rate
    return share_of_rate(decay, np.arange(n_epochs) + middle, n_epochs)


def fit_softmax(
    data, n_classes, start, settings, rate, *, shares, first_epoch, seed, n_threads, stop, on_epoch,
    progress=SILENT, outside=None, u=None, draws=None,
):  # fmt: skip
    """Train for an epoch at each share of the rate; `on_epoch(epoch, weights)` gives its loss.

    `outside` maps weights for callbacks; `u` are auxiliary variables to start from, and `draws` is
    where those of single steps go on.

    Returns
    -------
    n_epochs : int
        Those made: fewer than there are shares if a callback stopped them.
    solver : Solver
    """
    solver = solver_class(settings)(data, n_classes, start, settings, seed, n_threads, stop)
    if u is not None:
        solver.u = u
    if draws is not None:
        solver.draws = draws.copy()
    with single_threaded_blas():
        for epoch, share in enumerate(shares):
            progress.begin()
            solver.epoch(first_epoch + epoch, rate * share)
            loss = on_epoch(epoch, solver.weights)
            if progress.end(lambda: outside(*solver.weights()), loss=loss):
                break
        return epoch + 1, solver


def train_part(rows, y, sample_weight, alpha, rate, *, n_classes, start, settings, **options):
    """A run of the rate search, on a part of the rows."""
    _, solver = fit_softmax(
        Data(rows, y, sample_weight),
        n_classes,
        None if start is None else tuple(part.copy() for part in start),
        replace(settings, alpha=alpha, whole=None),
        rate,
        **options,
        first_epoch=0,
        n_threads=1,
        on_epoch=lambda epoch, weights: None,
    )
    return solver.weights()

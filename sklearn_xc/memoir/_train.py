"""The run function of MEMOIR: passes of batches, each with shrinking, projection or truncation."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from .._kernels.memoir import _steps as kernel
from ..training._epochs import Passes, make_passes
from ..utils._callbacks import Progress
from ..utils._memory_limit import require_memory
from ..utils._parallel import single_threaded_blas
from ..utils._random import stream
from ..utils._rows import Rows
from ._growing_weights import GrowingWeights, Iterates
from ._violator_search import AllClasses, IndexedClasses, SearchSettings, make_search

BYTES_OF_A_FEATURE = 32  # that no class uses


@dataclass(frozen=True)
class MemoirProblem:
    """The data of a call, in the coordinates of the fit."""

    rows: Rows
    codes: np.ndarray  # int32 (n_samples,)
    sample_weight: np.ndarray  # float32 (n_samples,), or of size 0 for 1
    n_classes: int
    mean_weight: float  # of the samples of all calls
    n_before: int = 0  # samples visited in calls before
    shuffled: bool = True  # whether passes visit samples in random order, not in that of the rows


@dataclass(frozen=True)
class MarginSettings:
    """The parameters of the passes, as in the estimator, without "auto"."""

    penalty: str
    alpha: float
    rho: float
    batch_size: float  # that eta0, eta_step and alpha * eta are meant for; a call may have fewer
    reduction: str
    eta0: float
    eta_step: float
    sampling: str
    average: bool
    bias: float  # the value of a feature that all samples have, for the intercept; 0 for none
    n_iter_no_change: int = 5


@dataclass(frozen=True)
class MemoirOutcome:
    """Result of the passes."""

    iterates: Iterates
    passes: Passes
    n_scored: float  # mean number of classes scored for a sample
    search: str  # that ran: "exact", "hnsw" or "lsh"
    recall: float


def require_lists_of_features(n_classes: int, n_features: int) -> None:
    """Refuse lists of weights that do not fit into memory while they are empty."""
    require_memory(
        BYTES_OF_A_FEATURE * n_features + 4 * n_classes,
        f"fit: empty lists of the weights of {n_features} features",
        "use fewer features (VarianceThreshold() before it drops those that no sample has; a "
        "feature selection, or a smaller hashing, others)",
    )


def fit_memoir(
    problem: MemoirProblem,
    settings: MarginSettings,
    search_settings: SearchSettings,
    start: Iterates | None,
    *,
    n_passes: int,
    seed: int,
    n_jobs: int | None,
    progress: Progress,
    validate: Callable[[GrowingWeights], float] | None = None,
) -> MemoirOutcome:
    """Make passes over the samples, from `start` on, until the score of `validate` stops rising.

    `n_jobs` are the threads of the index.
    """
    n_features = problem.rows.shape[1]
    weights = GrowingWeights(
        problem.n_classes, n_features, settings.average, start, problem.rows.dense
    )
    steps = MemoirSteps(problem, weights, settings, seed)
    search = make_search(
        problem.rows,
        problem.codes,
        settings.bias,
        weights,
        search_settings,
        n_jobs=n_jobs,
        seed=seed,
    )
    steps.search = search
    with single_threaded_blas():  # once, not with every batch of queries
        passes = make_passes(
            lambda number: steps.epoch(number, problem.n_before + number * len(problem.codes)),
            range(n_passes),
            progress,
            weights,
            None if validate is None else partial(validate, weights),
            name="held_out_macro_F1",
            patience=settings.n_iter_no_change,
            advice=f"use a smaller eta0 (here {settings.eta0:g})",
        )
    return MemoirOutcome(
        weights.save(),
        passes,
        steps.n_scored / max(1, steps.n_visited),
        search.search_,
        search.recall_,
    )


class MemoirSteps:
    """Passes over samples that change weights in place.

    Attributes
    ----------
    search : AllClasses or IndexedClasses
        ``candidates(samples)`` gives classes to look for the most violating ones in, int32
        (n_samples, n), with n = 0 for all, beside those that are in ``shared`` then; it is called
        for at most ``samples_at_once``, and then
        told by ``changed(classes)`` which classes their steps may have moved.
    """

    def __init__(
        self, problem: MemoirProblem, weights: GrowingWeights, settings: MarginSettings, seed: int
    ) -> None:
        self.problem, self.weights, self.settings = problem, weights, settings
        self.search: AllClasses | IndexedClasses = AllClasses()
        self.seed = seed
        self.y, self.sample_weight = problem.codes, problem.sample_weight
        rows, bias, weight = problem.rows, settings.bias, problem.sample_weight
        self.samples = kernel.Samples(
            rows.indptr,
            rows.indices,
            rows.data,
            rows.dense,
            problem.codes,
            weight,
            rows.squared_norms() + bias**2,
            bias,
            problem.mean_weight,
        )
        counted = np.flatnonzero(weight) if weight.size else np.arange(len(self.y))
        self.visited = counted.astype(np.int32)
        self.stop = np.zeros(1, dtype=np.int32)
        self.n_scored = self.n_visited = 0

    def order(self, epoch: int) -> np.ndarray:
        """Return the samples of a pass: each once, or each class equally often."""
        rng = stream(self.seed, "pass", epoch)
        if self.settings.sampling == "uniform":
            return rng.permutation(self.visited) if self.problem.shuffled else self.visited
        by_class = self.visited[np.argsort(self.y[self.visited], kind="stable")]
        present, counts = np.unique(self.y[by_class], return_counts=True)
        ends = np.cumsum(counts)
        drawn = rng.integers(len(present), size=len(self.visited))
        return by_class[ends[drawn] - 1 - rng.integers(counts[drawn])]

    def epoch(self, number: int, n_before: int) -> float:
        """Make a pass, and return the mean loss of the samples, each before its step.

        `n_before` samples were visited before, in passes and calls.
        """
        order = self.order(number)
        n_batches = max(1, round(len(order) / self.settings.batch_size))
        loss = 0.0
        for samples in np.array_split(order, n_batches):
            loss += self.batch(samples, n_before / self.settings.batch_size)
            n_before += len(samples)
        counted = self.sample_weight[order].sum(dtype=np.float64) if self.sample_weight.size else 0
        return loss / (counted or len(order))

    def batch(self, samples: np.ndarray, t: float) -> float:
        """Run one round of the outer loop of Algorithm 1 or 2, and return the sum of the losses."""
        s, weights = self.settings, self.weights
        eta = s.eta0 / (1 + s.eta_step * t)
        # A batch of fewer samples than the settings speak of, as a part of the data may be, carries
        # its share of the penalty and of the time t, so that parts add up to the whole.
        share = len(samples) / s.batch_size
        if s.penalty == "l2":
            weights.shrink(1 - s.alpha * eta * share)  # W^t := (1 - alpha eta_t) W^(t-1)
        # The printed step lacks 1 / rho, the slope of the hinge of eq. 10, and 1 / |b|, the mean
        # over the batch: the first is always taken, the second with reduction="mean".
        rate = eta / s.rho / self.problem.mean_weight
        if s.reduction == "mean":
            rate /= s.batch_size
        violators = np.empty(len(samples), dtype=np.int32)
        loss = 0.0
        size = self.search.samples_at_once
        for start in range(0, len(samples), size):
            part = slice(start, start + size)
            loss += self.visit(samples[part], rate, violators[part], start > 0, t)
        if s.penalty == "l2":
            # The optimum of eq. 10 lies in this ball: by strong duality alpha ||W||^2 <= 1 there.
            weights.project(1 / np.sqrt(s.alpha) if s.alpha > 0 else np.inf)
        else:
            # R_t holds y and r of every sample, whether it violates the margin or not; the penalty
            # of all C classes is laid on those of R_t, C / |R_t| times as hard.
            touched = np.union1d(self.y[samples], violators)
            weights.truncate(touched, weights.shape[0] / len(touched) * s.alpha * eta * share)
        if s.average:
            weights.count_iterates(*self.shares_of_average(samples))
        return loss

    def shares_of_average(self, samples: np.ndarray) -> tuple[float, float]:
        """Return how much the first sample, and all, count in the average of the iterates."""
        if not self.sample_weight.size:
            return 1 / self.problem.mean_weight, len(samples) / self.problem.mean_weight
        weight = self.sample_weight[samples].astype(np.float64) / self.problem.mean_weight
        return float(weight[0]), float(weight.sum())

    def visit(
        self, samples: np.ndarray, rate: float, violators: np.ndarray, continued: bool, t: float
    ) -> float:
        """Take the steps of some samples of batch t, and return the sum of their losses."""
        weights = self.weights
        loss, n_scored, bad = kernel.run_batch(
            self.samples,
            samples,
            self.search.candidates(samples),
            self.search.shared,
            weights.lists,
            weights.state,
            weights.scores,
            rate,
            self.settings.rho,
            violators,
            continued,
            self.stop,
        )
        if bad >= 0:
            raise FloatingPointError(f"the margin of a sample in batch {int(t) + 1} was not finite")
        self.search.changed(self.y[samples], violators)
        self.n_scored += n_scored
        self.n_visited += len(samples)
        return loss

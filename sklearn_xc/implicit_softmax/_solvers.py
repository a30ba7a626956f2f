"""The softmax as a double sum over samples and classes: passes of its stochastic solvers.

A solver object holds the weights in its own form; ``epoch(number, rate)`` makes one pass over the
samples and ``weights()`` gives class-major weights and intercepts. The rate multiplies the gradient
of each sample's term; the ridge of a step is alpha divided by the number of steps of a pass over
the samples of all calls, so that such a pass adds up to `rate` times the gradient of the whole
objective.
"""

from typing import Self

import numpy as np

from .._kernels.common._pace import Pace
from .._kernels.implicit_softmax import _coefficients, _single_steps
from .._kernels.softmax import _sampled_classes
from ..softmax._class_sampling import SAMPLINGS, ClassSampler, alias_table
from ..softmax._coordinates import Weights
from ..softmax._full_softmax import ExactSteps, exact_weights
from ..topk._feature_major import feature_major, n_places, untouched_zeros
from ..training._lazy_scale import fold
from ..utils._random import stream
from ._data import NONE, SoftmaxData
from ._projection import projection
from ._solver_settings import SolverSettings

NO_DOUBLES = np.empty(0)
NO_DRAWS = np.empty(0, dtype=np.uint64)
METHODS = {"implicit": 0, "umax": 1, "sgd": 2}  # of the kernel `_single_steps`


class DivergenceError(ArithmeticError):
    """A step or a weight was not finite in float32."""


class Solver:
    """Base of the solvers: the samples, their order, the auxiliary variables u.

    Parameters
    ----------
    data : Data
    n_classes : int
    settings : SolverSettings
    seed : int
    n_threads : int
        Does not change the results.
    stop : ndarray of int32 (1,)
        Another number than zero stops the solver, which raises KeyboardInterrupt.
    """

    def __init__(
        self,
        data: SoftmaxData,
        n_classes: int,
        settings: SolverSettings,
        seed: int,
        n_threads: int,
        stop: np.ndarray,
    ) -> None:
        self.data, self.settings = data, settings
        self.n_classes = n_classes
        self.seed, self.n_threads, self.stop = seed, n_threads, stop
        self.visited = data.visited()
        self.whole = data.whole(n_classes) if settings.whole is None else settings.whole
        self.share = len(self.visited) / self.whole.n_samples  # of the ridge
        self._prepare()

    def _prepare(self) -> None:
        """Compute what the steps of all passes share."""

    def begin(self, start: Weights | None = None) -> Self:
        """Take weights to go on from, changed in place and by default zeros, and forget those of
        before; return the solver.
        """
        # The optimum for W = 0: u_i = log(1 + (K - 1) e^0) = log K.
        self.u = np.full(self.data.rows.shape[0], np.log(self.n_classes))
        self.draws = NO_DRAWS  # where single steps go on drawing
        self.W, self.b = self.initial(start, self.n_classes, self.data.rows.shape[1])
        return self

    @staticmethod
    def by_feature(dense: bool) -> bool:
        """Return whether weights lie as prediction wants them, on dense or sparse samples."""
        return False

    def initial(self, start: Weights | None, n_classes: int, n_features: int) -> Weights:
        if start is not None:
            return start
        return (
            np.zeros((n_classes, n_features), dtype=np.float32),
            np.zeros(n_classes, dtype=np.float32),
        )

    def order(self, epoch: int) -> np.ndarray:
        """Return samples in the order of this pass: a seeded permutation, or that of the rows."""
        if not self.settings.shuffle:
            return self.visited
        return stream(self.seed, "order", epoch).permutation(self.visited)

    def row_arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
        rows = self.data.rows
        return rows.indptr, rows.indices, rows.data, rows.dense

    def check_stop(self) -> None:
        if self.stop[0]:
            raise KeyboardInterrupt("the fit was interrupted")

    def weights(self) -> Weights:
        return self.W, self.b


class SingleSteps(Solver):
    """One sample and one class a step: implicit (Proposition 4), U-max (Algorithm 1), vanilla.

    Sparse samples touch single weights, each a cache line of its own in any layout: theirs lie
    feature by feature, as prediction wants them.
    """

    def _prepare(self) -> None:
        data, settings = self.data, self.settings
        self.squares = data.rows.squared_norms()
        self.projection = projection(
            data, self.n_classes, settings, self.squares, self.whole.weight
        )
        probability = SAMPLINGS[settings.sampling](self.whole.class_counts)
        self.table = ()
        if settings.sampling != "uniform":
            self.table = *alias_table(probability), np.log(probability), np.log1p(-probability)
        self.ridge = NO_DOUBLES
        if settings.alpha > 0:
            # alpha beta_k / N: classes that are touched rarely shrink by more when they are.
            chance = chance_of_touch(self.whole.class_counts, probability)
            self.ridge = settings.alpha * self.share / len(self.visited) / chance

    def begin(self, start: Weights | None = None) -> Self:
        super().begin(start)
        self.scale, self.norms = np.ones(self.n_classes), NO_DOUBLES
        if np.isfinite(self.projection.radius):
            W = self.of_classes()
            self.norms = np.einsum("kj,kj->k", W, W, dtype=np.float64)
        self.class_draws = _single_steps.Draws(*self.table)
        return self

    @staticmethod
    def by_feature(dense: bool) -> bool:
        return not dense

    def initial(self, start: Weights | None, n_classes: int, n_features: int) -> Weights:
        if self.data.rows.dense:
            return super().initial(start, n_classes, n_features)
        if start is not None:
            return feature_major(start[0]), start[1]
        return untouched_zeros((n_features, n_places(n_classes))), np.zeros(n_classes, np.float32)

    def of_classes(self) -> np.ndarray:
        """Return a view of W, class by class."""
        return self.W if self.data.rows.dense else self.W[:, : self.n_classes].T

    def epoch(self, number: int, rate: float) -> None:
        settings = {
            "method": METHODS[self.settings.solver],
            "raman": self.settings.raman,
            "intercept": self.settings.intercept,
            "rate": rate,
            "delta": self.settings.delta,
            **self.projection._asdict(),
        }
        order = self.order(number)
        if not len(self.draws):
            self.draws = _single_steps.first_draws(self.seed, number)
        samples = _single_steps.Samples(
            *self.row_arrays(), self.data.y, self.data.weight, self.squares
        )
        iterate = _single_steps.Iterate(
            self.W, not self.data.rows.dense, self.b, self.scale, self.norms, self.u
        )
        n_steps = _single_steps.run_steps(
            samples, order, self.ridge, self.class_draws, settings, self.draws, iterate, self.stop
        )
        if n_steps < len(order):
            raise DivergenceError(f"step {n_steps + 1} of epoch {number + 1} was not finite")

    def weights(self) -> Weights:
        fold(self.of_classes(), self.scale)
        return self.of_classes(), self.b


def chance_of_touch(counts: np.ndarray, probability: np.ndarray) -> np.ndarray:
    """Return how likely a step on one sample and one class touches each class, 1 / beta_k of the
    paper, from the samples of each class and the probabilities of the draw.
    """
    # As own class, or drawn for a sample of another class j with q_k / (1 - q_j), since an own
    # class is drawn again: sum over j != k of share_j q_k / (1 - q_j).
    share = counts / counts.sum()
    rescaled = share / (1 - probability)
    return share + probability * (rescaled.sum() - rescaled)


class SampledBatches(Solver):
    """Mini-batches in which each sample draws classes of its own.

    All solvers but the implicit one. The ridge shrinks a class when a mini-batch next touches it,
    by all steps since it was touched before.
    """

    def _prepare(self) -> None:
        data, settings = self.data, self.settings
        self.sampler = ClassSampler(
            settings.sampling, self.whole.class_counts, settings.n_sampled, self.n_threads
        )
        self.batch_size = min(settings.batch_size, len(self.visited))
        self.n_batches = -(-len(self.visited) // self.batch_size)
        squares = data.rows.squared_norms()
        self.projection = projection(data, self.n_classes, settings, squares, self.whole.weight)
        # Members of the struct of this name in the kernel.
        self.double_sum = {
            "delta": settings.delta if settings.solver == "umax" else np.inf,
            "lowest_u": self.projection.lowest_u,
            "highest_u": self.projection.highest_u,
            "raman": settings.raman,
            "distinct": not self.sampler.with_replacement,
        }
        self.bounded, self.lengths = np.isfinite(self.projection.radius), np.sqrt(squares)

    def begin(self, start: Weights | None = None) -> Self:
        super().begin(start)
        self.pace, self.scale, self.shrink = Pace(self.n_threads), NONE, NONE
        if self.settings.alpha > 0:
            self.scale, self.shrink = np.ones((2, self.n_classes), dtype=np.float32)
            self.last_touch = np.zeros(self.n_classes, dtype=np.int64)
        if self.bounded:
            self.norms = np.array([np.linalg.norm(w) for w in self.W])  # never too small
        return self

    def initial(self, start: Weights | None, n_classes: int, n_features: int) -> Weights:
        W, b = super().initial(start, n_classes, n_features)
        if start is None and self.settings.solver == "nce" and self.settings.intercept:
            b -= np.float32(np.log(n_classes))  # the normaliser of W = 0 is then 1
        return W, b

    def epoch(self, number: int, rate: float) -> None:
        order = self.order(number)
        first = number * self.n_batches
        if self.settings.whole is not None:
            # Of a part: mini-batches of all parts count, or each part would draw the same classes.
            first = self.whole.n_before // self.settings.batch_size
        for step in range(self.n_batches):
            self.check_stop()
            batch = order[step * self.batch_size : (step + 1) * self.batch_size]
            with self.pace.on(len(batch)):
                finite = self.step(batch, step + 1, first + step, rate)
            if not finite:
                raise DivergenceError(f"step {step + 1} of epoch {number + 1} was not finite")
        if self.settings.alpha > 0:
            # At the end of a pass every class is shrunk by all of its steps.
            self.catch_up(np.arange(len(self.b)), self.n_batches, rate, least=0.0)
            self.scale *= self.shrink
            self.last_touch[:] = 0

    def step(self, batch: np.ndarray, number: int, number_of_all: int, rate: float) -> bool:
        """Make a step, number 1 being the first in its pass, and return whether it is finite;
        otherwise it is not made. `number_of_all` counts from 0 over all passes, for the draws.
        """
        classes, importance = self.sampler.draw(self.data.y[batch], self.seed, number_of_all)
        psi = np.empty(classes.shape, dtype=np.float32)
        _sampled_classes.scores(
            *self.row_arrays(), batch, classes, self.W, self.scale, self.b, psi, self.n_threads
        )
        coefs = np.empty_like(psi)
        if self.coefficients(psi, importance, batch, rate, coefs):
            return False
        touched = np.unique(classes) if self.settings.alpha > 0 else None
        if touched is not None:
            self.catch_up(touched, number, rate)
        _sampled_classes.ascend(
            _sampled_classes.MiniBatch(*self.row_arrays(), batch, classes, len(self.b)),
            coefs,
            rate,
            self.shrink,
            self.W,
            self.scale,
            self.b,
            self.settings.intercept,
            self.n_threads,
        )
        if self.bounded:
            self.project(batch, classes, coefs, rate)
        return True

    def coefficients(
        self,
        psi: np.ndarray,
        importance: np.ndarray,
        batch: np.ndarray,
        rate: float,
        coefs: np.ndarray,
    ) -> int:
        """Fill `coefs` and step u; return the number of samples whose step is not finite."""
        solver, weight = self.settings.solver, self.data.weight
        if solver in ("umax", "sgd"):
            return _coefficients.double_sum(
                psi, importance, batch, weight, self.u, rate, self.double_sum, coefs, self.n_threads
            )
        if solver == "nce":
            noise = self.sampler.probability[self.data.y[batch]]
            return _coefficients.noise_contrastive(
                psi, importance, batch, weight, noise, coefs, self.n_threads
            )
        if solver == "importance":
            return _coefficients.sampled_softmax(
                psi, importance, batch, weight, coefs, self.n_threads
            )
        _sampled_classes.global_one_vs_each(psi, importance, batch, weight, coefs, self.n_threads)
        return not np.isfinite(coefs).all()

    def catch_up(self, classes: np.ndarray, step: int, rate: float, least: float = 1e-4) -> None:
        """Set the ridge's factors of classes about to be touched in this step of the pass."""
        # Where rate alpha exceeds the number of mini-batches, w goes to zero and not beyond.
        factor = max(1 - rate * self.settings.alpha * self.share / self.n_batches, 0)
        shrink = factor ** (step - self.last_touch[classes])
        # A factor closer to 1 than `least` waits for the next touch: float32 would round it.
        due = shrink <= 1 - least
        self.shrink[classes] = np.where(due, shrink, 1)
        self.last_touch[classes[due]] = step

    def project(
        self, batch: np.ndarray, classes: np.ndarray, coefs: np.ndarray, rate: float
    ) -> None:
        """Project the classes of a mini-batch on the ball of U-max."""
        # Norms are bounded by those before and the lengths of their steps; only where the bound
        # leaves the ball is the norm itself computed.
        steps = rate * np.abs(coefs) * self.lengths[batch][:, None]
        np.add.at(self.norms, classes.ravel(), steps.ravel())
        for k in np.unique(classes):
            if self.norms[k] > self.projection.radius:
                norm = float(np.linalg.norm(self.W[k]) * self.scale[k])
                self.norms[k] = min(norm, self.projection.radius)
                if norm > self.projection.radius:
                    self.scale[k] *= self.projection.radius / norm

    def weights(self) -> Weights:
        if self.scale.size:
            fold(self.W, self.scale)
        return self.W, self.b


class ExactBatches(Solver):
    """Mini-batch steps on the softmax over all classes."""

    def begin(self, start: Weights | None = None) -> Self:
        super().begin(start)
        data, entries, alpha = self.data, self.whole.entries, self.settings.alpha
        if entries is None:
            # A part carries its share of the ridge; with `entries` of all parts, each sample
            # carries its own.
            alpha = alpha * self.share
        self.steps = ExactSteps(
            data.rows,
            data.y,
            data.sample_weight(),
            self.W,
            self.b,
            self.visited,
            alpha=alpha,
            intercept=self.settings.intercept,
            adaptive=False,
            n_threads=self.n_threads,
            stop=self.stop,
            entries=entries,
        )
        return self

    @staticmethod
    def by_feature(dense: bool) -> bool:
        return True

    def initial(self, start: Weights | None, n_classes: int, n_features: int) -> Weights:
        W, b = (None, np.zeros(n_classes)) if start is None else start
        return exact_weights(W, b, n_features)

    def epoch(self, number: int, rate: float) -> None:
        self.check_stop()
        order = self.order(number)
        loss = self.steps.calm_epoch(order, self.settings.batch_size, rate, self.seed, number)
        if not np.isfinite(loss):
            raise DivergenceError(f"a step of epoch {number + 1} was not finite")

    def weights(self) -> Weights:
        self.steps.finish()
        return self.W[:, : self.n_classes].T, self.b[: self.n_classes]

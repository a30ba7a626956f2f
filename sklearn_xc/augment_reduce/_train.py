"""Algorithms 1 and 2 of Augment-and-Reduce, one-vs-each and the exact softmax: the passes."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from .._kernels.augment_reduce import _adaptive_step as kernel
from .._kernels.common._pace import Pace
from .._kernels.softmax._sampled_classes import scores, scores_by_class
from ..base._multiclass import held_out_samples
from ..softmax._base import BaseSoftmaxClassifier
from ..softmax._class_sampling import ClassSampler, Drawn, side_by_side
from ..softmax._coordinates import Weights
from ..softmax._full_softmax import ExactSteps, equal_cuts, exact_weights, shares_of_ridge
from ..topk._feature_major import untouched_zeros
from ..training._schedules import share_of_rate
from ..utils._callbacks import Progress
from ..utils._coordinates import Coordinates
from ..utils._random import stream
from ..utils._rows import Rows
from ._auto import (
    PassSettings,
    alpha_of,
    bound_of,
    coordinates_of,
    entries_of,
    is_plain,
    require_memory_for,
    ridge_of,
    settings_of,
)
from ._bounds import Seeds, bound_for
from ._exact_steps import PlainSteps, plain_coordinates, plain_settings
from ._samples import Samples, Watched
from ._start import in_memory, start_of, to_inside, to_outside

DECAY, DECAY_STEPS = 0.9, 2000  # of the learning rate (section 4 of the paper)
UNSCALED = np.empty(0, dtype=np.float32)


class Result(NamedTuple):
    """The weights (n_classes, n_features), intercepts, and what else a call leaves."""

    W: np.ndarray
    b: np.ndarray
    averages: tuple | None  # of squared gradients, shaped as W and b; None if not to be kept
    n_steps: int
    losses: list  # minus the mean bound of some training samples, after each pass
    scores: list  # the mean log-likelihood of samples kept apart, where there are any
    start: float  # the mean log-likelihood of a few samples before the first pass
    end: float  # and after the last one
    ended_by_itself: bool  # or by a callback: not by the number of passes
    bound: str  # that ran
    learning_rate: float
    # The rest is set by `train`.
    held_out: np.ndarray | None  # bool (n_samples,)
    alpha: float | None


def step_size(t: np.ndarray, learning_rate: float) -> np.ndarray:
    """Return rho of iterations t = 1, 2, ... without its adaptive part (section 4)."""
    # Kucukelbir et al. (2017) without 1 / (1 + sqrt(s)): rho_0 t^(-1/2 + 1e-16), and 0.9 times as
    # much after every 2000 steps.
    return learning_rate * DECAY ** (t // DECAY_STEPS) * t**-0.5


class _Watch:
    """Follows the bound on a few fixed samples, epoch by epoch, and says when to stop."""

    def __init__(self, tol: float | None, patience: int) -> None:
        self.tol, self.patience = tol, patience
        self.curve = []

    def add(self, value: float) -> None:
        self.curve.append(value)

    def done(self) -> bool:
        """Say whether no value of the last epochs beats the best before by more than tol of it."""
        if self.tol is None or len(self.curve) <= self.patience:
            return False
        before, last = max(self.curve[: -self.patience]), max(self.curve[-self.patience :])
        # Relative to the bound itself, which is negative.
        return last - before <= self.tol * abs(before)


def _order(rng: np.random.Generator, samples: np.ndarray, settings: PassSettings) -> np.ndarray:
    """Return the samples of an epoch as they are visited, int32."""
    order = rng.permutation(samples) if settings.shuffled else samples
    return order.astype(np.int32)


def _batches(order: np.ndarray, batch_size: int) -> list[np.ndarray]:
    """Return the mini-batches of an epoch: equal parts."""
    return np.split(order, equal_cuts(len(order), batch_size)[1:-1])


class SampledSteps:
    """Steps on drawn classes: Algorithms 1 and 2, and the one-vs-each bound.

    Parameters
    ----------
    samples : Samples
    W, b : ndarray of float32 (n_classes, n_features) and (n_classes,)
        Changed in place.
    averages : tuple, or None
        Those of an earlier call, or None for zeros.
    settings : Settings
    """

    def __init__(
        self,
        samples: Samples,
        W: np.ndarray,
        b: np.ndarray,
        averages: Weights | None,
        settings: PassSettings,
    ) -> None:
        self.samples, self.W, self.b, self.settings = samples, W, b, settings
        self._training = training = samples.training
        rows, n_threads = samples.rows, settings.n_threads
        self._weight = np.ones(rows.shape[0], np.float32)
        if samples.weight is not None:
            self._weight = samples.weight
        n_classes, n_features = W.shape
        counts = np.bincount(samples.y[training], minlength=n_classes)
        self._sampler = ClassSampler(settings.sampling, counts, settings.n_sampled, n_threads)
        self._local = bound_for(settings, samples.y, b, self._sampler)
        # Without a penalty no gradient of it is computed.
        self._share = UNSCALED
        if np.any(settings.alpha):
            self._share = shares_of_ridge(rows, settings.alpha, training, settings.entries)
        self._n_whole = settings.n_whole
        self._place_averages(averages)
        self._scratch, self._pace = kernel.Scratch(n_features, n_threads), Pace(n_threads)
        rng = stream(settings.seed, "draws")
        self._seeds = [int(s) for s in rng.integers(2**62, size=2)]
        self.n_steps = settings.n_steps

    def _place_averages(self, averages: Weights | None) -> None:
        n_classes, n_features = self.W.shape
        width = kernel.width_of_averages(n_features)
        self._averages = in_memory(untouched_zeros((n_classes, width)))
        stamps = n_classes, kernel.stamps_of(width)
        self._stamps = np.zeros(stamps, dtype=np.int32)
        if averages is not None:
            self._averages[:, :n_features] = averages[0]
            self._averages[:, width - kernel.BLOCK_OF_INTERCEPT] = averages[1]
            self._stamps[:] = self.settings.n_steps

    def averages(self) -> Weights:
        """Return the running averages as of now, shaped as W and b; copies."""
        n_features = self.W.shape[1]
        kernel.averages_as_of(self.n_steps, self._averages, self._stamps, n_features)
        width = self._averages.shape[1]
        intercepts = self._averages[:, width - kernel.BLOCK_OF_INTERCEPT].copy()
        return np.array(self._averages[:, :n_features]), intercepts

    def _drawn(self, batch: np.ndarray, step: int) -> Drawn:
        draws = [
            self._sampler.draw(self.samples.y[batch], self._seeds[0], 2 * step + i)
            for i in range(self._local.n_draws)
        ]
        n_threads = self.settings.n_threads
        near = side_by_side(self.samples.rows, batch, n_threads)
        classes, importance = zip(*draws, strict=True)
        return Drawn(near, len(self.b), classes, importance, n_threads)

    def epoch(self, rng: np.random.Generator, number: int) -> None:
        """Make a pass over the samples, the `number`-th of the call, from 1 on."""
        W, b, n_threads = self.W, self.b, self.settings.n_threads
        order = _order(rng, self._training, self.settings)
        batches = _batches(order, self.settings.batch_size)
        rates = step_size(self.n_steps + 1 + np.arange(len(batches)), self.settings.learning_rate)
        changed = kernel.AdaptiveWeights(W, b, self._averages, self._stamps)
        # While a mini-batch steps its classes, the next one is scored: a class that both see is
        # then scored while its weights are in the caches.
        coming = self._drawn(batches[0], self.n_steps + 1)
        scores_by_class(coming.scored, W, b, coming.psi, n_threads)
        for i, (batch, rate) in enumerate(zip(batches, rates, strict=True)):
            self.n_steps += 1
            now, coming = coming, None
            with self._pace.on(len(batch)):
                if i + 1 < len(batches):
                    coming = self._drawn(batches[i + 1], self.n_steps + 1)
                coefs = self._local.stepped_coefficients(
                    now.psi_of_draws(),
                    now.importance,
                    batch,
                    self._weight,
                    number,
                    Seeds(*self._seeds, step=self.n_steps),
                )
                # N / |B| of the global step.
                gain = self._n_whole / len(batch)
                kernel.ascend(
                    now.stepped,
                    coefs,
                    now.importance[0],
                    self._share,
                    {"rate": rate, "gain": gain, "number": self.n_steps},
                    changed,
                    coming and coming.scored,
                    coming and coming.psi,
                    self._scratch,
                    n_threads,
                )

    def bound(self, watched: Watched) -> float:
        """Return the mean bound of the watched samples; of those held out, their log-likelihood."""
        classes = _all_classes(watched.y, len(self.b))
        # With all classes and importance 1 the bound is that of eq. 7 or 8, without noise of
        # drawing.
        psi = np.empty(classes.shape, dtype=np.float32)
        rows, n_threads = self.samples.rows, self.settings.n_threads
        scores(*rows[:4], watched.places, classes, self.W, UNSCALED, self.b, psi, n_threads)
        if watched.held_out:
            return watched.mean(self._local.at_best(psi))
        return watched.mean(self._local.value(psi, watched.places))

    def weights(self) -> Weights:
        """Return W and b, which further steps will change."""
        return self.W, self.b


def _all_classes(y: np.ndarray, n_classes: int) -> np.ndarray:
    """Return every class for each sample, its own first, as the kernels want them."""
    classes = np.tile(np.arange(n_classes, dtype=np.int32), (len(y), 1))
    own = np.arange(len(y)), y
    classes[own] = 0
    classes[:, 0] = y
    return classes


class AllClassesSteps:
    """Softmax over all classes with the same steps and mini-batches; as `SampledSteps`."""

    def __init__(
        self,
        samples: Samples,
        W: np.ndarray,
        b: np.ndarray,
        averages: Weights | None,
        settings: PassSettings,
    ) -> None:
        self._n_classes, self.settings, self._training = len(b), settings, samples.training
        self._steps = ExactSteps(
            samples.rows,
            samples.y,
            samples.weight,
            *exact_weights(W, b, W.shape[1]),
            self._training,
            alpha=settings.alpha,
            intercept=1,
            adaptive=True,
            n_threads=settings.n_threads,
            entries=settings.entries,
            n_whole=settings.n_whole,
        )
        if averages is not None:
            state = self._steps.averages()[:, : self._n_classes]
            state[:-1], state[-1] = averages[0].T, averages[1]
        self.n_steps = settings.n_steps

    def averages(self) -> Weights:
        state = self._steps.averages()[:, : self._n_classes]
        return np.ascontiguousarray(state[:-1].T), state[-1].copy()

    def epoch(self, rng: np.random.Generator, number: int) -> None:
        order = _order(rng, self._training, self.settings)
        n_batches = len(equal_cuts(len(order), self.settings.batch_size)) - 1
        numbers = self.n_steps + 1 + np.arange(n_batches)
        rates = step_size(numbers, self.settings.learning_rate)
        if self.settings.falls_to_zero:
            passes = number - 1 + np.arange(n_batches) / n_batches
            rates *= share_of_rate("linear", passes, self.settings.max_iter)
        self._steps.epoch(order, self.settings.batch_size, rates)
        self.n_steps += n_batches

    def bound(self, watched: Watched) -> float:
        return watched.log_likelihood(self.weights(), "softmax", self.settings.n_threads)

    def weights(self) -> Weights:
        return self._steps.W[:, : self._n_classes].T, self._steps.b[: self._n_classes]


def train(
    model: BaseSoftmaxClassifier,
    rows: Rows,
    codes: np.ndarray,
    sample_weight: np.ndarray | None,
    weights: Weights | None,
    max_iter: int,
    progress: Progress,
    part: float | None = None,
    n_texts: int = 0,
) -> Result:
    """Make passes over the samples of a call, and return the weights for X as it was given.

    Steps go on from `weights`, which are changed; None is a cold start. `part` is None for a fit,
    and for a part how much of a mini-batch its last one is; the last `n_texts` samples are texts of
    labels.
    """
    n_classes, n_features, is_part = len(model.classes_), rows.shape[1], part is not None
    bound = bound_of(model, n_classes, is_part)
    plain = is_plain(model, bound, n_classes, is_part)
    keeps = not plain and (is_part or model.warm_start)
    require_memory_for(model, bound, rows.shape[0], len(rows.data), keeps)
    rng = check_random_state(model.random_state)
    seed = rng.randint(2**31)
    held_out = np.zeros(rows.shape[0], dtype=bool)
    if model.early_stopping and max_iter > 1:
        held_out = held_out_samples(codes, model.validation_fraction, rng, sample_weight, n_texts)
    if plain:
        coordinates = plain_coordinates(rows, sample_weight)
    else:
        coordinates = coordinates_of(model, n_features, rows.dense)
    ridge = ridge_of(model, n_features, rows.dense)
    starts_at_zero = weights is None and model.init_scale in ("auto", 0)
    made = not (plain and starts_at_zero)
    W, b = weights or start_of(model, codes, sample_weight, rng.randint(2**31), made)
    if model.learning_rate == "auto":
        rows = rows.inside(coordinates)
    samples = Samples(rows, codes, sample_weight, held_out)
    settings = settings_of(
        model,
        bound,
        (len(codes), len(samples.training), sample_weight),
        max_iter,
        part,
        alpha=ridge / coordinates.scale**2,
        entries=None if part is None else entries_of(model, coordinates),
        keeps_averages=keeps,
        seed=seed,
    )
    if plain:
        settings = plain_settings(model, coordinates.scale, samples, settings, n_texts)
    if not starts_at_zero:
        to_inside(W, b, coordinates)
    averages, squares = model._state.averages, coordinates.scale**2
    if averages is not None and not plain:
        # Averages are of squared gradients by the original weights. By weights for x / c gradients
        # are c times smaller.
        averages = averages[0] / squares.astype(np.float32), averages[1]
    steps = _steps_of(samples, W, b, averages, settings)
    result = run(steps, samples.few(n_classes, seed), settings, progress, coordinates)
    W, b = to_outside(result.W, result.b, coordinates)
    averages = None
    if keeps:
        averages = result.averages[0] * squares.astype(np.float32), result.averages[1]
    alpha = alpha_of(model, settings)
    return result._replace(W=W, b=b, averages=averages, held_out=held_out, alpha=alpha)


def _steps_of(
    samples: Samples, W: Any, b: np.ndarray, averages: Weights | None, settings: PassSettings
) -> "AllClassesSteps | PlainSteps | SampledSteps":
    """Return the steps of the settings, from these weights on; W may be None for zeros if plain."""
    if settings.plain:
        return PlainSteps(samples, W, b, settings)
    make_steps = AllClassesSteps if settings.bound == "exact" else SampledSteps
    return make_steps(samples, W, b, averages, settings)


def run(
    steps: AllClassesSteps | PlainSteps | SampledSteps,
    watched: tuple[Watched, Watched | None],
    settings: PassSettings,
    progress: Progress,
    coordinates: Coordinates,
) -> Result:
    """Make all passes of a call, and follow some samples that are trained on and some that are held
    out.

    Callbacks see weights in the original coordinates.
    """
    watch, losses = _Watch(settings.tol, settings.n_iter_no_change), []
    trained, held_out = watched
    # Another order in every call: mini-batches that come again and again are learnt by heart.
    rng = stream(settings.seed, "passes", settings.n_steps)
    # Start and end are compared by the log-likelihood of the model, which no variable loosens.
    likelihood = (held_out or trained)._replace(held_out=True)
    start = steps.bound(likelihood) if settings.max_iter > 1 else -np.inf
    met_tol = False

    def outside() -> Weights:
        W, b = map(np.array, steps.weights())
        return to_outside(W, b, coordinates)

    for number in range(1, settings.max_iter + 1):
        progress.begin()
        steps.epoch(rng, number)
        bound = steps.bound(trained)
        losses.append(-bound)
        watch.add(bound if held_out is None else steps.bound(held_out))
        met_tol = watch.done()
        reached = {"loss": losses[-1]}
        if held_out is not None:
            reached["held_out_log_likelihood"] = watch.curve[-1]
        stop = progress.end(outside, **reached)
        if stop or met_tol:
            break
    kept = steps.averages() if settings.keeps_averages else None
    scores = [] if held_out is None else watch.curve
    return Result(
        *steps.weights(),
        kept,
        steps.n_steps,
        losses,
        scores,
        start,
        steps.bound(likelihood) if settings.max_iter > 1 else start,
        met_tol or stop,
        settings.bound,
        float(settings.learning_rate),
        None,
        None,
    )

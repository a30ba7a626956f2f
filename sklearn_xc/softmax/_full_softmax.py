"""Softmax regression over all classes, by mini-batches on feature-major weights."""

from typing import TypeAlias

import numpy as np

from .._kernels.common._pace import Pace
from .._kernels.softmax import _full_step as kernel
from .._kernels.softmax._rounded_step import apply_scales
from ..topk._feature_major import feature_major, n_places, padded_intercept, untouched_zeros
from ..utils._random import stream
from ..utils._rows import Rows
from ._coordinates import Weights

# Samples of a mini-batch, unless the user says otherwise: with fewer, what a step reads is still in
# the caches when it is written; with more, threads wait for each other less often. Rounded steps
# share its samples among threads.
BATCH = 16
# Rate of the sum of a mini-batch's gradients on samples of length 1, and the ridge there, from
# which `_pilot` sets out. Among 1, 3, 10 and 30 the best rate had a log-loss at most 2.5 % lower
# than 10 has, on held-out samples of nine sets of 1,600 to 10,000 classes, sparse and dense: not
# worth a search that takes as long as fits. With MANY_ROWS_A_CLASS there are more steps on
# each, and a third of it was as good or up to 3 % better on six sets.
RATE, RIDGE = 10.0, 0.05
MANY_ROWS_A_CLASS = 20
INTERCEPT = 0.1  # the constant feature of the intercepts, on samples of length 1
# Score of the places beyond the classes: e to it is 0, and unlike that of infinity 0 times it too.
BEYOND = -1e30
# From this many classes on plain steps round small probabilities. With fewer a step of all
# of them takes no longer: their weights stand one beside the other.
ROUNDED_FROM = 4096
EMPTY = np.empty((0, 0), dtype=np.float32), np.empty(0, dtype=np.int64)
NO_NOISE = np.empty(0)
NOISES = {"softmax": 0, "probit": 1, "logistic": 2}  # of the kernel `_noise_row`
# A name of NOISES, and the mean and deviation of each sample's noise, float64 (n_samples,).
NoiseOfSamples: TypeAlias = tuple[str, np.ndarray, np.ndarray]
LONGEST_MOVE = 16.0  # of a score, in a step on its own sample


def usual_rate(n_samples: int, n_classes: int, batch_size: int = BATCH) -> float:
    """Return the rate of a fit on samples of length 1."""
    many = n_samples >= MANY_ROWS_A_CLASS * n_classes
    return (RATE / 10**0.5 if many else RATE) * min(1.0, BATCH / batch_size)


def shares_of_ridge(
    rows: Rows, alpha: float | np.ndarray, samples: np.ndarray, entries: np.ndarray | None
) -> np.ndarray:
    """Return a sample's share of the penalty alpha / 2 |W|^2 on the weight of each feature,
    float32.

    `samples` are those that a pass visits. `entries` are samples that have each feature, where
    `rows` are only a part of all; with None they are counted.
    """
    if not np.any(alpha):
        return np.zeros(rows.shape[1], dtype=np.float32)
    if entries is None:
        visited = np.zeros(rows.shape[0], dtype=np.float32)
        visited[samples] = 1
        entries = rows.entry_counts(visited)
    # A feature that n samples have gets alpha / n from each of them, so that a pass over the data
    # adds up to the gradient of the penalty while a step touches its own features only.
    return (alpha / np.maximum(entries, 1)).astype(np.float32)


def calmed_weights(
    sample_weight: np.ndarray | None, squares: np.ndarray, rate: float
) -> np.ndarray | None:
    """Return sample weights with which a step moves no score of its own sample by more than
    LONGEST_MOVE; None where none would be. `squares` are squared lengths times sample weights.
    """
    # A score moves by up to the rate times ||x||^2. The log-loss asks for no more than some tens;
    # what goes beyond, on samples much longer than the others, throws all other scores off. An
    # implicit step would stop by itself. As the rate falls the weights come back.
    moves = rate * squares
    if moves.max(initial=0) <= LONGEST_MOVE:
        return None
    weight = np.ones(len(moves), np.float32) if sample_weight is None else sample_weight
    return (weight * np.minimum(1, LONGEST_MOVE / np.maximum(moves, 1e-30))).astype(np.float32)


def equal_cuts(n_samples: int, batch_size: int) -> np.ndarray:
    """Return where mini-batches of about equal size begin, and the end."""
    # A gradient that is scaled to all samples must not come from the few that are left over.
    n_batches = -(-n_samples // batch_size)
    return np.arange(n_batches + 1, dtype=np.int64) * n_samples // n_batches


def cuts_at(n_samples: int, batch_size: int) -> np.ndarray:
    """Return where mini-batches of `batch_size`, and the leftover one, begin, and the end."""
    return np.append(np.arange(0, n_samples, batch_size, dtype=np.int64), n_samples)


def exact_weights(W: np.ndarray | None, b: np.ndarray, n_features: int) -> Weights:
    """Return weights (n_features, n_places) and intercepts for `ExactSteps`, copies of those of
    each class; None is zeros.
    """
    W = untouched_zeros((n_features, n_places(len(b)))) if W is None else feature_major(W)
    return W, padded_intercept(b, BEYOND)


class ExactSteps:
    """Mini-batch steps of the exact softmax on weights that it changes in place.

    Plain steps on many classes round small probabilities at random, and keep a factor of each row
    of W until `finish`: see `_kernels/softmax/_rounded_step.pyx`.

    Parameters
    ----------
    W, b : ndarray of float32 (n_features, n_places) and (n_places,)
        See `topk/_feature_major`; b is BEYOND beyond the classes.
    samples : ndarray of int
        Samples that an epoch visits.
    intercept : float
        The constant feature of the intercepts; 0 without.
    adaptive : bool
        Steps scaled by the running average of the squared gradient (Augment-and-Reduce, section 4),
        on the gradient scaled to all samples; otherwise plain steps on the sum over the mini-batch.
    stop : ndarray of int32 (1,), default=None
        Set to other than zero to end an epoch that runs in another thread.
    entries : ndarray (n_features,), default=None
        See `shares_of_ridge`.
    n_whole : float, default=None
        For adaptive steps: samples of all data, if those of an epoch are a part of them.
    noise : NoiseOfSamples, default=None
        For plain steps on another model than the softmax; its arrays are changed.

    Attributes
    ----------
    weight : ndarray of float32 (n_samples,), or None
        Of the samples, in the last epoch.
    """

    def __init__(
        self,
        rows: Rows,
        y: np.ndarray,
        sample_weight: np.ndarray | None,
        W: np.ndarray,
        b: np.ndarray,
        samples: np.ndarray,
        *,
        alpha: float | np.ndarray,
        intercept: float,
        adaptive: bool,
        n_threads: int,
        stop: np.ndarray | None = None,
        entries: np.ndarray | None = None,
        n_whole: float | None = None,
        noise: NoiseOfSamples | None = None,
    ) -> None:
        self.W, self.b, self.weight = W, b, sample_weight
        self._sample_weight, self._squares = sample_weight, rows.squared_norms()
        weight = np.empty(0, np.float32)
        if sample_weight is not None:
            weight = sample_weight
            # A step of one sample moves its own score by the rate times its weight times ||x||^2.
            self._squares *= weight
        self._data = rows.indptr, rows.indices, rows.data, rows.dense, y, weight
        self._ridge = shares_of_ridge(rows, alpha, samples, entries)
        self._state, self._adaptive = EMPTY, adaptive
        self._n_whole = len(samples) if n_whole is None else n_whole
        if adaptive:
            # The last row is of the intercepts. The step that last touched a row stands for the
            # decay of its averages since then.
            shape = W.shape[0] + 1, W.shape[1]
            self._state = np.zeros(shape, np.float32), np.zeros(shape[0], np.int64)
        # Averages of squares would need the whole gradient.
        rounded = not adaptive and W.shape[1] >= ROUNDED_FROM
        self._scales = np.ones(W.shape[0] if rounded else 0, dtype=np.float32)
        self._n_threads, self._pace = n_threads, Pace(n_threads)
        self._samples = kernel.FullSamples(*self._data)
        self._weights = kernel.FullWeights(
            W, b, self._ridge, *self._state, self._scales, intercept, *self._noise(noise)
        )
        self._stop = np.zeros(1, dtype=np.int32) if stop is None else stop
        self.n_steps = 0

    def _noise(self, noise: NoiseOfSamples | None) -> tuple[int, np.ndarray, np.ndarray]:
        if noise is None:
            return 0, NO_NOISE, NO_NOISE
        return NOISES[noise[0]], *noise[1:]

    def epoch(
        self,
        order: np.ndarray,
        batch_size: int,
        rates: float | np.ndarray,
        seed: int = 0,
        weight: np.ndarray | None = None,
    ) -> float:
        """Visit the samples of `order`, and return the sum of their log-losses before each step.

        `seed` is of the rounding, another one for each epoch; `weight` replaces the sample weights.
        """
        data = self._samples
        if weight is not None:
            data = kernel.FullSamples(*self._data[:-1], weight)
        # Plain steps are on sums over mini-batches, so that a short one is a short step.
        cut = equal_cuts if self._adaptive else cuts_at
        cuts = cut(len(order), batch_size)
        n_batches = len(cuts) - 1
        rates = np.full(n_batches, rates, dtype=np.float64)
        loss = kernel.epoch(
            data,
            order,
            cuts,
            rates,
            self.n_steps + 1,
            self._n_whole,
            self._weights,
            seed,
            self._stop,
            self._pace,
        )
        self.n_steps += n_batches
        return loss

    def calm_epoch(
        self,
        order: np.ndarray,
        batch_size: int,
        rates: float | np.ndarray,
        seed: int,
        number: int,
        gain: float = 1.0,
    ) -> float:
        """Make an `epoch`, the `number`-th of a fit with this seed, in which samples far longer
        than others count less while rates are high; return the same sum.

        Gradients are `gain` times as long as those of a softmax.
        """
        of_rounding = stream(seed, "rounding", number).integers(2**63) if self._scales.size else 0
        first = gain * np.ravel(rates)[0]
        self.weight = calmed_weights(self._sample_weight, self._squares, first)
        return self.epoch(order, batch_size, rates, int(of_rounding), self.weight)

    def averages(self) -> np.ndarray:
        """Return running averages of the squared gradients as of now, the intercepts' in the last
        row; they may be changed in place.
        """
        averages, touched = self._state
        # s = 0.1 g^2 + 0.9 s at every step, also where g = 0 (section 4 of Augment-and-Reduce).
        averages *= (0.9 ** (self.n_steps - touched)).astype(np.float32)[:, None]
        touched[:] = self.n_steps
        return averages

    def finish(self) -> None:
        """Multiply W by the factors that `epoch` may have left."""
        apply_scales(self.W, self._scales, self._n_threads)

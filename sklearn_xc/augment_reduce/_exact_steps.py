"""Steps of one rate on all classes, for models of many: softmax, probit and logistic.

A step on a few of many classes is mostly noise: 20 passes of them leave the 3,734 classes of
docstrings at three quarters of the accuracy that 10 passes over all reach in less time. These are
the steps of the exact softmax (`softmax/_full_softmax.py`); with other noise the local variables q
of all classes take a Newton step a visit or more (`_kernels/softmax/_noise_row.pyx`).
"""

from dataclasses import replace

import numpy as np

from ..softmax._base import BaseSoftmaxClassifier
from ..softmax._coordinates import Weights
from ..softmax._full_softmax import (
    BATCH,
    INTERCEPT,
    RATE,
    RIDGE,
    ExactSteps,
    cuts_at,
    exact_weights,
)
from ..softmax._pilot import pilot_of, ridge_and_rate
from ..training._schedules import share_of_rate
from ..utils._coordinates import Coordinates
from ..utils._rows import Rows
from ._auto import PassSettings, are_few
from ._noise_models import NOISES, slope_of_noise
from ._samples import Samples, Watched

# What the ridge takes of the slope of the noise is a power: this many times the mean square of the
# cosine of two samples, and at most that (see `plain_settings`).
OF_LIKENESS, MOST_POWER = 200, 1.25
SURE = RIDGE / 10  # the ridge, and weaker ones, found where labels are clean
COMPARED = 500  # samples that tell how alike all are


def likeness(rows: Rows, samples: np.ndarray) -> float:
    """Return the mean square of <x_i, x_j> over pairs of some samples less their mean: one over the
    number of directions that they share.
    """
    some = samples
    if len(samples) < 2:
        return 1.0
    if len(samples) > COMPARED:
        some = np.random.default_rng(0).choice(samples, COMPARED, replace=False)
    X = rows.take(np.sort(some)).matrix()
    inner = X @ X.T
    inner = inner if isinstance(inner, np.ndarray) else inner.toarray()
    # Centred by rows and columns, the Gram matrix is that of the samples less their mean, which the
    # intercepts take up.
    inner = inner - inner.mean(axis=0, dtype=np.float64)
    squares = np.square(inner - inner.mean(axis=1, keepdims=True))
    # Without the diagonal, which is of a sample with itself.
    return float((squares.sum() - np.trace(squares)) / (len(some) * (len(some) - 1)))


def plain_coordinates(rows: Rows, sample_weight: np.ndarray | None) -> Coordinates:
    """Return coordinates in which samples have length 1 about, one scale for each column."""
    found = rows.coordinates_for_steps(sample_weight)
    return Coordinates(found.mean, np.full(rows.shape[1], 1.0) * found.scale)


def steps_of_softmax(
    model: BaseSoftmaxClassifier, samples: Samples, settings: PassSettings, n_texts: int
) -> tuple[float, float]:
    """Return the ridge and the rate that serve a softmax of held-out samples best, the usual ones
    of few classes.
    """
    # What the softmax finds serves other noise of many classes too, but not the ten digits: a
    # probit with a third of its ridge had a log-loss of 2.2 on them instead of 0.37.
    if are_few(len(model.classes_), model):
        return RIDGE, RATE
    pilot = pilot_of(
        samples.rows,
        samples.y,
        samples.weight,
        samples.training,
        settings.max_iter,
        settings.seed,
        fit_intercept=True,
        n_texts=n_texts,
        n_threads=settings.n_threads,
    )
    return ridge_and_rate(pilot, RATE)


def plain_settings(
    model: BaseSoftmaxClassifier,
    scale: float | np.ndarray,
    samples: Samples,
    settings: PassSettings,
    n_texts: int,
) -> PassSettings:
    """Return the settings of plain steps on samples in coordinates of this scale; the last
    `n_texts` samples are texts of labels.
    """
    # Where classes are alike, utilities of a probit are smaller by the slope of its noise than
    # those of a softmax, and gradients longer by as much: its rate is that of a softmax over the
    # square of the slope. Where one class is nearly sure utilities of all models are about the
    # same, and the rate is that over the slope: with its square the probit of misspellings ended at
    # 1.28 times the log-loss of a softmax, far from its optimum, and now at 1.00.
    slope, rate, power = slope_of_noise(model.model, len(model.classes_)), RATE, 2
    if model.alpha != "auto":
        alpha = float(model.alpha) / scale**2
    else:
        alpha, rate = steps_of_softmax(model, samples, settings, n_texts)
        power = 1 if alpha <= SURE else 2
        # A ridge, on squares, is stronger by the square of the slope for classes alike and the same
        # for a sure one. Which it is, samples tell: words that few share make classes sure, in some
        # dozens of directions common to all samples classes are alike. So the power of the slope
        # grows with the likeness of the samples.
        if slope != 1:
            alike = likeness(samples.rows, samples.training)
            alpha *= slope ** min(MOST_POWER, OF_LIKENESS * alike)
    return replace(
        settings,
        plain=True,
        batch_size=BATCH,
        learning_rate=rate / slope**power,
        alpha=alpha,
        falls_to_zero=True,
    )


class PlainSteps:
    """Passes of plain steps; as `_train.SampledSteps`.

    W is of class-major weights, or None for zeros.
    """

    def __init__(
        self, samples: Samples, W: np.ndarray | None, b: np.ndarray, settings: PassSettings
    ) -> None:
        self._n_classes, self.settings, self._samples = len(b), settings, samples
        rows, of_samples = samples.rows, None
        if settings.model != "softmax":
            noise = NOISES[settings.model]
            # q starts at the largest of n noises, where that of the class chosen among equal ones
            # lies.
            mu, n_samples = noise.largest(self._n_classes), rows.shape[0]
            beta = noise.spread(mu)
            of_samples = settings.model, np.full(n_samples, mu), np.full(n_samples, beta)
        self._steps = ExactSteps(
            rows,
            samples.y,
            samples.weight,
            *exact_weights(W, b, rows.shape[1]),
            samples.training,
            alpha=settings.alpha,
            intercept=INTERCEPT,
            adaptive=False,
            n_threads=settings.n_threads,
            noise=of_samples,
        )
        self.n_steps = settings.n_steps

    def epoch(self, rng: np.random.Generator, number: int) -> None:
        """Make a pass over the samples, the `number`-th of the call, from 1 on."""
        training, settings = self._samples.training, self.settings
        order = rng.permutation(training).astype(np.int32)
        n_batches = len(cuts_at(len(order), settings.batch_size)) - 1
        passes = number - 1 + np.arange(n_batches) / n_batches
        rates = settings.learning_rate * share_of_rate("linear", passes, settings.max_iter)
        # Where classes are alike, a probit's gradients are as much longer as utilities are smaller.
        gain = slope_of_noise(settings.model, self._n_classes) ** 2
        self._steps.calm_epoch(order, settings.batch_size, rates, settings.seed, number, gain)
        self.n_steps += n_batches

    def bound(self, watched: Watched) -> float:
        """Return the mean log-likelihood of the watched samples."""
        settings = self.settings
        return watched.log_likelihood(self.weights(), settings.model, settings.n_threads)

    def weights(self) -> Weights:
        """Return W and b, which further steps will change."""
        self._steps.finish()
        return self._steps.W[:, : self._n_classes].T, self._steps.b[: self._n_classes]

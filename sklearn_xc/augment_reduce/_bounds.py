"""Bounds of the log-likelihood that are sums over the other classes, and their local variables.

All have the same methods, so that Algorithms 1 and 2 of Augment-and-Reduce read alike. `psi`
(n_rows, n_sampled + 1) holds the utilities of each sample's own class and of the classes drawn for
it, `importance` (n_rows, n_sampled) their importance weights, `batch` the numbers of the samples.
Where `n_draws` is 2, the second draw is for the variables: a variable that has just seen a class
and then scales the step of this class would correlate the two.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from .._kernels.augment_reduce import _bounds as kernel
from .._kernels.augment_reduce._noise import draw
from .._kernels.softmax._sampled_classes import global_one_vs_each
from ..softmax._class_sampling import ClassSampler
from ..softmax._probabilities import log_softmax
from ._auto import PassSettings
from ._noise_models import MODELS, NOISES, expectation, log_probability_of

UNIT_SCALE = np.log(np.e - 1)  # gamma of the scale 1
# First step and decay of the variables of Algorithm 2: rate * (1 + t)^-decay after t passes. The
# authors' leave the variables about where they start.
LOCAL_STEPS = {"auto": (0.3, 0.5), "published": (0.01, 0.9)}
# The decay for Algorithm 1. With the published one eta is nearly the mean of its estimates so far,
# and lags behind weights that are learnt.
SOFTMAX_DECAY = {"auto": 0.2, "published": 0.9}


class Seeds(NamedTuple):
    """Seeds of a step's draws: they depend on the sample too, never on threads."""

    classes: int
    noise: int
    step: int


class OneVsEach:
    """Eq. 10 (Titsias, 2016): no variables."""

    n_draws = 1

    def __init__(self, n_threads: int) -> None:
        self._n_threads = n_threads

    def stepped_coefficients(
        self,
        psi: list[np.ndarray],
        importance: tuple[np.ndarray, ...],
        batch: np.ndarray,
        weight: np.ndarray,
        t: int,
        seeds: Seeds,
    ) -> np.ndarray:
        """Return the derivative of the bound's estimate by psi, times the samples' weights."""
        coefs = np.empty_like(psi[0])
        global_one_vs_each(psi[0], importance[0], batch, weight, coefs, self._n_threads)
        return coefs

    def value(self, psi: np.ndarray, batch: np.ndarray) -> np.ndarray:
        """Return the bound of each sample, with psi of all classes."""
        out = np.empty(len(psi))
        kernel.bound_one_vs_each(psi, _all_count(psi), out, self._n_threads)
        return out

    def at_best(self, psi: np.ndarray) -> np.ndarray:
        """Return the log-probability of the own class under the model."""
        return log_softmax(psi)[:, 0]


class AugmentedSoftmax:
    """Eq. 8: log eta for each sample, at first that of weights of zero.

    Its step after t passes is ``(1 + t)^-decay``. With `left_out`, as of the sampler, each class
    sees the eta to which it has not contributed itself, from one draw; with None, where a single
    class is drawn, there are two draws. With `first` 0 the first step of a sample replaces the
    start by what it draws, as for weights under which utilities are not equal.
    """

    def __init__(
        self,
        log_eta: np.ndarray,
        left_out: tuple[float, float] | None,
        n_threads: int,
        decay: float,
        first: int = 1,
    ) -> None:
        self.log_eta, self._decay = log_eta, decay
        self._before_first = first - 1
        self.n_draws = 2 if left_out is None else 1
        self._left_out, self._n_threads = left_out, n_threads

    def stepped_coefficients(
        self,
        psi: list[np.ndarray],
        importance: tuple[np.ndarray, ...],
        batch: np.ndarray,
        weight: np.ndarray,
        t: int,
        seeds: Seeds,
    ) -> np.ndarray:
        """Return the same after the local step of Algorithm 1, the t-th of these samples, from 1
        on.
        """
        coefs, step = np.empty_like(psi[0]), (1.0 + t + self._before_first) ** -self._decay
        rows = psi[0], importance[0], batch, weight, self.log_eta
        # The local step of Algorithm 1, eta <- (1 - a) eta + a (1 + (K - 1) / |S| sum of e^(psi_s -
        # psi_y)), and the gradient of eq. 8, e^(psi_s - psi_y) / eta for each class drawn.
        if self._left_out is not None:
            kernel.leave_one_out_softmax(*rows, step, *self._left_out, coefs, self._n_threads)
        else:
            kernel.local_softmax(
                psi[-1], importance[-1], batch, self.log_eta, step, self._n_threads
            )
            kernel.global_softmax(*rows, coefs, self._n_threads)
        return coefs

    def value(self, psi: np.ndarray, batch: np.ndarray) -> np.ndarray:
        """Return the bound of each sample, with psi of all classes."""
        out = np.empty(len(psi))
        kernel.bound_softmax(psi, _all_count(psi), batch, self.log_eta, out, self._n_threads)
        return out

    def at_best(self, psi: np.ndarray) -> np.ndarray:
        """Return the bound at its optimum: the log-probability of the own class."""
        return log_softmax(psi)[:, 0]


class AugmentedNoise:
    """Eq. 7 with Gaussian or logistic noise: mean and scale of it for each sample.

    At first they are those of equal utilities, by Laplace's approximation: a scale of 1, where
    `unit` asks for it, is several times too wide for many classes, and costs most of the first
    passes. With `first` 0 a sample begins at what suits the classes that it draws first.
    """

    n_draws = 2

    def __init__(
        self,
        model: str,
        n_samples: int,
        n_classes: int,
        n_threads: int,
        step: tuple[float, float],
        first: int = 1,
        unit: bool = False,
    ) -> None:
        if unit:
            mu, gamma = np.array([NOISES[model].largest(n_classes)]), np.array([UNIT_SCALE])
        else:
            mu, gamma = at_equal_utilities(model, n_classes)
        self.mu, self.gamma = np.repeat(mu, n_samples), np.repeat(gamma, n_samples)
        self._step, self._first = step, first
        self._name, self._model, self._n_threads = model, MODELS[model], n_threads
        self._expectation = expectation(model)

    def _draw(self, batch: np.ndarray, seeds: Seeds, is_global: bool) -> np.ndarray:
        u = np.empty(len(batch))
        draw(batch, u, seeds.noise, seeds.step, is_global, self._model)
        return u

    def stepped_coefficients(
        self,
        psi: list[np.ndarray],
        importance: tuple[np.ndarray, ...],
        batch: np.ndarray,
        weight: np.ndarray,
        t: int,
        seeds: Seeds,
    ) -> np.ndarray:
        """Return the same after the local step of Algorithm 2; a one-sample estimate."""
        coefs, of_noise = np.empty_like(psi[0]), (self._model, self._n_threads)
        # As printed, t counts mini-batches; a sample would then have a step of nearly zero when it
        # is next seen. The authors' program counts passes, as here.
        rate, decay = self._step
        step = rate * (1.0 + t) ** -decay
        if t == 1 and self._first == 0:
            kernel.start_noise(psi[-1], importance[-1], batch, self.mu, self.gamma, *of_noise)
        # Local step: one noise eps = mu + beta u a sample estimates the gradient of eq. 9 in mu and
        # gamma. The global step draws another one, so that the two are independent.
        u = self._draw(batch, seeds, False)
        kernel.local_noise(psi[-1], importance[-1], batch, u, self.mu, self.gamma, step, *of_noise)
        u = self._draw(batch, seeds, True)
        kernel.global_noise(
            psi[0], importance[0], batch, weight, u, self.mu, self.gamma, coefs, *of_noise
        )
        return coefs

    def value(self, psi: np.ndarray, batch: np.ndarray) -> np.ndarray:
        """Return the bound of each sample, with psi of all classes."""
        out = np.empty(len(psi))
        # Eq. 7: the expectation over q is a sum over nodes, free of noise.
        kernel.bound_noise(
            psi,
            _all_count(psi),
            batch,
            self.mu,
            self.gamma,
            *self._expectation,
            out,
            self._model,
            self._n_threads,
        )
        return out

    def at_best(self, psi: np.ndarray) -> np.ndarray:
        """Return the log-probability of the own class under the model."""
        own = np.zeros(len(psi), dtype=np.int32)
        return log_probability_of(psi, own, self._name, self._n_threads)


def bound_for(
    settings: PassSettings, y: np.ndarray, b: np.ndarray, sampler: ClassSampler
) -> OneVsEach | AugmentedSoftmax | AugmentedNoise:
    """Return the bound of the settings of a call, with variables for samples of the classes `y`;
    `b` are intercepts at the start.
    """
    n_threads = settings.n_threads
    if settings.bound == "one_vs_each":
        return OneVsEach(n_threads)
    # A fit from the start begins at the optimum for equal utilities. Where weights are warm, or a
    # part is one of many, the first draw of a sample says more than that start.
    first = 1 if settings.n_steps == 0 and settings.shuffled else 0
    if settings.model == "softmax":
        # The best eta for weights of zero: 1 + the sum over the other classes of e^(b_k - b_y).
        log_eta = logsumexp(b.astype(np.float64)) - b[y]
        decay = SOFTMAX_DECAY[settings.local_steps]
        return AugmentedSoftmax(log_eta, sampler.left_out(), n_threads, decay, first)
    step = LOCAL_STEPS[settings.local_steps]
    unit, size = settings.local_steps == "published", (len(y), sampler.n_classes)
    return AugmentedNoise(settings.model, *size, n_threads, step, first, unit)


def at_equal_utilities(model: str, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and gamma of the noise of the class chosen among equal ones, arrays of size
    1.
    """
    # One class drawn stands for all others by its importance.
    psi, others = np.zeros((1, 2), np.float32), np.full((1, 1), n_classes - 1, np.float32)
    mu, gamma = np.empty((2, 1))
    only = np.zeros(1, dtype=np.int32)
    kernel.start_noise(psi, others, only, mu, gamma, MODELS[model], 1)
    return mu, gamma


def _all_count(psi: np.ndarray) -> np.ndarray:
    """Return the importance of all other classes when none is left out."""
    return np.ones((psi.shape[0], psi.shape[1] - 1), dtype=np.float32)

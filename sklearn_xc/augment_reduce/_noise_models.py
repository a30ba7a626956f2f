"""Probabilities of utilities with Gaussian or logistic noise (multinomial probit and logistic)."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from .._kernels.augment_reduce import _quadrature as kernel


class Noise(NamedTuple):
    """Noise of the utilities of a model: all that differs between models outside kernels.

    Attributes
    ----------
    code : int
        Number of the model in the kernels (`_noise.pxd`).
    largest : callable
        ``largest(n)``: about the largest of the noises of n classes.
    slope : callable
        ``slope(n)``: how fast the logarithm of the tail falls there. Utilities times this are, near
        it, those of a softmax.
    spread : callable
        ``spread(mu)``: standard scale of the noise of a class, given that its mean is mu.
    expectation : callable
        ``expectation()``: nodes and weights, not normalised, of `expectation`.
    """

    code: int
    largest: Callable
    slope: Callable
    spread: Callable
    expectation: Callable


def _largest_normal(n: int) -> float:
    # The quantile at n / (n + 1), the mean of the largest of n uniform variables; it is about
    # sqrt(2 log n).
    return float(ndtri(1 - 1 / (n + 1)))


def _normal_expectation() -> tuple[np.ndarray, np.ndarray]:
    nodes = np.arange(-17, 18) / 2
    return nodes, np.exp(-(nodes**2) / 2)


def _logistic_expectation() -> tuple[np.ndarray, np.ndarray]:
    s = np.arange(-20, 21) * 0.15
    nodes = 4 * np.sinh(s)
    return nodes, np.cosh(s) / np.cosh(nodes / 2) ** 2


NOISES = {
    "probit": Noise(
        code=0,
        largest=_largest_normal,
        slope=lambda n: max(1.0, _largest_normal(n)),
        spread=lambda mu: (1 + mu**2) ** -0.5,
        expectation=_normal_expectation,
    ),
    "logistic": Noise(
        code=1,
        largest=np.log,
        slope=lambda n: 1.0,
        spread=lambda mu: 1.0,
        expectation=_logistic_expectation,
    ),
}
MODELS = {name: noise.code for name, noise in NOISES.items()}

# Samples handed to the kernel at once: between two blocks Python can take an interrupt.
ROW_BLOCK = 256


def slope_of_noise(model: str, n_classes: int) -> float:
    """Return the slope of the tail of the noise; that of the softmax, Gumbel's, is 1."""
    return NOISES[model].slope(n_classes) if model in NOISES else 1.0


def log_probabilities(
    scores: np.ndarray, model: str, n_threads: int, out: np.ndarray | None = None
) -> np.ndarray:
    """Fill `out`, by default a new float32 array, with the log-probabilities of all classes, by
    quadrature (A&R, eq. 5); it may be `scores` itself, finite mean utilities.

    Probabilities are normalised and within 1e-9 of the integral, log-probabilities of -2500 and
    more (probit) or -100 and more (logistic) within 1e-6 of themselves, but for the rounding to
    float32; below, they are of the right size and order, and at least -3.4e38.
    """
    if out is None:
        out = np.empty(scores.shape, dtype=np.float32)
    for block in _blocks(scores):
        kernel.log_probabilities(scores[block], out[block], MODELS[model], n_threads)
    return out


def log_probability_of(
    scores: np.ndarray, codes: np.ndarray, model: str, n_threads: int
) -> np.ndarray:
    """Return the log-probability of one class a sample, float64."""
    out = np.empty(len(scores))
    for block in _blocks(scores):
        kernel.log_probability_of(scores[block], codes[block], out[block], MODELS[model], n_threads)
    return out


def _blocks(scores: np.ndarray) -> list[slice]:
    return [slice(i, i + ROW_BLOCK) for i in range(0, len(scores), ROW_BLOCK)]


def expectation(model: str) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights, which sum to 1, that turn an expectation over standard noise into a
    sum.
    """
    # The trapezoidal rule: in u for the Gaussian, in s with u = 4 sinh(s) for the logistic
    # distribution, whose tails are long. For log Phi(mu + beta u) the error is below 1e-6 while
    # beta is below 2; a wider posterior makes the bound loose by far more than that.
    nodes, weights = NOISES[model].expectation()
    return nodes, weights / weights.sum()

"""Bounds of the log-likelihood that are sums over the other classes, and their local variables.

All have the same methods, so that Algorithms 1 and 2 of Augment-and-Reduce read alike. `psi`
(n_rows, n_sampled + 1) holds the utilities of each row's own class and of the classes drawn for it,
`importance` (n_rows, n_sampled) how many of the others each of them stands for, `batch` the numbers
of the rows' samples.
"""

import numpy as np
from scipy.special import log_softmax, ndtri

from ._kernels import _augment_reduce as kernel
from ._kernels._noise import draw
from ._noise import MODELS, expectation, log_probability_of

UNIT_SCALE = np.log(np.e - 1)  # gamma of the scale 1


class OneVsEach:
    """Eq. 10 (Titsias, 2016): no variables."""

    has_variables = False
    can_leave_out = False

    def __init__(self, n_threads):
        self._n_threads = n_threads

    def coefficients(self, psi, importance, batch, weight, seeds):
        """Derivative of the bound's estimate by psi, times the samples' weights."""
        coefs = np.empty_like(psi)
        kernel.global_one_vs_each(psi, importance, batch, weight, coefs, self._n_threads)
        return coefs

    def value(self, psi, batch):
        """The bound of each row, with psi of all classes."""
        out = np.empty(len(psi))
        kernel.bound_one_vs_each(psi, _all_count(psi), out, self._n_threads)
        return out

    def at_best(self, psi):
        """The log-probability of the own class under the model."""
        return _log_softmax_of_own(psi)


class AugmentedSoftmax:
    """Eq. 8: log eta for each sample, at first that of equal utilities."""

    has_variables = True
    can_leave_out = True

    def __init__(self, n_samples, n_classes, n_threads):
        self.log_eta = np.full(n_samples, np.log(n_classes))
        self._n_threads = n_threads

    def step(self, psi, importance, batch, t, seeds):
        """Local step of Algorithm 1; t counts the updates of these samples' variables, from 1."""
        kernel.local_softmax(psi, importance, batch, self.log_eta, self._step(t), self._n_threads)

    @staticmethod
    def _step(t):
        return (1 + t) ** -0.9

    def step_and_coefficients(self, psi, importance, batch, weight, t, left_out):
        """Both at once, where no class drawn sees what it has itself contributed to eta.

        `left_out` is that of the sampler.
        """
        coefs = np.empty_like(psi)
        kernel.leave_one_out_softmax(
            psi, importance, batch, weight, self.log_eta, self._step(t), *left_out, coefs,
            self._n_threads,
        )  # fmt: skip
        return coefs

    def coefficients(self, psi, importance, batch, weight, seeds):
        """Derivative of the bound's estimate by psi, times the samples' weights."""
        coefs = np.empty_like(psi)
        kernel.global_softmax(psi, importance, batch, weight, self.log_eta, coefs, self._n_threads)
        return coefs

    def value(self, psi, batch):
        """The bound of each row, with psi of all classes."""
        out = np.empty(len(psi))
        kernel.bound_softmax(psi, _all_count(psi), batch, self.log_eta, out, self._n_threads)
        return out

    def at_best(self, psi):
        """The bound at its optimum: the log-probability of the own class."""
        return _log_softmax_of_own(psi)


class AugmentedNoise:
    """Eq. 7 with Gaussian or logistic noise: mean and scale of it for each sample.

    At first the mean is about that of the largest of n_classes noises, as for equal utilities.
    """

    has_variables = True
    can_leave_out = False

    def __init__(self, model, n_samples, n_classes, n_threads):
        largest = ndtri(1 - 1 / (n_classes + 1)) if model == "probit" else np.log(n_classes)
        self.mu = np.full(n_samples, largest)
        self.gamma = np.full(n_samples, UNIT_SCALE)
        self._name, self._model, self._n_threads = model, MODELS[model], n_threads
        self._expectation = expectation(model)

    def _draw(self, batch, seeds, is_global):
        u = np.empty(len(batch))
        draw(batch, u, seeds.noise, seeds.step, is_global, self._model)
        return u

    def step(self, psi, importance, batch, t, seeds):
        """Local step of Algorithm 2; t counts the updates of these samples' variables, from 1."""
        u = self._draw(batch, seeds, False)
        kernel.local_noise(
            psi, importance, batch, u, self.mu, self.gamma, 0.01 * (1 + t) ** -0.9, self._model,
            self._n_threads,
        )  # fmt: skip

    def coefficients(self, psi, importance, batch, weight, seeds):
        """One-sample estimate of the derivative by psi, times the samples' weights."""
        u = self._draw(batch, seeds, True)
        coefs = np.empty_like(psi)
        kernel.global_noise(
            psi, importance, batch, weight, u, self.mu, self.gamma, coefs, self._model,
            self._n_threads,
        )  # fmt: skip
        return coefs

    def value(self, psi, batch):
        """The bound of each row, with psi of all classes."""
        out = np.empty(len(psi))
        kernel.bound_noise(
            psi, _all_count(psi), batch, self.mu, self.gamma, *self._expectation, out,
            self._model, self._n_threads,
        )  # fmt: skip
        return out

    def at_best(self, psi):
        """The log-probability of the own class under the model."""
        own = np.zeros(len(psi), dtype=np.int32)
        return log_probability_of(psi, own, self._name, self._n_threads)


def bound_for(model, bound, n_samples, n_classes, n_threads):
    """The object for the parameters of the estimator."""
    if bound == "one_vs_each":
        return OneVsEach(n_threads)
    if model == "softmax":
        return AugmentedSoftmax(n_samples, n_classes, n_threads)
    return AugmentedNoise(model, n_samples, n_classes, n_threads)


def _all_count(psi):
    """The importance of all other classes when none is left out."""
    return np.ones((psi.shape[0], psi.shape[1] - 1), dtype=np.float32)


def _log_softmax_of_own(psi):
    return log_softmax(psi.astype(np.float64), axis=1)[:, 0]

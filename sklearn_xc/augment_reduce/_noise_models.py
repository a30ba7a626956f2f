"""Probabilities of utilities with Gaussian or logistic noise (multinomial probit and logistic)."""

import numpy as np

from .._kernels.augment_reduce import _quadrature as kernel

# The models by their number in the kernels.
MODELS = {"probit": 0, "logistic": 1}

# Rows handed to the kernel at once: between two blocks Python can take an interrupt.
ROW_BLOCK = 256


def log_probabilities(scores, model, n_threads: int, out=None):
    """Return log-probabilities of all classes, by quadrature (A&R, eq. 5).

    Parameters
    ----------
    scores : C-contiguous ndarray of float32 (n_rows, n_classes), finite
        Mean utilities.
    model : {"probit", "logistic"}
    out : ndarray of float32 or float64 (n_rows, n_classes), default=None
        Where they go; `scores` itself may be given. None: a new float32 array.

    Returns
    -------
    out : ndarray
        Normalised. Probabilities are within 1e-9 of the integral, log-probabilities of -2500 and
        more (probit) or -100 and more (logistic) within 1e-6 of themselves, but for the rounding to
        float32; below, they are of the right size and order, and at least -3.4e38.
    """
    if out is None:
        out = np.empty(scores.shape, dtype=np.float32)
    for block in _blocks(scores):
        kernel.log_probabilities(scores[block], out[block], MODELS[model], n_threads)
    return out


def log_probability_of(scores, codes, model, n_threads):
    """Return the log-probability of one class a row.

    Parameters
    ----------
    scores, model, n_threads : as in `log_probabilities`
    codes : ndarray of int32 (n_rows,)
        The classes.

    Returns
    -------
    log_p : ndarray of float64 (n_rows,)
    """
    out = np.empty(len(scores))
    for block in _blocks(scores):
        kernel.log_probability_of(scores[block], codes[block], out[block], MODELS[model], n_threads)
    return out


def _blocks(scores):
    return [slice(i, i + ROW_BLOCK) for i in range(0, len(scores), ROW_BLOCK)]


def expectation(model):
    """Return nodes and weights that turn an expectation over standard noise into a sum.

    The trapezoidal rule: in u for the Gaussian, in s with u = 4 sinh(s) for the logistic
    distribution, whose tails are long. For log Phi(mu + beta u) the error is below 1e-6 while beta
    is below 2; a wider posterior makes the bound loose by far more than that.

    Parameters
    ----------
    model : {"probit", "logistic"}

    Returns
    -------
    nodes, weights : ndarrays of float64 (n_nodes,)
        The weights sum to 1.
    """
    if model == "probit":
        nodes = np.arange(-17, 18) / 2
        weights = np.exp(-(nodes**2) / 2)
    else:
        s = np.arange(-20, 21) * 0.15
        nodes = 4 * np.sinh(s)
        weights = np.cosh(s) / np.cosh(nodes / 2) ** 2
    return nodes, weights / weights.sum()

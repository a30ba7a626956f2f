"""Parameters of MEMOIR: those of the paper, and what "auto" makes of the data."""

import numpy as np

from ..base._classifier import BaseXCClassifier
from ..training._convergence import number_of_passes
from ._state import MemoirState
from ._train import MarginSettings

# The settings of the paper, but for `max_iter`, there 25 to 80 batches by data set. Its rate is
# that of a sample's step, not divided by the size of the batch.
_OF_ALL = {
    "rho": 1.0,
    "batch_size": "auto",
    "reduction": "sum",
    "eta0": 0.1,
    "eta_step": 0.02,
    "sampling": "uniform",
    "average": False,
    "normalize_scores": False,
    "fit_intercept": False,
}
_CODES = {"n_bits": 64, "min_recall": 0.0}
PUBLISHED = {
    "l2": {"penalty": "l2", "alpha": 1.0, "search": "hnsw", **_OF_ALL},
    "l1": {"penalty": "l1", "alpha": 1e-6, "search": "hnsw", **_OF_ALL},
    "lsh": {"penalty": "l2", "alpha": 1.0, "search": "lsh", "search_params": _CODES, **_OF_ALL},
}
CONSTANT = 1.0  # the value of the constant feature, in root mean square lengths of samples
# alpha="auto", times the mean of ||x||^2 (or its root) over the weight of all samples
AUTO_ALPHA = {"l2": 0.3, "l1": 0.03}
LARGEST_ALPHA = 1e12
# max_iter="auto": passes over data of many samples, and with early stopping. Of few samples there
# are more, for this many samples make a step of `_convergence.FEWEST_STEPS`.
PASSES, PASSES_TO_STOP = 10, 100
SAMPLES_OF_A_STEP = 20
# batch_size="auto" is at most this part of the samples: the penalty acts between batches.
FEWEST_BATCHES = 10


def passes_of(model: BaseXCClassifier, n_samples: int) -> int:
    """Return how many passes over this many samples."""
    usual = PASSES_TO_STOP if model.early_stopping else PASSES
    return number_of_passes(model.max_iter, usual, n_samples, SAMPLES_OF_A_STEP)


def bias_of(model: BaseXCClassifier, state: MemoirState) -> float:
    """Return the value of the constant feature; 0 for none."""
    return float(CONSTANT * np.sqrt(state.mean_square)) if model.fit_intercept else 0.0


def batch_size_of(model: BaseXCClassifier, state: MemoirState) -> float:
    """Return the size of batches that are equal parts of the samples."""
    n_rows, size = round(state.seen.n_rows), model.batch_size
    if size == "auto":
        # With "sum" the size is part of the objective: it stays the published one.
        most = n_rows / (FEWEST_BATCHES if model.reduction == "mean" else 1)
        size = min(100 * np.sqrt(len(model.classes_)), most)
    return n_rows / max(1, round(n_rows / max(1, int(size))))


def settings_of(
    model: BaseXCClassifier, state: MemoirState
) -> tuple[MarginSettings, tuple[float, float, float]]:
    """Return the settings of the passes, and alpha, eta0 and eta_step as the model reports them."""
    assert state.bias is not None  # `MemoirSVC._with_bias` has set it
    square, batch_size = state.mean_square, batch_size_of(model, state)
    alpha, eta0, eta_step, by_now = model.alpha, model.eta0, model.eta_step, 1.0
    if alpha == "auto":
        size = square if model.penalty == "l2" else np.sqrt(square)
        alpha = min(AUTO_ALPHA[model.penalty] * size / state.seen.weight, LARGEST_ALPHA)
        # While samples are new, an unknown number of others is to come. In a pass over all of them
        # half have come at the mean, and weights that they shrink and rates that they slow down are
        # on their way by half: so an automatic penalty of new samples counts half.
        by_now = 1 - state.new / 2
    if eta0 == "auto":
        # A step of eta0 / rho along x, on both classes, changes the margin of x by
        # 2 eta0 ||x||^2 / rho. With this eta0 that is 2 rho for a sample of mean length.
        eta0 = model.rho**2 / (square + state.bias**2)
        if model.reduction == "mean":
            eta0 *= batch_size
    if eta_step == "auto":
        eta_step = alpha * eta0  # eta_t = eta0 / (1 + alpha eta0 t) -> 1 / (alpha t), Theorem 2
    settings = MarginSettings(
        penalty=model.penalty,
        alpha=float(alpha * by_now),
        rho=float(model.rho),
        batch_size=float(batch_size),
        reduction=model.reduction,
        eta0=float(eta0),
        eta_step=float(eta_step * (by_now if model.eta_step == "auto" else 1.0)),
        sampling=model.sampling,
        average=bool(model.average),
        bias=state.bias,
        n_iter_no_change=model.n_iter_no_change,
    )
    return settings, (alpha, eta0, eta_step)

"""The transforms of scores into probabilities, and how each is fitted by maximum likelihood."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax
from sklearn.isotonic import IsotonicRegression

from ..model_selection._out_of_fold import NO_SCORE, HeldOut
from ..utils._records import either, is_array, is_not_negative, is_number, record


def is_minus_infinity(value: Any) -> bool:
    """Return whether a value is the float minus infinity."""
    return isinstance(value, float) and value == -np.inf


@record(slope=is_number, offset=is_number)
@dataclass(frozen=True)
class Sigmoid:
    """``1 / (1 + exp(-(slope * score + offset)))``."""

    slope: float
    offset: float

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        return expit(self.slope * scores + self.offset)


@record(score=is_array(np.float64), probability=is_array(np.float64, least=0))
@dataclass(frozen=True, eq=False, repr=False)
class Isotonic:
    """Linear between the points (score, probability), constant beyond the first and the last."""

    score: np.ndarray
    probability: np.ndarray

    def _check_record(self) -> None:
        """Raise ValueError unless there are points, with rising scores."""
        if not len(self.score) == len(self.probability) > 0 or (np.diff(self.score) < 0).any():
            raise ValueError("the points of an isotonic calibration are not in order")

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        return np.interp(scores, self.score, self.probability)

    def __repr__(self) -> str:
        (first, last), (low, high) = self.score[[0, -1]], self.probability[[0, -1]]
        return (
            f"Isotonic({len(self.score)} points, score {first:.4g} to {last:.4g}, "
            f"probability {low:.4g} to {high:.4g})"
        )


@record(inverse=is_not_negative, other=either(is_number, is_minus_infinity))
@dataclass(frozen=True)
class Temperature:
    """Softmax of ``score / temperature`` over the candidates and one more term for all others.

    `other` is the utility of "none of the candidates": minus infinity where these are all classes.
    """

    inverse: float
    other: float

    def __call__(self, scores: np.ndarray, has_others: np.ndarray) -> np.ndarray:
        """Return probabilities of the candidates and, in the last column, of all other classes."""
        utilities = np.where(scores > NO_SCORE, self.inverse * scores, -np.inf)
        other = np.where(has_others, self.other, -np.inf)
        return softmax(np.column_stack([utilities, other]), axis=1)


def platt_targets(hits: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return targets for 0 and 1 that keep probabilities off these (Platt, section 2)."""
    positives, negatives = weight @ hits, weight @ ~hits
    return np.where(hits, (positives + 1) / (positives + 2), 1 / (negatives + 2))


def fit_sigmoid(scores: np.ndarray, hits: np.ndarray, weight: np.ndarray) -> Sigmoid:
    """Fit slope and offset by maximum likelihood; the slope is not below zero."""
    targets = platt_targets(hits, weight)
    centre, scale = centre_and_scale(scores, weight)
    z = (scores - centre) / scale
    weight = weight / weight.sum()

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        # Mean of log(1 + exp(u)) - t u with u = slope z + offset; its derivative in u is
        # sigmoid(u) - t.
        utility = parameters[0] * z + parameters[1]
        excess = weight * (expit(utility) - targets)
        value = weight @ (np.logaddexp(0, utility) - targets * utility)
        return value, np.array([excess @ z, excess.sum()])

    # From the offset that is best where scores say nothing. A slope below zero would turn the
    # order of the classes round.
    rate = weight @ targets
    start = [1.0, np.log(rate / (1 - rate))]
    slope, offset = minimise(loss, start, [(0, None), (None, None)])
    return Sigmoid(slope / scale, offset - slope * centre / scale)


def fit_isotonic(scores: np.ndarray, hits: np.ndarray, weight: np.ndarray) -> Isotonic:
    """Fit a rising function of any shape by least squares."""
    regression = IsotonicRegression(out_of_bounds="clip")
    regression.fit(scores, platt_targets(hits, weight), sample_weight=weight)
    return Isotonic(regression.X_thresholds_, regression.y_thresholds_)


def fit_temperature(held_out: HeldOut, n_classes: int) -> Temperature:
    """Fit 1 / temperature and the utility of all other classes by maximum likelihood."""
    scored = held_out.scores > NO_SCORE
    weight = held_out.weight / held_out.weight.sum()
    spread = held_out.scores.astype(np.float64)[scored]
    centre, scale = centre_and_scale(spread, np.ones(len(spread)))
    z = np.where(scored, (held_out.scores - centre) / scale, 0.0)
    has_others = scored.sum(axis=1) < n_classes
    hits = held_out.hits & scored
    # One more column, for "none of the candidates", where there are other classes.
    true = np.column_stack([hits, has_others & ~hits.any(axis=1)]).astype(np.float64)
    possible = np.column_stack([scored, has_others])
    # As Platt's targets: a little of each sample belongs to every class that it could have had.
    smoothing = 1 / (held_out.weight.sum() + 2)
    share = possible / possible.sum(axis=1, keepdims=True)
    targets = (1 - smoothing) * true + smoothing * share

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        utilities = np.column_stack([parameters[0] * z, np.full(len(z), parameters[1])])
        utilities = np.where(possible, utilities, -np.inf)
        # Cross-entropy with the targets t; its derivative in the utilities is p - t.
        log_p = log_softmax(utilities, axis=1)
        excess = weight[:, None] * (np.exp(log_p) - targets)
        value = -weight @ np.sum(targets * np.where(possible, log_p, 0), axis=1)
        return value, np.array([np.sum(excess[:, :-1] * z), excess[:, -1].sum()])

    inverse, other = minimise(loss, [1.0, 0.0], [(0, None), (None, None)])
    # utilities of the scores as they are: the centre shifts all candidates alike
    other = other + inverse * centre / scale if has_others.any() else -np.inf
    return Temperature(inverse / scale, float(other))


def centre_and_scale(scores: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Return weighted mean and standard deviation, 1 where all scores are equal."""
    centre = np.average(scores, weights=weight)
    scale = np.sqrt(np.average((scores - centre) ** 2, weights=weight))
    return (float(centre), float(scale)) if scale > 0 else (float(centre), 1.0)


def minimise(
    loss: Callable[[np.ndarray], tuple[float, np.ndarray]],
    start: list[float],
    bounds: list[tuple[float | None, float | None]],
) -> Iterator[float]:
    """Find the minimum of a function of few parameters that returns its gradient too."""
    result = minimize(
        loss,
        start,
        jac=True,
        bounds=bounds,
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 1000},
    )
    return map(float, result.x)

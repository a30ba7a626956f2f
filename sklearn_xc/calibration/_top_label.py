"""Probability of the best class from its own score and its lead, and of the others by what is left.

Dividing probabilities of single classes by their sum over thousands of rare ones keeps the best
below 0.8, however sure the model is. Here the best class is looked at alone: whether it was right
is a question of two answers, which held-out samples calibrate as they are.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from ..model_selection._out_of_fold import NO_SCORE, HeldOut
from ..utils._records import is_a, is_not_negative, record
from ._transforms import (
    Isotonic,
    Sigmoid,
    Temperature,
    centre_and_scale,
    fit_isotonic,
    fit_temperature,
    minimise,
    platt_targets,
)

MANY = 1000  # held-out samples with which a rising function is fitted, not two numbers


@record(
    slope=is_not_negative,
    lead_slope=is_not_negative,
    largest_lead=is_not_negative,
    curve=is_a(Sigmoid, Isotonic),
    others=is_a(Temperature),
)
@dataclass(frozen=True)
class TopLabel:
    """``curve(slope * score + lead_slope * lead)`` for the best class of a sample."""

    slope: float
    lead_slope: float  # of its lead over the second
    largest_lead: float  # where no other class has a score
    curve: Sigmoid | Isotonic
    others: Temperature  # how the others share what the best class leaves

    def best(self, scores: np.ndarray) -> np.ndarray:
        """Return the probability that the best class of each sample is right."""
        lead = _leads(scores, self.largest_lead)
        return self.curve(self.slope * scores[:, 0] + self.lead_slope * lead)

    def __call__(self, scores: np.ndarray, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
        """Return probabilities of the candidates and, `rest`, of each other class of a sample.

        `scores` are float64 (n_samples, n_candidates), best first, and at most NO_SCORE where a
        class has none: its probability is the one in `rest`.
        """
        # The most probable of n classes has a probability of 1 / n at least.
        best = np.clip(self.best(scores), 1 / n_classes, 1)
        scored = scores[:, 1:] > NO_SCORE
        n_rest = n_classes - 1 - scored.sum(axis=1)
        share = self.others(scores[:, 1:], n_rest > 0)
        share, rest = share[:, :-1], share[:, -1] / np.maximum(n_rest, 1)
        # Classes without a score do not overtake those with one. All shares stay above zero, so
        # that they can be scaled to any sum.
        rest = np.minimum(rest, share.min(axis=1, where=scored, initial=1))
        share = np.where(scored, share, rest[:, None])
        share = np.maximum(np.column_stack([share, rest]), np.finfo(np.float64).tiny)
        count = np.ones(share.shape)
        count[:, -1] = n_classes - scores.shape[1]
        probabilities = _below(best, share, count)
        return np.column_stack([best, probabilities[:, :-1]]), probabilities[:, -1]


def _leads(scores: np.ndarray, largest: float) -> np.ndarray:
    """Return how far the best score is above the second."""
    if scores.shape[1] < 2:
        return np.full(len(scores), largest)
    return np.where(scores[:, 1] > NO_SCORE, scores[:, 0] - scores[:, 1], largest)


def _below(best: np.ndarray, share: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Divide what the best class leaves by shares, falling in each line, none above the best.

    `count` is the number of classes of each share. The probabilities p that are returned have
    ``(p * count).sum(axis=1) == 1 - best``.
    """
    # Shares that a common scale would lift above the best are set to it, and the scale grows for
    # the others. That adds a share in each round, so that rounds are at most as many as shares.
    at_most = np.broadcast_to(best[:, None], share.shape)
    full = np.zeros(share.shape, dtype=bool)
    while True:
        left = 1 - best - (at_most * count).sum(axis=1, where=full)
        total = (share * count).sum(axis=1, where=~full)
        scale = np.maximum(left, 0) / np.where(total > 0, total, 1)
        p = np.where(full, at_most, scale[:, None] * share)
        over = ~full & (count > 0) & (p > at_most * (1 + 1e-15))
        if not over.any():
            return np.minimum(p, at_most)
        full |= over


def fit_top_label(held_out: HeldOut, n_classes: int) -> TopLabel:
    """Fit a TopLabel on held-out samples of one class each, those with a scored class."""
    scored = held_out.scores[:, 0] > NO_SCORE
    held_out = type(held_out)(*(part[scored] for part in held_out))
    scores, weight = held_out.scores.astype(np.float64), held_out.weight
    hit = held_out.hits[:, 0]
    second = scores[:, 1] > NO_SCORE if scores.shape[1] > 1 else np.zeros(len(scores), bool)
    largest = float(np.max(_leads(scores, 0.0), where=second, initial=0.0))
    features = np.column_stack([scores[:, 0], _leads(scores, largest)])
    slope, lead_slope, offset = _logistic(features, hit, weight)
    combined = slope * features[:, 0] + lead_slope * features[:, 1]
    curve: Sigmoid | Isotonic = Sigmoid(1.0, offset)
    if len(scores) >= MANY:
        # Enough samples for a rising function of any shape, by least squares, of the same sum.
        curve = fit_isotonic(combined, hit, weight)
    return TopLabel(slope, lead_slope, largest, curve, _fit_others(held_out, n_classes))


def _logistic(
    features: np.ndarray, hit: np.ndarray, weight: np.ndarray
) -> tuple[float, float, float]:
    """Return maximum likelihood of two slopes, not below zero, and an offset."""
    targets = platt_targets(hit, weight)
    parts = [centre_and_scale(column, weight) for column in features.T]
    centre, scale = np.array(parts).T
    # Standardised, so that one tolerance serves scores of any size.
    z = (features - centre) / scale
    weight = weight / weight.sum()

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        utility = z @ parameters[:2] + parameters[2]
        excess = weight * (expit(utility) - targets)
        value = weight @ (np.logaddexp(0, utility) - targets * utility)
        return value, np.append(excess @ z, excess.sum())

    rate = weight @ targets
    start = [1.0, 0.0, np.log(rate / (1 - rate))]
    *slopes, offset = minimise(loss, start, [(0, None), (0, None), (None, None)])
    # Slopes and offset of the scores as they are.
    slopes = np.array(slopes) / scale
    return float(slopes[0]), float(slopes[1]), float(offset - slopes @ centre)


def _fit_others(held_out: HeldOut, n_classes: int) -> Temperature:
    """Fit the softmax among all classes but the best, by the samples whose best is wrong."""
    missed = ~held_out.hits[:, 0]
    scores, hits = held_out.scores[missed, 1:], held_out.hits[missed, 1:]
    scored = scores > NO_SCORE
    if not scored.any() or not held_out.weight[missed].sum() > 0:  # nothing to learn from
        n_rest = n_classes - held_out.scores.shape[1]
        return Temperature(0.0, float(np.log(max(n_rest, 1))))
    rest = held_out._replace(scores=scores, hits=hits, weight=held_out.weight[missed])
    fitted = fit_temperature(rest, n_classes - 1)
    # All classes were candidates here: exp(-700) is small, and above zero for those to come that
    # are none.
    return fitted if np.isfinite(fitted.other) else Temperature(fitted.inverse, -700.0)

"""Probabilities from the scores of the k best classes, by a few numbers shared by all classes.

A calibration looks at the k best scores of a row, its candidates, and gives each of them a
probability; all other classes of the row share one probability among them. It is fitted on scores
of samples that the model has not seen.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax
from sklearn.isotonic import IsotonicRegression

from ..model_selection._out_of_fold import NO_SCORE, HeldOut
from ..utils._records import (
    either,
    is_a,
    is_array,
    is_count,
    is_not_negative,
    is_number,
    is_one_of,
    record,
)

METHODS = "sigmoid", "isotonic", "temperature"
N_CANDIDATES = 10
# Probabilities stay strictly inside (0, 1), the smallest in float32 too.
SMALLEST, LARGEST = float(np.finfo(np.float32).tiny), 1 - float(np.finfo(np.float64).epsneg)
LARGEST_FLOAT32 = np.float32(1) - np.finfo(np.float32).epsneg


def is_minus_infinity(value):
    return isinstance(value, float) and value == -np.inf


@record(slope=is_number, offset=is_number)
@dataclass(frozen=True)
class Sigmoid:
    """``1 / (1 + exp(-(slope * score + offset)))``."""

    slope: float
    offset: float

    def __call__(self, scores):
        return expit(self.slope * scores + self.offset)


@record(score=is_array(np.float64), probability=is_array(np.float64, least=0))
@dataclass(frozen=True, eq=False, repr=False)
class Isotonic:
    """Linear between the points (score, probability), constant beyond the first and the last."""

    score: np.ndarray
    probability: np.ndarray

    def _check_record(self):
        if not len(self.score) == len(self.probability) > 0 or (np.diff(self.score) < 0).any():
            raise ValueError("the points of an isotonic calibration are not in order")

    def __call__(self, scores):
        return np.interp(scores, self.score, self.probability)

    def __repr__(self):
        (first, last), (low, high) = self.score[[0, -1]], self.probability[[0, -1]]
        return (
            f"Isotonic({len(self.score)} points, score {first:.4g} to {last:.4g}, "
            f"probability {low:.4g} to {high:.4g})"
        )


@record(inverse=is_not_negative, other=either(is_number, is_minus_infinity))
@dataclass(frozen=True)
class Temperature:
    """Softmax of ``score / temperature`` over the candidates and, beside them, all others.

    `other` is the utility of "none of the candidates": minus infinity where these are all classes.
    """

    inverse: float
    other: float

    def __call__(self, scores, has_others):
        """Probabilities of the candidates and, in the last column, of all other classes."""
        utilities = np.where(scores > NO_SCORE, self.inverse * scores, -np.inf)
        other = np.where(has_others, self.other, -np.inf)
        return softmax(np.column_stack([utilities, other]), axis=1)


@record(
    method=is_one_of(*METHODS), kind=is_one_of("binary", "multiclass", "multilabel"),
    n_classes=is_count, n_candidates=is_count, transform=is_a(Sigmoid, Isotonic, Temperature),
    rest_probability=is_not_negative,
)  # fmt: skip
@dataclass(frozen=True)
class Calibration:
    """A fitted calibration.

    Attributes
    ----------
    method : {"sigmoid", "isotonic", "temperature"}
    kind : {"binary", "multiclass", "multilabel"}
    n_classes : int
    n_candidates : int
        How many of the best scores of a row are given probabilities of their own.
    transform : Sigmoid, Isotonic or Temperature
    rest_probability : float
        How often a class beyond the candidates was true, each.
    """

    method: str
    kind: str
    n_classes: int
    n_candidates: int
    transform: Sigmoid | Isotonic | Temperature
    rest_probability: float

    def _check_record(self):
        """Raise ValueError for what no call of `fit_calibration` makes."""
        transforms = {"sigmoid": Sigmoid, "isotonic": Isotonic, "temperature": Temperature}
        if type(self.transform) is not transforms.get(self.method):
            raise ValueError(f"a calibration by {self.method!r} with another one's transform")
        if not 1 <= self.n_candidates <= self.n_classes:
            raise ValueError(f"{self.n_candidates} candidates of {self.n_classes} classes")

    def require_classes(self, n_classes):
        """Raise ValueError unless it is a calibration of this many classes."""
        if self.n_classes != n_classes:
            raise ValueError(f"a calibration of {self.n_classes} classes for {n_classes}")

    def binary(self, scores):
        """Probabilities of the second of two classes: float64, of the shape of the scores."""
        if self.method == "temperature":
            return _inside(expit(2 * self.transform.inverse * np.asarray(scores, np.float64)))
        return _inside(self.transform(np.asarray(scores, dtype=np.float64)))

    def candidates(self, scores):
        """Probabilities of the candidates of each row and of each of its other classes.

        They fall with the scores, and those of one class a sample sum to 1 in each row.

        Parameters
        ----------
        scores : ndarray (n_rows, n_candidates)
            Best first.

        Returns
        -------
        probabilities : ndarray of float64 (n_rows, n_candidates)
        rest : ndarray of float64 (n_rows,)
        """
        scores = np.asarray(scores, dtype=np.float64)
        scored = scores > NO_SCORE
        n_others = self.n_classes - scored.sum(axis=1)
        if self.method == "temperature":
            found = self.transform(scores, n_others > 0)
            probabilities, rest = found[:, :-1], found[:, -1] / np.maximum(n_others, 1)
        else:
            probabilities = self.transform(scores)
            rest = np.full(len(scores), self.rest_probability)
        # what is not among the best must not overtake them
        rest = np.minimum(rest, probabilities.min(axis=1, where=scored, initial=1))
        probabilities = np.where(scored, probabilities, rest[:, None])
        if self.kind == "multiclass":
            unscored = self.n_classes - scores.shape[1]
            total = probabilities.sum(axis=1) + unscored * rest
            probabilities /= total[:, None]
            rest /= total
        return _inside(probabilities), _inside(rest)


def _inside(probabilities):
    return np.clip(probabilities, SMALLEST, LARGEST)


def rounded_inside(probabilities):
    """In float32, still below 1."""
    return np.minimum(probabilities.astype(np.float32), LARGEST_FLOAT32)


def fit_calibration(method, kind, n_classes, held_out):
    """Fit a calibration on held-out scores.

    Parameters
    ----------
    method : {"sigmoid", "isotonic", "temperature"}
    kind : {"binary", "multiclass", "multilabel"}
    n_classes : int
    held_out : HeldOut

    Returns
    -------
    calibration : Calibration
    """
    counted = held_out.weight > 0
    held_out = HeldOut(*(part[counted] for part in held_out))
    scored = held_out.scores > NO_SCORE
    if not scored.any():
        raise ValueError("calibration: no class has a score in a sample that was held out")
    if method != "temperature":
        scores, hits = held_out.scores[scored].astype(np.float64), held_out.hits[scored]
        weight = np.broadcast_to(held_out.weight[:, None], scored.shape)[scored]
        transform = (_fit_sigmoid if method == "sigmoid" else _fit_isotonic)(scores, hits, weight)
    elif kind == "binary":
        transform = _fit_temperature(_both(held_out), 2)
    else:
        transform = _fit_temperature(held_out, n_classes)
    return Calibration(
        method=method,
        kind=kind,
        n_classes=n_classes,
        n_candidates=held_out.scores.shape[1],
        transform=transform,
        rest_probability=_rest_probability(held_out, scored, n_classes),
    )


def _both(held_out):
    """Two columns of scores, -f and f, as of two candidates."""
    scores, hits = held_out.scores, held_out.hits
    return held_out._replace(
        scores=np.hstack([-scores, scores]),
        hits=np.hstack([~hits, hits]),
        n_true=np.ones(len(scores)),
    )


def _rest_probability(held_out, scored, n_classes):
    """Share of the true among the classes that are no candidates; half a one where none was."""
    others = held_out.weight @ (n_classes - scored.sum(axis=1))
    missed = held_out.weight @ (held_out.n_true - (held_out.hits & scored).sum(axis=1))
    return float((missed + 0.5) / (others + 1)) if others > 0 else 0.0


def _targets(hits, weight):
    """Targets instead of 0 and 1, which keep probabilities off 0 and 1 (Platt, section 2)."""
    positives, negatives = weight @ hits, weight @ ~hits
    return np.where(hits, (positives + 1) / (positives + 2), 1 / (negatives + 2))


def _fit_sigmoid(scores, hits, weight):
    """Maximum likelihood of slope and offset; the slope not below zero, so that order stays."""
    targets = _targets(hits, weight)
    centre, scale = _centre_and_scale(scores, weight)
    z = (scores - centre) / scale
    weight = weight / weight.sum()

    def loss(parameters):
        utility = parameters[0] * z + parameters[1]
        excess = weight * (expit(utility) - targets)
        value = weight @ (np.logaddexp(0, utility) - targets * utility)
        return value, np.array([excess @ z, excess.sum()])

    rate = weight @ targets
    start = [1.0, np.log(rate / (1 - rate))]
    slope, offset = _minimise(loss, start, [(0, None), (None, None)])
    return Sigmoid(slope / scale, offset - slope * centre / scale)


def _fit_isotonic(scores, hits, weight):
    regression = IsotonicRegression(out_of_bounds="clip")
    regression.fit(scores, _targets(hits, weight), sample_weight=weight)
    return Isotonic(regression.X_thresholds_, regression.y_thresholds_)


def _fit_temperature(held_out, n_classes):
    """Maximum likelihood of 1 / temperature and of the utility of all other classes."""
    scored = held_out.scores > NO_SCORE
    weight = held_out.weight / held_out.weight.sum()
    spread = held_out.scores.astype(np.float64)[scored]
    centre, scale = _centre_and_scale(spread, np.ones(len(spread)))
    z = np.where(scored, (held_out.scores - centre) / scale, 0.0)
    has_others = scored.sum(axis=1) < n_classes
    hits = held_out.hits & scored
    true = np.column_stack([hits, has_others & ~hits.any(axis=1)]).astype(np.float64)
    possible = np.column_stack([scored, has_others])
    # As Platt's targets: a little of each sample belongs to every class that it could have had.
    smoothing = 1 / (held_out.weight.sum() + 2)
    share = possible / possible.sum(axis=1, keepdims=True)
    targets = (1 - smoothing) * true + smoothing * share

    def loss(parameters):
        utilities = np.column_stack([parameters[0] * z, np.full(len(z), parameters[1])])
        utilities = np.where(possible, utilities, -np.inf)
        log_p = log_softmax(utilities, axis=1)
        excess = weight[:, None] * (np.exp(log_p) - targets)
        value = -weight @ np.sum(targets * np.where(possible, log_p, 0), axis=1)
        return value, np.array([np.sum(excess[:, :-1] * z), excess[:, -1].sum()])

    inverse, other = _minimise(loss, [1.0, 0.0], [(0, None), (None, None)])
    # utilities of the scores as they are: the centre shifts all candidates alike
    other = other + inverse * centre / scale if has_others.any() else -np.inf
    return Temperature(inverse / scale, float(other))


def _centre_and_scale(scores, weight):
    centre = np.average(scores, weights=weight)
    scale = np.sqrt(np.average((scores - centre) ** 2, weights=weight))
    return (float(centre), float(scale)) if scale > 0 else (float(centre), 1.0)


def _minimise(loss, start, bounds):
    found = minimize(
        loss, start, jac=True, bounds=bounds, method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 1000},
    )  # fmt: skip
    return map(float, found.x)

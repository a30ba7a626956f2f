"""Probabilities from the scores of the k best classes, by a few numbers shared by all classes.

A calibration looks at the k best scores of a sample, its candidates, and gives each of them a
probability; all other classes of the sample share one probability among them. It is fitted on
scores of samples that the model has not seen.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from ..model_selection._out_of_fold import NO_SCORE, HeldOut
from ..utils._records import is_a, is_count, is_not_negative, is_one_of, record
from ._top_label import TopLabel, fit_top_label
from ._transforms import Isotonic, Sigmoid, Temperature, fit_isotonic, fit_sigmoid, fit_temperature

METHODS = "sigmoid", "isotonic", "temperature", "top_label"
ONE_CLASS_A_ROW = "temperature", "top_label"
N_CANDIDATES = 10
# Probabilities stay strictly inside (0, 1), the smallest in float32 too.
SMALLEST, LARGEST = float(np.finfo(np.float32).tiny), 1 - float(np.finfo(np.float64).epsneg)
LARGEST_FLOAT32 = np.float32(1) - np.finfo(np.float32).epsneg


TRANSFORMS = {
    "sigmoid": Sigmoid,
    "isotonic": Isotonic,
    "temperature": Temperature,
    "top_label": TopLabel,
}


@record(
    method=is_one_of(*METHODS),
    kind=is_one_of("binary", "multiclass", "multilabel"),
    n_classes=is_count,
    n_candidates=is_count,
    rest_probability=is_not_negative,
    transform=is_a(Sigmoid, Isotonic, Temperature, TopLabel),
)
@dataclass(frozen=True)
class Calibration:
    """A fitted calibration."""

    method: str
    kind: str  # "binary", "multiclass" or "multilabel"
    n_classes: int
    n_candidates: int  # how many of the best scores have probabilities of their own
    transform: Sigmoid | Isotonic | Temperature | TopLabel
    rest_probability: float  # how often a class beyond the candidates was true, each

    def _check_record(self) -> None:
        """Raise ValueError for what no call of `fit_calibration` makes."""
        if type(self.transform) is not TRANSFORMS.get(self.method):
            raise ValueError(f"a calibration by {self.method!r} with another one's transform")
        if self.method == "top_label" and self.kind != "multiclass":
            raise ValueError(f"a calibration of the best of {self.kind} labels")
        if not 1 <= self.n_candidates <= self.n_classes:
            raise ValueError(f"{self.n_candidates} candidates of {self.n_classes} classes")

    def require_classes(self, n_classes: int) -> None:
        """Raise ValueError unless it is a calibration of this many classes."""
        if self.n_classes != n_classes:
            raise ValueError(f"a calibration of {self.n_classes} classes for {n_classes}")

    def binary(self, scores: ArrayLike) -> np.ndarray:
        """Return probabilities of the second of two classes, float64 in the shape of the scores."""
        scores = np.asarray(scores, dtype=np.float64)
        if isinstance(self.transform, Sigmoid | Isotonic):
            return _inside(self.transform(scores))
        # A softmax of -f and f with inverse temperature b is the sigmoid of 2 b f.
        return _inside(expit(2 * self.transform.inverse * scores))

    def candidates(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return probabilities of the candidates, best first, and of each other class of a sample.

        They fall with the scores, and sum to 1 for each sample if samples have one class.
        """
        scores = np.asarray(scores, dtype=np.float64)
        scored = scores > NO_SCORE
        n_others = self.n_classes - scored.sum(axis=1)
        if isinstance(self.transform, TopLabel):
            probabilities, rest = self.transform(scores, self.n_classes)
            return _inside(probabilities), _inside(rest)
        if isinstance(self.transform, Temperature):
            shares = self.transform(scores, n_others > 0)
            probabilities, rest = shares[:, :-1], shares[:, -1] / np.maximum(n_others, 1)
        else:
            probabilities = self.transform(scores)
            rest = np.full(len(scores), self.rest_probability)
        # what is not among the best must not overtake them
        rest = np.minimum(rest, probabilities.min(axis=1, where=scored, initial=1))
        probabilities = np.where(scored, probabilities, rest[:, None])
        # Each class was calibrated by itself: of one class a sample the sum over all must be 1.
        if self.kind == "multiclass":
            unscored = self.n_classes - scores.shape[1]
            total = probabilities.sum(axis=1) + unscored * rest
            probabilities /= total[:, None]
            rest /= total
        return _inside(probabilities), _inside(rest)


def _inside(probabilities: np.ndarray) -> np.ndarray:
    """Keep probabilities off 0 and 1."""
    return np.clip(probabilities, SMALLEST, LARGEST)


def rounded_inside(probabilities: np.ndarray) -> np.ndarray:
    """Round to float32, still below 1."""
    return np.minimum(probabilities.astype(np.float32), LARGEST_FLOAT32)


def method_for(method: str, kind: str) -> str:
    """Return the method that "auto" means for a kind of labels, or the method given.

    Raises ValueError if it is for one class a sample, and samples may have several.
    """
    if method == "auto":
        return "top_label" if kind == "multiclass" else "sigmoid"
    if method in ONE_CLASS_A_ROW and kind == "multilabel":
        raise ValueError(
            f"calibration by {method!r} makes the probabilities of a sample sum to 1, which is for "
            "one class a sample; y is an indicator of labels: use 'sigmoid' or 'isotonic'"
        )
    if method == "top_label" and kind == "binary":  # the probability of one class says all
        return "sigmoid"
    return method


def fit_calibration(method: str, kind: str, n_classes: int, held_out: HeldOut) -> Calibration:
    """Fit a calibration on held-out scores, by "auto" or one of `METHODS`."""
    # Samples of weight zero are nowhere, neither among scores nor among targets.
    counted = held_out.weight > 0
    held_out = HeldOut(*(part[counted] for part in held_out))
    scored = held_out.scores > NO_SCORE
    if not scored.any():
        raise ValueError("calibration: no class has a score in a sample that was held out")
    method = method_for(method, kind)
    if method == "top_label":
        transform = fit_top_label(held_out, n_classes)
    elif method != "temperature":
        # Every candidate that has a score is a case, right or wrong, with the sample's weight.
        scores, hits = held_out.scores[scored].astype(np.float64), held_out.hits[scored]
        weight = np.broadcast_to(held_out.weight[:, None], scored.shape)[scored]
        transform = (fit_sigmoid if method == "sigmoid" else fit_isotonic)(scores, hits, weight)
    elif kind == "binary":
        transform = fit_temperature(_both(held_out), 2)
    else:
        transform = fit_temperature(held_out, n_classes)
    return Calibration(
        method=method,
        kind=kind,
        n_classes=n_classes,
        n_candidates=held_out.scores.shape[1],
        transform=transform,
        rest_probability=_rest_probability(held_out, scored, n_classes),
    )


def _both(held_out: HeldOut) -> HeldOut:
    """Return two columns of scores, -f and f, as of two candidates."""
    scores, hits = held_out.scores, held_out.hits
    return held_out._replace(
        scores=np.hstack([-scores, scores]),
        hits=np.hstack([~hits, hits]),
        n_true=np.ones(len(scores)),
    )


def _rest_probability(held_out: HeldOut, scored: np.ndarray, n_classes: int) -> float:
    """Return the share of true classes among those that are no candidates, never zero."""
    # Half a true one in one class more, as if it had been seen: without it a class beyond the
    # candidates would be impossible where none was true.
    others = held_out.weight @ (n_classes - scored.sum(axis=1))
    missed = held_out.weight @ (held_out.n_true - (held_out.hits & scored).sum(axis=1))
    return float((missed + 0.5) / (others + 1)) if others > 0 else 0.0

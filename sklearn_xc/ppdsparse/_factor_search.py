"""The search for factors on l1 and l2, by the mean scores of pairs of them."""

from typing import Protocol, TypeAlias

import numpy as np

START = 0.3  # of l2: the middle of what data sets ask for, and cheaper to fit than 1
START_FOR_SEVERAL = 1.0  # where samples have several labels, which more often want it
HALF_STEP = np.log(10) / 4  # of the logarithm of l2, which the top is from the best pair at most
# Standard errors that a gain has to exceed: of a step along l2, and of a step to each l1. A
# stronger l1 makes a smaller model and need only be as good, nearly as good where samples have
# several labels, which more often want it. A weaker one makes a larger model and has to gain more,
# but for samples of one label each with a weak l2: clean labels, which want it.
ENOUGH, WEAK_L2 = 0.5, 0.3
ENOUGH_FOR_L1 = {0.02: 1.0, 0.2: 1.0, 4.0: 0.0}
ENOUGH_FOR_SEVERAL = ENOUGH_FOR_L1 | {4.0: -0.5}
ENOUGH_FOR_CLEAN = {0.02: 0.5, 0.2: 0.0, 4.0: 0.25}

Pair: TypeAlias = tuple[float, float]  # factors on l1 and l2


class MeanScores(Protocol):
    """Mean scores of pairs of factors, as `PilotScores` has them."""

    one_label: bool

    def mean(self, pair: Pair, near: Pair | None = None) -> float:
        """Return the mean score at a pair, fitted from a pair nearby."""

    def gain(self, pair: Pair, over: Pair) -> float:
        """Return the mean gain of a pair over another one, in standard errors of this mean."""


def choose_factors(
    scores: MeanScores, l1_factors: tuple[float, ...], l2_factors: tuple[float, ...]
) -> Pair:
    """Search for the pair of factors with the best mean score, from l1 at 1.

    First l2 uphill; then l1, first in the way in which it is more often right; then the top of the
    parabola along l2. At another l1 this is as wide as at 1, and one more pair tells where it is.
    """
    line = [(1.0, l2) for l2 in l2_factors]
    start = START if scores.one_label else START_FOR_SEVERAL
    # First the way in which it is more often right.
    ways = (-1, 1) if scores.one_label else (1, -1)
    pair = _climb(scores, line, (1.0, start if len(l2_factors) > 1 else 1.0), ways)
    ways = (-1, 1) if _clean(scores, pair[1]) else (1, -1)
    l1, l2 = _climb(scores, [(l1, pair[1]) for l1 in l1_factors], pair, ways)
    bend, slope = _parabola(scores, line, pair)
    if l1 != 1.0:
        way = 1 if slope > 0 else -1
        line = [(l1, l2) for l2 in l2_factors]
        pair = _climb(scores, line, (l1, l2), (way,))
        if pair[1] != l2:
            bend, slope = _parabola(scores, line, pair)
        elif bend < 0:
            slope = _slope(scores, line, pair, way, bend)
    if bend >= 0:
        return pair
    farthest = np.log(pair[1] / l2_factors[0]), np.log(l2_factors[-1] / pair[1])
    # The top of mean = bend x^2 + slope x + c, no farther than half way to the pairs beside it.
    way = np.clip(-slope / (2 * bend), -min(HALF_STEP, farthest[0]), min(HALF_STEP, farthest[1]))
    return l1, float(pair[1] * np.exp(way))


def _climb(scores: MeanScores, line: list[Pair], pair: Pair, steps: tuple[int, ...]) -> Pair:
    """Move along a line of pairs as long as the mean score rises, in the first way that does."""
    # Scores are noisy and each costs a fit: one step at a time, no further than they rise.
    start = at = line.index(pair)
    for step in steps:
        while 0 <= at + step < len(line) and _gains(scores, line[at + step], line[at]):
            at += step
        if at != start:
            break
    return line[at]


def _gains(scores: MeanScores, pair: Pair, over: Pair) -> bool:
    """Return whether a pair gains enough over the one beside it."""
    enough = ENOUGH
    if pair[0] != over[0]:
        one = ENOUGH_FOR_CLEAN if _clean(scores, pair[1]) else ENOUGH_FOR_L1
        enough = (one if scores.one_label else ENOUGH_FOR_SEVERAL)[pair[0]]
    return scores.gain(pair, over) > enough


def _clean(scores: MeanScores, l2: float) -> bool:
    """Return whether labels look clean: one a sample, and little shrinkage is right."""
    return scores.one_label and l2 <= WEAK_L2


def _parabola(scores: MeanScores, line: list[Pair], pair: Pair) -> tuple[float, float]:
    """Return bend and slope at a pair of the parabola through it and the pairs beside it."""
    at = line.index(pair)
    beside = line[max(0, at - 1) : at + 2]
    if len(beside) < 3:
        return 0.0, 0.0
    places = np.log([l2 / pair[1] for _, l2 in beside])
    # Through three points the parabola is exact.
    bend, slope, _ = np.polyfit(places, [scores.mean(other, pair) for other in beside], 2)
    return bend, slope


def _slope(scores: MeanScores, line: list[Pair], pair: Pair, way: int, bend: float) -> float:
    """Return the slope at a pair of the parabola of a bend through it and the next pair."""
    other = line[line.index(pair) + way]
    place = np.log(other[1] / pair[1])
    return (scores.mean(other, pair) - scores.mean(pair)) / place - bend * place

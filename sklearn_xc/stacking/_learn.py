"""The second stage: which parts stay, which form it has, and whether it is ahead of the best."""

from typing import NamedTuple

import numpy as np

from ._boosting import Trees
from ._candidates import Candidates
from ._features import FORMS, PLAIN, fitted_part, part_features
from ._final import Form, Given, Linear, fit_final
from ._held_out import FEW_HELD_OUT
from ._judge import gains, mean_gain
from ._parts import StackPart

# Trees learn from 1,900 held-out samples what regression does not (nDCG@5 27.5 against 26.5,
# library titles), from 470 less (26.0 against 26.3).
FEW_ROWS = 1500
# Fewer held-out samples teach nothing: of 8 samples the stack was 3.6 points of nDCG@5 below its
# best part, the plain mean of its parts 1.1; of 15 at worst 3.6 and 2.2.
FEW_TO_LEARN = 20
LEAST_GAIN = 5e-4  # of nDCG@5, for which a part stays
BEHIND = 2e-3  # of nDCG@5 without the labels that were hidden, for being ahead with them
MOST_JUDGED = 1000  # samples that teach a judge of parts: there are several of them


class StackProblem(NamedTuple):
    """Pairs of held-out samples and candidates.

    Attributes
    ----------
    candidates : Candidates
    hits : (n_pairs,), whether the label is true
    n_true : (n_rows,), true labels of each sample, candidates or not
    hidden : (n_pairs,), whether the label was hidden from the parts
    n_hidden : (n_rows,), true labels of each sample that were hidden
    weight : (n_rows,), or None
    of_labels : (n_pairs, n_label_features)
    """

    candidates: Candidates
    hits: np.ndarray
    n_true: np.ndarray
    hidden: np.ndarray
    n_hidden: np.ndarray
    weight: np.ndarray | None
    of_labels: np.ndarray


class Learnt(NamedTuple):
    """The second stage, and the parts that stay, by number and with their scales.

    Where one part answers by itself `final` is None and `alone` slope and intercept of its
    log-odds. `scores` are name -> nDCG@5 on samples that did not teach what is judged.
    """

    chosen: list[int]
    parts: list[StackPart]
    final: Linear | Trees | Given | None
    alone: tuple[float, float] | None
    scores: dict[str, float]


class Judge:
    """Second stages, taught by some of the held-out samples and judged by the others."""

    def __init__(self, problem: StackProblem, parts: list[StackPart], seed: int) -> None:
        self.problem, self.parts, self.seed = problem, parts, seed
        candidates = problem.candidates
        self.row = candidates.row
        self.features = [
            part_features(part, scores, best[self.row])
            for part, scores, best in zip(parts, candidates.scores, candidates.best, strict=True)
        ]
        n_rows = len(problem.n_true)
        side = np.random.RandomState(seed).permutation(n_rows) % 2
        # Two halves, each judged by the other; one half is enough where samples are many. Of 2,481
        # one half took the stack for worse than its best part in one of five draws.
        self.folds = [(side == 0, side == 1), (side == 1, side == 0)]
        if n_rows >= 2 * FEW_ROWS:
            self.folds = self.folds[:1]
        self.judged = np.flatnonzero(np.any([test for _, test in self.folds], axis=0))
        self._looked_at = np.flatnonzero(np.isin(self.row, self.judged))
        counts = np.diff(candidates.starts)[self.judged]
        self._starts = np.append(0, np.cumsum(counts)).astype(np.int64)

    def matrix(self, chosen: list[int], pairs: slice | np.ndarray = slice(None)) -> np.ndarray:
        """Return the features of some parts and of labels."""
        parts = [self.features[i][pairs] for i in chosen]
        return np.hstack([*parts, self.problem.of_labels[pairs]])

    def fit(
        self,
        final: Form,
        chosen: list[int],
        pairs: slice | np.ndarray = slice(None),
        trial: bool = False,
    ) -> Linear | Trees | Given:
        """Return a second stage, taught by some pairs."""
        weight = self.problem.weight
        weight = None if weight is None else weight[self.row[pairs]]
        hits = self.problem.hits[pairs]
        return fit_final(final, self.matrix(chosen, pairs), hits, weight, self.seed, trial)

    def value_of(self, values: np.ndarray, with_hidden: bool = False) -> float:
        """Return the nDCG@5 of an order of the candidates, on the samples that are judged.

        Labels that were hidden are left out, unless `with_hidden`.
        """
        # Parts lack hidden labels by our doing: they would look worse than they are, and the stack
        # better, which reads texts.
        problem, pairs, rows = self.problem, self._looked_at, self.judged
        values, hits, n_true = values[pairs], problem.hits[pairs], problem.n_true[rows]
        if not with_hidden:
            hidden = problem.hidden[pairs]
            values = np.where(hidden, np.finfo(np.float32).min, values)
            hits, n_true = hits & ~hidden, n_true - problem.n_hidden[rows]
        weight = None if problem.weight is None else problem.weight[rows]
        return mean_gain(gains(self._starts, values, hits, n_true), weight)

    def is_ahead(self, order: np.ndarray, part: np.ndarray) -> bool:
        """Return whether an order is better than the scores of a part."""
        # Where labels were hidden it may be behind by a little on the others, if it is ahead on
        # all: room that labels without samples take at the top is not lost.
        value, alone = self.value_of(order), self.value_of(part)
        if value > alone or not self.problem.hidden.any():
            return value > alone
        return value > alone - BEHIND and self.value_of(order, True) > self.value_of(part, True)

    def value(self, final: Form, chosen: list[int]) -> float:
        """Return the nDCG@5 of a second stage on samples that did not teach it."""
        return self.value_of(self.order(final, chosen, MOST_JUDGED), True)

    def order(self, final: Form, chosen: list[int], most_rows: int | None = None) -> np.ndarray:
        """Return the log-odds of a second stage on samples that did not teach it."""
        values = np.zeros(len(self.row))
        for train, test in self.folds:
            if most_rows is not None:
                train = train & (np.cumsum(train) <= most_rows)
            taught, judged = np.flatnonzero(train[self.row]), np.flatnonzero(test[self.row])
            hits = self.problem.hits[taught]
            if hits.all() or not hits.any():
                continue
            stage = self.fit(final, chosen, taught, trial=True)
            values[judged] = stage.log_odds(self.matrix(chosen, judged))
        return values


def learn(
    problem: StackProblem, names: list[str], codes: list[np.ndarray | None], final: Form, seed: int
) -> Learnt:
    """Return the second stage that pairs of held-out samples teach.

    `names` and `codes` are of all parts, as of `StackPart`.
    """
    candidates = problem.candidates
    parts = [
        fitted_part(name, code, scores, problem.hits, best)
        for name, code, scores, best in zip(
            names, codes, candidates.scores, candidates.best, strict=True
        )
    ]
    judge = Judge(problem, parts, seed)
    scores = {
        name: judge.value_of(values) for name, values in zip(names, candidates.scores, strict=True)
    }
    best = max(range(len(names)), key=lambda i: scores[names[i]])
    if problem.hits.all() or not problem.hits.any():
        return _alone(judge, best, scores)
    n_rows, kinds = len(problem.n_true), [final]
    if isinstance(final, str) and final == "auto":
        if n_rows < FEW_TO_LEARN and len(names) > 1:
            return _averaged(judge, scores)
        kinds = ["linear"] if n_rows < FEW_ROWS else ["linear", "boosting"]
    # Few samples cannot tell which part is idle, nor whether the stack is ahead: all parts stay.
    few, chosen = n_rows < FEW_HELD_OUT, list(range(len(names)))
    if not few:
        chosen = _without_idle_parts(judge, [scores[name] for name in names])
    orders = [judge.order(kind, chosen) for kind in kinds]
    values = [judge.value_of(order) for order in orders]
    kind = kinds[int(np.argmax(values))]
    order, value = orders[int(np.argmax(values))], max(values)
    # Parts leave one after the other: of two that say the same both may have looked idle, judged by
    # a regression, where trees need them.
    if len(chosen) < len(names):
        whole = list(range(len(names)))
        order_of_all = judge.order(kind, whole)
        if judge.value_of(order_of_all) > value + LEAST_GAIN:
            chosen, order, value = whole, order_of_all, judge.value_of(order_of_all)
    scores["stack"] = value
    # No blend is ahead everywhere: a softmax over the same features lost 0.9 and 1.3 points of P@1
    # on two sets of twelve. Then the best part answers alone.
    if len(names) > 1 and not few and not judge.is_ahead(order, candidates.scores[best]):
        return _alone(judge, best, scores)
    stage = judge.fit(kind, chosen)
    return Learnt(chosen, [parts[i] for i in chosen], stage, None, scores)


def _without_idle_parts(judge: Judge, alone: list[float]) -> list[int]:
    """Return the parts without which a logistic regression would be worse."""
    chosen = list(range(len(alone)))
    if len(chosen) < 2:
        return chosen
    # A part without which as much is right costs time in each prediction, as texts on delicious.
    # The weakest by itself is tried first. A regression judges: trees take 3 to 30 s.
    value = judge.value("linear", chosen)
    for i in sorted(chosen, key=lambda i: alone[i]):
        rest = [j for j in chosen if j != i]
        if not rest:
            break
        without = judge.value("linear", rest)
        if without > value - LEAST_GAIN:
            chosen, value = rest, without
    return chosen


def _alone(judge: Judge, best: int, scores: dict[str, float]) -> Learnt:
    """Return the best part by itself, with log-odds by a logistic regression on its score."""
    part = judge.parts[best]
    scores["stack"] = scores[part.name]
    line = _line(judge, standardised(part, judge.problem.candidates.scores[best]))
    return Learnt([best], [part], None, line, scores)


def _averaged(judge: Judge, scores: dict[str, float]) -> Learnt:
    """Return the mean of the scores of all parts, of one spread, with log-odds by a regression."""
    chosen = list(range(len(judge.parts)))
    features = judge.matrix(chosen)
    scales, coef = features.std(axis=0), np.zeros(features.shape[1])
    places = [len(FORMS[part.kind]) * i + PLAIN[part.kind] for i, part in enumerate(judge.parts)]
    coef[places] = 1 / np.where(scales > 0, scales, np.inf)[places]
    order = features @ coef
    scores["stack"] = judge.value_of(order)
    slope, intercept = _line(judge, order)
    return Learnt(chosen, judge.parts, Linear(slope * coef, intercept, scales), None, scores)


def _line(judge: Judge, values: np.ndarray) -> tuple[float, float]:
    """Return slope and intercept of log-odds by one number of each pair."""
    hits, weight = judge.problem.hits, judge.problem.weight
    if hits.all() or not hits.any():
        return 1.0, 0.0
    weight = None if weight is None else weight[judge.row]
    stage = fit_final("linear", values[:, None], hits, weight, judge.seed)
    # Above zero: the order of labels stays.
    return max(float(stage.coef[0]), 1e-3), stage.intercept


LOWEST = -50.0  # standardised score of a label that a part knows nothing of


def standardised(part: StackPart, scores: np.ndarray) -> np.ndarray:
    """Return scores of a part that answers by itself, float64."""
    z = (scores.astype(np.float64) - part.middle) / part.scale
    return np.maximum(z, LOWEST)

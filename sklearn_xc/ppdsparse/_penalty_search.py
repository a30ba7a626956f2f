"""Pairs of penalties scored on held-out rows: all of a grid, or along lines through it."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base._classifier import BaseXCClassifier
from ..utils._callbacks import Progress

TOL = 0.1  # of the fits, which ranks pairs as a smaller one does


class HeldOutPart:
    """Fits on the training samples of a split and their scores on its test samples.

    The model has ``warm_start=True``: each fit begins with the dual variables that the last has
    left. `options` are those of the scorer, `of_labels` texts and names of labels for each fit.
    """

    def __init__(
        self,
        model: BaseXCClassifier,
        training: tuple,
        held_out: tuple,
        scorer: Callable[..., float],
        options: dict[str, Any],
        of_labels: dict[str, Any],
    ) -> None:
        self._model, self._training, self._held_out = model, training, held_out
        self._of_labels = of_labels
        self._scorer, self._options = scorer, options
        self._kept = None

    def score(self, l1: float | str, l2: float | str) -> float:
        """Fit with a pair of penalties, and return the score on the test samples."""
        self._model.set_params(l1=l1, l2=l2).fit(*self._training, **self._of_labels)
        return self._scorer(self._model, *self._held_out, **self._options)

    def keep(self) -> None:
        """Remember the dual variables."""
        self._kept = self._model.dual_coef_

    def go_back(self) -> None:
        """Begin the next fit with those that are remembered."""
        if self._kept is not None:
            self._model.dual_coef_ = self._kept


class PairScores:
    """Scores of the pairs that were tried, (n_l1s, n_l2s, n_parts); nan for the others."""

    def __init__(
        self,
        l1s: Sequence[float | str],
        l2s: Sequence[float | str],
        parts: list[HeldOutPart],
        progress: Progress,
    ) -> None:
        self._l1s, self._l2s, self._parts, self._progress = l1s, l2s, parts, progress
        self.scores = np.full((len(l1s), len(l2s), len(parts)), np.nan)

    def best(self) -> tuple[int, ...]:
        """Return places of the best pair, the earlier of equal ones."""
        mean = self.scores.mean(axis=-1)
        # nan where no pair has a score yet, or a scorer returned it.
        found = np.nanargmax(mean) if not np.isnan(mean).all() else 0
        return tuple(map(int, np.unravel_index(found, mean.shape)))

    def along(self, pairs: Sequence[tuple[int, ...]], keep_best: bool = True) -> None:
        """Try pairs one after the other, each from the one before; the first from what is kept.

        What is kept is the best pair, or the first of these.
        """
        for part in self._parts:
            part.go_back()
        for number, (i, j) in enumerate(pairs):
            if not np.isnan(self.scores[i, j, 0]):
                continue
            for s, part in enumerate(self._parts):
                self._progress.begin()
                score = self.scores[i, j, s] = part.score(self._l1s[i], self._l2s[j])
                self._progress.end(score=score)
            # Duals of a pair are the start of the pairs beside it, whose solutions are near.
            if self.best() == (i, j) if keep_best else number == 0:
                for part in self._parts:
                    part.keep()


def try_all(pairs: PairScores, l1s: list[int], l2s: list[int]) -> None:
    """Try all pairs: for each l2 all l1s in order, the first from the first of the l2 before."""
    for j in l2s:
        pairs.along([(i, j) for i in l1s], keep_best=False)


def try_lines(pairs: PairScores, l1s: list[int], l2s: list[int]) -> None:
    """Try l1s at the middle l2, l2s at the best l1, and where the l2 moved, l1s beside it."""
    # Of 4 x 5 pairs these are five to eight. The two penalties hardly depend on one another: one
    # decides how many weights there are, the other how large they are. The weakest l1 has the most
    # weights and takes a third of all the time where it is tried.
    middle = l2s[(len(l2s) - 1) // 2]
    climb(pairs, [(i, middle) for i in l1s])
    i, _ = pairs.best()
    # Stronger ones first: they win more often, and by more, where labels are mostly chance.
    climb(pairs, [(i, j) for j in reversed(l2s)])
    i, j = pairs.best()
    if j != middle:
        at = l1s.index(i)
        for beside in l1s[max(0, at - 1) : at + 2]:
            pairs.along([(beside, j)])


def climb(pairs: PairScores, line: list[tuple[int, int]]) -> None:
    """Climb from the middle of a line to its start while scores rise, else to its end."""
    start = len(line) // 2
    pairs.along([line[start]])
    for beside in (line[:start][::-1], line[start + 1 :]):
        for pair in beside:
            pairs.along([pair])
            if pairs.best() != pair:
                break
        if pairs.best() != line[start]:
            break


def n_pairs(search: str, n_l1s: int, n_l2s: int) -> int:
    """Return pairs that are tried at most."""
    if search == "grid":
        return n_l1s * n_l2s
    # The two l1s beside the best, where the l2 has moved.
    beside = min(2, n_l1s - 1) if n_l2s > 1 else 0
    return min(n_climbed(n_l1s) + n_climbed(n_l2s) - 1 + beside, n_l1s * n_l2s)


def n_climbed(n: int) -> int:
    """Return pairs of a line that `climb` tries at most."""
    start = n // 2
    return 1 + max(start, min(start, 1) + n - 1 - start)


SEARCHES = {"lines": try_lines, "grid": try_all}

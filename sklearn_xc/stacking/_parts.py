"""Parts of a stack, with their labels in its numbers."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..model_selection._out_of_fold import NO_SCORE
from ..topk._restriction import Restriction
from ..utils._records import (
    either,
    is_array,
    is_not_negative,
    is_number,
    is_one_of,
    is_text,
    record,
)
from ..utils._typing import MatrixLike
from ..utils._unwrap import find_inner
from ._part_answers import answers_of

MARGIN, VOTES = "margin", "votes"
UNKNOWN = np.float32(10 * NO_SCORE)  # of a label that a part does not know


@record(
    name=is_text,
    codes=either(None, is_array(np.int32, least=0)),
    kind=is_one_of(MARGIN, VOTES),
    middle=is_number,
    scale=is_not_negative,
)
class StackPart:
    """Reading of a part's labels and scores.

    Parameters
    ----------
    name : key of the part
    codes : the stack's number of each label; None where they are the same
    kind : "margin", scores of both signs, or "votes", sums of what speaks for a label
    middle, scale : the score where nothing is known, and how large scores are
    """

    def __init__(
        self,
        name: str,
        codes: np.ndarray | None,
        kind: str = MARGIN,
        middle: float = 0.0,
        scale: float = 1.0,
    ) -> None:
        self.name, self.codes, self.kind = name, codes, kind
        self.middle, self.scale = middle, scale

    def with_codes(self, codes: np.ndarray | None) -> "StackPart":
        """Return the same for labels with other numbers."""
        return StackPart(self.name, codes, self.kind, self.middle, self.scale)


def codes_of_part(name: str, estimator: BaseEstimator, classes: np.ndarray) -> np.ndarray | None:
    """Return the stack's number of each label of a fitted part; None where they are the same.

    ValueError if the part has a label that the stack does not know.
    """
    own = np.asarray(find_inner(estimator, "predict_topk").estimator.classes_)
    if own.shape == classes.shape:
        # A part that got an indicator without names numbers its columns as the stack does.
        numbered = own.dtype.kind in "iu" and np.array_equal(own, np.arange(len(own)))
        if numbered or np.array_equal(own, classes):
            return None
    place = {label: code for code, label in enumerate(classes.tolist())}
    codes = [place.get(label, -1) for label in own.tolist()]
    if -1 in codes:
        raise ValueError(
            f"part {name!r} was fitted on other classes: it knows "
            f"{own.tolist()[codes.index(-1)]!r}, which y does not hold"
        )
    return np.array(codes, dtype=np.int32)


class PartRows(NamedTuple):
    """Samples as one part sees them, in the stack's numbers.

    `answers` are a result of `answers_of`, or a block of it; `codes` and `own` the stack's number
    of each label of the part, and back, -1 for labels it does not know; None where they are the
    same.
    """

    answers: Any
    codes: np.ndarray | None
    own: np.ndarray | None

    @classmethod
    def of(
        cls, part: StackPart, estimator: BaseEstimator, X: MatrixLike, n_labels: int, n_threads: int
    ) -> "PartRows":
        """Return all samples as a part sees them."""
        check_is_fitted(estimator)
        answers = answers_of(find_inner(estimator, "predict_topk"), X, n_threads)
        if part.codes is None:
            return cls(answers, None, None)
        own = np.full(n_labels, -1, dtype=np.int64)
        own[part.codes] = np.arange(len(part.codes))
        return cls(answers, part.codes, own)

    def rows(self, start: int, stop: int) -> "PartRows":
        """Return some rows."""
        return self._replace(answers=self.answers.rows(start, stop))

    def best(self, k: int, only: Restriction | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return numbers and scores of the k best labels of each row; -1 for none."""
        if self.codes is None:
            return self.answers.best(k, only)
        only = None if only is None else only.of_labels(self.codes)
        if only is not None and only.is_empty:
            return np.full((only.n_rows, k), -1), np.zeros((only.n_rows, k), np.float32)
        best, scores = self.answers.best(min(k, len(self.codes)), only)
        return np.where(best >= 0, self.codes[best], -1), scores

    def at(self, starts: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Return the scores of pairs, float32; `UNKNOWN` where the part does not know a label."""
        if self.own is None:
            return self.answers.at(starts, places)
        # The part scores pairs of labels that it has; the others keep their places among all.
        own = self.own[places]
        known = own >= 0
        row = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        counts = np.bincount(row[known], minlength=len(starts) - 1)
        starts = np.append(0, np.cumsum(counts)).astype(np.int64)
        scores = np.full(len(places), UNKNOWN, dtype=np.float32)
        scores[known] = self.answers.at(starts, own[known])
        return scores

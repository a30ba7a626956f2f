"""The labels that a stack looks at: the union of the best of each part, scored by every part.

Scores of all labels would be K numbers a sample and part. The 30 best of four or five parts are 80
to 97 labels, which hold true ones for an nDCG@5 of 55 to 82, where one-vs-rest has 22 to 47.
Every part scores all of them, for a label that a part does not name has low scores there, not none.
"""

from typing import NamedTuple

import numpy as np

from ..model_selection._out_of_fold import NO_SCORE
from ..topk._restriction import Restriction
from ._parts import PartRows


class Candidates(NamedTuple):
    """Labels of rows, and the scores that each part gives them.

    Attributes
    ----------
    starts : (n_rows + 1,), where the candidates of each row begin
    places : (n_pairs,), labels, ascending in each row
    scores : (n_parts, n_pairs); at most `NO_SCORE` where a part knows nothing of a label
    best : (n_parts, n_rows), the part's highest score in the row, of any label
    """

    starts: np.ndarray
    places: np.ndarray
    scores: np.ndarray
    best: np.ndarray

    @property
    def row(self) -> np.ndarray:
        """The row of each pair."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


def candidates_of(
    parts: list[PartRows],
    kinds: list[bool],
    n_labels: int,
    k: int,
    n_needed: int = 1,
    only: Restriction | None = None,
) -> Candidates:
    """Return the candidates of a block of rows, k labels of each part.

    `kinds` has for each part whether a score of zero says nothing. A row gets `n_needed` candidates
    where there are labels for them; `only` are the labels that an answer may hold.
    """
    found, best = [], []
    k = min(max(k, n_needed), n_labels)
    plain = None if only is None else only.without_weight()
    for part, zero_is_none in zip(parts, kinds, strict=True):
        # The best of all labels, not of those that are allowed: a feature must mean what it meant
        # when the second stage learnt.
        codes, scores = part.best(k)
        best.append(scores[:, 0] if codes.shape[1] else np.full(len(codes), 10 * NO_SCORE))
        lowest = 0.0 if zero_is_none else NO_SCORE
        if only is None:
            found.append((codes, scores > lowest))
            continue
        # A weight may lift a label beyond the k best: these are looked for by plain scores and by
        # weighted ones. After a weight is added zero is a score as others.
        for restriction in (plain, only) if only.weight is not None else (only,):
            if restriction is not None:
                codes, scores = part.best(k, restriction)
            weighted = restriction is not None and restriction.weight is not None
            found.append((codes, np.full(codes.shape, True) if weighted else scores > lowest))
    starts, places = _union(found, n_labels, n_needed)
    scores = np.stack([part.at(starts, places) for part in parts])
    return Candidates(starts, places, scores, np.array(best, dtype=np.float32))


def _union(
    found: list[tuple[np.ndarray, np.ndarray]], n_labels: int, n_needed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels of each row that say something, with others where these are too few."""
    n_rows = len(found[0][0])
    codes = np.hstack([codes for codes, _ in found]).astype(np.int64)
    says = np.hstack([says for _, says in found]) & (codes >= 0)
    # Pairs as numbers, row * n_labels + label: sorted, each once.
    key = np.arange(n_rows)[:, None] * np.int64(n_labels) + codes
    keys = np.sort(key[says])
    keys = keys[np.append(True, keys[1:] != keys[:-1])] if len(keys) else keys
    row = keys // n_labels
    # Rows with too few take the labels in that parts named without a score that says anything.
    few = np.bincount(row, minlength=n_rows) < n_needed
    if few.any():
        keys = np.union1d(keys, key[few[:, None] & (codes >= 0)])
        row = keys // n_labels
    starts = np.searchsorted(row, np.arange(n_rows + 1)).astype(np.int64)
    return starts, keys - row * n_labels

"""Log-odds of candidates, block by block."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from ..topk._restriction import Restriction
from ..utils._matrix import as_rows, checked_csr, n_rows, normalise
from ..utils._rows import Rows
from ..utils._typing import MatrixLike
from ._boosting import Trees
from ._candidates import Candidates, candidates_of
from ._features import part_features
from ._final import Given, Linear
from ._label_facts import LabelFacts, presence
from ._learn import standardised
from ._parts import VOTES, PartRows, StackPart

BLOCK = 1024  # rows at once: what `LabelScorer.searched` takes at most


class Stack(NamedTuple):
    """Fitted parts and second stage, which predict.

    `alone` is slope and intercept where one part answers by itself and there is no `final`;
    `counted` whether the words of samples are features, as where fit's X was sparse; `k` is the
    number of candidates of each part.
    """

    parts: list[StackPart]
    estimators: list[BaseEstimator]
    final: Linear | Trees | Given | None
    alone: tuple[float, float] | None
    facts: LabelFacts
    counted: bool
    n_labels: int
    k: int
    n_threads: int

    def blocks(
        self, X: MatrixLike, n_needed: int = 1, only: Restriction | None = None
    ) -> Iterator[tuple[slice, Candidates, np.ndarray | None, np.ndarray]]:
        """Yield the place of some samples, their candidates, features and log-odds."""
        for place, found, words in self.found(X, n_needed, only):
            yield place, found, *self.judged(found, words)

    def found(
        self, X: MatrixLike, n_needed: int = 1, only: Restriction | None = None
    ) -> Iterator[tuple[slice, Candidates, Rows | None]]:
        """Yield the place of some samples, their candidates and words.

        The parts see all samples once; then a block at a time goes through all steps, so that
        memory does not grow with their number.
        """
        pairs = zip(self.parts, self.estimators, strict=True)
        seen = [PartRows.of(part, e, X, self.n_labels, self.n_threads) for part, e in pairs]
        kinds, words = [part.kind == VOTES for part in self.parts], self.words(X)
        for start in range(0, n_rows(X), BLOCK):
            stop = min(n_rows(X), start + BLOCK)
            block = None if only is None else only.of_rows(start, stop)
            rows = [part.rows(start, stop) for part in seen]
            found = candidates_of(rows, kinds, self.n_labels, self.k, n_needed, block)
            yield slice(start, stop), found, None if words is None else words.block(start, stop)

    def words(self, X: MatrixLike) -> Rows | None:
        """Return which words samples have, `Rows` of ones; None where they are not counted."""
        if not self.counted:
            return None
        X = checked_csr(X, "X") if sparse.issparse(X) else sparse.csr_array(np.asarray(X))
        # Ones instead of weights: a coverage is of words that are there, however often. A copy, as
        # the arrays are the user's.
        return presence(as_rows(sparse.csr_array(normalise(X), copy=True)))

    def judged(self, found: Candidates, words: Rows | None) -> tuple[np.ndarray | None, np.ndarray]:
        """Return the features and the log-odds of candidates; no features of a part alone."""
        if self.final is None:
            slope, intercept = self.alone
            return None, slope * standardised(self.parts[0], found.scores[0]) + intercept
        row = found.row
        columns = [
            part_features(part, scores, best[row])
            for part, scores, best in zip(self.parts, found.scores, found.best, strict=True)
        ]
        columns.append(self.facts.features(words, row, found.starts, found.places, self.n_threads))
        features = np.hstack(columns)
        return features, self.final.log_odds(features, self.n_threads)


def in_rows_of(X: MatrixLike) -> MatrixLike:
    """Return X as something of which rows can be taken."""
    return X if hasattr(X, "shape") or hasattr(X, "__len__") else np.asarray(X)


def gathered(blocks: list[Candidates]) -> Candidates:
    """Return the candidates of all blocks as one."""
    starts = np.cumsum([0] + [len(block.places) for block in blocks])
    return blocks[0]._replace(
        starts=np.concatenate(
            [[0], *(b.starts[1:] + s for b, s in zip(blocks, starts, strict=False))]
        ),
        places=np.concatenate([block.places for block in blocks]),
        scores=np.hstack([block.scores for block in blocks]),
        best=np.hstack([block.best for block in blocks]),
    )

"""Scores of labels from training samples and texts, as `predict_topk` needs them."""

from collections.abc import Iterator
from copy import copy
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .._kernels.neighbors import _votes as kernel
from ..topk._inverted_index import row_blocks
from ..utils._rows import Rows
from ._row_labels import RowLabels
from ._row_parts import RowParts
from ._texts import LabelTexts, no_pairs

QUERIES = 1024  # whose neighbours are held at once: between two blocks Python takes an interrupt


class VoteSettings(NamedTuple):
    """Parameters of the sum, chosen: k, p, q and w."""

    n_neighbors: int
    power: float
    frequency_power: float
    text_weight: float


def factors_of(frequencies: np.ndarray, frequency_power: float) -> np.ndarray:
    """Return f ** -q of each label; 1 of a label without rows."""
    return np.where(frequencies > 0, frequencies, 1.0) ** -float(frequency_power)


def voters_of(labels: RowLabels, factors: np.ndarray, settings: VoteSettings) -> kernel.Voters:
    """Return the labels of rows as the kernel takes them."""
    return kernel.Voters(
        labels.starts,
        labels.labels,
        labels.grades,
        labels.weights,
        factors,
        settings.n_neighbors,
        float(settings.power),
        float(settings.text_weight),
    )


def scratch_of(n_labels: int, n_threads: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the memory that `n_threads` threads sum votes in."""
    shape = n_threads, max(1, n_labels)
    return np.zeros(shape), np.empty(shape, dtype=np.int32)


class LabelScorer:
    """Scores of labels for rows in the form of the training samples; never changes.

    `base`, float32, is added to the score of each label; minus infinity hides a label.
    """

    def __init__(
        self,
        parts: RowParts,
        labels: RowLabels,
        frequencies: np.ndarray,
        texts: LabelTexts | None,
        settings: VoteSettings,
    ) -> None:
        self._parts, self._labels, self._texts = parts, labels, texts
        self.n_labels, self._settings = labels.n_labels, settings
        self.factors = factors_of(frequencies, settings.frequency_power)
        self._voters = voters_of(labels, self.factors, settings)
        self._set_base(np.zeros(self.n_labels, dtype=np.float32))

    def _set_base(self, base: np.ndarray) -> None:
        """Set what is added to each score, and the order of labels without votes."""
        # Labels without votes fill up an answer by falling base. They are many: with the order made
        # once, a query takes the first k that have no votes.
        self.base = base
        places = np.flatnonzero(base > -np.inf).astype(np.int32)
        self._order = places[np.argsort(-base[places], kind="stable")]

    def found(self, rows: Rows, n_threads: int) -> kernel.Found:
        """Return the neighbours and the texts of each row as the kernel takes them."""
        k = min(self._settings.n_neighbors, self._parts.n_rows)
        if k:
            ids, similarities = self._parts.nearest(rows, k, n_threads)
        else:
            ids = np.empty((rows.shape[0], 0), np.int32)
            similarities = np.empty((rows.shape[0], 0), np.float32)
        nothing = no_pairs(rows.shape[0])
        texts = nothing
        if self._texts is not None and self._settings.text_weight > 0:
            texts = self._texts.matches(rows, n_threads)
        return kernel.Found(ids, similarities, texts, nothing)

    def searched(self, rows: Rows, n_threads: int) -> "LabelScorer":
        """Return a scorer of these rows only, `QUERIES` at most, that has searched already."""
        # A stack asks twice, for the best labels and for scores of pairs; neighbours take most of
        # the time of either. The copy answers with what one search has found.
        other, found = copy(self), self.found(rows, n_threads)
        other.found = lambda rows, n_threads: found
        return other

    def _blocks(self, rows: Rows, n_threads: int) -> Iterator[tuple[slice, kernel.Found, tuple]]:
        """Yield the place and the neighbours of some rows, and the scratch memory."""
        # n_labels numbers a thread, zero between queries: a query touches the labels of its
        # neighbours only, and clears these.
        n_threads = max(1, min(n_threads, rows.shape[0]))
        scratch = scratch_of(self.n_labels, n_threads)
        for start, block in row_blocks(rows, QUERIES):
            found = self.found(block, n_threads)
            yield slice(start, start + block.shape[0]), found, (*scratch, n_threads)

    def topk(self, rows: Rows, k: int, n_threads: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the k best labels of each row and their scores, ties to the smaller label."""
        n_rows = rows.shape[0]
        labels = np.empty((n_rows, k), dtype=np.int32)
        scores, totals = np.empty((n_rows, k), dtype=np.float32), np.empty((n_rows, 2))
        for part, found, scratch in self._blocks(rows, n_threads):
            kernel.topk(
                self._voters,
                found,
                self.base,
                self._order,
                scores[part],
                labels[part],
                totals[part],
                *scratch,
            )
        return labels, scores

    def scores(self, rows: Rows, n_threads: int) -> np.ndarray:
        """Return all scores, float32 (n_rows, n_labels)."""
        return self.scores_and_totals(rows, n_threads)[0]

    def scores_and_totals(self, rows: Rows, n_threads: int) -> tuple[np.ndarray, np.ndarray]:
        """Return as `scores`, and for each row the sums of its votes and of its scores."""
        n_rows = rows.shape[0]
        scores, totals = np.empty((n_rows, self.n_labels), dtype=np.float32), np.empty((n_rows, 2))
        for part, found, scratch in self._blocks(rows, n_threads):
            kernel.all_scores(self._voters, found, self.base, scores[part], totals[part], *scratch)
        return scores, totals

    def scores_at(
        self, coef: object, rows: Rows, starts: np.ndarray, places: np.ndarray, n_threads: int
    ) -> np.ndarray:
        """Return the scores of the labels `places[starts[i]:starts[i + 1]]` of each row i."""
        return self.scores_and_totals_at(rows, starts, places, n_threads)[0]

    def scores_and_totals_at(
        self, rows: Rows, starts: np.ndarray, places: np.ndarray, n_threads: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return as `scores_at`, and for each row the sums of its votes and of its scores."""
        scores, totals = np.empty(len(places), dtype=np.float32), np.empty((rows.shape[0], 2))
        for part, found, scratch in self._blocks(rows, n_threads):
            of_part = starts[part.start : part.stop + 1]
            kernel.scores_at(
                self._voters, found, self.base, of_part, places, scores, totals[part], *scratch
            )
        return scores, totals

    # ----------------------------------------------------------------- of some labels only

    def shifted(self, weight: np.ndarray) -> "LabelScorer":
        """Return a scorer that adds a weight to the score of each label."""
        other = copy(self)
        other._set_base(self.base + weight)
        return other

    def part(self, coef: object, places: np.ndarray) -> "LabelScorer":
        """Return a scorer that answers with some labels only."""
        hidden = np.full(self.n_labels, -np.inf, dtype=np.float32)
        hidden[places] = 0
        return self.shifted(hidden)

    @cached_property
    def n_bytes(self) -> int:
        """Return the bytes of rows, labels and texts."""
        arrays = [a for a in vars(self._labels).values() if isinstance(a, np.ndarray)]
        texts = 0 if self._texts is None else self._texts.label_of.nbytes
        return self._parts.n_bytes + sum(a.nbytes for a in arrays) + texts

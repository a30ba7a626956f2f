"""Settings chosen by leave-one-out: each sample is predicted by all others."""

from itertools import product
from typing import Any

import numpy as np
from scipy import sparse

from .._kernels.neighbors import _votes as kernel
from ..metrics._gains import ndcg_of_rows
from ..utils._rows import Rows
from ._row_labels import RowLabels
from ._row_parts import RowParts
from ._scorer import VoteSettings, factors_of, scratch_of, voters_of
from ._texts import LabelTexts, no_pairs

N_TUNING = 3000  # rows that are left out, one after the other
CUT = 5  # of the measure, nDCG
FEW_COPIES, ROWS_WITH_MANY = 8, 64
# Where nothing can be left out. On twelve sets they cost at most one point of nDCG@5 against the
# settings that leave-one-out takes: 50 to 200 neighbours and powers from 2 to 4 on most of them.
DEFAULTS = VoteSettings(n_neighbors=100, power=3.0, frequency_power=0.0, text_weight=1.0)
GRID: dict[str, tuple] = {
    "n_neighbors": (5, 10, 30, 100, 200),
    "power": (1.0, 1.5, 2.0, 3.0, 4.0, 6.0),
    "frequency_power": (0.0, 0.1, 0.25, 0.5),
    "text_weight": (0.0, 0.3, 1.0, 3.0, 10.0),
}
# Of each pair all combinations are tried: more neighbours want a higher power, and a power of
# frequencies that pays with many neighbours may cost with few.
PAIRS = (
    ("power", "n_neighbors"),
    ("power", "frequency_power"),
    ("power", "text_weight"),
    ("n_neighbors", "frequency_power"),
)
ROUNDS = 3
TOLERANCE = 1e-3  # of nDCG: fewer neighbours are taken where they lose no more than that


def chosen_settings(given: dict[str, Any], trial: "LeaveOneOut | None") -> VoteSettings:
    """Return the settings with the highest value, by a search along one pair after the other.

    Parameters that are not "auto" stay. Without a trial, where no sample can be left out, the
    others are the defaults.
    """
    fixed = {name: value for name, value in given.items() if value != "auto"}
    best = DEFAULTS._replace(**fixed)
    if trial is None or len(fixed) == len(given):
        return best
    if not trial.has_texts:  # no weight of texts changes anything
        fixed["text_weight"] = best.text_weight
    # A value costs some milliseconds, since neighbours and texts were searched once. The full grid
    # has 600 points, the pairs of a round about a hundred, and each is looked at once.
    values = {best: trial.value(best)}
    for _ in range(ROUNDS):
        before = best
        for pair in PAIRS:
            free = [name for name in pair if name not in fixed]
            for some in product(*(GRID[name] for name in free)):
                candidate = best._replace(**dict(zip(free, some, strict=True)))
                if candidate not in values:
                    values[candidate] = trial.value(candidate)
            best = max(values, key=lambda settings: values[settings])
        if best == before:
            break
    # A search for fewer neighbours is faster: of settings that come close those with the fewest.
    enough = values[best] - TOLERANCE
    fewer = [one for one in values if one.n_neighbors < best.n_neighbors and values[one] >= enough]
    return min(fewer, key=lambda one: (one.n_neighbors, -values[one])) if fewer else best


class LeaveOneOut:
    """Training samples, each with its neighbours among all that are no copies of it.

    Copies of a sample count as one: at most one of them is a query, and all of them are left out.
    The frequencies of their labels are those without them. `rows` are in the form of `parts`, and
    a trial may use up to `largest` neighbours.
    """

    def __init__(
        self,
        rows: Rows,
        parts: RowParts,
        labels: RowLabels,
        frequencies: np.ndarray,
        texts: LabelTexts | None,
        largest: int,
        seed: int,
        n_threads: int,
    ) -> None:
        self._labels, self._frequencies, self._n_threads = labels, frequencies, n_threads
        self.has_texts = texts is not None and len(texts.label_of) > 0
        chosen, groups = distinct_rows(rows, labels, seed)
        self._ids, self._similarities = neighbours(parts, rows, chosen, groups, largest, n_threads)
        taken = rows.take(chosen)
        nothing = no_pairs(len(chosen))
        self._texts = texts.matches(taken, n_threads) if self.has_texts else nothing
        self._left_out = left_out_weights(labels, chosen, groups)
        # True pairs as sorted numbers, row * n_labels + label: a hit is then a binary search.
        self._truth = labels.matrix()[chosen]
        row = np.repeat(np.arange(len(chosen)), np.diff(self._truth.indptr))
        self._keys = np.sort(row * labels.n_labels + self._truth.indices.astype(np.int64))
        self._scratch = scratch_of(labels.n_labels, n_threads)

    @classmethod
    def of(
        cls,
        rows: Rows,
        parts: RowParts,
        labels: RowLabels,
        frequencies: np.ndarray,
        texts: LabelTexts | None,
        *more: int,
    ) -> "LeaveOneOut | None":
        """Return a trial, or None where no sample with a label has another one."""
        if labels.n_rows < 2 or not can_be_left_out(rows, labels).any():
            return None
        return cls(rows, parts, labels, frequencies, texts, *more)

    def value(self, settings: VoteSettings) -> float:
        """Return the mean nDCG@5 of the samples left out."""
        n_queries = len(self._ids)
        factors = factors_of(self._frequencies, settings.frequency_power)
        found = kernel.Found(
            self._ids, self._similarities, self._texts, self._changes(factors, settings)
        )
        k = min(CUT, self._labels.n_labels)
        best, scores = np.empty((n_queries, k), np.int32), np.empty((n_queries, k), np.float32)
        # No label is an answer without a vote, hence no order of labels, as a prediction has it.
        base = np.zeros(self._labels.n_labels, dtype=np.float32)
        kernel.topk(
            voters_of(self._labels, factors, settings),
            found,
            base,
            np.empty(0, np.int32),
            scores,
            best,
            np.empty((n_queries, 2)),
            *self._scratch,
            self._n_threads,
        )
        there = best < self._labels.n_labels  # the kernel fills up with the largest number
        keys = np.arange(n_queries)[:, None] * self._labels.n_labels + best
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        hits = there & (self._keys[place] == keys)
        return float(ndcg_of_rows(hits, np.diff(self._truth.indptr), CUT).mean())

    def _changes(
        self, factors: np.ndarray, settings: VoteSettings
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what the factors of labels that are left out are multiplied with."""
        # f ** -q of a rare label would tell that the sample has it, if f still counted the sample.
        without = self._left_out
        rest = self._frequencies[without.indices] - without.data
        rest[rest <= 1e-6 * without.data] = 0  # what rounding leaves of equal sums of weights
        ratio = factors_of(rest, settings.frequency_power) / factors[without.indices]
        starts = without.indptr.astype(np.int64)
        return starts, without.indices.astype(np.int32), ratio.astype(np.float32)


def can_be_left_out(rows: Rows, labels: RowLabels) -> np.ndarray:
    """Return which samples have features, labels and weight."""
    found = (np.diff(labels.starts) > 0) & (rows.squared_norms() > 0)
    return found & (labels.weights > 0) if len(labels.weights) else found


def distinct_rows(rows: Rows, labels: RowLabels, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the samples to leave out, no two alike, ascending, and the group of copies of each."""
    # Titles stand in data in several editions. A copy would find its double at similarity 1, and
    # one neighbour with a high power would look best; dropping the sample itself is not enough.
    hashes = rows.hashes()
    groups = np.unique(hashes, return_inverse=True)[1].reshape(-1)
    candidates = np.flatnonzero(can_be_left_out(rows, labels))
    first = np.unique(groups[candidates], return_index=True)[1]
    candidates = candidates[first]
    order = np.random.default_rng(seed).permutation(len(candidates))
    return np.sort(candidates[order[:N_TUNING]]), groups


def neighbours(
    parts: RowParts,
    rows: Rows,
    chosen: np.ndarray,
    groups: np.ndarray,
    largest: int,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest rows of each chosen one that are no copies of it; id -1 for none."""
    # Copies are among the nearest: for k neighbours k and the number of copies are searched. The
    # few rows with many copies are searched in small blocks, or all would pay for the longest.
    n = parts.n_rows
    n_copies = np.bincount(groups)[groups[chosen]]
    k = min(largest, n)
    ids = np.full((len(chosen), k), -1, dtype=np.int32)
    similarities = np.zeros((len(chosen), k), dtype=np.float32)
    many = np.flatnonzero(n_copies > FEW_COPIES)
    many = many[np.argsort(n_copies[many], kind="stable")]
    some = [np.flatnonzero(n_copies <= FEW_COPIES)]
    some += [many[start : start + ROWS_WITH_MANY] for start in range(0, len(many), ROWS_WITH_MANY)]
    for part in some:
        if not len(part):
            continue
        n_searched = min(n, k + int(n_copies[part].max()))
        found, values = parts.nearest(rows.take(chosen[part]), n_searched, n_threads)
        copies = groups[found] == groups[chosen[part]][:, None]
        # A stable sort by "is a copy" keeps the others in their order and moves copies behind them.
        order = np.argsort(copies, axis=1, kind="stable")[:, :k]
        left_out = np.take_along_axis(copies, order, axis=1)
        ids[part] = np.where(left_out, -1, np.take_along_axis(found, order, axis=1))
        similarities[part] = np.where(left_out, 0, np.take_along_axis(values, order, axis=1))
    return ids, similarities


def left_out_weights(labels: RowLabels, chosen: np.ndarray, groups: np.ndarray) -> sparse.csr_array:
    """Return by how much the frequencies fall for each chosen row, (n_chosen, n_labels)."""
    # The product of "is a copy of" and "has the label", with the weights of the copies.
    column = np.full(groups.max() + 1, -1, dtype=np.int64)
    column[groups[chosen]] = np.arange(len(chosen))
    of_row = column[groups]
    copies = np.flatnonzero(of_row >= 0)
    weight = labels.weights[copies] if len(labels.weights) else np.ones(len(copies))
    members = sparse.csr_array(
        (weight.astype(np.float64), (of_row[copies], copies)), shape=(len(chosen), labels.n_rows)
    )
    without = sparse.csr_array(members @ labels.matrix().astype(np.float64))
    without.sort_indices()
    return without

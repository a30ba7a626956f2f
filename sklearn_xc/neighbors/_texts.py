"""Texts of labels, and how much a sample is like them."""

import numpy as np

from ..utils._records import is_a, is_array, is_count, record
from ..utils._rows import Rows
from ._cached import Cached
from ._dense_rows import DenseRows
from ._row_lists import RowLists


@record(rows=is_a(RowLists, DenseRows), label_of=is_array(np.int32, least=0), n_labels=is_count)
class LabelTexts(Cached):
    """Unit rows, each the text of a label, in the order of labels; never changed.

    `label_of`, ascending, has the label of each row; a label may have several texts, or none.
    """

    def __init__(self, rows: RowLists | DenseRows, label_of: np.ndarray, n_labels: int) -> None:
        self.rows, self.label_of, self.n_labels = rows, label_of, n_labels

    @classmethod
    def of(cls, rows: Rows, label_of: np.ndarray, n_labels: int) -> "LabelTexts":
        """Return texts of labels in any order; rows of zeros are none."""
        # In the order of labels the texts of one stand together: neighbours tell whether any has
        # several.
        there = np.flatnonzero(rows.squared_norms() > 0)
        there = there[np.argsort(label_of[there], kind="stable")]
        taken = rows.take(there)
        part = DenseRows(taken.matrix()) if rows.dense else RowLists.of(taken)
        return cls(part, label_of[there].astype(np.int32), n_labels)

    def _check_record(self) -> None:
        if len(self.label_of) != self.rows.n_rows:
            raise ValueError(f"{self.rows.n_rows} texts for {len(self.label_of)} labels")

    def with_labels(self, n_labels: int, places: np.ndarray) -> "LabelTexts":
        """Return the same for more labels, each at its place; places ascend."""
        return LabelTexts(self.rows, places.astype(np.int32)[self.label_of], n_labels)

    def joined(self, other: "LabelTexts") -> "LabelTexts":
        """Return these texts and those of `other`, which has as many labels."""
        label_of = np.concatenate([self.label_of, other.label_of])
        rows = self.rows.appended(other.rows)  # type: ignore[arg-type]  # both of one form
        if (np.diff(label_of) < 0).any():
            order = np.argsort(label_of, kind="stable")
            rows, label_of = _reordered(rows, order), label_of[order]
        return LabelTexts(rows, label_of, self.n_labels)

    def matches(self, queries: Rows, n_threads: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the labels whose best text is like each query, and the similarities.

        Where the labels of each query begin, labels, each once for a query, and similarities above
        zero.
        """
        if not len(self.label_of):
            return no_pairs(queries.shape[0])
        starts, texts, values = self._alike(queries, n_threads)
        labels = self.label_of[texts]
        if self.once("one each", lambda: bool((np.diff(self.label_of) > 0).all())):
            return starts, labels, values
        # The best text of a label speaks for it, not their sum: a label with many synonyms would
        # win by their number.
        row = np.repeat(np.arange(queries.shape[0]), np.diff(starts))
        order = np.lexsort((-values, labels, row))
        row, labels, values = row[order], labels[order], values[order]
        first = np.ones(len(row), dtype=bool)
        first[1:] = (np.diff(row) != 0) | (np.diff(labels) != 0)
        return (
            _starts_of(np.bincount(row[first], minlength=queries.shape[0])),
            labels[first],
            values[first],
        )

    def _alike(self, queries: Rows, n_threads: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return as `matches` the texts with a similarity above zero."""
        if not isinstance(self.rows, RowLists):
            scores = self.rows.scores(queries, n_threads)
            above = scores > 0
            # Numbers of texts by one mask of the same shape: a CSR matrix of the scores and three
            # copies took 0.13 ms a query beside 0.30 of the products (3,039 texts), this 0.08.
            texts = np.broadcast_to(np.arange(scores.shape[1], dtype=np.int32), scores.shape)
            return _starts_of(np.count_nonzero(above, axis=1)), texts[above], scores[above]
        found = self.rows.matches(queries, n_threads)
        above = found.data > 0
        if above.all():
            return found.indptr.astype(np.int64), found.indices, found.data
        starts = np.append(0, np.cumsum(above))[found.indptr].astype(np.int64)
        return starts, found.indices[above], found.data[above]


def _starts_of(counts: np.ndarray) -> np.ndarray:
    """Return where each of some lists begins that follow one another, and the end."""
    return np.append(0, np.cumsum(counts)).astype(np.int64)


def _reordered(part: RowLists | DenseRows, order: np.ndarray) -> RowLists | DenseRows:
    """Return the rows of a part in another order."""
    if isinstance(part, DenseRows):
        return DenseRows(part.matrix[order])
    # Rows are renumbered in place of being copied; then each list is sorted again.
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    feature = np.repeat(np.arange(len(part.features)), np.diff(part.starts))
    rows = place[part.rows]
    by_list = np.lexsort((rows, feature))
    return RowLists(part.features, part.starts, rows[by_list], part.values[by_list], part.n_rows)


def no_pairs(n_queries: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what `LabelTexts.matches` does where nothing is alike."""
    return np.zeros(n_queries + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32)

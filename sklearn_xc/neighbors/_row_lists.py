"""Sparse rows as inverted lists: which rows have a feature, and with which value."""

import numpy as np
from scipy import sparse

from .._kernels.neighbors import _row_search as kernel
from ..utils._csr import narrow_pointers
from ..utils._records import is_array, is_count, record
from ..utils._rows import Rows
from ._cached import Cached


@record(
    features=is_array(np.int32, least=0), starts=is_array(np.int64, least=0),
    rows=is_array(np.int32, least=0), values=is_array(np.float32), n_rows=is_count,
)  # fmt: skip
class RowLists(Cached):
    """Consecutive sparse rows, feature by feature; never changed, so that threads can share it.

    An entry takes 8 bytes. Only features that some row has are listed: a few rows among a million
    features take little.

    Parameters
    ----------
    features : ndarray of int32 (n_listed,), ascending
    starts : ndarray of int64 (n_listed + 1,)
        Feature ``features[i]`` has the entries ``starts[i]`` to ``starts[i + 1] - 1``.
    rows : ndarray of int32 (n_entries,), ascending in a list
    values : ndarray of float32 (n_entries,)
    n_rows : int
    """

    def __init__(self, features, starts, rows, values, n_rows):
        self.features, self.starts = features, starts
        self.rows, self.values, self.n_rows = rows, values, n_rows

    @classmethod
    def of(cls, rows: Rows):
        """Return the lists of some rows, sparse or dense."""
        rows = rows.as_sparse()
        columns = rows.columns()
        listed = np.flatnonzero(np.diff(columns.indptr))
        starts = np.append(columns.indptr[listed], columns.indptr[-1])
        return cls(listed.astype(np.int32), starts, columns.rows, columns.data, rows.shape[0])

    def _check_record(self):
        if len(self.starts) != len(self.features) + 1 or len(self.rows) != len(self.values):
            raise ValueError("inverted lists whose arrays differ in length")
        if self.n_rows > np.iinfo(np.int32).max:
            raise ValueError(f"inverted lists of {self.n_rows} rows")

    @property
    def _lists(self):
        arrays = self.features, self.starts, self.rows, self.values
        return self.once("lists", lambda: kernel.Lists(*arrays, self.n_rows))

    def joined(self, other: "RowLists") -> "RowLists":
        """Return the lists of these rows and, behind them, those of `other`."""
        features = np.union1d(self.features, other.features)
        lengths = np.zeros((2, len(features)), dtype=np.int64)
        parts = self, other
        for part, length in zip(parts, lengths, strict=True):
            length[np.searchsorted(features, part.features)] = np.diff(part.starts)
        starts = np.append(0, np.cumsum(lengths.sum(axis=0)))
        rows, values = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.float32)
        free = starts[:-1]
        for part, length in zip(parts, lengths, strict=True):
            counts = length[length > 0]
            places = np.repeat(free[length > 0] - part.starts[:-1], counts)
            places += np.arange(len(places))
            rows[places] = part.rows if part is self else part.rows + np.int32(self.n_rows)
            values[places] = part.values
            free = free + length
        return RowLists(features, starts, rows, values, self.n_rows + other.n_rows)

    @property
    def size(self):
        """Return the number of entries, which decides when parts are joined."""
        return len(self.rows)

    def offer(self, queries: Rows, heaps, base: int, n_threads: int):
        """Offer all rows, numbered from `base` on, to the heaps of sparse queries."""
        n_threads = max(1, min(n_threads, queries.shape[0]))
        scratch = np.empty((n_threads, kernel.block_of_rows()), dtype=np.float32)
        kernel.nearest(
            *queries[:3], self._lists, base, heaps.scores, heaps.ids, scratch,
            _cursors(queries, n_threads), n_threads,
        )  # fmt: skip

    def matches(self, queries: Rows, n_threads: int) -> sparse.csr_array:
        """Return the scores of the rows that share a feature with each sparse query.

        Columns are the rows, in the order in which they were found.
        """
        n_queries = queries.shape[0]
        n_threads = max(1, min(n_threads, n_queries))
        lengths = self._entries_of(queries)
        starts = np.append(0, np.cumsum(np.minimum(lengths, self.n_rows)))
        ids, scores = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.float32)
        counts = np.zeros(n_queries, dtype=np.int64)
        kernel.matches(
            *queries[:3], self._lists, starts, ids, scores, counts,
            np.zeros((n_threads, max(1, self.n_rows)), dtype=np.int32),
            _cursors(queries, n_threads), n_threads,
        )  # fmt: skip
        kept = np.arange(starts[-1]) - np.repeat(starts[:-1], np.diff(starts))
        kept = kept < np.repeat(counts, np.diff(starts))
        indptr = narrow_pointers(np.append(0, np.cumsum(counts)))
        return sparse.csr_array(
            (scores[kept], ids[kept], indptr), shape=(n_queries, max(1, self.n_rows))
        )

    def _entries_of(self, queries):
        """Return the number of entries in the lists of each query's features."""
        first, last = queries.indptr[0], queries.indptr[-1]
        features = queries.indices[first:last]
        lengths = np.zeros(len(features), dtype=np.int64)
        if len(self.features):
            place = np.minimum(np.searchsorted(self.features, features), len(self.features) - 1)
            there = self.features[place] == features
            lengths[there] = np.diff(self.starts)[place[there]]
        sums = np.append(0, np.cumsum(lengths))[queries.indptr - first]
        return np.diff(sums)


def _cursors(queries, n_threads):
    longest = int(np.diff(queries.indptr).max(initial=1))
    return np.empty((n_threads, max(1, longest), 3), dtype=np.int64)

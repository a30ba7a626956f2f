"""Sparse rows as inverted lists: which rows have a feature, and with which value."""

import numpy as np
from scipy import sparse

from .._kernels.neighbors import _row_search as kernel
from .._kernels.neighbors._lists import Lists, Lookups, unit_of_shares, words_of_a_term
from ..mips._row_store import Heaps
from ..utils._csr import narrow_pointers
from ..utils._records import is_array, is_count, is_truth, record
from ..utils._rows import Rows
from ._cached import Cached

# Features that this share of the rows have are columns, as many as take half of what lists take.
COLUMN_SHARE, COLUMNS_SHARE = 1 / 8, 1.0
LEAST_ROWS = 8192  # of fewer, lists are as fast
# Features that this share of the rows have get a bit a row next to their list, as many as take a
# quarter of what lists take.
LONG_SHARE, BITS_SHARE = 1 / 64, 1 / 4
ENTRY, WORD, WORD_BYTES = 8, 64, 12  # bytes of an entry; rows of a word, its bits and their place
APART, FEW = 1 / 256, 1 / 16  # of the rows, those that have the largest shares


@record(
    features=is_array(np.int32, least=0),
    starts=is_array(np.int64, least=0),
    rows=is_array(np.int32, least=0),
    values=is_array(np.float32),
    n_rows=is_count,
    column_of=is_array(np.int32, least=-1),
    columns=is_array(np.float32, ndim=2),
    signed=is_truth,
)
class RowLists(Cached):
    """Consecutive sparse rows, feature by feature; never changed, so that threads can share it.

    Only features that some row has are listed. Features that many rows have are columns instead,
    with a number for each row: these can be looked up, where a list has to be read from its
    beginning. The first search adds bits of the long lists and shares of the rows, which bound what
    features that can be looked up give to a score.

    Parameters
    ----------
    features : ascending
    starts : (n_listed + 1,)
        Feature ``features[i]`` has the entries ``starts[i]`` to ``starts[i + 1] - 1``.
    rows : ascending in a list
    values : (n_entries,)
    n_rows : at most 2^31 - 1
    column_of : (n_listed,)
        The column of each feature, -1 where it has a list; None for lists only.
    columns : (n_columns, n_rows), C-contiguous
    """

    def __init__(
        self,
        features: np.ndarray,
        starts: np.ndarray,
        rows: np.ndarray,
        values: np.ndarray,
        n_rows: int,
        column_of: np.ndarray | None = None,
        columns: np.ndarray | None = None,
    ) -> None:
        self.features, self.starts = features, starts
        self.rows, self.values, self.n_rows = rows, values, n_rows
        if column_of is None or columns is None:
            column_of = np.full(len(features), -1, dtype=np.int32)
            columns = np.empty((0, n_rows), dtype=np.float32)
        self.column_of, self.columns = column_of, columns
        # Where nothing is below zero a partial sum is a lower bound: the floor of a search, and its
        # watch for rows that pass a threshold while lists are read, rest on it.
        self.signed = bool((columns < 0).any() or (values < 0).any())

    @classmethod
    def of(cls, rows: Rows) -> "RowLists":
        """Return the lists of some rows, sparse or dense, without columns."""
        # The columns of the matrix are the lists, rows ascending. Features without any get none: a
        # hundred rows among a million features take little.
        rows = rows.as_sparse()
        columns = rows.columns()
        listed = np.flatnonzero(np.diff(columns.indptr))
        starts = np.append(columns.indptr[listed], columns.indptr[-1])
        return cls(listed.astype(np.int32), starts, columns.rows, columns.data, rows.shape[0])

    def _check_record(self) -> None:
        # Contents are not looked at, for a mapped file would be read: kernels compare each number
        # with the sizes that are checked here.
        if len(self.starts) != len(self.features) + 1 or len(self.rows) != len(self.values):
            raise ValueError("inverted lists whose arrays differ in length")
        if self.columns.shape[1] != self.n_rows or len(self.column_of) != len(self.features):
            raise ValueError("inverted lists whose columns differ in length")
        if self.n_rows > np.iinfo(np.int32).max:
            raise ValueError(f"inverted lists of {self.n_rows} rows")

    @property
    def _arrays(self) -> tuple:
        """Return the arguments that the kernel makes its lists of."""
        arrays = self.features, self.starts, self.rows, self.values, self.column_of, self.columns
        return *arrays, self.n_rows, self.signed

    @property
    def _plain_lists(self) -> Lists:
        """Return the lists as a search for all matches takes them."""
        return self.once("plain lists", lambda: Lists(*self._arrays, None))

    @property
    def _lists(self) -> Lists:
        """Return the lists as a search for the nearest takes them, made when first needed."""
        return self.once("lists", self._with_lookups)

    def _with_lookups(self) -> Lists:
        """Return the lists with bits of the long ones and the shares of rows."""
        if self.n_rows < LEAST_ROWS:
            return self._plain_lists
        n_words, chosen = -(-self.n_rows // WORD), self._long_lists()
        bits_of = np.full(len(self.features), -1, dtype=np.int32)
        bits_of[chosen] = np.arange(len(chosen))
        # A bit a row says whether a long list has it; `before` counts entries up to each word,
        # which turns the bit into a place in the list.
        bits = np.zeros((len(chosen), n_words), dtype=np.uint64)
        # The length of each row in columns, and in columns and long lists, rounded up to a byte: by
        # Cauchy and Schwarz it bounds what these features give to a score.
        shares = np.empty((2, self.n_rows), dtype=np.uint8)
        lookups = Lookups(bits_of, bits, np.empty(bits.shape, dtype=np.int32), shares)
        lists = Lists(*self._arrays, lookups)
        lookups.fill(lists, np.zeros(shares.shape))
        # One long row would spoil the bound of all: a bound is that of 255 rows of 256, the others
        # are kept apart. The second level, of 15 rows in 16, says when bounds leave few rows.
        levels = np.array([[_level(of, share) for share in (APART, FEW)] for of in shares])
        apart = [np.flatnonzero(of > level[0]) for of, level in zip(shares, levels, strict=True)]
        apart = tuple(rows.astype(np.int32) for rows in apart)
        lookups.set_apart(apart, levels / unit_of_shares())
        return lists

    def _long_lists(self) -> np.ndarray:
        """Return the numbers of the lists that have bits, ascending."""
        # Longest first, as many as the budget of memory pays for: these save the most reading.
        if self.n_rows < LEAST_ROWS:
            return np.empty(0, dtype=np.int64)
        lengths = np.diff(self.starts)
        n_long = int(BITS_SHARE * ENTRY * len(self.rows)) // (WORD_BYTES * -(-self.n_rows // WORD))
        order = np.argsort(-lengths, kind="stable")[:n_long]
        return np.sort(order[lengths[order] >= max(1, LONG_SHARE * self.n_rows)])

    @property
    def n_bytes(self) -> int:
        """Return the bytes of all arrays, with those that a search makes."""
        made = len(self._long_lists()) * WORD_BYTES * -(-self.n_rows // WORD)
        made += 2 * self.n_rows if self.n_rows >= LEAST_ROWS else 0
        return made + super().n_bytes

    def with_columns(self) -> "RowLists":
        """Return the same with columns for the features that most rows have."""
        # A column takes 4 bytes a row, a list 8 an entry: from an eighth of the rows on a column is
        # taken while all of them together take half of what the lists do.
        lengths = np.diff(self.starts)
        n_columns = int(COLUMNS_SHARE * len(self.rows)) // max(1, self.n_rows)
        order = np.argsort(-lengths, kind="stable")[:n_columns]
        chosen = np.sort(order[lengths[order] >= COLUMN_SHARE * self.n_rows])
        if self.n_rows < LEAST_ROWS or not len(chosen):
            return self
        column_of = np.full(len(self.features), -1, dtype=np.int32)
        column_of[chosen] = np.arange(len(chosen))
        columns = np.zeros((len(chosen), self.n_rows), dtype=np.float32)
        for column, feature in zip(columns, chosen, strict=True):
            part = slice(self.starts[feature], self.starts[feature + 1])
            column[self.rows[part]] = self.values[part]
        # The feature stays listed, with an empty list: its place says which column it has.
        kept = np.repeat(column_of < 0, lengths)
        starts = np.append(0, np.cumsum(np.where(column_of < 0, lengths, 0)))
        parts = self.features, starts, self.rows[kept], self.values[kept], self.n_rows
        return RowLists(*parts, column_of, columns)

    def without_columns(self) -> "RowLists":
        """Return the same as lists only."""
        if not len(self.columns):
            return self
        rows = [np.flatnonzero(column).astype(np.int32) for column in self.columns]
        values = [column[of] for column, of in zip(self.columns, rows, strict=True)]
        lengths = np.diff(self.starts)
        kept = np.repeat(self.column_of < 0, [*lengths])
        there = self.column_of >= 0
        all_lengths = lengths.copy()
        all_lengths[there] = [len(of) for of in rows]
        starts = np.append(0, np.cumsum(all_lengths))
        is_kept = np.repeat(~there, all_lengths)
        out = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.float32)
        for array, old, new in zip(out, (self.rows, self.values), (rows, values), strict=True):
            array[is_kept] = old[kept]
            array[~is_kept] = np.concatenate(new)
        return RowLists(self.features, starts, *out, self.n_rows)

    def joined(self, other: "RowLists") -> "RowLists":
        """Return these rows and, behind them, those of `other`, with columns."""
        return self.without_columns().appended(other.without_columns()).with_columns()

    def appended(self, other: "RowLists") -> "RowLists":
        """Return the lists of these rows and, behind them, those of `other`; none has columns."""
        # In one pass: each entry moves to the beginning of its list in the union, behind what the
        # part before has there. Rows of `other` come later, so that lists stay ascending.
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
    def size(self) -> int:
        """Return the number of entries, which decides when parts are joined."""
        return len(self.rows) + self.columns.size

    def offer(self, queries: Rows, heaps: Heaps, base: int, n_threads: int) -> None:
        """Offer all rows, numbered from `base` on, to the heaps of sparse queries."""
        n_threads = max(1, min(n_threads, queries.shape[0]))
        kernel.nearest(
            *queries[:3],
            self._lists,
            base,
            heaps.scores,
            heaps.ids,
            np.zeros((n_threads, 2 * kernel.block_of_rows()), dtype=np.float32),
            np.empty((n_threads, kernel.block_of_rows() + kernel.bins() + 2), dtype=np.int32),
            _terms(queries, n_threads),
            n_threads,
        )

    def matches(self, queries: Rows, n_threads: int) -> sparse.csr_array:
        """Return the scores of the rows that share a feature with each sparse query.

        Columns are the rows, in the order in which they were found.
        """
        n_queries = queries.shape[0]
        n_threads = max(1, min(n_threads, n_queries))
        lengths = self._entries_of(queries)
        # Room for all answers: a query meets at most as many rows as its lists have entries.
        starts = np.append(0, np.cumsum(np.minimum(lengths, self.n_rows)))
        ids, scores = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.float32)
        counts = np.zeros(n_queries, dtype=np.int64)
        kernel.matches(
            *queries[:3],
            self._plain_lists,
            starts,
            ids,
            scores,
            counts,
            np.zeros((n_threads, max(1, self.n_rows)), dtype=np.int32),
            _terms(queries, n_threads),
            n_threads,
        )
        # Of each room the beginning is filled, up to its count.
        kept = np.arange(starts[-1]) - np.repeat(starts[:-1], np.diff(starts))
        kept = kept < np.repeat(counts, np.diff(starts))
        indptr = narrow_pointers(np.append(0, np.cumsum(counts)))
        return sparse.csr_array(
            (scores[kept], ids[kept], indptr), shape=(n_queries, max(1, self.n_rows))
        )

    def _entries_of(self, queries: Rows) -> np.ndarray:
        """Return the number of entries in the lists of each query's features."""
        first, last = queries.indptr[0], queries.indptr[-1]
        features = queries.indices[first:last]
        lengths = np.zeros(len(features), dtype=np.int64)
        if len(self.features):
            # A search for a feature beyond the last one ends behind it.
            place = np.minimum(np.searchsorted(self.features, features), len(self.features) - 1)
            there = self.features[place] == features
            lengths[there] = np.diff(self.starts)[place[there]]
        sums = np.append(0, np.cumsum(lengths))[queries.indptr - first]
        return np.diff(sums)


def _level(shares: np.ndarray, part: float) -> int:
    """Return the smallest share that at most this part of the rows exceed."""
    # above[s] rows have a share larger than s; it falls to 0, so that argmax finds the first place.
    above = len(shares) - np.cumsum(np.bincount(shares, minlength=unit_of_shares() + 1))
    return int(np.argmax(above <= part * len(shares)))


def _terms(queries: Rows, n_threads: int) -> np.ndarray:
    """Return memory for the terms of the longest query, for each thread."""
    longest = int(np.diff(queries.indptr).max(initial=1))
    return np.empty((n_threads, max(1, longest), words_of_a_term()), dtype=np.int64)

"""Training samples in parts, to which more are appended at a cost that follows their number."""

import numpy as np

from ..mips._row_store import Heaps
from ..utils._csr import LARGEST_INDEX
from ..utils._records import is_a, is_count, record
from ..utils._rows import Rows
from ._dense_rows import DenseRows, GraphRows
from ._row_lists import RowLists

PARTS = RowLists, DenseRows, GraphRows


def unit_rows(rows: Rows) -> Rows:
    """Return the rows divided by their lengths; rows of zeros stay."""
    # A row of zeros stays one: it is like nothing, where a division would make it NaN.
    lengths = np.sqrt(rows.squared_norms())
    lengths[lengths == 0] = 1
    if rows.dense:
        data = (rows.matrix() / lengths[:, None]).astype(np.float32).ravel()
    else:
        data = (rows.data / np.repeat(lengths, np.diff(rows.indptr))).astype(np.float32)
    return rows._replace(data=data)


def part_of(rows: Rows, seed: int | None) -> RowLists | DenseRows:
    """Return unit rows as a part: lists of sparse rows, a matrix of dense ones, or a graph."""
    if not rows.dense:
        return RowLists.of(rows).with_columns()
    return DenseRows(rows.matrix()) if seed is None else GraphRows(rows.matrix(), seed)


@record(parts=is_a(list), dense=is_a(bool), n_features=is_count, seed=is_a(int, type(None)))
class RowParts:
    """Rows of unit length in parts, of which each is at least twice as large as the next.

    Never changed. `seed` is of the graphs of dense rows; None is exact search.
    """

    def __init__(self, parts: list, dense: bool, n_features: int, seed: int | None) -> None:
        self.parts, self.dense, self.n_features, self.seed = parts, dense, n_features, seed

    def _check_record(self) -> None:
        kinds = (RowLists,) if not self.dense else (DenseRows, GraphRows)
        if not all(isinstance(part, kinds) for part in self.parts):
            raise ValueError("the parts of the training samples are of the wrong kind")
        if self.n_rows > LARGEST_INDEX or self.n_features > LARGEST_INDEX:
            raise ValueError(f"{self.n_rows} training samples of {self.n_features} features")
        for part in self.parts:
            if self.dense and part.matrix.shape[1] != self.n_features:
                raise ValueError(f"training samples of {part.matrix.shape[1]} features")

    @property
    def n_rows(self) -> int:
        """Return the number of rows of all parts."""
        return sum(part.n_rows for part in self.parts)

    @property
    def n_bytes(self) -> int:
        """Return the bytes of the arrays of all parts."""
        return sum(part.n_bytes for part in self.parts)

    def in_form(self, rows: Rows) -> Rows:
        """Return rows in the form of these, sparse or dense, of unit length."""
        rows = unit_rows(rows)
        return rows.as_dense() if self.dense else rows.as_sparse()

    def extended(self, rows: Rows) -> "RowParts":
        """Return the parts with unit rows of this form appended."""
        # The logarithmic method of J. L. Bentley and J. B. Saxe (1980): a row is copied once each
        # time that its part doubles, log2(n) times at most, and as many parts are searched. Rows
        # count as well as entries: else rows of zeros would stay parts of one row for ever.
        parts = [*self.parts, part_of(rows, self.seed)]
        while len(parts) > 1 and parts[-2].size + parts[-2].n_rows < 2 * (
            parts[-1].size + parts[-1].n_rows
        ):
            last = parts.pop()
            parts[-1] = parts[-1].joined(last)
        return RowParts(parts, self.dense, self.n_features, self.seed)

    def nearest(self, queries: Rows, k: int, n_threads: int) -> tuple[np.ndarray, np.ndarray]:
        """Return numbers and inner products of the k rows nearest to each query of this form.

        Best first, ties to the smaller number.
        """
        # Parts share the heaps: the worst of the k best so far spares work in the next, and the
        # largest part, which comes first, sets it high. Numbers ascend, as ties want it.
        heaps, base = Heaps(queries.shape[0], k), 0
        for part in self.parts:
            if part.n_rows:
                part.offer(queries, heaps, base, n_threads)
            base += part.n_rows
        return heaps.sorted()

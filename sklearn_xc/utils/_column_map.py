"""The few columns that are used of a wide space, such as that of a hashing vectorizer.

Of 2**20 to 2**24 columns a collection of texts uses some thousand. What a model keeps of a column
is kept of these alone, by their numbers among them.
"""

import numpy as np
from scipy import sparse

WIDE = 2**16  # columns, below which those that are not used cost little
FEW = 1 / 16  # of them, above which all are kept
SORTED = 16  # columns for each entry, above which entries are sorted to find what is used
MAPPED = 2**26  # columns, up to which a bit is kept of each


class ColumnMap:
    """Some columns of a wide space, ascending, and the number of each among them.

    Bit c % 64 of word c // 64 says whether column c is one of these, `before` how many of these
    come before the columns of each word. There are no words where the space has more than `MAPPED`
    columns, which are searched for then.
    """

    def __init__(self, columns: np.ndarray, n_columns: int) -> None:
        self.columns, self.n_columns = columns.astype(np.int32), n_columns
        self.words = self.before = None
        if n_columns > MAPPED:
            return
        # The number of column c is the count before its word plus the ones below its bit: 1 + 1/2
        # bits a column, 3 MB for 2**24, of which the part that rows need stays in the caches.
        self.words = np.zeros(-(-n_columns // 64), dtype=np.uint64)
        bits = np.uint64(1) << (self.columns & 63).astype(np.uint64)
        np.bitwise_or.at(self.words, self.columns >> 6, bits)
        counts = np.bincount(self.columns >> 6, minlength=len(self.words))
        self.before = (np.cumsum(counts) - counts).astype(np.int32)

    def __len__(self) -> int:
        return len(self.columns)

    def find(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of columns among these, and which of them there are."""
        # a column beyond the last one is compared with the last one, and is not there
        places = np.minimum(np.searchsorted(self.columns, indices), len(self) - 1)
        return places.astype(np.int32), self.columns[places] == indices

    def narrow_csr(self, csr: sparse.csr_array) -> sparse.csr_array:
        """Return a CSR whose entries are all in these columns by their numbers; shares values."""
        indices = np.searchsorted(self.columns, csr.indices).astype(csr.indices.dtype)
        return sparse.csr_array((csr.data, indices, csr.indptr), (csr.shape[0], len(self)))

    def widen_csr(self, csr: sparse.csr_array) -> sparse.csr_array:
        """Return a CSR by the numbers of all columns; shares values."""
        indices = self.columns[csr.indices]
        return sparse.csr_array((csr.data, indices, csr.indptr), (csr.shape[0], self.n_columns))


def used_columns(indices: np.ndarray, n_columns: int) -> np.ndarray | None:
    """Return the columns that entries are in, ascending, where they are few of many; else None."""
    if n_columns < WIDE:
        return None
    # Sorting takes n log n of the entries, a flag for each column a pass over all columns.
    if SORTED * len(indices) < n_columns:
        used = np.unique(indices).astype(np.int32)
    else:
        is_used = np.zeros(n_columns, dtype=bool)
        is_used[indices] = True
        used = np.flatnonzero(is_used).astype(np.int32)
    return used if 0 < len(used) < FEW * n_columns else None

"""The current rows of an index: checked, stored so that some can be replaced, scored exactly."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from .._kernels.mips import _search as kernel
from ..utils._matrix import as_rows, checked_csr, normalise
from ..utils._memory_limit import require_memory
from ..utils._typing import Matrix, MatrixLike

# Size of the arrays of sparse rows when they are laid out again, in entries that they have to hold:
# then replacing rows by longer ones costs the new entries only, on average.
SLACK = 1.5
NOBODY = np.iinfo(np.int32).max  # the id in a place of a heap that was never filled


def check_vectors(vectors: MatrixLike, name: str, n_features: int | None = None) -> Matrix:
    """Return a matrix of finite real numbers as C-contiguous float32, dense or CSR.

    Raises ValueError, which calls the matrix `name`, for anything else and for another number of
    features. Shares memory with the argument where nothing had to change.
    """
    if not sparse.issparse(vectors):
        vectors = np.asarray(vectors)
    if vectors.ndim != 2:
        raise ValueError(
            f"{name} must be a matrix of two dimensions, one vector a line; got shape "
            f"{vectors.shape}"
        )
    if vectors.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold real numbers, got dtype {vectors.dtype}")
    if n_features is not None and vectors.shape[1] != n_features:
        raise ValueError(
            f"{name} has {vectors.shape[1]} features, but the rows of the index have {n_features}"
        )
    if vectors.shape[1] == 0:
        raise ValueError(f"{name} must have at least one feature, got shape {vectors.shape}")
    values = vectors
    if sparse.issparse(vectors):
        vectors = checked_csr(vectors, name)
        values = vectors.data
    if values.dtype.kind == "f":
        with np.errstate(over="ignore"):
            finite = bool(np.isfinite(values.astype(np.float32, copy=False)).all())
        if not finite:
            raise ValueError(
                f"{name} must be finite in float32, but holds NaN, infinity or a number beyond "
                f"{np.finfo(np.float32).max:.3g}"
            )
    return normalise(vectors, name)


def require_rows(shape: tuple[int, ...], size: int | None) -> None:
    """Refuse rows that take too many bytes; `size` is None before these can be counted."""
    if size is not None:
        require_memory(size, f"rows of shape {shape}", "index fewer rows, or sparse ones")


def check_ids(ids: ArrayLike, n_rows: int, name: str = "ids") -> np.ndarray:
    """Return the numbers of distinct rows (or of what else `name` numbers), as int64."""
    ids = np.asarray(ids)
    if ids.size == 0:
        ids = ids.astype(np.int64)
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be a vector of row numbers; got shape {ids.shape}, dtype {ids.dtype}"
        )
    if len(ids) and not 0 <= ids.min() <= ids.max() < n_rows:
        raise ValueError(f"{name} must be from 0 to {n_rows - 1}; got {ids.min()} to {ids.max()}")
    ids = ids.astype(np.int64)
    if len(np.unique(ids)) < len(ids):
        raise ValueError(f"{name} must not name a row twice")
    return ids


def own(array: np.ndarray, original: Any) -> np.ndarray:
    """Return the array itself unless the caller could change it, otherwise a copy."""
    shared = isinstance(original, np.ndarray) and np.may_share_memory(array, original)
    return array.copy() if shared and array.flags.writeable else array


def ranges(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return numbers starts[i], ..., starts[i] + lengths[i] - 1 of all i, one after the other."""
    ends = np.cumsum(lengths)
    total = ends[-1] if len(ends) else 0
    return np.repeat(starts - (ends - lengths), lengths) + np.arange(total)


class RowStore:
    """Rows that can be replaced one by one, dense or sparse.

    Sparse rows lie anywhere in two arrays of entries; one that grows moves to their end, and when
    that is reached all are laid out again. The arrays never exceed `SLACK` times what they held
    when they were laid out, so that memory does not grow with the number of updates.

    Parameters
    ----------
    rows : ndarray or csr_array, float32
        From `check_vectors`.
    original : ndarray or sparse matrix
        What the caller gave: read-only arrays are used where they are, until a row is replaced.

    Attributes
    ----------
    shape : tuple (n_rows, n_features)
    dense : bool
    starts, lengths : ndarray of int64, shape (n_rows,)
        Row i has the entries ``starts[i]`` to ``starts[i] + lengths[i] - 1``.
    indices : ndarray of int32, shape (capacity,)
        Empty for dense rows.
    data : ndarray of float32, shape (capacity,)
    """

    def __init__(self, rows: Matrix, original: MatrixLike) -> None:
        self.shape = rows.shape
        self.dense = isinstance(rows, np.ndarray)
        if isinstance(rows, np.ndarray):
            require_rows(rows.shape, rows.nbytes)
            vars(self).update(vars(self.view(own(rows, original))))
            return
        require_rows(rows.shape, rows.data.nbytes + rows.indices.nbytes)
        self.data = own(rows.data, getattr(original, "data", None))
        indices = rows.indices.astype(np.int32, copy=False)
        self.indices = own(indices, getattr(original, "indices", None))
        self.starts = rows.indptr[:-1].astype(np.int64)
        self.lengths = np.diff(rows.indptr).astype(np.int64)
        self._room = self.lengths.copy()
        self._end = len(self.data)

    @classmethod
    def view(cls, matrix: np.ndarray) -> Self:
        """Return the rows of a C-contiguous float32 matrix where they are, only to be scored."""
        store = cls.__new__(cls)
        store.shape, store.dense = matrix.shape, True
        store.data, store.indices = matrix.reshape(-1), np.empty(0, dtype=np.int32)
        store.starts = np.arange(len(matrix), dtype=np.int64) * matrix.shape[1]
        store.lengths = np.full(len(matrix), matrix.shape[1], dtype=np.int64)
        return store

    @property
    def matrix(self) -> np.ndarray:
        """Dense rows as a matrix; shares the values."""
        return self.data.reshape(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        arrays = (self.data, self.indices, self.starts, self.lengths)
        return sum(array.nbytes for array in arrays) + (0 if self.dense else self._room.nbytes)

    def take(self, ids: np.ndarray) -> Matrix:
        """Take some of the rows as a matrix, dense or CSR; a copy."""
        if self.dense:
            return self.matrix[ids]
        lengths = self.lengths[ids]
        places = ranges(self.starts[ids], lengths)
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        csr = sparse.csr_array((len(ids), self.shape[1]), dtype=np.float32)
        csr.data, csr.indices, csr.indptr = self.data[places], self.indices[places], indptr
        return csr

    def replace(self, ids: np.ndarray, rows: Matrix) -> None:
        """Give these distinct rows new values, dense or sparse whatever the store is."""
        # Read-only arrays of the caller have been used where they are until now.
        if not self.data.flags.writeable:
            self.data = self.data.copy()
        if self.dense:
            self.matrix[ids] = rows.toarray() if sparse.issparse(rows) else rows
            return
        if not self.indices.flags.writeable:
            self.indices = self.indices.copy()
        rows = normalise(sparse.csr_array(rows))
        lengths = np.diff(rows.indptr).astype(np.int64)
        # Rows that fit stay in their places, longer ones move behind all others, and if there is no
        # space behind them either, all rows are laid out again.
        moved = lengths > self._room[ids]
        if self._end + lengths[moved].sum() > len(self.data):
            self.lengths[ids] = 0  # what they held need not be kept
            self._lay_out(lengths.sum())
            moved[:] = True
        self._move_to_end(ids[moved], lengths[moved])
        self.lengths[ids] = lengths
        places = ranges(self.starts[ids], lengths)
        self.indices[places], self.data[places] = rows.indices, rows.data

    def _move_to_end(self, ids: np.ndarray, lengths: np.ndarray) -> None:
        """Give rows that have outgrown their places new ones."""
        self.starts[ids] = self._end + np.cumsum(lengths) - lengths
        self._room[ids] = lengths
        self._end += int(lengths.sum())

    def _lay_out(self, needed: int) -> None:
        """Put the rows close together in new arrays, with space for `needed` entries and more."""
        places = ranges(self.starts, self.lengths)
        capacity = int(SLACK * (len(places) + needed)) + 1
        for name in ("indices", "data"):
            old = getattr(self, name)
            new = np.empty(capacity, dtype=old.dtype)
            new[: len(places)] = old[places]
            setattr(self, name, new)
        self.starts = np.cumsum(self.lengths) - self.lengths
        self._room = self.lengths.copy()
        self._end = len(places)

    def score(self, queries: Matrix, candidates: np.ndarray, n_threads: int) -> np.ndarray:
        """Return inner products of queries with their candidates, float32 (n_queries, n).

        `candidates` are int32 in C order, (n_queries, n), or (1, n) if all queries have the same;
        -1 scores minus infinity.
        """
        queries = as_rows(queries)
        n_queries = queries.shape[0]
        n_threads = max(1, min(n_threads, n_queries))
        scores = np.empty((n_queries, candidates.shape[1]), dtype=np.float32)
        width = 0 if self.dense or queries.dense else self.shape[1]
        kernel.score(
            kernel.Store(self.starts, self.lengths, self.indices, self.data, self.dense),
            *(queries.indptr, queries.indices, queries.data, queries.dense),
            *(candidates, scores, np.zeros((n_threads, width), dtype=np.float32), n_threads),
        )
        return scores

    def best(
        self, queries: Matrix, candidates: np.ndarray, k: int, n_threads: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return ids and scores of the k best candidates of each query, ties to the smaller id.

        `candidates` are as `score` takes them, distinct in a line but for -1. A query with fewer
        than k has the id -1 in the places left. Raises ValueError if a score overflows float32.
        """
        top = Heaps(queries.shape[0], k)
        candidates = np.ascontiguousarray(candidates, dtype=np.int32)
        if candidates.shape[1]:
            scores = self.score(queries, candidates, n_threads)
            top.offer(scores, candidates, None, n_threads)
        return top.sorted()


class Heaps:
    """The best scored rows so far of each query."""

    def __init__(self, n_queries: int, k: int) -> None:
        self.scores = np.empty((n_queries, k), dtype=np.float32)
        self.ids = np.empty((n_queries, k), dtype=np.int32)
        kernel.empty(self.scores, self.ids)

    def offer(
        self,
        scores: np.ndarray,
        ids: np.ndarray,
        into: np.ndarray | None = None,
        n_threads: int = 1,
    ) -> None:
        """Offer scores (n, m) of rows `ids`, (n, m) or (1, m), to the queries `into` (n,)."""
        if into is None:
            into = np.arange(len(scores), dtype=np.int32)
        kernel.offer(scores, ids, into, self.scores, self.ids, n_threads)

    def sorted(self) -> tuple[np.ndarray, np.ndarray]:
        """Sort ids and scores, best first; id -1 and minus infinity in places never filled."""
        if not np.isfinite(self.scores[self.ids != NOBODY]).all():
            raise ValueError(
                "some scores are not finite in float32: rows or queries are too large; scale them"
            )
        kernel.sort(self.scores, self.ids)
        return self.ids, self.scores

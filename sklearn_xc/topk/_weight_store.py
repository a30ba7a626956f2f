"""Weights of a linear model behind one interface, whichever form ``coef_`` has.

``coef_`` is an ndarray or a sparse matrix, of a fit or put in place by a user. `store_of` asks
which, and all others ask the store for what they need. What differs stands here: which arrays the
numbers lie in, what is checked before a kernel follows them, how a class is read, what another form
costs.
"""

from typing import TypeAlias
from weakref import WeakValueDictionary

import numpy as np
from scipy import sparse

from ..utils._matrix import checked_csr
from ..utils._memory_limit import require_memory
from ..utils._typing import Matrix, SparseMatrix
from ._feature_major import feature_major, n_places

BYTES_OF_AN_ENTRY = 8  # of CSR with float32 values and int32 indices
ENTRIES_AT_ONCE = 2**20  # of dense weights whose zeros are counted together
# Arrays of sparse weights whose structure is known to be right, by their ids: those that a fit has
# made, and those that were checked when nothing could be written into them. Weak: an array that is
# freed leaves, and the next one with its id is another.
_TRUSTED = WeakValueDictionary()


class DenseWeights:
    """Weights of all classes and features, as an ndarray; see `SparseWeights` for the methods."""

    is_sparse = False

    def __init__(self, coef: np.ndarray) -> None:
        self.coef = coef

    # --------------------------------------------------------------------- arrays and structure

    def arrays(self) -> tuple[np.ndarray, ...]:
        """Return the array that the weights lie in."""
        return (self.coef,)

    def trust(self) -> None:
        """Do nothing: an ndarray has no structure that could be wrong."""

    def checked(self) -> "DenseWeights":
        """Return the weights as kernels read them: each number at a multiple of its size."""
        return DenseWeights(np.require(self.coef, requirements="A"))

    # ----------------------------------------------------------------------------- what they hold

    def n_weights(self) -> np.ndarray:
        """Count the weights of each class that are not zero."""
        coef, counts = self.coef, np.zeros(self.coef.shape[0], dtype=np.int64)
        # By columns, as dense weights lie in memory; some at a time, since the comparison with zero
        # makes an array of a byte for each weight.
        size = max(1, ENTRIES_AT_ONCE // coef.shape[0])
        for start in range(0, coef.shape[1], size):
            counts += np.count_nonzero(coef[:, start : start + size], axis=1)
        return counts

    def largest(self) -> float:
        """Return the largest magnitude."""
        return _largest(self.coef)

    def of_class(self, k: int, features: np.ndarray) -> np.ndarray:
        """Return weights of class k at some features."""
        return np.asarray(self.coef[k, features], dtype=np.float32)

    def features(self) -> np.ndarray:
        """Return the features that some class has a weight of."""
        return _features_of(self.coef)

    def are_of(self, columns: np.ndarray) -> bool:
        """Say no: dense weights are of all columns."""
        return False

    def of_columns(self, columns: np.ndarray) -> np.ndarray:
        """Return the weights of some columns."""
        return np.asarray(self.coef[:, columns], dtype=np.float32)

    # ------------------------------------------------------------------------------- other forms

    def dense(self) -> np.ndarray:
        """Return the weights as an ndarray of float32, without a copy where they are that."""
        return np.asarray(self.coef, dtype=np.float32)

    def csr(self) -> sparse.csr_array:
        """Return the weights that are not zero."""
        return sparse.csr_array(self.coef)

    def densified(self) -> np.ndarray:
        """Return the weights as they are."""
        return self.coef

    def sparsified(self) -> sparse.csr_array:
        """Return the weights that are not zero, if they fit into memory."""
        n_entries = int(np.count_nonzero(self.coef))
        require_memory(
            BYTES_OF_AN_ENTRY * n_entries + 8 * len(self.coef),
            f"sparsify: {n_entries} weights that are not zero",
            "prune first",
        )
        return self.csr()

    def pruned(self, limit: np.float32) -> np.ndarray:
        """Return a copy with zeros where the magnitude is up to `limit`."""
        _require_copy(self.coef, "prune", "sparsify first, or prune fewer classes at a time")
        coef = self._copy()
        coef[np.abs(coef) <= limit] = 0
        return coef

    def _copy(self) -> np.ndarray:
        """Return a copy in the layout of prediction."""
        n_classes = self.coef.shape[0]
        if n_classes == 1:
            return np.array(self.coef, dtype=np.float32, order="C")
        return feature_major(self.coef)[:, :n_classes].T

    def in_form(self, coef: sparse.csr_array) -> np.ndarray:
        """Return other weights in the form of these."""
        return SparseWeights(coef).densified()

    def for_file(self, dtype: str, threshold: float) -> np.ndarray:
        """Return the weights, of which a file has all, in whichever `dtype`."""
        if threshold:
            raise ValueError(
                f"threshold={threshold!r} leaves out weights of a sparse coef_, and that of this "
                "model is dense; use dtype='float16'"
            )
        return self.coef


class SparseWeights:
    """Weights that are not stored are zero: a sparse matrix, CSR where we have made it."""

    is_sparse = True

    def __init__(self, coef: SparseMatrix) -> None:
        self.coef = coef

    # --------------------------------------------------------------------- arrays and structure

    def arrays(self) -> tuple[np.ndarray, ...]:
        """Return the arrays that the weights lie in, by which they are known again."""
        # A user may put any matrix in place. One of another format has no arrays to know it by: an
        # array that is never the same, and can be written to, stands for it.
        if self.coef.format not in ("csr", "csc"):
            return (np.empty(0, dtype=np.float32),)
        return self.coef.data, self.coef.indices, self.coef.indptr

    def trust(self) -> None:
        """Remember the very arrays, which were made or checked here."""
        _TRUSTED.update({id(array): array for array in self.arrays()})

    def checked(self) -> "SparseWeights":
        """Return the weights as CSR, its structure checked if a user put it in place."""
        if self.coef.format == "csr":
            # An array is trusted for being the very one that was trusted before. Not to be
            # writable, which anybody can say of any array, only keeps it as it was then.
            fixed = not any(array.flags.writeable for array in self.arrays())
            if fixed and all(_TRUSTED.get(id(array)) is array for array in self.arrays()):
                return self
        checked = SparseWeights(checked_csr(self.coef, "coef_"))
        if not any(array.flags.writeable for array in checked.arrays()):
            checked.trust()
        return checked

    # ----------------------------------------------------------------------------- what they hold

    def n_weights(self) -> np.ndarray:
        """Count the weights of each class that are not zero, ndarray of int64 (n_classes,)."""
        coef = self.coef.tocsr()
        # Differences of running counts: a matrix that a user has put in place may store zeros.
        stored = np.append(0, np.cumsum(coef.data != 0))
        return np.diff(stored[coef.indptr])

    def largest(self) -> float:
        """Return the largest magnitude."""
        return _largest(self.coef.data)

    def of_class(self, k: int, features: np.ndarray) -> np.ndarray:
        """Return float32 weights of class k at some features, which ascend.

        Looks at nothing but row k of a CSR.
        """
        coef = self.coef.tocsr()
        part = slice(coef.indptr[k], coef.indptr[k + 1])
        indices, data = coef.indices[part], coef.data[part]
        # Weights that a user has put in place may be unsorted, or have an entry in parts, which add
        # up.
        if np.any(indices[1:] <= indices[:-1]):
            indices, inverse = np.unique(indices, return_inverse=True)
            data = np.bincount(inverse, weights=data)
        weights = np.zeros(len(features), dtype=np.float32)
        # Bisection: a row of a hashed space has few entries of a million columns. A feature beyond
        # the last entry is found behind it, where nothing may be read.
        places = np.searchsorted(indices, features)
        inside = np.flatnonzero(places < len(indices))
        hit = inside[indices[places[inside]] == features[inside]]
        weights[hit] = data[places[hit]]
        return weights

    def features(self) -> np.ndarray:
        """Return the features that some class has a weight of, ascending."""
        return _features_of(self.coef)

    def are_of(self, columns: np.ndarray) -> bool:
        """Return whether each class has these columns, in order, and no others; zeros count."""
        coef = self.coef
        if coef.format != "csr":
            return False
        shape = coef.shape[0], len(columns)
        return coef.nnz == shape[0] * shape[1] and bool(
            (coef.indices.reshape(shape) == columns).all()
        )

    def of_columns(self, columns: np.ndarray) -> np.ndarray:
        """Return the weights of some columns, ndarray of float32 (n_classes, len(columns))."""
        # A view, without a copy, where no others are stored.
        if self.are_of(columns):
            return self.coef.data.reshape(self.coef.shape[0], -1)
        return np.asarray(self.coef[:, columns].toarray(), dtype=np.float32)

    # ------------------------------------------------------------------------------- other forms

    def dense(self) -> np.ndarray:
        """Return the weights as an ndarray of float32, zeros too."""
        return np.asarray(self.coef.toarray(), dtype=np.float32)

    def csr(self) -> sparse.csr_array:
        """Return the weights that are stored."""
        return sparse.csr_array(self.coef)

    def densified(self) -> np.ndarray:
        """Return the weights in the dense layout of prediction, if that fits into memory."""
        _require_copy(self.coef, "densify", "leave them sparse")
        n_classes = self.coef.shape[0]
        if n_classes == 1:
            return np.array(self.coef.toarray(), dtype=np.float32, order="C")
        weights = feature_major(np.broadcast_to(np.float32(0), self.coef.shape))
        entries = sparse.coo_array(self.coef)
        # Adds, where a user's matrix has an entry in parts.
        np.add.at(weights, (entries.col, entries.row), entries.data)
        return weights[:, :n_classes].T

    def sparsified(self) -> sparse.csr_array:
        """Return the weights as CSR."""
        return self.csr()

    def pruned(self, limit: np.float32) -> sparse.csr_array:
        """Return a copy without the weights of a magnitude up to `limit`."""
        coef = self.csr()
        kept = np.abs(coef.data) > limit
        # Of the running count of weights kept, indptr picks the new starts of the rows.
        indptr = np.append(0, np.cumsum(kept))[coef.indptr].astype(coef.indptr.dtype)
        return sparse.csr_array((coef.data[kept], coef.indices[kept], indptr), coef.shape)

    def in_form(self, coef: sparse.csr_array) -> sparse.csr_array:
        """Return other weights in the form of these."""
        return coef

    def for_file(self, dtype: str, threshold: float) -> SparseMatrix:
        """Return the weights that a file has, rounded to `dtype`, without those up to `threshold`.

        They are the very ones where none is left out.
        """
        values = self.coef.data
        # Zeros that are stored do not change the lists, of which a file is made.
        if dtype == "float32" and not threshold:
            return self.coef
        # A weight below the smallest float16 becomes zero in the file. It is left out as well: it
        # would take a place in a list for nothing.
        stored = values.astype(np.float16).astype(np.float32) if dtype == "float16" else values
        dropped = (np.abs(values) <= threshold) | (stored == 0)
        if not dropped.any():
            return self.coef
        kept = self.coef.copy()
        kept.data = np.where(dropped, 0, stored)
        kept.eliminate_zeros()
        return kept


WeightStore: TypeAlias = DenseWeights | SparseWeights


def store_of(coef: np.ndarray | SparseMatrix) -> WeightStore:
    """Return the store of a ``coef_``."""
    return SparseWeights(coef) if sparse.issparse(coef) else DenseWeights(coef)


def are_weights(coef: object) -> bool:
    """Return whether a value has a form that ``coef_`` may have."""
    return sparse.issparse(coef) or isinstance(coef, np.ndarray)


def checked_weights(coef: np.ndarray | SparseMatrix) -> Matrix:
    """Return ``coef_`` as CSR or ndarray, its structure checked if a user put it in place."""
    return store_of(coef).checked().coef


def _largest(values: np.ndarray) -> float:
    """Return the largest magnitude of some numbers, 0 of none."""
    # Without np.abs, which would be a copy of all weights.
    return max(values.max(initial=0), -values.min(initial=0))


def _features_of(coef: np.ndarray | SparseMatrix) -> np.ndarray:
    """Return the columns of a matrix, of any form, in which a number is not zero."""
    entries = sparse.coo_array(coef)
    return np.flatnonzero(np.bincount(entries.coords[1], entries.data != 0, entries.shape[1]))


def _require_copy(coef: np.ndarray | SparseMatrix, method: str, instead: str) -> None:
    """Raise MemoryError if the weights do not fit into memory in the dense layout of prediction."""
    n_classes, n_features = coef.shape
    # Prediction reads whole cache lines of classes, feature by feature; one class is a plain row.
    require_memory(
        4 * n_features * (n_places(n_classes) if n_classes > 1 else 1),
        f"{method}: dense weights of {n_classes} classes and {n_features} features",
        instead,
    )

"""Weights of a linear model, whichever form ``coef_`` has."""

from weakref import WeakValueDictionary

import numpy as np
from scipy import sparse

from ..utils._matrix import checked_csr
from ..utils._memory_limit import require_memory
from ..utils._typing import Matrix
from ._feature_major import feature_major, n_places

BYTES_OF_AN_ENTRY = 8  # of CSR with float32 values and int32 indices
ENTRIES_AT_ONCE = 2**20  # of dense weights whose zeros are counted together

# Arrays of sparse weights whose structure is known to be right, by their ids: those that a fit has
# made, and those that were checked when nothing could be written into them. Weak: an array that is
# freed leaves, and the next one with its id is another.
_TRUSTED = WeakValueDictionary()


def trust(coef: Matrix) -> None:
    """Remember the very arrays of sparse weights, which were made or checked here."""
    if sparse.issparse(coef):
        _TRUSTED.update({id(array): array for array in _parts_of(coef)})


def checked_weights(coef: Matrix) -> Matrix:
    """Return ``coef_`` as CSR or ndarray, its structure checked if a user put it in place."""
    # Kernels read each number at a multiple of its size.
    if not sparse.issparse(coef):
        return np.require(coef, requirements="A")
    if coef.format == "csr":
        # An array is trusted for being the very one that was trusted before. Not to be writable,
        # which anybody can say of any array, only keeps it as it was then.
        fixed = not any(array.flags.writeable for array in _parts_of(coef))
        if fixed and all(_TRUSTED.get(id(array)) is array for array in _parts_of(coef)):
            return coef
    checked = checked_csr(coef, "coef_")
    if not any(array.flags.writeable for array in _parts_of(checked)):
        trust(checked)
    return checked


def arrays_of(coef: Matrix, intercept: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the arrays that weights and intercepts lie in."""
    parts = _parts_of(coef) if sparse.issparse(coef) else (coef,)
    return *parts, intercept


def _parts_of(coef: sparse.csr_array) -> tuple[np.ndarray, ...]:
    """Return the arrays that a sparse matrix lies in."""
    # A user may put any matrix in place. One of another format has no arrays to know it by: an
    # array that is never the same, and can be written to, stands for it.
    if coef.format not in ("csr", "csc"):
        return (np.empty(0, dtype=np.float32),)
    return coef.data, coef.indices, coef.indptr


def weights_at(coef: Matrix, k: int, features: np.ndarray) -> np.ndarray:
    """Return float32 weights of class k at some features, which ascend.

    Looks at nothing but row k, where the matrix is dense or CSR.
    """
    if not sparse.issparse(coef):
        return np.asarray(coef[k, features], dtype=np.float32)
    coef = coef.tocsr()
    part = slice(coef.indptr[k], coef.indptr[k + 1])
    indices, data = coef.indices[part], coef.data[part]
    # Weights that a user has put in place may be unsorted, or have an entry in parts, which add up.
    if np.any(indices[1:] <= indices[:-1]):
        indices, inverse = np.unique(indices, return_inverse=True)
        data = np.bincount(inverse, weights=data)
    weights = np.zeros(len(features), dtype=np.float32)
    # Bisection: a row of a hashed space has few entries of a million columns. A feature beyond the
    # last entry is found behind it, where nothing may be read.
    places = np.searchsorted(indices, features)
    inside = np.flatnonzero(places < len(indices))
    hit = inside[indices[places[inside]] == features[inside]]
    weights[hit] = data[places[hit]]
    return weights


def weights_per_class(coef: Matrix, n_classes: int) -> np.ndarray:
    """Return non-zeros of the weights of each class, ndarray of int64 (n_classes,)."""
    # Differences of running counts: a matrix that a user has put in place may store zeros.
    if sparse.issparse(coef):
        coef = coef.tocsr()
        stored = np.append(0, np.cumsum(coef.data != 0))
        counts = np.diff(stored[coef.indptr])
    else:
        # By columns, as dense weights lie in memory; some at a time, since the comparison with zero
        # makes an array of a byte for each weight.
        counts = np.zeros(coef.shape[0], dtype=np.int64)
        size = max(1, ENTRIES_AT_ONCE // coef.shape[0])
        for start in range(0, coef.shape[1], size):
            counts += np.count_nonzero(coef[:, start : start + size], axis=1)
    return np.broadcast_to(counts, n_classes).astype(np.int64)


def sparsified(coef: Matrix) -> sparse.csr_array:
    """Return weights as CSR, dense ones without their zeros."""
    if not sparse.issparse(coef):
        n_entries = int(np.count_nonzero(coef))
        require_memory(
            BYTES_OF_AN_ENTRY * n_entries + 8 * len(coef),
            f"sparsify: {n_entries} weights that are not zero",
            "prune first",
        )
    return sparse.csr_array(coef)


def densified(coef: Matrix) -> np.ndarray:
    """Return weights as an ndarray of float32, in the layout of prediction."""
    return _dense_copy(coef, "densify", "leave them sparse")


def _dense_copy(coef: Matrix, method: str, instead: str) -> np.ndarray:
    """Return the weights in the dense layout of prediction, in memory of their own."""
    n_classes, n_features = coef.shape
    # Prediction reads whole cache lines of classes, feature by feature; one class is a plain row.
    require_memory(
        4 * n_features * (n_places(n_classes) if n_classes > 1 else 1),
        f"{method}: dense weights of {n_classes} classes and {n_features} features",
        instead,
    )
    if n_classes == 1:
        coef = coef.toarray() if sparse.issparse(coef) else coef
        return np.array(coef, dtype=np.float32, order="C")
    if not sparse.issparse(coef):
        return feature_major(coef)[:, :n_classes].T
    weights = feature_major(np.broadcast_to(np.float32(0), coef.shape))
    entries = sparse.coo_array(coef)
    # Adds, where a user's matrix has an entry in parts.
    np.add.at(weights, (entries.col, entries.row), entries.data)
    return weights[:, :n_classes].T

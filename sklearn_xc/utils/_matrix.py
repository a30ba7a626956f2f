"""X as the estimators take it in: its structure checked, in float32, with int32 feature numbers.

SciPy checks the lengths of index arrays when a matrix is made, not when one of its attributes is
replaced afterwards, and indices not at all; conversions between formats follow both blindly. So
structure is checked before anything converts a matrix or follows it.
"""

from collections.abc import Iterable
from copy import copy
from itertools import chain
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.utils import indexable

from ._csr import LARGEST_INDEX
from ._rows import Rows
from ._typing import Matrix, MatrixLike, SparseMatrix

# C order, and each number at a multiple of its size.
KERNEL_READS: tuple[Literal["C"], Literal["A"]] = "C", "A"


def normalise(X: np.ndarray | SparseMatrix, name: str = "X") -> Matrix:
    """Convert X to the one form of its kind that the kernels know, copying only changes.

    X has finite numbers and is never written to. The result is in float32: a C-contiguous array,
    or CSR with sorted int32 indices, no duplicates and no stored zeros. Errors call X `name`.

    Raises ValueError if X holds no real numbers or one beyond the range of float32, if it has more
    than 2**31 - 1 features, or if the structure of a sparse X is not valid.
    """
    if X.shape[1] > LARGEST_INDEX:
        raise ValueError(
            f"{name} has {X.shape[1]} features; at most {LARGEST_INDEX} (2**31 - 1) are supported"
        )
    if not sparse.issparse(X):
        return np.require(_as_float32(X, name), requirements=KERNEL_READS)
    csr = sparse.csr_array(checked_csr(X, name))
    if not csr.has_canonical_format:
        # `astype` copies, since duplicates are summed in place; in float64, where the sum of
        # duplicates of small integers does not wrap around
        csr = csr.astype(np.float64)
        csr.sum_duplicates()
    csr = narrow_indices(csr)
    csr.data = np.require(_as_float32(csr.data, name), requirements=KERNEL_READS)
    # Solvers order rows and columns by their entries: the same X with zeros in it, or with values
    # that float32 rounds to zero, must not give another model.
    if not csr.data[: csr.indptr[-1]].all():
        csr = csr.copy()
        csr.eliminate_zeros()
    csr.indices = np.require(csr.indices, requirements=KERNEL_READS)
    csr.indptr = np.require(csr.indptr, requirements=KERNEL_READS)
    return csr


def narrow_indices(csr: sparse.csr_array) -> sparse.csr_array:
    """Return a CSR with int32 index arrays, as it is with 2**31 non-zeros or more."""
    if csr.nnz > LARGEST_INDEX:
        return csr
    narrow = copy(csr)  # which shares the arrays, and knows whether they are in order
    narrow.indices = csr.indices.astype(np.int32, copy=False)
    narrow.indptr = csr.indptr.astype(np.int32, copy=False)
    return narrow


def _as_float32(values: np.ndarray, name: str) -> np.ndarray:
    """Cast finite values to float32, refusing those that would become infinite."""
    if values.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold real numbers, got dtype {values.dtype}")
    # the cast makes infinity of what float32 cannot hold, which is looked for below
    with np.errstate(over="ignore"):
        cast = np.asarray(values).astype(np.float32, copy=False)
    if values.dtype.kind == "f" and values.dtype.itemsize > 4 and np.isinf(cast).any():
        raise ValueError(
            f"{name} holds {np.abs(values).max():.3g}, beyond the range of float32 "
            f"(up to {np.finfo(np.float32).max:.3g}) in which the estimators compute; "
            "scale the features"
        )
    return cast


def as_rows(X: Matrix) -> Rows:
    """Return the :class:`Rows` of a matrix that :func:`normalise` returned; shares its values."""
    n_samples, n_features = X.shape
    if isinstance(X, np.ndarray):
        return Rows(
            np.arange(n_samples + 1, dtype=np.int64) * n_features,
            np.arange(n_features, dtype=np.int32),
            X.ravel(),
            True,
            X.shape,
        )
    return Rows(
        X.indptr.astype(np.int64, copy=False),
        X.indices.astype(np.int32, copy=False),
        X.data,
        False,
        X.shape,
    )


# ------------------------------------------------------------------------------------ structure


def checked(matrix: SparseMatrix, name: str) -> SparseMatrix:
    """Return a sparse matrix around the same arrays, in a format whose structure has been checked.

    The format stays, but for formats of Python lists, which become CSR. Errors call it `name`.

    Raises ValueError if it has not two dimensions, or its parts contradict one another or its
    shape.
    """
    if matrix.ndim != 2:
        raise ValueError(f"{name} must have two dimensions if it is sparse, got {matrix.shape}")
    try:
        # whatever a damaged matrix raises on the way: its parts may be of any type
        return CHECKS[matrix.format](matrix)
    except (ValueError, TypeError, IndexError, AttributeError, OverflowError) as error:
        raise ValueError(f"{name} is not a valid sparse matrix: {error}") from error


def checked_csr(matrix: SparseMatrix, name: str) -> SparseMatrix:
    """Check a matrix as :func:`checked` does, and return it in CSR."""
    return checked(matrix, name).tocsr()


def in_checked_csr(X: MatrixLike, name: str) -> MatrixLike:
    """Return X in CSR where it is sparse in another format; CSR and dense X as they are.

    For arguments that are checked again once scikit-learn has seen them.
    """
    if not sparse.issparse(X):
        return X
    # scikit-learn converts other formats to CSR without a look at their structure
    if X.format != "csr":
        return checked_csr(X, name)
    # Space at the end that no row uses is left out: it may hold NaN, which scikit-learn would
    # refuse, and is no number of X.
    if X.ndim == 2 and len(X.indptr) and 0 <= X.indptr[-1] < len(X.data):
        X = checked_csr(X, name)
        stop = X.indptr[-1]
        return type(X)((X.data[:stop], X.indices[:stop], X.indptr), shape=X.shape)
    return X


def in_rows(*arrays: Any, names: Iterable[str]) -> list:
    """Return arrays of equal length in forms that rows can be taken of, as scikit-learn's
    `indexable`.
    """
    return indexable(*map(in_checked_csr, arrays, names))


def _made(matrix: SparseMatrix, form: str, parts: tuple) -> SparseMatrix:
    """Return a matrix, or an array where `matrix` is one, of a format and its parts."""
    # A new object: SciPy keeps flags such as `has_sorted_indices`; the caller's stay.
    kind = "array" if isinstance(matrix, sparse.sparray) else "matrix"
    return getattr(sparse, f"{form}_{kind}")(parts, shape=matrix.shape)


def _compressed(matrix: SparseMatrix) -> SparseMatrix:
    """Check CSR, CSC or BSR: pointers that do not fall, indices within the shape."""
    _require_integers(matrix.indices, matrix.indptr)
    parts = matrix.data, matrix.indices, matrix.indptr
    found = _made(matrix, matrix.format, parts)
    found.check_format(full_check=True)
    # SciPy looks at the pointers only where the last is not 0
    if (found.indptr[1:] < found.indptr[:-1]).any():
        raise ValueError("indptr must be a non-decreasing sequence")
    return found


def _require_integers(*arrays: np.ndarray) -> None:
    """Refuse indices that are no integers, which SciPy would cut to integers."""
    for array in arrays:
        if array.dtype.kind not in "iu":
            raise ValueError(f"indices must be integers, got dtype {array.dtype}")


def _blocks(matrix: SparseMatrix) -> SparseMatrix:
    """Check BSR: its conversion writes whole blocks, beyond the shape if they do not fill it."""
    found = _compressed(matrix)
    if any(n % size for n, size in zip(found.shape, found.blocksize, strict=True)):
        raise ValueError(f"blocks of {found.blocksize} do not fill the shape {found.shape}")
    return found


def _coordinates(matrix: SparseMatrix) -> SparseMatrix:
    """Check COO: the constructor looks at lengths and the range of the coordinates."""
    _require_integers(*matrix.coords)
    return _made(matrix, "coo", (matrix.data, matrix.coords))


def _diagonals(matrix: SparseMatrix) -> SparseMatrix:
    """Check DIA: the constructor looks at lengths and for offsets that are there twice."""
    _require_integers(matrix.offsets)
    return _made(matrix, "dia", (matrix.data, matrix.offsets))


def _lists(matrix: SparseMatrix) -> SparseMatrix:
    """Check LIL, as the CSR of its lists."""
    lengths = [len(row) for row in matrix.rows]
    if lengths != [len(row) for row in matrix.data]:
        raise ValueError("lists of values and of columns differ in length")
    n_entries = sum(lengths)
    values = np.fromiter(chain.from_iterable(matrix.data), matrix.dtype, n_entries)
    columns = np.fromiter(chain.from_iterable(matrix.rows), np.int64, n_entries)
    starts = np.append(0, np.cumsum(lengths, dtype=np.int64))
    return _compressed(_made(matrix, "csr", (values, columns, starts)))


def _keys(matrix: SparseMatrix) -> SparseMatrix:
    """Check DOK, as the COO of its keys."""
    return _coordinates(matrix.tocoo())


CHECKS = {
    "csr": _compressed,
    "csc": _compressed,
    "bsr": _blocks,
    "coo": _coordinates,
    "dia": _diagonals,
    "lil": _lists,
    "dok": _keys,
}


def n_rows(X: Any) -> int:
    """Return the number of rows of any X: a matrix, a frame, a list of texts."""
    return X.shape[0] if hasattr(X, "shape") else len(X)

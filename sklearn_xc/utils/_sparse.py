"""The structure of sparse input, checked before anything converts it or follows it.

SciPy checks the lengths of index arrays when a matrix is made, not when one of its attributes is
replaced afterwards, and indices not at all; conversions between formats follow both blindly.
"""

from itertools import chain

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.utils import indexable


def checked(matrix, name):
    """A sparse matrix around the same arrays, in a format whose structure has been checked.

    Parameters
    ----------
    matrix : SciPy sparse matrix or array of any format
    name : str
        What the error calls it.

    Returns
    -------
    matrix : sparse matrix or array
        Of the same format, or CSR for those that hold Python lists; a new object, so that flags
        that SciPy keeps are not set in the caller's.

    Raises
    ------
    ValueError
        If it has not two dimensions, or its parts contradict one another or its shape.
    """
    if matrix.ndim != 2:
        raise ValueError(f"{name} must have two dimensions if it is sparse, got {matrix.shape}")
    try:
        return CHECKS[matrix.format](matrix)
    except (ValueError, TypeError, IndexError, AttributeError, OverflowError) as error:
        raise ValueError(f"{name} is not a valid sparse matrix: {error}") from error


def checked_csr(matrix, name):
    """As :func:`checked`, in CSR."""
    return checked(matrix, name).tocsr()


def in_checked_csr(X, name):
    """X in CSR where it is sparse in another format; CSR and dense X as they are.

    For arguments that are checked again once scikit-learn has seen them: it converts other formats
    to CSR without a look at their structure.
    """
    return checked_csr(X, name) if sparse.issparse(X) and X.format != "csr" else X


def answer_container(given):
    """The class of sparse predictions: that of fit's y, or csr_array if scikit-learn is set to it.

    scikit-learn 1.9 has ``set_config(sparse_interface=...)``. Its default, "spmatrix", does not
    tell whether somebody asked for it, so that only "sparray" changes what is returned.

    Parameters
    ----------
    given : type
        ``csr_matrix`` or ``csr_array``.
    """
    return sparse.csr_array if get_config().get("sparse_interface") == "sparray" else given


def in_rows(*arrays, names):
    """Arrays of equal length in forms that rows can be taken of, as scikit-learn's `indexable`."""
    return indexable(*map(in_checked_csr, arrays, names))


def _made(matrix, form, parts):
    kind = "array" if isinstance(matrix, sparse.sparray) else "matrix"
    return getattr(sparse, f"{form}_{kind}")(parts, shape=matrix.shape)


def _compressed(matrix):
    _require_integers(matrix.indices, matrix.indptr)
    parts = matrix.data, matrix.indices, matrix.indptr
    found = _made(matrix, matrix.format, parts)
    found.check_format(full_check=True)
    if (found.indptr[1:] < found.indptr[:-1]).any():  # SciPy looks only where the last is not 0
        raise ValueError("indptr must be a non-decreasing sequence")
    return found


def _require_integers(*arrays):
    for array in arrays:
        if array.dtype.kind not in "iu":
            raise ValueError(f"indices must be integers, got dtype {array.dtype}")


def _blocks(matrix):
    found = _compressed(matrix)
    if any(n % size for n, size in zip(found.shape, found.blocksize, strict=True)):
        raise ValueError(f"blocks of {found.blocksize} do not fill the shape {found.shape}")
    return found


def _coordinates(matrix):
    _require_integers(*matrix.coords)
    return _made(matrix, "coo", (matrix.data, matrix.coords))


def _diagonals(matrix):
    _require_integers(matrix.offsets)
    return _made(matrix, "dia", (matrix.data, matrix.offsets))


def _lists(matrix):
    lengths = [len(row) for row in matrix.rows]
    if lengths != [len(row) for row in matrix.data]:
        raise ValueError("lists of values and of columns differ in length")
    n_entries = sum(lengths)
    values = np.fromiter(chain.from_iterable(matrix.data), matrix.dtype, n_entries)
    columns = np.fromiter(chain.from_iterable(matrix.rows), np.int64, n_entries)
    starts = np.append(0, np.cumsum(lengths, dtype=np.int64))
    return _compressed(_made(matrix, "csr", (values, columns, starts)))


def _keys(matrix):
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

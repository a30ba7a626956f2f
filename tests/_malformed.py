"""Sparse matrices whose parts contradict one another, in every format."""

import numpy as np
from scipy import sparse

FORMATS = "csr", "csc", "bsr", "coo", "dia", "lil", "dok"


def malformed(matrix, form, rng):
    """A matrix of a format with one thing wrong with it.

    Parameters
    ----------
    matrix : sparse matrix
        A few entries at least.
    form : str
    rng : numpy.random.Generator

    Returns
    -------
    broken : sparse array
    """
    if form == "dia":
        broken = sparse.dia_array(sparse.eye_array(*matrix.shape))
    else:
        broken = sparse.csr_array(matrix).asformat(form, copy=True)
    return BREAKERS[form](broken, rng)


def _broken_compressed(broken, rng):
    far = int(rng.choice([-1, -(10**9), 2**31 - 1, 10**8, sum(broken.shape) + broken.nnz]))
    place = int(rng.integers(len(broken.indices)))
    kind = rng.integers(7)
    if kind == 0:
        broken.indices[place] = far
    elif kind == 1:
        broken.indptr[int(rng.integers(1, len(broken.indptr)))] = far
    elif kind == 2:
        broken.indptr[-1] = len(broken.indices) + 1000
    elif kind == 3:
        broken.indptr = broken.indptr[:-1]
    elif kind == 4:
        broken.indices = broken.indices[: len(broken.indices) // 2]
    elif kind == 5:
        broken.indptr = np.array([0, *([10**6] * (len(broken.indptr) - 2)), 0], broken.indptr.dtype)
    else:
        broken.indices = np.full(len(broken.indices), np.nan)
    return broken


def _broken_coordinates(broken, rng):
    far = int(rng.choice([-1, 10**8, 2**31 - 1]))
    if rng.integers(2):
        broken.coords[int(rng.integers(2))][int(rng.integers(broken.nnz))] = far
    else:
        broken.coords = broken.coords[0], broken.coords[1][:-1]
    return broken


def _broken_diagonals(broken, rng):
    if rng.integers(2):
        broken.offsets = np.append(broken.offsets, 10**6)
    else:
        broken.data = np.vstack([broken.data, broken.data])
    return broken


def _broken_lists(broken, rng):
    row = int(np.argmax([len(found) for found in broken.rows]))
    kind = rng.integers(3)
    if kind == 0:
        broken.rows[row][0] = int(rng.choice([-(10**6), 10**8]))
    elif kind == 1:
        broken.data[row] = broken.data[row] * 1000
    else:
        broken.rows = broken.rows[:-1]
    return broken


def _broken_keys(broken, rng):
    keys = broken._dict
    keys[(int(rng.choice([-1, 10**8])), 0)] = 1.0
    return broken


BREAKERS = {
    "csr": _broken_compressed,
    "csc": _broken_compressed,
    "bsr": _broken_compressed,
    "coo": _broken_coordinates,
    "dia": _broken_diagonals,
    "lil": _broken_lists,
    "dok": _broken_keys,
}

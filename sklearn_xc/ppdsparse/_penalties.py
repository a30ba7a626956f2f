"""Penalties that follow the rows: `l1="auto"` and `l2="auto"` of PPDSparse.

Dimensions leave little choice. A score is <w, x>, so w goes with 1 / |x|: beside a loss that does
not know the unit of x, `l1` must go with the size of an entry and `l2` with ||x||^2.
"""

import re
from typing import NamedTuple

import numpy as np
from scipy import sparse

from .._kernels.ppdsparse._likeness import squares_of_products
from ..utils._coordinates import Coordinates
from ..utils._matrix import IN_CACHE, as_rows, stretches, sums_of_rows

# l1 as a share of the length of a row, and of the size of an entry at most: a feature of a single
# support vector, whose dual variable is about 1, has |v_j| = |x_j| and is to be kept.
LENGTH_SHARE, ENTRY_SHARE = 0.1, 0.5
N_PROBES = 16  # random directions
LIKENESS_SHARE = 30  # l2 as a multiple of the inner product of two rows
MOST = 1.5  # and as a multiple of ||x||^2, at most
MOSTLY_MEAN = 0.5  # of the mean ||x||^2 about the mean row, below which dense rows are shifted
MULTIPLE = re.compile(r"((?P<factor>\d*\.?\d+(e[+-]?\d+)?)\s*\*\s*)?auto")
MOST_OF_AUTO = 1e6
MANY_DIRECTIONS = 50  # where rows differ in fewer, l2 is smaller


class Penalties(NamedTuple):
    """Numbers for `l1` and `l2`, and the coordinates in which they hold.

    Attributes
    ----------
    l1, l2 : float
    coordinates : Coordinates
    """

    l1: float
    l2: float
    coordinates: Coordinates

    def outside(self):
        """l1 and l2 for X as it is, where one number can say it; those inside otherwise."""
        scale = self.coordinates.scale
        factors = (1, 1) if np.ndim(scale) else (scale, scale**2)
        return float(self.l1 * factors[0]), float(self.l2 * factors[1])

    def model_outside(self, coef, intercept):
        """The sparse weights and intercepts of a fit inside, for X as it is; changes coef."""
        coordinates = self.coordinates
        if coordinates.changes_nothing:
            return coef, intercept
        scale = coordinates.scale
        for _, entries in stretches(coef.indptr):
            of_entries = scale[coef.indices[entries]] if np.ndim(scale) else scale
            coef.data[entries] = coef.data[entries] / of_entries
        if coordinates.mean is not None:
            intercept = (intercept - coef @ coordinates.mean).astype(np.float32)
        return coef, intercept


def penalties_of(l1, l2, X, sample_weight, empty=np.empty):
    """The penalties of a fit.

    Parameters
    ----------
    l1, l2 : float, "auto" or a multiple of it such as "0.3*auto"
        In units of X.
    X : ndarray or csr_array of float32 (n_samples, n_features)
    sample_weight : ndarray of float32 (n_samples,)
    empty : callable
        Makes an array as large as the values of X, as :func:`numpy.empty`.

    Returns
    -------
    penalties : Penalties
        In other coordinates than those of X only with ``l2="auto"``, and with columns of one size
        only if both are "auto": a number given is in one unit.
    """
    (l1, times_l1), (l2, times_l2) = as_multiple(l1, "l1"), as_multiple(l2, "l2")
    if "auto" not in (l1, l2):
        return Penalties(l1, l2, Coordinates())
    found = _automatic(l1, l2, X, sample_weight, empty)
    return found._replace(l1=times_l1 * found.l1, l2=times_l2 * found.l2)


def as_multiple(penalty, name):
    """A penalty as a number and 1, or as "auto" and the factor before it.

    Raises
    ------
    ValueError
        If it is a text of another form; `name` is what the error calls it.
    """
    if not isinstance(penalty, str):
        return penalty, 1.0
    found = MULTIPLE.fullmatch(penalty)
    factor = float(found["factor"] or 1) if found else 0.0
    if not 0 < factor <= MOST_OF_AUTO:
        raise ValueError(
            f"{name} must be a number, 'auto', or a multiple of it up to {MOST_OF_AUTO:g} such as "
            f"'0.3*auto'; got {penalty!r}"
        )
    return "auto", factor


def _automatic(l1, l2, X, sample_weight, empty):
    """As `penalties_of`, where one or both are "auto"."""
    there = sample_weight > 0
    if not there.all():
        X, sample_weight = X[there], sample_weight[there]
    if l2 != "auto":
        return Penalties(_l1_of(X, sample_weight, _moments(X, 2)), l2, Coordinates())
    coordinates = Coordinates.of(X, sample_weight)
    if l1 != "auto" and np.ndim(coordinates.scale):
        coordinates = Coordinates()
    coordinates = _about_the_mean(coordinates, X, sample_weight)
    inside = coordinates.inside(X, empty)
    squares = _moments(inside, 2)
    l1 = _l1_of(inside, sample_weight, squares) if l1 == "auto" else l1 / coordinates.scale
    return Penalties(l1, _l2_of(inside, sample_weight, squares), coordinates)


def _about_the_mean(coordinates, X, sample_weight):
    """Dense rows that are alike but for a small part are shifted: the intercept knows the rest."""
    if sparse.issparse(X) or coordinates.mean is not None:
        return coordinates
    weight = sample_weight / sample_weight.sum(dtype=np.float64)
    mean = weight @ X
    length = weight @ _moments(X, 2)
    about_mean = length - mean @ mean
    if not 1e-6 * length < about_mean < MOSTLY_MEAN * length:
        return coordinates
    return Coordinates(mean, float(np.sqrt(about_mean)))


def _l1_of(X, sample_weight, squares):
    """A share of the length of rows, or of sum x_ij^2 / sum |x_ij|, the size of their entries."""
    magnitudes, squares = sample_weight @ _moments(X, 1), sample_weight @ squares
    if not magnitudes > 0:
        return LENGTH_SHARE
    length = np.sqrt(squares / sample_weight.sum(dtype=np.float64))
    return min(LENGTH_SHARE * length, ENTRY_SHARE * squares / magnitudes)


def _moments(X, power):
    """sum_j |x_ij|^power of each row, float64."""
    if not sparse.issparse(X):
        if power == 1:
            return np.abs(X).sum(axis=1, dtype=np.float64)
        return np.einsum("ij,ij->i", X, X, dtype=np.float64)
    return sums_of_rows(X.indptr, X.data, lambda values: np.abs(values) ** power)


def _l2_of(X, sample_weight, squares):
    """Penalty suggested by the inner products of different rows, all less the mean row.

    A support vector moves the score of another row by a_i <x_i, x> / l2, so l2 is measured by the
    root mean square of <x_i, x_j> over pairs, which is ||x||^2 over the root of the number of
    directions in which rows differ: rows that hardly know one another need large weights. It
    stays near ||x||^2, the change of a row's own score. Where rows differ in a few directions
    only, ||x||^2 is the length of the largest of these while others that matter are far smaller;
    there each direction has many rows and needs little.

    The sum over pairs is taken by random directions; of a row of weight c, c - 1 copies are other
    rows, so that a weight means this many rows.
    """
    weight = sample_weight.astype(np.float64)
    total = weight.sum()
    mean = _weighted_sum(X, weight) / total
    inner = _scores(X, mean)
    squares = np.maximum(0, squares - 2 * inner + mean @ mean)
    length = weight @ squares / total
    if not length > 0:
        return 1.0
    likeness = -np.minimum(weight, weight**2) @ squares**2
    rng = np.random.default_rng(0)
    bits = np.array([rng.integers(2, size=X.shape[1], dtype=np.int8) for _ in range(N_PROBES)])
    likeness += _squares_of_products(X, sample_weight, mean, bits).sum() / N_PROBES
    if not likeness > 0:  # each row is a direction of its own
        return length
    directions = (total * length) ** 2 / likeness
    few = min(1.0, directions / MANY_DIRECTIONS)
    return length * few * min(MOST, LIKENESS_SHARE / np.sqrt(directions))


def _squares_of_products(X, sample_weight, mean, bits):
    """|(X - mean).T @ s|^2 of s = sample_weight * ((X - mean) @ r), for each r of signs `bits`.

    Of sparse rows all in one pass, since the entries are read from memory.
    """
    if sparse.issparse(X):
        rows = as_rows(X)
        return squares_of_products(rows.indptr, rows.indices, rows.data, sample_weight, mean, bits)
    signs = np.float32(2) * bits.T - 1
    # one by one: a product of matrices makes BLAS take a large buffer of its own
    center = np.array([mean @ column for column in signs.T], dtype=np.float32)
    scores = sample_weight[:, None] * (X @ signs - center)
    off = X.T @ scores - np.outer(mean, scores.sum(axis=0, dtype=np.float64))
    return np.square(off).sum(axis=0)


def _weighted_sum(X, weight):
    """X.T @ weight in float64, for which SciPy would copy all of a sparse X."""
    if not sparse.issparse(X):
        return X.T @ weight
    return sum(X[rows].T @ weight[rows] for rows, _ in stretches(X.indptr, IN_CACHE))


def _scores(X, direction):
    """X @ direction in float64, likewise."""
    if not sparse.issparse(X):
        return X @ direction
    return np.concatenate([X[rows] @ direction for rows, _ in stretches(X.indptr, IN_CACHE)])

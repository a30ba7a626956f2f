"""Coordinates of ImplicitSoftmaxRegressor: those of a fit, of a stream, and weights in them."""

import numpy as np
from scipy import sparse

from ..utils._coordinates import Coordinates

FULL = 0.25  # of the entries are not zero in rows that are taken as dense
FAR = 10  # times the typical length, of rows that do not count in the mean


def coordinates_for(X, sample_weight, columns, fit_intercept):
    """Coordinates of a fit.

    Parameters
    ----------
    X : ndarray or csr_array of float32 (n_samples, n_features)
    sample_weight : ndarray of float32 (n_samples,), or None
    columns : bool
        Whether each column may get a scale of its own, which a ridge of one strength for all does
        not allow in every solver.
    fit_intercept : bool
        Dense rows, unless they are mostly zeros, are then taken from their mean, which intercepts
        without penalty take up: what all rows share would have most of their length, and of the
        steps.
    """
    if sparse.issparse(X) or not fit_intercept:
        return Coordinates.of_rows(X, sample_weight)
    if sample_weight is not None:
        X = X[sample_weight > 0]
    found = Coordinates.of(X)
    if columns and np.ndim(found.scale):
        return found
    if np.count_nonzero(X) < FULL * X.size:
        return Coordinates.of_rows(X)
    mean = typical_mean(X)
    return Coordinates(mean, Coordinates.of_rows((X - mean).astype(np.float32)).scale)


def full_rows(X):
    """Sparse rows that are hardly sparse as dense ones, so that both give one model."""
    return X.toarray() if sparse.issparse(X) and X.nnz >= FULL * np.prod(X.shape) else X


def typical_mean(X):
    """Mean of the dense rows but for those much longer than most, one of which could move it far.

    Any mean leaves the problem as it is.
    """
    squares = np.einsum("ij,ij->i", X, X, dtype=np.float64)
    return X[squares <= FAR**2 * np.median(squares)].mean(axis=0, dtype=np.float64)


def weights_inside(coordinates, W, b):
    """`Coordinates.weights_inside` of weights that may be overwritten."""
    if np.ndim(coordinates.scale):
        return coordinates.weights_inside(W, b)
    b = b if coordinates.mean is None else (b + W @ coordinates.mean).astype(np.float32)
    W *= np.float32(coordinates.scale)
    return W, b


def weights_outside(coordinates, V, a):
    """`Coordinates.weights_outside` of weights that may be overwritten."""
    if np.ndim(coordinates.scale):
        return coordinates.weights_outside(V, a)
    V /= np.float32(coordinates.scale)
    return V, a if coordinates.mean is None else (a - V @ coordinates.mean).astype(np.float32)

"""Coordinates in which rows have length 1 about: what makes stochastic steps scale-free.

A rate, a start or the feature of the intercepts suits rows of one length only, and
columns measured in other units than the rest leave steps with nothing but the largest of them. So
samples are brought into coordinates ``x' = (x - mean) / scale``, in which a fit learns v and a; the
model is ``w = v / scale``, ``b = a - <w, mean>`` and has the same scores. A penalty on w is one on
v with the factor ``1 / scale^2``.
"""

import numpy as np
from scipy import sparse

from ._matrix import stretches, sums_of_rows
from ._records import either, is_array, is_positive, record

# Columns are brought to one size where the root mean square of one exceeds the median deviation so
# many times: then it is measured in other units, or far from zero. Columns that fall off as those
# of a singular value decomposition do stay as they are.
UNEVEN = 30.0
ALREADY = 1e-3  # rows of length 1 but for so much are taken as they are


@record(
    mean=either(None, is_array(np.float64)),
    scale=either(is_positive, is_array(np.float64, least=np.finfo(np.float64).smallest_subnormal)),
)
class Coordinates:
    """A change of coordinates that leaves sparse rows sparse.

    Attributes
    ----------
    mean : ndarray of float64 (n_features,), or None
        Zero for None; sparse rows are never shifted.
    scale : ndarray of float64 (n_features,), or float
    """

    def __init__(self, mean=None, scale=1.0):
        self.mean, self.scale = mean, scale

    @classmethod
    def of(cls, X, sample_weight=None):
        """Those that suit some samples, each as often as its weight says; no single one decides.

        Parameters
        ----------
        X : ndarray or csr_array of float32 (n_samples, n_features)
        sample_weight : ndarray of float (n_samples,), or None
        """
        weight = np.ones(X.shape[0]) if sample_weight is None else np.float64(sample_weight)
        if not (weight > 0).all():
            X, weight = X[weight > 0], weight[weight > 0]
        if not sparse.issparse(X) and (columns := _uneven_columns(X, weight)) is not None:
            mean, deviation = columns
            return cls(mean, deviation * np.sqrt(np.count_nonzero(X.max(axis=0) > X.min(axis=0))))
        return cls.of_rows(X, weight)

    @classmethod
    def of_rows(cls, X, sample_weight=None):
        """Those that change the length of rows and nothing else."""
        weight = np.ones(X.shape[0]) if sample_weight is None else np.float64(sample_weight)
        if not (weight > 0).all():
            X, weight = X[weight > 0], weight[weight > 0]
        length = _typical_length(X, weight)
        return cls(scale=1.0 if abs(length - 1) < ALREADY else length)

    def _check_record(self):
        shapes = {np.shape(part) for part in (self.mean, self.scale) if part is not None}
        if len(shapes - {()}) > 1:
            raise ValueError("mean and scale of Coordinates contradict one another")

    @property
    def changes_nothing(self):
        return self.mean is None and np.ndim(self.scale) == 0 and self.scale == 1

    def sizes(self):
        """The numbers of features that mean and scale are of."""
        return {np.size(part) for part in (self.mean, self.scale) if np.ndim(part)}

    def inside(self, X, empty=np.empty):
        """Samples in these coordinates; X itself where nothing changes.

        Parameters
        ----------
        X : ndarray or csr_array of float32 (n_samples, n_features)
        empty : callable
            Makes the array of the values of sparse samples, as :func:`numpy.empty`.
        """
        if self.changes_nothing:
            return X
        if sparse.issparse(X):
            data = empty(X.nnz, np.float32)
            for _, entries in stretches(X.indptr):
                scale = self.scale
                of_entries = scale if np.ndim(scale) == 0 else scale[X.indices[entries]]
                data[entries] = X.data[entries] / of_entries
            return sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)
        shifted = X if self.mean is None else X - self.mean
        return np.ascontiguousarray(shifted / self.scale, dtype=np.float32)

    def weights_outside(self, V, a):
        """W and b for samples as they are, from V and a for those inside.

        Parameters
        ----------
        V : ndarray of float32 (n_classes, n_features)
        a : ndarray of float32 (n_classes,)
        """
        if self.changes_nothing:
            return V, a
        W = (V / self.scale).astype(np.float32)
        return W, a if self.mean is None else (a - _products(W, self.mean)).astype(np.float32)

    def weights_inside(self, W, b):
        """The inverse of :meth:`weights_outside`."""
        if self.changes_nothing:
            return W, b
        a = b if self.mean is None else (b + _products(W, self.mean)).astype(np.float32)
        return (W * self.scale).astype(np.float32), a


def _products(W, mean):
    return W @ mean  # in float64: mean is


def _uneven_columns(X, weight):
    """Mean and deviation of each column, if they are of very different sizes; else None."""
    if not X.shape[0]:
        return None
    share = weight / weight.sum()
    mean = share @ X
    square = np.einsum("i,ij,ij->j", share, X, X, dtype=np.float64)
    varies = X.max(axis=0) > X.min(axis=0)
    deviation = np.where(varies, np.sqrt(share @ (X - mean) ** 2), 0)
    varies &= deviation > 0
    if not varies.any():
        return None
    if np.sqrt(square[varies].max()) <= UNEVEN * np.median(deviation[varies]):
        return None
    # a column that does not vary is zero inside, to the last bit
    return np.where(varies, mean, X[0]), np.where(varies, deviation, 1.0)


def _typical_length(X, weight):
    """The weighted median length of the rows that are not zero; 1 if all are."""
    if sparse.issparse(X):
        squares = sums_of_rows(X.indptr, X.data, np.square)
    else:
        squares = np.einsum("ij,ij->i", X, X, dtype=np.float64)
    order = np.argsort(squares, kind="stable")
    order = order[squares[order] > 0]
    if not order.size:
        return 1.0
    below = np.cumsum(weight[order])
    middle = [np.searchsorted(below, below[-1] / 2, side) for side in ("left", "right")]
    return float(np.sqrt(squares[order[np.minimum(middle, len(order) - 1)]].mean()))

"""Likeness of a sample to the mean sample of each label."""

from numbers import Integral
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from ..base._classifier import BaseXCClassifier
from ..base._labels import codes_of
from ..base._validation import validate_fit
from ..utils._records import savable
from ..utils._typing import LabelsLike, MatrixLike

# Without a limit a label has as many entries as its samples have words, K times that in all.
MOST_ENTRIES = 200  # of a label, the largest: what is beyond them is small
DENSE_NUMBERS = 50_000_000  # centroids of dense rows at most


@savable
class LabelCentroids(BaseXCClassifier):
    """Classifier by the inner product with the mean sample of each label, of unit length.

    A part of :class:`TopKStackingClassifier`: it says little by itself and costs next to nothing.

    Parameters
    ----------
    n_jobs : int or None, default=None
        Threads of a prediction.

    Attributes
    ----------
    coef_ : csr_array of float32, shape (n_classes, n_features)
        The means, of each the 200 largest entries.
    intercept_ : ndarray of float32, shape (n_classes,)
        Zeros.
    classes_ : ndarray, shape (n_classes,)
    n_features_in_ : int
    """

    _parameter_constraints = {"n_jobs": [Integral, None]}  # noqa: RUF012

    def __init__(self, *, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    def fit(self, X: MatrixLike, y: LabelsLike, sample_weight: ArrayLike | None = None) -> Self:
        """Sum up the samples of each label.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
        y : array-like of shape (n_samples,), or indicator of shape (n_samples, n_classes)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self : LabelCentroids
        """
        with self._all_or_nothing():
            rows, Y, weight = validate_fit(self, X, y, sample_weight)
            # Of two classes one row of weights decides: the difference of the two sums.
            if self._encoding.kind == "binary":
                codes = codes_of(Y)
                signs = np.where(codes == 1, 1, -1).astype(np.float32)[:, None]
                Y = sparse.csr_array(signs)
            sums = sparse.csr_array(Y.T).astype(np.float32)
            if weight is not None:
                sums = sums @ sparse.diags_array(weight.astype(np.float32))
            means = sparse.csr_array(sparse.csr_array(sums) @ sparse.csr_array(rows.matrix()))
            coef = largest_entries(means.astype(np.float32), MOST_ENTRIES)
            self._set_linear_model(coef, np.zeros(coef.shape[0], dtype=np.float32))
        return self


def largest_entries(matrix: sparse.csr_array, most: int) -> sparse.csr_array:
    """Return the `most` largest entries of each row of CSR, with all rows at unit length."""
    # One sort of all entries by row and falling magnitude, ties to the smaller column: the rank in
    # the row decides.
    counts = np.diff(matrix.indptr)
    row = np.repeat(np.arange(matrix.shape[0]), counts)
    order = np.lexsort((matrix.indices, -np.abs(matrix.data), row))
    rank = np.arange(len(order)) - matrix.indptr[row]
    kept = np.sort(order[(rank < most) & (matrix.data[order] != 0)])
    row, data = row[kept], matrix.data[kept]
    lengths = np.sqrt(np.bincount(row, np.square(data, dtype=np.float64), matrix.shape[0]))
    data = (data / lengths[row]).astype(np.float32)
    starts = np.append(0, np.cumsum(np.bincount(row, minlength=matrix.shape[0])))
    found = sparse.csr_array((data, matrix.indices[kept], starts), shape=matrix.shape)
    found.indices, found.indptr = (a.astype(np.int32) for a in (found.indices, found.indptr))
    found.sort_indices()
    return found

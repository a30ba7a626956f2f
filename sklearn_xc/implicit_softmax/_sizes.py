"""Sizes of the rows of all calls of ImplicitSoftmaxRegressor, and coordinates that suit them."""

import numpy as np
from scipy import sparse

from ..utils._coordinates import ALREADY, Coordinates
from ..utils._records import is_a, is_array, is_not_negative, record
from ..utils._sizes_seen import Columns, Lengths, squared_lengths
from ._coordinates import FAR, FULL


@record(
    lengths=is_a(Lengths), distances=is_a(Lengths), columns=is_a(Columns),
    n_near=is_not_negative, near=is_array(np.float64), n_nonzero=is_not_negative,
    n_entries=is_not_negative,
)  # fmt: skip
class Sizes:
    """What `coordinates_for` asks of rows, of those of all calls.

    Attributes
    ----------
    lengths : Lengths
    distances : Lengths
        Of dense rows, from `near`.
    columns : Columns
        Of dense rows.
    n_near : float
    near : ndarray of float64 (n_features,), or of size 0
        The mean of dense rows that are not much longer than most, and their number.
    n_nonzero, n_entries : float
        Of dense rows.
    """

    def __init__(self):
        self.lengths, self.distances, self.columns = Lengths(), Lengths(), Columns()
        self.n_near = self.n_nonzero = self.n_entries = 0.0
        self.near = np.zeros(0)

    def _check_record(self):
        if len(self.near) != len(self.columns.mean):
            raise ValueError("the mean of a Sizes is not one number for each feature")

    def sizes(self):
        """The numbers of features that these are of."""
        return {len(self.near)} - {0}

    def with_rows(self, X, sample_weight, new):
        """A record with the rows of another call; this one stays as it is.

        Parameters
        ----------
        X : ndarray or csr_array of float32 (n_samples, n_features)
        sample_weight : ndarray of float32 (n_samples,), or None
        new : float
            The share of them that has not come before, and counts: coordinates must not follow
            the order of rows that come again.
        """
        if not new > 0 or not X.shape[0]:
            return self
        found = Sizes()
        vars(found).update(vars(self))
        weight = np.ones(X.shape[0]) if sample_weight is None else np.float64(sample_weight)
        if not sparse.issparse(X):  # whose weights say how often they are met, not what they are
            X, weight = X[weight > 0], np.ones(np.count_nonzero(weight))
        squares, weight = squared_lengths(X), new * weight
        found.lengths = self.lengths.with_squares(squares, weight)
        if not sparse.issparse(X) and len(X):
            found._add_dense(X, squares, weight)
        return found

    def _add_dense(self, X, squares, weight):
        self.columns = self.columns.with_rows(X, weight)
        self.n_nonzero += float(np.count_nonzero(X) * weight[0])
        self.n_entries += float(X.size * weight[0])
        near = X[squares <= (FAR * self.lengths.median) ** 2]
        if not len(self.near):
            self.near = np.zeros(X.shape[1])
        if len(near):
            self.n_near += float(len(near) * weight[0])
            share = len(near) * weight[0] / self.n_near
            self.near = self.near + (near.mean(axis=0, dtype=np.float64) - self.near) * share
        self.distances = self.distances.with_squares(squared_lengths(X - self.near), weight)

    def coordinates(self, dense, columns, fit_intercept):
        """What `coordinates_for` would find for all rows, but for rounding of lengths.

        Parameters
        ----------
        dense : bool
            Whether the rows at hand are, and can be shifted.
        columns, fit_intercept : bool
            As there.
        """
        if not dense or not fit_intercept:
            return Coordinates(scale=scale_of(self.lengths))
        if columns and (found := self.columns.coordinates()) is not None:
            return found
        if self.n_nonzero < FULL * self.n_entries:
            return Coordinates(scale=scale_of(self.lengths))
        return Coordinates(self.near, scale_of(self.distances))


def scale_of(lengths):
    """The typical length, 1 if it is that about."""
    length = lengths.median
    return 1.0 if abs(length - 1) < ALREADY else length

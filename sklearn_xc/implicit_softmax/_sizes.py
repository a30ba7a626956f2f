"""Sizes of the samples of all calls of ImplicitSoftmaxRegressor, and coordinates that suit them."""

from typing import Any

import numpy as np

from ..training._sizes_seen import ColumnsSeen, Lengths
from ..utils._coordinates import Coordinates
from ..utils._records import is_a, is_array, is_not_negative, record
from ..utils._rows import ALREADY, FULL


@record(
    lengths=is_a(Lengths),
    distances=is_a(Lengths),
    columns=is_a(ColumnsSeen),
    n_near=is_not_negative,
    near=is_array(np.float64),
    n_nonzero=is_not_negative,
    n_entries=is_not_negative,
)
class Sizes:
    """Sizes of the samples of all calls, which `SoftmaxData.coordinates` needs.

    Attributes
    ----------
    lengths : Lengths
    distances : Lengths
        Of dense samples, from `near`.
    columns : ColumnsSeen
        Of dense rows.
    n_near : float
    near : ndarray of float64 (n_features,), or of size 0
        The mean of dense samples that are not much longer than most, and their number.
    n_nonzero, n_entries : float
        Of dense rows.
    """

    def __init__(self) -> None:
        self.lengths, self.distances, self.columns = Lengths(), Lengths(), ColumnsSeen()
        self.n_near = self.n_nonzero = self.n_entries = 0.0
        self.near = np.zeros(0)

    def _check_record(self) -> None:
        if len(self.near) != len(self.columns.mean):
            raise ValueError("the mean of a Sizes is not one number for each feature")

    def sizes(self) -> set[int]:
        """Return the numbers of features that these are of."""
        return {len(self.near)} - {0}

    def replaced(self, **changes: Any) -> "Sizes":
        """Return a record with other attributes; this one stays as it is."""
        found = Sizes()
        vars(found).update(vars(self) | changes)
        return found

    def with_mean(self, n_rows: float, mean: np.ndarray) -> "Sizes":
        """Return a record with the mean of more dense samples not much longer than most."""
        near = self.near if len(self.near) else np.zeros(len(mean))
        # The mean of all, without a pass over earlier samples.
        n_near = self.n_near + n_rows
        return self.replaced(n_near=n_near, near=near + (mean - near) * (n_rows / n_near))

    def coordinates(self, dense: bool, columns: bool, fit_intercept: bool) -> Coordinates:
        """Return what `SoftmaxData.coordinates` would find for all samples, but for rounding, and
        one scale for all columns of sparse ones; `dense` samples can be shifted.
        """
        if not dense or not fit_intercept:
            return Coordinates(scale=scale_of(self.lengths))
        if columns and (found := self.columns.coordinates()) is not None:
            return found
        if self.n_nonzero < FULL * self.n_entries:
            return Coordinates(scale=scale_of(self.lengths))
        return Coordinates(self.near, scale_of(self.distances))


def scale_of(lengths: Lengths) -> float:
    """Return the typical length, 1 if it is about that."""
    length = lengths.median
    return 1.0 if abs(length - 1) < ALREADY else length

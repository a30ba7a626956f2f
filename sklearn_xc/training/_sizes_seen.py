"""Sizes of rows and columns over all calls, in whatever parts rows come.

Moments of columns add up. A median does not: lengths are counted in bins finer than any use of
their median asks for.
"""

import numpy as np

from ..utils._coordinates import UNEVEN, Coordinates
from ..utils._records import is_array, is_not_negative, record

BINS = 1024  # to each factor of two of a squared length
NO_COLUMNS = np.zeros(0)


@record(
    bins=is_array(np.int64),
    weight=is_array(np.float64, least=0),
    squares=is_array(np.float64, least=0),
)
class Lengths:
    """A histogram of the lengths of samples that are not zero.

    `bins` ascend: the logarithms of squared lengths, rounded down. `weight` and `squares` are, of
    the samples in each, the weights and the weighted sum of squared lengths.
    """

    def __init__(
        self,
        bins: np.ndarray | None = None,
        weight: np.ndarray | None = None,
        squares: np.ndarray | None = None,
    ) -> None:
        self.bins = np.zeros(0, dtype=np.int64) if bins is None else bins
        self.weight = np.zeros(0) if weight is None else weight
        self.squares = np.zeros(0) if squares is None else squares

    def _check_record(self) -> None:
        if not len(self.bins) == len(self.weight) == len(self.squares):
            raise ValueError("the bins of Lengths have not one weight and one sum each")
        if (np.diff(self.bins) <= 0).any():
            raise ValueError("the bins of Lengths are not in order")

    def with_squares(self, squares: np.ndarray, weight: np.ndarray) -> "Lengths":
        """Return a histogram with samples of these squared lengths and weights too."""
        known = (squares > 0) & (weight > 0)
        squares, weight = squares[known], weight[known]
        bins = np.concatenate([self.bins, np.floor(BINS * np.log2(squares)).astype(np.int64)])
        bins, place = np.unique(bins, return_inverse=True)
        sums = [
            np.bincount(place, np.concatenate([before, new]), len(bins)).astype(np.float64)
            for before, new in ((self.weight, weight), (self.squares, weight * squares))
        ]
        return Lengths(bins, *sums)

    @property
    def median(self) -> float:
        """The weighted median length, but for 0.02 per cent; 1 without any."""
        if not len(self.bins):
            return 1.0
        below = np.cumsum(self.weight)
        # Half of the weight on the border of two bins makes the median the mean of both.
        middle = [np.searchsorted(below, below[-1] / 2, side) for side in ("left", "right")]
        middle = np.minimum(middle, len(below) - 1)
        return float(np.sqrt((self.squares[middle] / self.weight[middle]).mean()))


@record(
    weight=is_not_negative,
    mean=is_array(np.float64),
    squares=is_array(np.float64, least=0),
    lowest=is_array(np.float64),
    highest=is_array(np.float64),
)
class ColumnsSeen:
    """Moments and limits of the columns of dense rows.

    `squares` are sums of squared deviations from the mean, `weight` that of the rows.
    """

    def __init__(self) -> None:
        self.weight = 0.0
        self.mean = self.squares = self.lowest = self.highest = NO_COLUMNS

    def _check_record(self) -> None:
        if len({len(part) for part in (self.mean, self.squares, self.lowest, self.highest)}) > 1:
            raise ValueError("the moments of Columns are of different features")

    def with_moments(
        self,
        total: float,
        mean: np.ndarray,
        squares: np.ndarray,
        lowest: np.ndarray,
        highest: np.ndarray,
    ) -> "ColumnsSeen":
        """Return a record with more rows, whose moments these are; see `Rows.column_moments`."""
        found = ColumnsSeen()
        found.weight = self.weight + total
        if self.weight:
            # Chan, Golub and LeVeque: squares about the common mean, without a pass over earlier
            # samples.
            change = mean - self.mean
            squares = self.squares + squares + change**2 * (self.weight * total / found.weight)
            mean = self.mean + change * (total / found.weight)
            lowest = np.minimum(lowest, self.lowest)
            highest = np.maximum(highest, self.highest)
        found.mean, found.squares = mean, squares
        found.lowest, found.highest = lowest, highest
        return found

    def coordinates(self) -> Coordinates | None:
        """Return `Rows.coordinates` if columns are of very different sizes; else None."""
        if not self.weight:
            return None
        variance, changes = self.squares / self.weight, self.highest > self.lowest
        varies = changes & (variance > 0)
        if not varies.any():
            return None
        deviation = np.sqrt(variance[varies])
        largest = np.sqrt((variance + self.mean**2)[varies].max())
        if largest <= UNEVEN * np.median(deviation):
            return None
        scale = np.ones(len(varies))
        scale[varies] = deviation
        mean = np.where(varies, self.mean, self.lowest)
        return Coordinates(mean, scale * np.sqrt(np.count_nonzero(changes)))

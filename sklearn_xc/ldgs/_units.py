"""The units in which LDGS measures X for its automatic rate, over all calls of a fit in parts.

A rate means nothing without the scale of the rows. `learning_rate="auto"` therefore takes its steps
on rows of unit length, and, of dense rows without a hidden layer, on columns of the same deviation
around their means: columns in different units are what slows gradients down most. Both are exact
changes of variables, which are undone in the weights.
"""

from copy import copy
from typing import Self

import numpy as np

from ..utils._records import is_array, is_not_negative, is_number, is_truth, record

NO_COLUMNS = np.zeros(0)
CONSTANT = 1e-7  # of the mean, a deviation that is rounding


@record(
    by_column=is_truth,
    centred=is_truth,
    weight=is_not_negative,
    log_lengths=is_number,
    column_weight=is_not_negative,
    mean=is_array(np.float64),
    squares=is_array(np.float64, least=0),
)
class Units:
    """Lengths of rows and, if by column, means and deviations of columns.

    Attributes
    ----------
    by_column, centred : bool
    weight, log_lengths : float
        Of the rows that are not zero: their weights, and the weighted sum of the logarithms of
        their lengths. The geometric mean is not led astray by a few long rows.
    column_weight : float
    mean, squares : ndarray of float64 (n_features,), or of size 0
        Weighted mean of each column, and the sum of squared deviations from it.
    """

    def __init__(self, by_column: bool = False, centred: bool = False) -> None:
        self.by_column, self.centred = bool(by_column), bool(centred)
        self.weight = self.log_lengths = self.column_weight = 0.0
        self.mean = self.squares = NO_COLUMNS

    def _check_record(self) -> None:
        """Refuse columns that were loaded and do not fit together."""
        if len(self.mean) != len(self.squares):
            raise ValueError("the units of the columns are of the wrong kind")

    def with_lengths(self, lengths: np.ndarray, weight: np.ndarray) -> Self:
        """Return the units with the rows of another call; these stay as they are."""
        units = copy(self)
        # A row of zeros has no length, and log 0 would be -infinity.
        known = lengths > 0
        units.weight += float(weight[known].sum())
        units.log_lengths += float(weight[known] @ np.log(lengths[known]))
        return units

    def with_columns(self, total: float, mean: np.ndarray, squares: np.ndarray) -> Self:
        """Return the units with the columns of some rows, of weight `total`.

        `mean` is the weighted mean of each column, `squares` the sum of squared deviations from it.
        """
        units = copy(self)
        if not len(units.mean):
            units.mean, units.squares = np.zeros((2, len(mean)))
        # The means and squares of two groups together (Chan, Golub and LeVeque, 1979): no squares
        # of large means are subtracted from one another.
        both = units.column_weight + total
        change = mean - units.mean
        units.squares = units.squares + squares + change**2 * (units.column_weight * total / both)
        units.mean = units.mean + change * (total / both)
        units.column_weight = both
        return units

    @property
    def length(self) -> float:
        """Of a typical row."""
        return float(np.exp(self.log_lengths / self.weight)) if self.weight else 1.0

    def shift_and_scale(self, n_rows: float | None) -> tuple[np.ndarray | None, float | np.ndarray]:
        """Return the offset of X, None or float64 (n_features,), and the factor applied after it.

        A number, or one for each column; columns that are constant keep the unit of the others.
        `n_rows` counts the rows of all parts so far, where more are to come.
        """
        if not self.by_column:
            return None, 1 / self.length
        square = self.squares / self.column_weight
        if not self.centred:
            # Around zero where columns are not centred.
            square = square + self.mean**2
        # A deviation that is rounding of the mean would stretch a constant column without bound.
        deviation = np.sqrt(square)
        varies = deviation > CONSTANT * np.abs(self.mean)
        if self.centred and n_rows is not None:
            # With one row of zeros more: deviations of two rows may be next to nothing, and weights
            # learnt on a column so stretched would be huge in the units of later.
            deviation = np.sqrt(square + self.mean**2 / (n_rows + 1))
        scale = np.full(len(square), 1 / self.length)
        # The root of the number of columns makes a typical row one of unit length.
        scale[varies] = 1 / (deviation[varies] * np.sqrt(varies.sum()))
        return (self.mean if self.centred else None), scale


class Change:
    """The change of variables of some units, forth and back; None for X as it is.

    `hidden` says that there is a layer before the label embeddings.
    """

    def __init__(self, units: Units | None, hidden: bool, n_rows: float | None = None) -> None:
        self.shift, self.scale = (None, 1.0) if units is None else units.shift_and_scale(n_rows)
        self._hidden = hidden

    def inside(
        self, W: np.ndarray, b: np.ndarray, U: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return weights for X in these units, from weights for X as it is."""
        # With a layer rows are scaled by one number only, and x U = (scale x) (U / scale).
        if self._hidden:
            return W, b, U / np.float32(self.scale)
        # <x, w> + b = <(x - shift) scale, w / scale> + b + <w, shift>.
        if self.shift is not None:
            b = b + W @ self.shift
        return self._by_scale(np.divide, W), b.astype(np.float32), U

    def outside(
        self, W: np.ndarray, b: np.ndarray, U: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return the inverse of :meth:`inside`."""
        if self._hidden:
            return W, b, U * np.float32(self.scale)
        # The inverse: w scale for X as it is, and its constant taken off.
        if self.shift is not None:
            b = b - (W * self.scale) @ self.shift
        return self._by_scale(np.multiply, W), b.astype(np.float32), U

    def _by_scale(self, operation: np.ufunc, W: np.ndarray) -> np.ndarray:
        """Return W times or over the scale in float32, computed in float64 without such a copy."""
        if np.ndim(self.scale) == 0:
            return operation(W, self.scale).astype(np.float32, copy=False)
        out = np.empty_like(W, dtype=np.float32)
        return operation(W, self.scale, out=out, dtype=np.float64, casting="same_kind")

    def strengths(self, alpha: float) -> tuple[float | np.ndarray, float | np.ndarray]:
        """Return the ridge on the weights inside that is alpha on those outside: of W, of U."""
        on_X = alpha * np.square(self.scale)
        return (alpha, on_X) if self._hidden else (on_X, 0.0)

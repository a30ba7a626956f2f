"""Size and place of each feature over all samples that a model was given.

From these follow the coordinates in which stochastic steps are free of scale (see `_coordinates`),
whether the samples come at once or in parts.
"""

import numpy as np

from ..base._used_columns import moved
from ..utils._coordinates import UNEVEN, Coordinates
from ..utils._records import is_array, is_not_negative, record

# Deviations below this share of a column's size are errors of rounding: the column is constant.
LEAST_DEVIATION = 1e-6
SUMS = is_array(np.float64, least=0)


@record(
    n_entries=SUMS,
    weight=SUMS,
    first=is_array(np.float64),
    second=SUMS,
    n_rows=is_not_negative,
    weight_of_rows=is_not_negative,
)
class FeatureMoments:
    """Sums over the samples of all calls, without those of weight zero.

    Attributes
    ----------
    n_entries : ndarray of float64 (n_features,)
        Samples that have the feature.
    weight, first, second : ndarray of float64 (n_features,)
        Their sample weights, and the weighted sums of the feature's values and of its squares.
    n_rows, weight_of_rows : float
        Of all rows.
    """

    def __init__(self, n_features: int) -> None:
        self.n_entries, self.weight, self.first, self.second = np.zeros((4, n_features))
        self.n_rows = self.weight_of_rows = 0.0

    def _check_record(self) -> None:
        if len({len(part) for part in (self.n_entries, self.weight, self.first, self.second)}) > 1:
            raise ValueError("the sums of FeatureMoments are of different features")

    def with_sums(self, sums: tuple[np.ndarray, ...], weight: np.ndarray) -> "FeatureMoments":
        """Return a record with the samples of another call, by `Rows.feature_sums` and their
        weights.
        """
        new = FeatureMoments(len(self.first))
        new.n_rows = self.n_rows + np.count_nonzero(weight)
        new.weight_of_rows = self.weight_of_rows + weight.sum()
        names = "n_entries", "weight", "first", "second"
        for name, more in zip(names, sums, strict=True):
            setattr(new, name, getattr(self, name) + more)
        return new

    def in_columns(self, before: np.ndarray, now: np.ndarray) -> "FeatureMoments":
        """Return a record of the columns `now` from one of those `before`."""
        new = FeatureMoments(len(now))
        new.n_rows, new.weight_of_rows = self.n_rows, self.weight_of_rows
        for name in ("n_entries", "weight", "first", "second"):
            setattr(new, name, moved(getattr(self, name), before, now))
        return new

    def coordinates(self, dense: bool) -> Coordinates:
        """Return coordinates in which columns have size 1 about and `dense` ones no common part."""
        total = max(self.weight_of_rows, np.finfo(float).tiny)
        # The root mean square of a column's entries: with zeros left where they are, dense and
        # sparse samples are treated alike.
        size = np.sqrt(self.second / np.where(self.weight > 0, self.weight, 1))
        mean, varies = np.zeros(len(size)), (self.weight > 0) & ~(dense & self._constant())
        if dense:
            # A dense column without zeros is shifted to its mean, and its size is its deviation.
            common = ~varies | (self.n_entries == self.n_rows)
            mean[common] = self.first[common] / total
            size = np.where(common & varies, self._deviation(), size)
        size[size == 0] = 1
        if not varies.any():
            return Coordinates(mean if mean.any() else None, np.ones(len(size)))
        # All columns are divided by their mean size, for their differences may say which of them
        # matter, as with words, or with the columns of a singular value decomposition. Where they
        # are so large that they cannot, each is divided by its own.
        if size[varies].max() > UNEVEN * np.median(size[varies]):
            scale = np.where(varies, size, 1)
        else:
            scale = np.full(len(size), np.average(size[varies], weights=self.weight[varies]))
        return Coordinates(mean if mean.any() else None, scale)

    @property
    def length(self) -> float | None:
        """Root mean square length of a sample; None before any is known."""
        square = self.second.sum() / self.weight_of_rows if self.weight_of_rows else 0.0
        return float(np.sqrt(square)) or None

    @property
    def entries_of_row(self) -> float:
        """Entries of a sample on average."""
        return float(self.weight.sum() / self.weight_of_rows) if self.weight_of_rows else 0.0

    def _deviation(self) -> np.ndarray:
        total = max(self.weight_of_rows, np.finfo(float).tiny)
        return np.sqrt(np.maximum(self.second / total - (self.first / total) ** 2, 0))

    def _constant(self) -> np.ndarray:
        size = np.sqrt(self.second / max(self.weight_of_rows, np.finfo(float).tiny))
        return (self._deviation() <= LEAST_DEVIATION * size) & (size > 0)

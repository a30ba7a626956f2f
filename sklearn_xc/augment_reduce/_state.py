"""State of Augment-and-Reduce that a call keeps for the next one in addition to the weights."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from ..base._used_columns import moved
from ..softmax._coordinates import Weights
from ..training._rows_seen import RowsSeen
from ..utils._records import either, is_a, record
from ._feature_moments import FeatureMoments


@record(
    seen=is_a(RowsSeen),
    moments=is_a(FeatureMoments),
    averages=either(None, is_a(tuple)),
)
@dataclass(frozen=True, eq=False)
class AugmentReduceState:
    """Samples of all calls, and averages that adaptive steps go on from.

    Attributes
    ----------
    seen : RowsSeen
    moments : FeatureMoments
    averages : tuple of ndarray of float32 (n_classes, n_features) and (n_classes,), or None
        Of squared gradients; None where there have been no adaptive steps, or none to go on from.
    """

    seen: RowsSeen
    moments: FeatureMoments
    averages: tuple | None = None

    @classmethod
    def empty(cls, n_features: int, averages: Weights | None = None) -> Self:
        """Return the state before any rows."""
        return cls(RowsSeen(), FeatureMoments(n_features), averages)

    def with_rows(
        self, hashes: np.ndarray, sums: tuple[np.ndarray, ...], weight: np.ndarray
    ) -> Self:
        """Return the state with another call's samples too: hashes, sums of features, weights."""
        seen, moments = self.seen.with_hashes(hashes, weight), self.moments.with_sums(sums, weight)
        return replace(self, seen=seen, moments=moments)

    def placed(self, places: np.ndarray, n_classes: int) -> Self:
        """Return the state with classes at these places, and averages of zero for new ones."""
        if self.averages is None:
            return self
        grown = []
        for of_classes in self.averages:
            # A class that joins has seen no gradient.
            new = np.zeros((n_classes, *of_classes.shape[1:]), dtype=np.float32)
            new[places] = of_classes
            grown.append(new)
        return replace(self, averages=tuple(grown))

    def in_columns(self, before: np.ndarray, now: np.ndarray) -> Self:
        """Return the state of the columns `now` from one of those `before`."""
        averages = self.averages
        if averages is not None:
            averages = moved(averages[0], before, now, axis=1), averages[1]
        return replace(self, moments=self.moments.in_columns(before, now), averages=averages)

    def require_sizes(self, n_classes: int, n_features: int) -> None:
        """Raise ValueError unless the state is one of n_classes and n_features."""
        shapes = (n_classes, n_features), (n_classes,)
        if self.averages is not None and (
            tuple(map(np.shape, self.averages)) != shapes
            or any(getattr(part, "dtype", None) != np.float32 for part in self.averages)
        ):
            raise ValueError("the averages of squared gradients do not fit the weights")
        if len(self.moments.first) != n_features:
            raise ValueError("the moments of the features are not one for each feature")

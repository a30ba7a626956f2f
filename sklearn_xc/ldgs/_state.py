"""State that an LDGSClassifier keeps from one call for the next, in addition to its weights."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from ..base._used_columns import moved
from ..training._rows_seen import RowsSeen
from ..utils._records import (
    either,
    is_a,
    is_array,
    is_count,
    is_not_negative,
    is_number,
    is_one_of,
    is_truth,
    record,
)
from ._units import Units


@record(
    form=is_one_of("hidden", "features", "columns", "rows"),
    units=either(None, is_a(Units)),
    seen=is_a(RowsSeen),
    n_visited=is_not_negative,
    searching=is_truth,
    threshold=is_number,
    n_threshold=is_count,
    squares=is_a(tuple),
)
@dataclass(frozen=True, eq=False)
class LDGSState:
    """State from which training resumes.

    Attributes
    ----------
    form : str
        See `Plan`.
    units : Units or None
    seen : RowsSeen
    n_visited : float
        Visits of samples so far.
    searching : bool
        Whether the warm-up is over.
    threshold : float
        Above which labels are predicted; intercepts have it subtracted.
    n_threshold : int
        Samples that have chosen it.
    squares : (ndarray of float32, ndarray of float32), or empty
        Sums of squared gradients of Adagrad, of label embeddings and of features.
    """

    form: str
    units: Units | None
    seen: RowsSeen
    n_visited: float = 0.0
    searching: bool = False
    threshold: float = 0.0
    n_threshold: int = 0
    squares: tuple = ()

    def in_columns(self, before: np.ndarray, now: np.ndarray) -> Self:
        """Return the state of the columns `now` from one of those `before`."""
        of_classes, of_features = self.squares
        if len(of_features):
            of_features = moved(of_features, before, now)
        return replace(self, squares=(of_classes, of_features))

    def require_sizes(self, n_classes: int, n_features: int, n_kept: int) -> None:
        """Raise ValueError unless the state fits these numbers of classes, features and columns."""
        # Empty without Adagrad, and of features where there is no table of them.
        sizes = [{0, n_classes}, {0, n_kept}]
        for squares, allowed in zip(self.squares, sizes, strict=True):
            if not is_array(np.float32, finite=False)(squares) or len(squares) not in allowed:
                raise ValueError("the sums of squared gradients do not fit the weights")
        if self.units is not None and len(self.units.mean) not in (0, n_features):
            raise ValueError("the units do not fit the features")

"""The state of a MemoirSVC between calls: sums over all samples so far, and the last iterates."""

from dataclasses import dataclass, replace

import numpy as np

from ..training._rows_seen import RowsSeen
from ..utils._coordinates import Coordinates
from ..utils._far_rows import shares, typical_length
from ..utils._records import either, is_a, is_array, is_count, is_not_negative, record
from ._growing_weights import Iterates


@record(
    saved=either(None, is_a(Iterates)),
    seen=is_a(RowsSeen),
    squares=is_not_negative,
    n_visited=is_count,
    new=is_not_negative,
    coordinates=is_a(Coordinates),
    bias=either(None, is_not_negative),
    totals=either(None, is_array(np.float64, least=0)),
)
@dataclass(frozen=True, eq=False)
class MemoirState:
    """State kept from one call for the next.

    Attributes
    ----------
    saved : Iterates or None
        None before the first pass.
    seen : RowsSeen
    squares : float
        Weighted sum of ||x||^2 of all visits.
    n_visited : int
        Visits of samples by the passes.
    new : float
        Share of the samples of the last call that no call before had; 0 for the first call.
    coordinates : Coordinates
        In which the passes are made.
    bias : float or None
        Value of the constant feature; 0 for none, None before the first pass.
    totals : ndarray of float64 (n_classes,), or None
        Weights of the samples of each class in all calls, where `class_weight` asks for them.
    """

    saved: Iterates | None = None
    seen: RowsSeen = RowsSeen()  # noqa: RUF009  (records do not change)
    squares: float = 0.0
    n_visited: int = 0
    new: float = 0.0
    coordinates: Coordinates = Coordinates()  # noqa: RUF009
    bias: float | None = None
    totals: np.ndarray | None = None

    @property
    def mean_weight(self) -> float:
        """Mean weight of all samples so far; 0 where there are none."""
        return self.seen.weight_of_visits / max(self.seen.n_visits, 1)

    @property
    def mean_square(self) -> float:
        """Weighted mean of ||x||^2 over all visits; 1 where it would be 0."""
        return self.squares / self.seen.weight_of_visits or 1.0

    def begun_anew(self) -> "MemoirState":
        """Return the state with nothing seen, in the coordinates of its iterates."""
        return MemoirState(coordinates=self.coordinates, bias=self.bias)

    def with_totals(self, totals: np.ndarray | None) -> "MemoirState":
        """Return the state with other weights of the classes, the same for None."""
        return self if totals is None else replace(self, totals=totals)

    def with_samples(
        self, hashes: np.ndarray, squares: np.ndarray, weight: np.ndarray
    ) -> tuple["MemoirState", np.ndarray]:
        """Return the state with the samples of a call too, and the weights to train them with.

        The arguments are the `MemoirData.measures` of the samples.
        """
        # Steps are of one rate, and as long as the sample: the step of one far longer than the
        # others would undo the steps of all of them, whatever its loss. It counts as a sample of
        # `FAR` typical lengths.
        of_step = shares(np.sqrt(squares), self._typical_length(squares))
        if of_step.min() < 1:
            weight = (of_step * weight if weight.size else of_step).astype(np.float32)
            squares = squares * of_step**2
        counted = weight if weight.size else np.ones(len(squares))
        seen = self.seen.with_hashes(hashes, counted)
        new = (seen.n_rows - self.seen.n_rows) / len(hashes)
        state = replace(
            self,
            seen=seen,
            squares=self.squares + float(np.dot(squares, counted.astype(np.float64))),
            new=min(max(new, 0.0), 1.0) if self.seen.n_visits else 0.0,
        )
        return state, weight

    def _typical_length(self, squares: np.ndarray) -> float:
        """Return the typical length of samples: of earlier calls, or the median of the first."""
        if self.seen.weight_of_visits > 0 and self.squares > 0:
            return float(np.sqrt(self.squares / self.seen.weight_of_visits))
        return typical_length(squares)

    def after(self, iterates: Iterates, n_visits: int) -> "MemoirState":
        """Return the state after passes of `n_visits` visits that led to these iterates."""
        return replace(self, saved=iterates, n_visited=self.n_visited + n_visits)

    def placed(self, places: np.ndarray, n_classes: int) -> "MemoirState":
        """Return the state with each class at its new place."""
        totals = self.totals
        if totals is not None:
            totals = np.zeros(n_classes)
            totals[places] = self.totals
        return replace(self, saved=self.saved.with_classes_at(places), totals=totals)

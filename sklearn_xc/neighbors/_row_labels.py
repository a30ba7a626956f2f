"""Labels of the training samples, to which those of more can be appended."""

import numpy as np
from scipy import sparse

from ..utils._records import is_array, is_count, record
from ._cached import Cached

GROWTH = 1.5  # an array that grows has space for so many times its numbers


class Growing:
    """A vector that is appended to without a copy, but for few times; `values` never changes."""

    def __init__(self, values: np.ndarray, room: list | None = None) -> None:
        self.values = values
        # An array of which `values` is the beginning, and how much of it is used; shared by all
        # vectors that grew from one another.
        self._room = room

    def extended(self, more: np.ndarray) -> "Growing":
        """Return the vector with more numbers behind it."""
        # Only the vector that ends where the used part does may write behind itself. An older one,
        # which another thread may be reading, or a failed fit has kept, takes a copy.
        n, n_more = len(self.values), len(more)
        room = self._room
        if room is None or room[1] != n or n + n_more > len(room[0]):
            room = [np.empty(int(GROWTH * (n + n_more)) + 1, dtype=self.values.dtype), n]
            room[0][:n] = self.values
        room[0][n : n + n_more] = more
        room[1] = n + n_more
        return Growing(room[0][: n + n_more], room)


@record(
    starts=is_array(np.int64, least=0),
    labels=is_array(np.int32, least=0),
    grades=is_array(np.float32),
    weights=is_array(np.float32, least=0),
    n_labels=is_count,
)
class RowLabels(Cached):
    """Labels of each row, their grades, and weights of the rows; never changed.

    Grades, one for each entry of `labels`, and weights, one for each row, are empty where all
    are 1.
    """

    def __init__(
        self,
        starts: np.ndarray,
        labels: np.ndarray,
        grades: np.ndarray,
        weights: np.ndarray,
        n_labels: int,
        growing: list[Growing] | None = None,
    ) -> None:
        self.starts, self.labels, self.grades, self.weights = starts, labels, grades, weights
        self.n_labels = n_labels
        self.once("growing", lambda: growing)

    @classmethod
    def of(cls, Y: sparse.csr_array, weight: np.ndarray | None) -> "RowLabels":
        """Return the labels in an indicator; grades where it holds floats."""
        # Counts and booleans say that a label is there; only floats are grades.
        grades = Y.data.astype(np.float32) if Y.dtype.kind == "f" else np.empty(0, np.float32)
        weights = np.empty(0, np.float32) if weight is None else weight
        starts, labels = Y.indptr.astype(np.int64), Y.indices.astype(np.int32)
        return cls(starts, labels, grades, weights, Y.shape[1])

    def _check_record(self) -> None:
        if len(self.grades) not in (0, len(self.labels)):
            raise ValueError("grades of another number of labels")
        if len(self.weights) not in (0, len(self.starts) - 1) or not len(self.starts):
            raise ValueError("weights or labels of another number of rows")

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return len(self.starts) - 1

    def with_labels(self, n_labels: int, places: np.ndarray | None = None) -> "RowLabels":
        """Return the same for more labels, each label at its place; by default the first ones."""
        labels = self.labels
        if places is not None and not np.array_equal(places, np.arange(len(places))):
            labels = places.astype(np.int32)[labels]
        return RowLabels(self.starts, labels, self.grades, self.weights, n_labels)

    def extended(self, other: "RowLabels") -> "RowLabels":
        """Return the labels of these rows and, behind them, those of `other`."""
        # The rooms are those of the arrays as they were. Where ones were filled in, or labels have
        # moved to other places, new arrays stand there: rooms are made again.
        mine, others = self._filled(other), other._filled(self)
        growing = self.once("growing", lambda: None)
        if growing is None or any(a.values is not b for a, b in zip(growing, mine, strict=True)):
            growing = [Growing(values) for values in mine]
        starts = others[0][1:] + self.starts[-1]
        grown = [
            part.extended(more) for part, more in zip(growing, (starts, *others[1:]), strict=True)
        ]
        arrays = [part.values for part in grown]
        return RowLabels(*arrays, n_labels=max(self.n_labels, other.n_labels), growing=grown)

    def _filled(self, other: "RowLabels") -> tuple[np.ndarray, ...]:
        """Return the arrays, with ones where only `other` has grades or weights."""
        grades, weights = self.grades, self.weights
        if len(other.grades) and not len(grades):
            grades = np.ones(len(self.labels), dtype=np.float32)
        if len(other.weights) and not len(weights):
            weights = np.ones(self.n_rows, dtype=np.float32)
        return self.starts, self.labels, grades, weights

    def frequencies(self) -> np.ndarray:
        """Return the weight of the rows that have each label."""
        # A graded label counts as a whole: f_l is a number of samples.
        weight = np.repeat(self.weights, np.diff(self.starts)) if len(self.weights) else None
        return np.bincount(self.labels, weight, self.n_labels).astype(np.float64)

    def matrix(self) -> sparse.csr_array:
        """Return the indicator, with ones for grades."""
        ones = np.ones(len(self.labels), dtype=np.float32)
        return sparse.csr_array(
            (ones, self.labels, self.starts), shape=(self.n_rows, self.n_labels)
        )

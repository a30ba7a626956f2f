"""The weights of MEMOIR while they are trained, and what of them a model keeps to train on."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from .._kernels.memoir._growing_weights import WeightLists
from ..persistence import require_lists
from ..utils._coordinates import Coordinates
from ..utils._csr import narrow_pointers
from ..utils._matrix import narrow_indices
from ..utils._records import is_array, is_not_negative, is_number, record

# Larger than that of `training/_lazy_scale.py`: the average is a difference, which loses more.
SMALLEST_SCALE = 1e-4
# Theorem 3 wants truncations that change little: none cuts a vector longer than this share of all
# weights when they were longest. A threshold that would is lowered until its cut is this long, but
# for a hundredth.
LARGEST_CUT, CUT_TOLERANCE = 0.3, 0.01
ENTRIES_AT_ONCE = 2**18


@record(
    indptr=is_array(np.int64),
    classes=is_array(np.int32),
    values=is_array(np.float32),
    sums=is_array(np.float32),
    scale=is_number,
    sum_of_scales=is_number,
    square=is_number,
    n_iterates=is_not_negative,
)
@dataclass(frozen=True, eq=False)
class Iterates:
    """The last iterate W = scale V and the sum of all, which is sum_of_scales V - U."""

    indptr: np.ndarray  # int64 (n_features + 2,), of the entries by feature, the intercept last
    classes: np.ndarray  # int32 (n_entries,), ascending in each feature
    values: np.ndarray  # float32 (n_entries,), V
    sums: np.ndarray  # float32 (n_entries,), U; of size 0 where no average is kept
    scale: float
    sum_of_scales: float
    square: float  # ||V||^2
    n_iterates: float  # each counts as the weight of its sample, in mean weights of all samples

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """The lists, in the order in which the kernel takes them."""
        return self.indptr, self.classes, self.values, self.sums

    def without_average(self) -> "Iterates":
        """Return the last iterate alone."""
        return replace(self, sums=np.empty(0, dtype=np.float32), sum_of_scales=0.0, n_iterates=0)

    def in_weights_of(self, factor: float) -> "Iterates":
        """Return a record whose mean weight of samples is divided by this factor."""
        return replace(
            self,
            sums=self.sums * np.float32(factor),
            sum_of_scales=self.sum_of_scales * factor,
            n_iterates=self.n_iterates * factor,
        )

    def with_classes_at(self, places: np.ndarray) -> "Iterates":
        """Return a record with each class at its new place, ascending as before."""
        return replace(self, classes=places.astype(np.int32)[self.classes])

    def in_columns(self, before: np.ndarray, now: np.ndarray) -> "Iterates":
        """Return a record of the columns `now`, which contain those of this record, `before`."""
        lengths, grown = np.diff(self.indptr), np.zeros(len(now) + 1, dtype=np.int64)
        grown[np.searchsorted(now, before)], grown[-1] = lengths[:-1], lengths[-1]
        return replace(self, indptr=np.append(np.int64(0), np.cumsum(grown)))

    def require_lists(self, n_features: int, n_classes: int) -> None:
        """Raise ValueError unless a kernel can follow the lists."""
        require_lists(self.arrays, n_features + 1, n_classes)

    def model(self, n_classes: int, average: bool) -> tuple[sparse.csr_array, np.ndarray]:
        """Return the last iterate or the average: weights, and those of the constant feature."""
        indptr, classes, values, sums = self.arrays
        data = np.empty_like(values)
        for start in range(0, len(data), ENTRIES_AT_ONCE):
            part = slice(start, start + ENTRIES_AT_ONCE)
            V = values[part].astype(np.float64)
            if average and self.n_iterates:
                data[part] = (self.sum_of_scales * V - sums[part]) / self.n_iterates
            else:
                data[part] = self.scale * V
        last = indptr[-2]  # where the entries of the constant feature begin
        constant = np.zeros(n_classes, dtype=np.float32)
        constant[classes[last:]] = data[last:]
        shape = n_classes, len(indptr) - 2
        columns = data[:last], classes[:last], narrow_pointers(indptr[:-1])
        csr = sparse.csc_array(columns, shape=shape).tocsr()
        csr.eliminate_zeros()
        csr.sort_indices()
        return narrow_indices(csr), constant


class GrowingWeights:
    """The weights W = scale V while they are trained, and the sum of the iterates if `averaged`.

    One more feature than `n_features` holds the intercepts. `start`, from :meth:`save`, is what to
    go on from; `dense` says that samples have all features.
    """

    def __init__(
        self,
        n_classes: int,
        n_features: int,
        averaged: bool,
        start: Iterates | None = None,
        dense: bool = False,
    ) -> None:
        self.lists = WeightLists(n_features + 1, n_classes, averaged, dense)
        self.state = np.array([1.0, 0.0, 0.0])  # scale, sum of the scales of iterates, ||V||^2
        self.n_iterates = self.n_folds = 0
        self.folded = 1.0  # product of all scales that were folded into V
        self.longest = 0.0  # norm of W so far
        self.scores = np.full(self.lists.n_places, -np.inf, dtype=np.float32)
        self.scores[:n_classes] = 0
        if start is not None:
            self.lists.load(*start.arrays)
            self.state[:] = start.scale, start.sum_of_scales, start.square
            self.n_iterates = start.n_iterates
            if averaged and not start.sums.size:  # saved without sums: the average begins here
                self.state[1] = self.n_iterates = 0

    def save(self) -> Iterates:
        """Return the last iterate and the sum of all, to go on from or to predict with."""
        scale, sum_of_scales, square = map(float, self.state)
        indptr, classes, values, sums = self.lists.dump()
        return Iterates(
            indptr, classes, values, sums, scale, sum_of_scales, square, self.n_iterates
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of classes and of features, without that of the intercepts."""
        return self.lists.n_classes, self.lists.n_features - 1

    def shrink(self, factor: float) -> None:
        """Multiply W by a factor."""
        if not 0 < self.state[0] * factor < np.inf:
            factor = 0.0
        self.state[0] *= factor
        if self.state[0] < SMALLEST_SCALE:
            self.fold()

    def fold(self) -> None:
        """Make the scale 1 again."""
        scale, of_iterates, square = self.state
        self.lists.rescale(scale, of_iterates)
        self.n_folds += 1
        self.folded *= scale
        self.state[:] = 1, 0, scale**2 * square

    def project(self, radius: float) -> None:
        """Project on the ball of this radius around zero."""
        norm = self.state[0] * np.sqrt(max(self.state[2], 0))
        if norm > radius:
            self.shrink(radius / norm)

    def truncate(self, classes: np.ndarray, threshold: float) -> None:
        """Truncate weights of these classes (eq. 13), by the threshold or the largest allowed."""
        chosen = np.zeros(self.shape[0], dtype=np.uint8)
        chosen[classes] = 1
        scale, norm = self.state[0], np.sqrt(max(self.state[2], 0))
        self.longest = max(self.longest, scale * norm)
        longest = LARGEST_CUT * self.longest / scale
        scaled = min(threshold / scale, 2 * norm)  # more would cut no more
        cut, left = self._cut(chosen, scaled)
        # The cut of a threshold t is the root of the sum of min(|v|, t)^2, which divided by t
        # falls: thresholds made smaller by wanted / cut come down to the wanted one, never below.
        while cut > longest:
            scaled *= (1 - CUT_TOLERANCE) * longest / cut
            cut, left = self._cut(chosen, scaled)
        self.state[2] = left
        self.lists.truncate(chosen, scaled, self.state[1], False)

    def _cut(self, chosen: np.ndarray, threshold: float) -> tuple[float, float]:
        """Return the length that a threshold would cut, and the square of what it would leave."""
        square, left = self.lists.truncate(chosen, threshold, self.state[1], True)
        return np.sqrt(square), left

    def count_iterates(self, own: float, total: float) -> None:
        """Count W as an iterate of the average, for the first sample of the next batch.

        `own` and `total` are the weights of the first sample of this batch and of all its samples,
        in units of the mean weight of all samples.
        """
        self.state[1] += self.state[0] * own
        self.n_iterates += total

    def values(self) -> sparse.csr_array:
        """Return V as CSR (n_classes, n_features + 1), the column of the intercept last."""
        indptr, classes, values, _ = self.lists.dump()
        return self._csr(indptr, classes, values)

    def _csr(self, indptr: np.ndarray, classes: np.ndarray, data: np.ndarray) -> sparse.csr_array:
        """Return entries that lie feature by feature as CSR, class by class."""
        shape = self.lists.n_classes, self.lists.n_features
        csr = sparse.csc_array((data, classes, narrow_pointers(indptr)), shape=shape).tocsr()
        csr.sort_indices()
        return narrow_indices(csr)


def of_length_one(
    coef: sparse.csr_array, constant: np.ndarray
) -> tuple[sparse.csr_array, np.ndarray]:
    """Return weights and intercepts divided by the lengths of the classes' weights."""
    lengths = np.sqrt(coef.multiply(coef).sum(axis=1) + constant.astype(np.float64) ** 2)
    lengths[lengths == 0] = 1
    data = coef.data / np.repeat(lengths, np.diff(coef.indptr)).astype(np.float32)
    return sparse.csr_array((data, coef.indices, coef.indptr), shape=coef.shape), constant / lengths


def outside(
    coordinates: Coordinates, coef: sparse.csr_array, intercept: np.ndarray
) -> tuple[sparse.csr_array, np.ndarray]:
    """Return weights for samples as they were given, from those for the coordinates of the fit."""
    if not coordinates.changes_nothing:
        scale, mean = coordinates.scale, coordinates.mean
        data = coef.data / scale[coef.indices]
        coef = sparse.csr_array(
            (data.astype(np.float32), coef.indices, coef.indptr), shape=coef.shape
        )
        intercept = intercept - coef.astype(np.float64) @ mean
    return coef, intercept.astype(np.float32)

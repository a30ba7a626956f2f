"""The samples of ImplicitSoftmaxRegressor, and what is computed of them."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from ..base._label_texts import Texts
from ..softmax._base import BaseSoftmaxClassifier
from ..softmax._coordinates import Weights
from ..utils._column_map import ColumnMap
from ..utils._coordinates import Coordinates
from ..utils._far_rows import FAR
from ..utils._random import stream
from ..utils._rows import FULL, Rows
from ._sizes import Sizes, scale_of
from ._solver_settings import SolverSettings
from ._stream import Stream, Whole, keys_of

NONE = np.empty(0, dtype=np.float32)
FEW = 1000  # samples whose objective is enough for a first look
CLASSES_AT_ONCE = 256
SCORES_AT_ONCE = 2**22
SHARE = 0.1  # of the samples, on which rates are tried (section 4.1)
FEWEST_ROWS = 1000  # a tenth of less than 10,000 would say little; all where there are fewer
FEWEST_A_CLASS = 4
FEWEST_VALIDATION = 250


class SoftmaxData(NamedTuple):
    """Samples to train on.

    Attributes
    ----------
    rows : Rows
    y : ndarray of int32 (n_samples,)
        Class numbers.
    weight : ndarray of float32 (n_samples,), or of size 0 for weights of 1
    n_texts : int
        How many of the last ones are texts of labels.
    """

    rows: Rows
    y: np.ndarray
    weight: np.ndarray
    n_texts: int = 0

    def with_texts(self, texts: Texts) -> "SoftmaxData":
        """Return the samples with the texts of labels below them."""
        if not texts.n:
            return self
        rows, y, weight = texts.join(self.rows, self.y, self.sample_weight())
        return SoftmaxData(rows, y, NONE if weight is None else weight, texts.n)

    def take(self, chosen: np.ndarray) -> "SoftmaxData":
        weight = self.weight[chosen] if self.weight.size else self.weight
        return SoftmaxData(self.rows.take(chosen), self.y[chosen], weight)

    def sample_weight(self) -> np.ndarray | None:
        """Return the weights, None for weights of 1."""
        return self.weight if self.weight.size else None

    def visited(self) -> np.ndarray:
        """Return the samples of weight above zero, int32."""
        n_samples = self.rows.shape[0]
        if self.weight.size:
            return np.flatnonzero(self.weight).astype(np.int32)
        return np.arange(n_samples, dtype=np.int32)

    def total_weight(self) -> float:
        if self.weight.size:
            return float(self.weight.sum(dtype=np.float64))
        return float(self.rows.shape[0])

    def whole(self, n_classes: int) -> Whole:
        """Return these samples as all that there are."""
        visited = self.visited()
        counts = np.bincount(self.y[visited], minlength=n_classes)
        return Whole(len(visited), self.total_weight(), counts)

    def entries_a_row(self) -> float:
        """Return non-zeros of a sparse sample, on average; features of a dense one."""
        n_samples, n_features = self.rows.shape
        return n_features if self.rows.dense else len(self.rows.data) / max(n_samples, 1)

    def keys(self, classes: np.ndarray) -> np.ndarray:
        """Return a hash of each sample with its label, uint64; see `_stream.keys_of`."""
        return keys_of(self.rows.hashes(), self.y, classes)

    # ------------------------------------------------------------------------- coordinates

    def full(self) -> "SoftmaxData":
        """Return samples that are hardly sparse as dense ones, so that both give one model."""
        hardly = not self.rows.dense and len(self.rows.data) >= FULL * np.prod(self.rows.shape)
        return self._replace(rows=self.rows.as_dense()) if hardly else self

    def shortened(self, typical: float | None = None) -> "SoftmaxData":
        """Return the samples with none much longer than a typical one, by default the median."""
        return self._replace(rows=self.rows.shortened(self.sample_weight(), typical))

    def narrowed(self, columns: ColumnMap | None) -> "SoftmaxData":
        """Return the samples by the columns of a `ColumnMap`, which are kept of sparse rows."""
        if columns is None:
            return self
        return self._replace(rows=self.rows.as_sparse().narrowed(columns))

    def inside(self, coordinates: Coordinates) -> "SoftmaxData":
        return self._replace(rows=self.rows.inside(coordinates))

    def length(self) -> float:
        """Return the length of a typical sample; 1 if it is about that."""
        return float(self.rows.coordinates_of_length(self.sample_weight()).scale)

    def coordinates(self, columns: bool, fit_intercept: bool) -> Coordinates:
        """Return `Rows.coordinates_for_steps` of the samples."""
        return self.rows.coordinates_for_steps(self.sample_weight(), columns, fit_intercept)

    def stream(
        self, model: BaseSoftmaxClassifier, settings: SolverSettings, before: Stream | None
    ) -> Stream:
        """Return the record with these samples after those of the calls before, in coordinates that
        suit all; where one call brings all samples they are those of a fit.
        """
        # A penalty of one strength for all does not allow each column a scale in every solver.
        columns = settings.solver == "exact" or model.alpha == "auto"
        of_fit = {"typical": self.length()}
        if before is None:
            before = Stream(Coordinates(), of_fit["typical"])
        weight, entries = self.sample_weight(), None
        if settings.solver == "exact":
            entries = self.rows.entry_counts(weight)
        stream = before.with_samples(self.rows.hashes(), weight, entries)
        new = stream.seen.new_since(before.seen)
        # As many different samples in all calls as in this one: it is a fit on the same data.
        anew = stream.seen.n_rows <= len(self.visited())
        stream = stream.replaced(sizes=self.added_to(before.sizes, new))
        if anew:
            coordinates = self.coordinates(columns, model.fit_intercept)
            return stream.replaced(**of_fit, coordinates=coordinates)
        return stream.replaced(
            coordinates=stream.sizes.coordinates(self.rows.dense, columns, model.fit_intercept),
            typical=scale_of(stream.sizes.lengths),
        )

    def added_to(self, sizes: Sizes, new: float) -> Sizes:
        """Return the `Sizes` of the samples of all calls, with these, of which the share `new`
        counts.
        """
        # Coordinates must not follow the order of samples that come again.
        rows, weight = self.rows, np.ones(self.rows.shape[0])
        if not new > 0 or not len(weight):
            return sizes
        if self.weight.size:
            # A dense sample's weight says how often it is met, not what it is.
            if rows.dense:
                rows = rows.take(self.weight > 0)
                weight = np.ones(rows.shape[0])
            else:
                weight = np.float64(self.weight)
        squares, weight = rows.squared_norms(), new * weight
        sizes = sizes.replaced(lengths=sizes.lengths.with_squares(squares, weight))
        if not rows.dense or not len(weight):
            return sizes
        sizes = sizes.replaced(
            columns=sizes.columns.with_moments(*rows.column_moments(weight)),
            n_nonzero=sizes.n_nonzero + float(np.count_nonzero(rows.data) * weight[0]),
            n_entries=sizes.n_entries + float(rows.data.size * weight[0]),
        )
        # A far sample could move the mean to itself, and would then seem near.
        near = rows.matrix()[squares <= (FAR * sizes.lengths.median) ** 2]
        if len(near):
            mean = near.mean(axis=0, dtype=np.float64)
            sizes = sizes.with_mean(float(len(near) * weight[0]), mean)
        elif not len(sizes.near):
            sizes = sizes.replaced(near=np.zeros(rows.shape[1]))
        off = rows.matrix() - sizes.near
        distances = np.einsum("ij,ij->i", off, off, dtype=np.float64)
        return sizes.replaced(distances=sizes.distances.with_squares(distances, weight))

    # ----------------------------------------------------------------------- the objective

    def objective(self, W: np.ndarray, b: np.ndarray, alpha: float | np.ndarray) -> float:
        """Return (sum of weighted log-losses + alpha / 2 ||W||^2) / sum of weights, not finite
        where the weights W (n_classes, n_features) and b are not.
        """
        n_samples, n_classes = self.rows.shape[0], len(b)
        top = np.full(n_samples, -np.inf)
        total, own = np.zeros((2, n_samples))
        square = 0.0
        size = max(1, SCORES_AT_ONCE // CLASSES_AT_ONCE)
        X, y = self.rows.matrix(), self.y
        with np.errstate(all="ignore"):
            # The log of the normaliser block by block of classes: total is the sum of e^(score -
            # top) so far, rescaled whenever a block has a higher score. No array of all scores is
            # made.
            for first in range(0, n_classes, CLASSES_AT_ONCE):
                w = np.ascontiguousarray(W[first : first + CLASSES_AT_ONCE].T)
                bias = b[first : first + CLASSES_AT_ONCE]
                if np.ndim(alpha):
                    square += float(np.einsum("jk,jk,j->", w, w, alpha))
                elif alpha > 0:
                    square += alpha * float(np.vdot(w, w))
                for start in range(0, n_samples, size):
                    part = slice(start, start + size)
                    scores = X[part] @ w + bias
                    inside = np.flatnonzero((y[part] >= first) & (y[part] < first + len(bias)))
                    own[start + inside] = scores[inside, y[part][inside] - first]
                    higher = np.maximum(top[part], scores.max(axis=1))
                    scores -= higher[:, None].astype(np.float32)
                    sums = np.exp(scores, out=scores).sum(axis=1, dtype=np.float64)
                    total[part] = total[part] * np.exp(top[part] - higher) + sums
                    top[part] = higher
            # -log p(y | x) = log of the normaliser - score of the own class.
            losses = top + np.log(total) - own
            weight = self.weight if self.weight.size else np.ones(n_samples)
            weight = weight.astype(np.float64)
            # An infinite loss times a weight of zero would be no number.
            used = weight > 0
            loss = losses[used] @ weight[used] + square / 2
        return float(loss / weight.sum())

    def few(self, alpha: float | np.ndarray, seed: int) -> tuple["SoftmaxData", float | np.ndarray]:
        """Return so few samples that their objective costs little, and their share of the ridge."""
        chosen = np.sort(stream(seed, "objective").permutation(self.visited())[:FEW])
        few = self.take(chosen)
        return few, alpha * (few.total_weight() / self.total_weight())

    def losses(
        self, alpha: float | np.ndarray, seed: int, computed: bool, read: bool
    ) -> "EpochLosses":
        """Return the objectives of a fit on these samples."""
        return EpochLosses(self, alpha, seed, computed, read)

    def part_for_rates(
        self, alpha: float | np.ndarray, seed: int
    ) -> tuple["SoftmaxData", float | np.ndarray, Callable[..., float]]:
        """Return samples on which rates are tried, their share of the ridge, and the loss of
        weights by which rates are judged (section 4.1).
        """
        counted = self.visited()
        n_rows = rows_of_part(len(counted), len(np.unique(self.y[counted])))
        order = stream(seed, "rates").permutation(counted)
        others = order[n_rows:]
        # Texts of labels are no samples to be judged by.
        others = np.sort(others[others < len(self.y) - self.n_texts][:n_rows])
        chosen = np.sort(order[:n_rows])
        part = self.take(chosen)
        share = n_rows / len(counted)
        if self.weight.size:
            share = part.weight.sum() / self.weight.sum()
        share = float(share)
        # The log-loss of validation samples, at most as many as are trained on; where there are
        # hardly any, the training objective, as in the paper.
        if len(others) >= FEWEST_VALIDATION:
            return part, share * alpha, partial(self.take(others).objective, alpha=0.0)
        return part, share * alpha, partial(part.objective, alpha=share * alpha)


class EpochLosses:
    """Objectives after epochs: of all samples for a curve, or of a few for a reader.

    Attributes
    ----------
    curve : list of float
        Of all samples, after each epoch; empty where it is not `computed`.
    """

    def __init__(
        self, data: SoftmaxData, alpha: float | np.ndarray, seed: int, computed: bool, read: bool
    ) -> None:
        self._data, self._alpha, self._computed, self._read = data, alpha, computed, read
        # The objective of all samples and classes would take as long as an epoch.
        self._few, self._ridge_of_few = data.few(alpha, seed)
        self.curve: list[float] = []

    def after_epoch(self, weights: Callable[[], Weights]) -> float | None:
        """Return the objective of the weights; None where nobody wants to know it."""
        if self._computed:
            self.curve.append(self._data.objective(*weights(), self._alpha))
            return self.curve[-1]
        return self.of_few(weights()) if self._read else None

    def of_few(self, weights: Weights) -> float:
        """Return the objective of a few samples."""
        return self._few.objective(*weights, self._ridge_of_few)


def rows_of_part(n_rows: int, n_classes: int) -> int:
    """Return the number of samples on which rates are tried: a tenth, more where that is few, or
    few for each class.
    """
    # On fewer the best rate is one for steps that see each class hardly ever. A third leaves as
    # many samples to judge by.
    of_classes = min(FEWEST_A_CLASS * n_classes, n_rows // 3)
    return min(n_rows, max(share_of_part(n_rows), of_classes))


def share_of_part(n_rows: int) -> int:
    """Return a tenth, or as many as a tenth needs to say anything."""
    return max(FEWEST_ROWS, int(np.ceil(SHARE * n_rows)))

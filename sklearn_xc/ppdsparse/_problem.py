"""The problem of PPDSparse: samples, weights of classes, and penalties in units of the samples.

The unit of `l1` is the length of a sample and the unit of `l2` its square: a score is <w, x>, so w
goes with 1 / |x|, and the loss does not know the unit of x. How much of these units suits the
labels is chosen by `_penalty_pilot`.
"""

import re
from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np
from scipy import sparse

from .._kernels.ppdsparse._problem import scores_of, squares_of_products, weighted_sum
from ..base._classifier import BaseXCClassifier
from ..base._label_texts import NO_TEXTS, Texts
from ..base._labels import pattern_of
from ..training._class_weight import weights_of_labels
from ..utils._column_map import WIDE, ColumnMap, used_columns
from ..utils._coordinates import Coordinates
from ..utils._csr import IN_CACHE, stretches
from ..utils._far_rows import shares, typical_length
from ..utils._parallel import single_threaded_blas
from ..utils._rows import Rows
from ..utils._stacked_rows import first

# l1 as a share of the length of a row, and of the size of an entry at most: a feature of a single
# support vector, whose dual variable is about 1, has |v_j| = |x_j| and is to be kept. On 12 of 13
# data sets 0.05 is within 0.5 points of nDCG@5 of the best of 0.01 to 0.1 (the other has characters
# as features, and 0.01), and takes a third of the weights of 0.01.
LENGTH_SHARE, ENTRY_SHARE = 0.05, 0.5
N_PROBES = 16  # random directions
LIKENESS_SHARE = 30  # l2 as a multiple of the inner product of two rows
MOST = 1.5  # and as a multiple of ||x||^2, at most
MOSTLY_MEAN = 0.5  # of the mean ||x||^2 about the mean row, below which dense rows are shifted
MULTIPLE = re.compile(r"((?P<factor>\d*\.?\d+(e[+-]?\d+)?)\s*\*\s*)?(?P<unit>auto|rows)")
MOST_OF_UNIT = 1e6
MANY_DIRECTIONS = 50  # where rows differ in fewer, l2 is smaller
LARGEST_NORM = 1e24  # ||x||^2, so that ||x||^2 / l2 stays within float32
LARGEST_WEIGHT = 1e30  # of a loss, so that sums of losses do too


class Penalties(NamedTuple):
    """Numbers for `l1` and `l2`, and the coordinates in which they hold."""

    l1: float
    l2: float
    coordinates: Coordinates

    def strengths(self) -> dict[str, float]:
        """Return l1 and l2 as `Settings` of the kernel have them."""
        return {"l1": self.l1, "l2": self.l2}

    def outside(self) -> tuple[float, float]:
        """Return l1 and l2 for X as it is, where one number can say it; the scaled ones
        otherwise.
        """
        scale = self.coordinates.scale
        # <w, x> and |w_j| keep their meaning if w is measured in 1 / |x|: l1 goes with |x|, l2 with
        # its square. Columns of different scales have no one such number.
        factors = (1, 1) if np.ndim(scale) else (scale, scale**2)
        return float(self.l1 * factors[0]), float(self.l2 * factors[1])

    def model_outside(
        self, coef: sparse.csr_array, intercept: np.ndarray
    ) -> tuple[sparse.csr_array, np.ndarray]:
        """Return sparse weights and intercepts of a fit inside, for X as it is; changes coef."""
        coordinates = self.coordinates
        if coordinates.changes_nothing:
            return coef, intercept
        scale = coordinates.scale
        # w inside belongs to x / scale, so that outside it is w / scale; stretch by stretch, for
        # coef may lie on disk.
        for _, entries in stretches(coef.indptr):
            of_entries = scale[coef.indices[entries]] if np.ndim(scale) else scale
            coef.data[entries] = coef.data[entries] / of_entries
        if coordinates.mean is not None:
            # <w, x - mean> + b = <w, x> + (b - <w, mean>).
            intercept = (intercept - coef @ coordinates.mean).astype(np.float32)
        return coef, intercept


class OneVsRestProblem(NamedTuple):
    """The samples of a call of fit in the coordinates in which the penalties hold."""

    rows: Rows  # the texts of labels are the last ones
    Y: sparse.csr_array  # (n_rows, n_columns), as `base._labels.encode` returns it
    sample_weight: np.ndarray  # float32 (n_rows,)
    class_weight: np.ndarray  # float32 (n_columns, 2)
    penalties: Penalties
    n_texts: int = 0
    columns: ColumnMap | None = None  # that `rows` are of, where few of very many have entries

    @classmethod
    def of(
        cls,
        model: BaseXCClassifier,
        rows: Rows,
        Y: sparse.csr_array,
        sample_weight: np.ndarray | None,
        empty: Callable[..., np.ndarray],
        is_new: np.ndarray | None = None,
        texts: Texts = NO_TEXTS,
    ) -> Self:
        """Return the problem of a PPDSparseClassifier whose classes are known.

        `empty` makes arrays as large as the values of X; `is_new` says which classes count for
        "balanced", by default all.
        """
        # Texts come last: neither penalties nor weights of classes go by them.
        if sample_weight is None:
            sample_weight = np.ones(rows.shape[0], dtype=np.float32)
        class_weight = factors_of_classes(model, Y, sample_weight, is_new)
        weight_below: np.ndarray = texts.weights_below(sample_weight, rows.shape[0])
        require_weights_in_range(weight_below, class_weight)
        # Rows that are mostly zeros are searched by columns, which dense rows have not.
        rows = rows.compact()
        columns = _used_of(rows, texts)
        if columns is not None:
            # Memory for sixteen classes is D * 109 bytes: unused features would be paid for.
            rows = rows.narrowed(columns, empty)
            texts = texts._replace(rows=texts.rows.narrowed(columns)) if texts.n else texts
        with single_threaded_blas():  # its threads cost more than such small products
            penalties = penalties_of(model.l1, model.l2, rows, sample_weight, empty)
        if texts.n:
            rows = texts.below(rows, empty)
        inside = rows.inside(penalties.coordinates, empty)
        scaled = not penalties.coordinates.changes_nothing
        _require_lengths_in_range(inside.squared_norms()[weight_below > 0], scaled)
        Y = texts.labels_below(Y, model._encoding.kind == "binary")
        return cls(inside, Y, weight_below, class_weight, penalties, texts.n, columns)

    def in_all_columns(self, coef: sparse.csr_array) -> sparse.csr_array:
        """Return weights of the columns of the rows as those of the columns of X; changes coef."""
        if self.columns is None:
            return coef
        for _, entries in stretches(coef.indptr):
            coef.indices[entries] = self.columns.columns[coef.indices[entries]]
        coef.resize((coef.shape[0], self.columns.n_columns))
        return coef

    def samples(self) -> Self:
        """Return the same problem without the texts of labels; shares all arrays."""
        if not self.n_texts:
            return self
        n = len(self.sample_weight) - self.n_texts
        parts = {"rows": first(self.rows, n), "Y": self.Y[:n], "n_texts": 0}
        return self._replace(sample_weight=self.sample_weight[:n], **parts)

    def with_factors(self, times_l1: float, times_l2: float) -> Self:
        """Return the same problem with other multiples of its penalties."""
        penalties = self.penalties
        return self._replace(
            penalties=penalties._replace(l1=penalties.l1 * times_l1, l2=penalties.l2 * times_l2)
        )


def _used_of(rows: Rows, texts: Texts) -> ColumnMap | None:
    """Return the columns that rows and texts have entries in, if few of very many; else None."""
    n_columns = rows.shape[1]
    if rows.dense or n_columns < WIDE:
        return None
    # A feature that only a text has gets a weight too.
    indices = np.append(rows.indices, texts.rows.indices) if texts.n else rows.indices
    used = used_columns(indices, n_columns)
    return None if used is None else ColumnMap(used, n_columns)


def factors_of_classes(
    model: BaseXCClassifier,
    Y: sparse.csr_array,
    sample_weight: np.ndarray,
    is_new: np.ndarray | None = None,
) -> np.ndarray:
    """Return weights of the negatives and positives of each column of Y, float32 (n_columns, 2).

    They follow how many samples have a label, whatever its grades.
    """
    binary = model._encoding.kind == "binary"
    weights = np.ones((Y.shape[1], 2))
    if model.class_weight is None:
        return weights.astype(np.float32)
    sample_weight = sample_weight.astype(np.float64)
    positives = pattern_of(Y).T @ sample_weight
    # One column says both classes: what is no positive of the second is one of the first.
    counts = np.append(sample_weight.sum() - positives, positives) if binary else positives
    if is_new is not None:  # "balanced" is by the mean of the counts, of which those count
        counts[~is_new] = counts[is_new].mean()
    n_rows = sample_weight.sum()
    per_class = weights_of_labels(model.class_weight, model.classes_, counts, n_rows)
    if binary:
        # C_i of equation 9's losses: negatives of the column are the first class.
        return per_class.reshape(1, 2).astype(np.float32)
    weights[:, 1] = per_class
    return weights.astype(np.float32)


def require_weights_in_range(sample_weight: np.ndarray, class_weight: np.ndarray) -> None:
    """Raise ValueError for weights of which float32 cannot hold the sums of losses."""
    largest = float(sample_weight.max()) * float(class_weight.max())
    if largest > LARGEST_WEIGHT:
        raise ValueError(
            f"sample_weight times class_weight reaches {largest:.3g}; the solver computes in "
            f"float32 and takes up to {LARGEST_WEIGHT:g}: divide the weights, l1 and l2 by the "
            "same number"
        )


def penalties_of(
    l1: float | str,
    l2: float | str,
    rows: Rows,
    sample_weight: np.ndarray,
    empty: Callable[..., np.ndarray] = np.empty,
) -> Penalties:
    """Return the penalties of a fit, before the labels have been looked at.

    "auto" is what the rows suggest, with which a pilot begins. The coordinates are others than
    those of X only where l2 is no number.
    """
    (l1, times_l1), (l2, times_l2) = in_units(l1, "l1"), in_units(l2, "l2")
    if not (isinstance(l1, str) or isinstance(l2, str)):
        return Penalties(l1, l2, Coordinates())
    found = _of_rows(l1, l2, rows, sample_weight, empty)
    return found._replace(l1=times_l1 * found.l1, l2=times_l2 * found.l2)


def in_units(penalty: float | str | None, name: str) -> tuple[float | str, float]:
    """Read a penalty: a number and 1, or the unit, "auto" or "rows", and the factor before it.

    Raises ValueError for a text of another form, and calls it by `name`.
    """
    if not isinstance(penalty, (str, type(None))):
        return penalty, 1.0
    found = MULTIPLE.fullmatch(penalty or "")
    factor = float(found["factor"] or 1) if found else 0.0
    if not 0 < factor <= MOST_OF_UNIT:
        raise ValueError(
            f"{name} must be a number, 'auto', 'rows', or a multiple of these up to "
            f"{MOST_OF_UNIT:g} such as '0.3*rows'; got {penalty!r}"
        )
    return found["unit"], factor


def _of_rows(
    l1: float | str,
    l2: float | str,
    rows: Rows,
    sample_weight: np.ndarray,
    empty: Callable[..., np.ndarray],
) -> Penalties:
    """Compute what the rows suggest for the penalties that are no numbers."""
    # Samples of weight zero are not there, for lengths and means neither.
    there = sample_weight > 0
    if not there.all():
        rows, sample_weight = rows.take(there), sample_weight[there]
    # All that follows are sums of squares, in which a row far longer than others would be all.
    squares = rows.squared_norms()
    sample_weight = _without_far_rows(sample_weight, squares)
    if not isinstance(l2, str):  # l1 alone is found
        return Penalties(_l1_of(rows, sample_weight, squares), l2, Coordinates())
    coordinates = rows.coordinates(sample_weight)
    # A number for l1 is in the one unit of X, which columns of one size would not have.
    if not isinstance(l1, str) and np.ndim(coordinates.scale):
        coordinates = Coordinates()
    coordinates = _about_the_mean(coordinates, rows, sample_weight)
    inside = rows.inside(coordinates, empty)
    squares = inside.squared_norms()
    # Inside lengths are in units of `scale`, and a number given goes there the same way.
    if isinstance(l1, str):
        strength = _l1_of(inside, sample_weight, squares)
    else:
        strength = l1 / float(coordinates.scale)
    return Penalties(strength, _l2_of(inside, sample_weight, squares), coordinates)


def _require_lengths_in_range(squares: np.ndarray, scaled: bool) -> None:
    """Raise ValueError if a row is too long for float32; scaled ones have a length of about 1."""
    longest = squares.max(initial=0.0)
    if longest > LARGEST_NORM:
        times = " times that of a usual one" if scaled else ""
        raise ValueError(
            f"X has a sample of squared length {longest:.3g}{times}; the solver computes in "
            f"float32 and takes up to {LARGEST_NORM:g}{times and ' times'}: scale the features"
        )


def _without_far_rows(sample_weight: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Return weights with which no row counts as longer than `FAR` typical ones."""
    of_row = shares(np.sqrt(squares), typical_length(squares))
    return sample_weight if of_row.min() == 1 else (sample_weight * of_row**2).astype(np.float32)


def _about_the_mean(coordinates: Coordinates, rows: Rows, sample_weight: np.ndarray) -> Coordinates:
    """Shift dense rows that are alike but for a small part: the intercept knows the rest."""
    if not rows.dense or coordinates.mean is not None:
        return coordinates
    # mean ||x||^2 = ||mean||^2 + mean ||x - mean||^2: shifted where the second is the smaller part.
    weight = sample_weight / sample_weight.sum(dtype=np.float64)
    mean = _weighted_sum(rows, weight)
    length = weight @ rows.squared_norms()
    about_mean = length - mean @ mean
    if not 1e-6 * length < about_mean < MOSTLY_MEAN * length:
        return coordinates
    return Coordinates(mean, float(np.sqrt(about_mean)))


def _l1_of(rows: Rows, sample_weight: np.ndarray, squares: np.ndarray) -> float:
    """Return a share of the length of rows, or of sum x_ij^2 / sum |x_ij|, the size of their
    entries.
    """
    # A feature of one support vector has |v_j| = a_i |x_ij| (equation 10); l1 above that would keep
    # its weight at zero.
    magnitudes, squares = sample_weight @ rows.magnitudes(), sample_weight @ squares
    if not magnitudes > 0:
        return LENGTH_SHARE
    length = np.sqrt(squares / sample_weight.sum(dtype=np.float64))
    return min(LENGTH_SHARE * length, ENTRY_SHARE * squares / magnitudes)


def _l2_of(rows: Rows, sample_weight: np.ndarray, squares: np.ndarray) -> float:
    """Return the penalty suggested by inner products of different rows, all less the mean row."""
    # A support vector moves the score of another row by a_i <x_i, x> / l2, so l2 is measured by the
    # root mean square of <x_i, x_j> over pairs, which is ||x||^2 over the root of the number of
    # directions in which rows differ: rows that hardly know one another need large weights. It
    # stays near ||x||^2, the change of a row's own score.
    weight = sample_weight.astype(np.float64)
    total = weight.sum()
    mean = _weighted_sum(rows, weight) / total
    inner = _scores(rows, mean)
    squares = np.maximum(0, squares - 2 * inner + mean @ mean)
    length = weight @ squares / total
    if not length > 0:
        return 1.0
    # sum_ij c_i c_j <x_i, x_j>^2 over pairs of different rows: all pairs, by E |X^T C X r|^2 of
    # random signs r, less each row with itself. Of a row of weight c, c - 1 copies are other rows,
    # so that a weight means this many rows.
    likeness = -np.minimum(weight, weight**2) @ squares**2
    rng = np.random.default_rng(0)
    bits = np.array([rng.integers(2, size=rows.shape[1], dtype=np.int8) for _ in range(N_PROBES)])
    likeness += _squares_of_products(rows, sample_weight, mean, bits).sum() / N_PROBES
    if not likeness > 0:  # each row is a direction of its own
        return length
    directions = (total * length) ** 2 / likeness
    # Where rows differ in a few directions only, ||x||^2 is the length of the largest of these
    # while others that matter are far smaller; there each has many rows and needs little.
    few = min(1.0, directions / MANY_DIRECTIONS)
    # LIKENESS_SHARE times the root mean square of <x_i, x_j>, length / sqrt(directions).
    return length * few * min(MOST, LIKENESS_SHARE / np.sqrt(directions))


def _squares_of_products(
    rows: Rows, sample_weight: np.ndarray, mean: np.ndarray, bits: np.ndarray
) -> np.ndarray:
    """Return |(X - mean).T @ s|^2, s = sample_weight * ((X - mean) @ r), of each r of `bits`."""
    # Of sparse rows all directions in one pass, since the entries are read from memory.
    if not rows.dense:
        return squares_of_products(rows.indptr, rows.indices, rows.data, sample_weight, mean, bits)
    X, signs = rows.matrix(), np.float32(2) * bits.T - 1
    # one by one: a product of matrices makes BLAS take a large buffer of its own
    center = np.array([mean @ column for column in signs.T], dtype=np.float32)
    scores = sample_weight[:, None] * (X @ signs - center)
    off = X.T @ scores - np.outer(mean, scores.sum(axis=0, dtype=np.float64))
    return np.square(off).sum(axis=0)


def _weighted_sum(rows: Rows, weight: np.ndarray) -> np.ndarray:
    """Return X.T @ weight in float64, for which NumPy would copy all of X."""
    if not rows.dense:
        return weighted_sum(*rows[:3], weight, rows.shape[1])
    X = rows.matrix()
    # Block by block: float32 rows times float64 weights are copied, a block stays in a cache.
    total = np.zeros(rows.shape[1])
    for some, _ in stretches(rows.indptr, IN_CACHE):
        total += weight[some] @ X[some]
    return total


def _scores(rows: Rows, direction: np.ndarray) -> np.ndarray:
    """Return X @ direction in float64, likewise."""
    if not rows.dense:
        return scores_of(*rows[:3], direction)
    X = rows.matrix()
    return np.concatenate([X[some] @ direction for some, _ in stretches(rows.indptr, IN_CACHE)])

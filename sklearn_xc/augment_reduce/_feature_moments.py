"""Size and place of each feature over all rows that a model was given.

From these follow the coordinates in which stochastic steps are free of scale (see `_coordinates`),
whether the rows come at once or in parts.
"""

import numpy as np

from ..utils._coordinates import UNEVEN, Coordinates
from ..utils._csr import stretches
from ..utils._records import is_array, is_not_negative, record

# A row counts as if it were no longer than this many times the median row: none decides alone.
LONGEST = 3.0
# Deviations below this share of a column's size are errors of rounding: the column is constant.
LEAST_DEVIATION = 1e-6
SUMS = is_array(np.float64, least=0)
ROWS_AT_ONCE = 2**22  # entries of dense rows that are held in float64


@record(
    n_entries=SUMS, weight=SUMS, first=is_array(np.float64), second=SUMS,
    n_rows=is_not_negative, weight_of_rows=is_not_negative,
)  # fmt: skip
class FeatureMoments:
    """Sums over the rows of all calls, without those of weight zero.

    Attributes
    ----------
    n_entries : ndarray of float64 (n_features,)
        Rows that have the feature.
    weight, first, second : ndarray of float64 (n_features,)
        Their sample weights, and the weighted sums of the feature's values and of its squares.
    n_rows, weight_of_rows : float
        Of all rows.
    """

    def __init__(self, n_features):
        self.n_entries, self.weight, self.first, self.second = np.zeros((4, n_features))
        self.n_rows = self.weight_of_rows = 0.0

    def _check_record(self):
        if len({len(part) for part in (self.n_entries, self.weight, self.first, self.second)}) > 1:
            raise ValueError("the sums of FeatureMoments are of different features")

    def with_rows(self, rows, sample_weight=None):
        """A record with the rows of another call; this one stays as it is.

        Parameters
        ----------
        rows : Rows
        sample_weight : ndarray of float (n_samples,), or None
        """
        weight = np.ones(rows.shape[0]) if sample_weight is None else sample_weight.astype(float)
        new = FeatureMoments(len(self.first))
        new.n_rows = self.n_rows + np.count_nonzero(weight)
        new.weight_of_rows = self.weight_of_rows + weight.sum()
        sums = _dense_sums if rows.dense else _sparse_sums
        found = sums(rows, weight)
        names = "n_entries", "weight", "first", "second"
        for name, more in zip(names, found, strict=True):
            setattr(new, name, getattr(self, name) + more)
        return new

    def coordinates(self, dense):
        """Those in which columns are of size 1 about, and `dense` ones have no common part.

        A dense column without zeros is shifted to its mean. The size of such a column is its
        deviation, that of another the root mean square of its entries: with zeros left where they
        are, dense and sparse rows are treated alike. All columns are divided by their mean size,
        for their differences may say which of them matter (as with words, or with the columns of a
        singular value decomposition). Where they are so large that they cannot, each is divided by
        its own.
        """
        total = max(self.weight_of_rows, np.finfo(float).tiny)
        size = np.sqrt(self.second / np.where(self.weight > 0, self.weight, 1))
        mean, varies = np.zeros(len(size)), (self.weight > 0) & ~(dense & self._constant())
        if dense:
            common = ~varies | (self.n_entries == self.n_rows)
            mean[common] = self.first[common] / total
            size = np.where(common & varies, self._deviation(), size)
        size[size == 0] = 1
        if not varies.any():
            return Coordinates(mean if mean.any() else None, np.ones(len(size)))
        if size[varies].max() > UNEVEN * np.median(size[varies]):
            scale = np.where(varies, size, 1)
        else:
            scale = np.full(len(size), np.average(size[varies], weights=self.weight[varies]))
        return Coordinates(mean if mean.any() else None, scale)

    @property
    def entries_of_row(self):
        """Entries of a row on average."""
        return float(self.weight.sum() / self.weight_of_rows) if self.weight_of_rows else 0.0

    def entries_of_feature(self, n_rows):
        """Rows that have each feature, out of `n_rows` rows like those seen."""
        return self.n_entries * (n_rows / max(self.n_rows, 1))

    def _deviation(self):
        total = max(self.weight_of_rows, np.finfo(float).tiny)
        return np.sqrt(np.maximum(self.second / total - (self.first / total) ** 2, 0))

    def _constant(self):
        size = np.sqrt(self.second / max(self.weight_of_rows, np.finfo(float).tiny))
        return (self._deviation() <= LEAST_DEVIATION * size) & (size > 0)


def _sparse_sums(rows, weight):
    n_samples, n_features = rows.shape
    n_entries, magnitude = np.zeros((2, n_features))
    for _, features, values, of_row in _pieces(rows):
        counted = (values != 0) & of_row(weight > 0)
        n_entries += np.bincount(features, counted, n_features)
        magnitude += np.bincount(features, counted * np.abs(values), n_features)
    typical = magnitude / np.maximum(n_entries, 1)
    typical[typical == 0] = 1
    squares = np.zeros(n_samples)
    for some, features, values, _ in _pieces(rows):
        sums = np.append(0, np.cumsum((values / typical[features]) ** 2))
        ends = rows.indptr[some.start : some.stop + 1] - rows.indptr[some.start]
        squares[some] = np.diff(sums[ends])
    factors, sums = _factors(squares, weight), np.zeros((3, n_features))
    for _, features, values, of_row in _pieces(rows):
        of_entry = (values != 0) * of_row(weight)
        values *= of_row(factors)
        for power in range(3):
            sums[power] += np.bincount(features, of_entry, n_features)
            of_entry *= values
    return n_entries, *sums


def _pieces(rows):
    """Stretches of sparse rows: which rows, their features and values, and what is per row."""
    for some, entries in stretches(rows.indptr, 4):
        lengths = np.diff(rows.indptr[some.start : some.stop + 1])

        def of_row(what, some=some, lengths=lengths):
            return np.repeat(what[some], lengths)

        yield some, rows.indices[entries], rows.data[entries].astype(np.float64), of_row


def _dense_sums(rows, weight):
    X = rows.data.reshape(rows.shape)
    size = max(1, ROWS_AT_ONCE // max(1, X.shape[1]))
    parts = [slice(start, start + size) for start in range(0, len(X), size)]
    n_entries, magnitude = np.zeros((2, X.shape[1]))
    for part in parts:
        counted = (X[part] != 0) & (weight[part] > 0)[:, None]
        n_entries += counted.sum(axis=0)
        magnitude += np.abs(X[part], dtype=np.float64).sum(axis=0, where=counted)
    typical = magnitude / np.maximum(n_entries, 1)
    typical[typical == 0] = 1
    lengths = [np.einsum("ij,ij->i", part, part) for part in (X[p] / typical for p in parts)]
    factors = _factors(np.concatenate(lengths) if lengths else np.zeros(0), weight)
    sums = np.zeros((3, X.shape[1]))
    for part in parts:
        values = X[part] * factors[part][:, None]
        sums[0] += weight[part] @ (X[part] != 0)
        sums[1] += weight[part] @ values
        sums[2] += weight[part] @ (values * values)
    return n_entries, *sums


def _factors(squares, weight):
    """Factors that shorten rows of these squared lengths to LONGEST times the median length."""
    usual = squares[(squares > 0) & (weight > 0)]
    if not usual.size:
        return np.ones(len(squares))
    limit = LONGEST**2 * np.median(usual)
    return np.sqrt(limit / np.maximum(squares, limit))

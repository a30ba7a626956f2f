"""The rows of X as they travel from `fit` to the kernels, and what is computed of them."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy import sparse

from .._kernels.common import _sparse_rows as kernel
from ._column_map import ColumnMap
from ._coordinates import UNEVEN, Coordinates
from ._csr import IN_CACHE, even_stretches, narrow_pointers, stretches
from ._far_rows import FAR, factors, nearer, shortening
from ._parallel import in_threads
from ._random import mixed
from ._transposed import Columns, Csr, transposed
from ._typing import Empty, Matrix

# Largest share of entries that are not zero, up to which dense rows are taken as sparse ones.
MOST_ENTRIES = 1 / 3
ALREADY = 1e-3  # typical rows whose length differs less from 1 are taken as they are
FULL = 0.25  # least share of entries that are not zero, from which on dense rows are centred
HASHED_AT_ONCE, SUMMED_AT_ONCE = 2**20, 2**22  # entries


class Rows(NamedTuple):
    """The rows of a matrix, sparse or dense, as three arrays; never changed.

    Row ``i`` has the entries ``e = indptr[i], ..., indptr[i + 1] - 1`` with the values ``data[e]``.
    Their features are ``indices[e]`` in a sparse matrix. In a dense one all rows share the same
    features, and the first entry of each row belongs to ``indices[0]``.

    `utils/_matrix.py` makes them of X. What a fit computes of them is a method here, so that only
    these arrays go from file to file. Where a method takes ``empty``, that makes its large arrays,
    as :func:`numpy.empty`; ``sample_weight`` is an array (n_samples,), or None for weights of 1.

    Attributes
    ----------
    indptr : ndarray of int64, shape (n_samples + 1,)
    indices : ndarray of int32, shape (nnz,), or (n_features,) when dense
    data : ndarray of float32, shape (nnz,), or (n_samples * n_features,) when dense
    dense : bool
    shape : tuple (n_samples, n_features)
    names : ndarray of int32 (n_features,), or None
        Where these are some columns of X: which.
    """

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    dense: bool
    shape: tuple
    names: np.ndarray | None = None

    # ------------------------------------------------------------------------ in another form

    def matrix(self) -> Matrix:
        """Return the matrix, ndarray or csr_array, whose rows these are; shares the values."""
        # A :meth:`block` holds the entries of all rows: its own begin at indptr[0].
        first, last = self.indptr[0], self.indptr[-1]
        data = self.data[first:last]
        if self.dense:
            return data.reshape(self.shape)
        indptr = narrow_pointers(self.indptr if first == 0 else self.indptr - first)
        return sparse.csr_array((data, self.indices[first:last], indptr), shape=self.shape)

    def block(self, start: int, stop: int) -> "Rows":
        """Return the rows ``start`` to ``stop - 1``; shares all arrays."""
        return self._replace(
            indptr=self.indptr[start : stop + 1], shape=(stop - start, self.shape[1])
        )

    def take(self, samples: np.ndarray | list[int]) -> "Rows":
        """Return the rows with these numbers, or where an array of bool is true; copies them."""
        some = self.matrix()[samples]
        return (_of_dense(some) if self.dense else _of_csr(some))._replace(names=self.names)

    def counted(self, sample_weight: np.ndarray | None) -> tuple["Rows", np.ndarray]:
        """Return rows of weight above zero, and their weights in float64; shared if all are."""
        weight = np.ones(self.shape[0])
        if sample_weight is not None:
            weight = np.asarray(sample_weight, np.float64)
        there = weight > 0
        return (self, weight) if there.all() else (self.take(there), weight[there])

    def as_sparse(self) -> "Rows":
        """Return the same rows, sparse."""
        if not self.dense:
            return self
        return _of_csr(sparse.csr_array(self.matrix()))._replace(names=self.names)

    def as_dense(self) -> "Rows":
        """Return the same rows, dense."""
        if self.dense:
            return self
        return _of_dense(self.matrix().toarray())._replace(names=self.names)

    def compact(self) -> "Rows":
        """Return dense rows that are mostly zeros as sparse ones, others as they are."""
        # A kernel multiplies sixteen weights by each entry of a dense row, zero or not, and cannot
        # walk columns or order rows and features. With a third of the entries sparse rows take a
        # third of the operations, and with their copies (in another order, by columns) about twice
        # the memory.
        if not self.dense or np.count_nonzero(self.data) > MOST_ENTRIES * self.data.size:
            return self
        return self.as_sparse()

    def reordered(
        self, samples: np.ndarray, features: np.ndarray, empty: Empty = np.empty, n_threads: int = 1
    ) -> "Rows":
        """Return rows `samples` in their order, and if they are sparse columns by `features`."""
        if self.dense:
            return self if len(samples) == self.shape[0] else self.take(samples)
        # the inverse permutation: kernels read an old number and write a new one
        position = np.empty_like(features)
        position[features] = np.arange(len(position), dtype=position.dtype)
        lengths = np.diff(self.indptr)[samples]
        indptr = np.append(0, np.cumsum(lengths, dtype=np.int64))
        indices, data = empty(indptr[-1], np.int32), empty(indptr[-1], np.float32)

        # threads write disjoint slices, whose bounds `indptr` says
        def reorder(some: slice) -> None:
            of_some = samples[some], position, indptr[some.start : some.stop + 1]
            kernel.reorder(*self[:3], *of_some, indices, data)

        parts = even_stretches(indptr, n_threads)
        list(in_threads(reorder, parts, n_threads=len(parts)))
        return Rows(indptr, indices, data, False, (len(samples), self.shape[1]))

    def narrowed(self, columns: ColumnMap | None, empty: Empty = np.empty) -> "Rows":
        """Return rows, or a block, with the columns of a `ColumnMap` only; None for all columns."""
        if columns is None:
            return self
        shape = self.shape[0], len(columns)
        if self.dense:
            X = self.data[self.indptr[0] : self.indptr[-1]].reshape(self.shape)
            some = _of_dense(np.ascontiguousarray(X[:, columns.columns]))
            return some._replace(names=columns.columns)
        # too many columns for a bit each: by bisection
        if columns.words is None:
            entries = slice(self.indptr[0], self.indptr[-1])
            places, there = columns.find(self.indices[entries])
            indptr = np.append(np.int64(0), np.cumsum(there))[self.indptr - self.indptr[0]]
            data = self.data[entries][there]
            return Rows(indptr, places[there], data, False, shape, columns.columns)
        # as large as all entries, of which a kernel fills the beginning: counting them first would
        # take a pass over them
        n_entries, indptr = int(self.indptr[-1] - self.indptr[0]), np.empty_like(self.indptr)
        indices, data = empty(n_entries, np.int32), empty(n_entries, np.float32)
        kernel.narrow(*self[:3], columns.words, columns.before, indptr, indices, data)
        indices, data = indices[: indptr[-1]], data[: indptr[-1]]
        return Rows(indptr, indices, data, False, shape, columns.columns)

    def features(self) -> np.ndarray:
        """Return the numbers of features that have entries; some more than once."""
        if self.dense:
            return np.flatnonzero((self.matrix() != 0).any(axis=0))
        return self.indices

    def above(self, threshold: float, empty: Empty = np.empty) -> "Rows":
        """Return the rows without their entries of magnitude up to `threshold`, always sparse."""
        if self.dense:
            X = self.matrix()
            return _of_csr(sparse.csr_array(np.where(np.abs(X) > threshold, X, np.float32(0))))
        # two passes, the first of which counts, so that no array is larger than the result
        counts = np.zeros(self.shape[0] + 1, dtype=np.int64)
        for some, entries in stretches(self.indptr):
            above = np.append(0, np.cumsum(np.abs(self.data[entries]) > np.float32(threshold)))
            ends = self.indptr[some.start : some.stop + 1] - self.indptr[some.start]
            counts[some.start + 1 : some.stop + 1] = np.diff(above[ends])
        indptr = np.cumsum(counts)
        indices, data = empty(indptr[-1], np.int32), empty(indptr[-1], np.float32)
        for some, entries in stretches(self.indptr):
            keep = np.abs(self.data[entries]) > threshold
            kept = slice(indptr[some.start], indptr[some.stop])
            indices[kept], data[kept] = self.indices[entries][keep], self.data[entries][keep]
        return self._replace(indptr=indptr, indices=indices, data=data)

    def columns(self, empty: Empty = np.empty, n_threads: int = 1) -> Columns:
        """Return entries of sparse rows column by column, as `Columns`, in little memory beside it.

        Not of a :meth:`block`. More than one thread is for arrays in memory.
        """
        return transposed(Csr(*self[:3]), self.shape[1], empty, n_threads)

    def inside(self, coordinates: Coordinates, empty: Empty = np.empty) -> "Rows":
        """Return the rows in these `Coordinates`; themselves where nothing changes."""
        if coordinates.changes_nothing:
            return self
        scale = coordinates.scale
        if not self.dense:
            data = empty(self.indptr[-1], np.float32)
            for _, entries in stretches(self.indptr):
                of_entries = scale if np.ndim(scale) == 0 else scale[self.indices[entries]]
                data[entries] = self.data[entries] / of_entries
            return self._replace(data=data)
        X = self.matrix()
        shifted = X if coordinates.mean is None else X - coordinates.mean
        return self._replace(data=np.ascontiguousarray(shifted / scale, dtype=np.float32).ravel())

    def shortened(
        self, sample_weight: np.ndarray | None = None, typical: float | None = None
    ) -> "Rows":
        """Return the rows, none longer than `_far_rows.FAR` typical ones; themselves where none is.

        `typical` is the length of earlier calls, by default the weighted median.
        """
        # A step moves the scores of a softmax by the square of a row's length: one corrupt row
        # would throw off the scores of all others, and the mean and the size of every column.
        if typical is None:
            typical = self.typical_length(sample_weight)
        of_row = shortening(np.sqrt(self.squared_norms()), typical)
        if of_row.min(initial=1) == 1:
            return self
        if self.dense:
            weight = np.ones(self.shape[0]) if sample_weight is None else sample_weight
            return self._replace(data=nearer(self.matrix(), of_row < 1, weight, typical).ravel())
        of_entry = np.repeat(of_row, np.diff(self.indptr))
        return self._replace(data=(self.data * of_entry).astype(np.float32))

    # ------------------------------------------------------------------------ a number a row

    def squared_norms(self) -> np.ndarray:
        """Return ||x||^2 of each row, float64 (n_samples,)."""
        return self._sums(squares=True)

    def magnitudes(self) -> np.ndarray:
        """Return sum_j |x_ij| of each row i, float64 (n_samples,)."""
        return self._sums(squares=False)

    def _sums(self, squares: bool) -> np.ndarray:
        """Return sums of squares, or of magnitudes, of the entries of each row."""
        sums = np.empty(self.shape[0])
        kernel.sums_of_rows(self.indptr, self.data, squares, sums)
        return sums

    def hashes(self) -> np.ndarray:
        """Return 64 bits for each row, the same for equal rows, sparse or dense."""
        # The hash of a row is that of the sum, modulo 2^64, of a hash of each (feature, value). A
        # sum does not depend on the order of entries, and zeros add nothing, stored or not.
        n_samples = self.shape[0]
        hashes = np.zeros(n_samples, dtype=np.uint64)
        lengths, ends, start = np.diff(self.indptr), self.indptr[1:], 0
        while start < n_samples:
            most = self.indptr[start] + HASHED_AT_ONCE
            stop = max(start + 1, int(np.searchsorted(ends, most, side="right")))
            part = slice(self.indptr[start], self.indptr[stop])
            values = self.data[part]
            features = np.tile(self.indices, stop - start) if self.dense else self.indices[part]
            features = features if self.names is None else self.names[features]
            entries = mixed(features.astype(np.uint64) << np.uint64(32) | values.view(np.uint32))
            entries[values == 0] = 0
            # differences of prefix sums, exact since all is modulo 2**64
            sums = np.append(np.uint64(0), np.cumsum(entries))
            bounds = np.append(0, np.cumsum(lengths[start:stop]))
            hashes[start:stop] = sums[bounds[1:]] - sums[bounds[:-1]]
            start = stop
        return mixed(hashes)

    # --------------------------------------------------------------------- a number a feature

    def entry_counts(self, sample_weight: np.ndarray | None = None) -> np.ndarray:
        """Return how many samples of weight above zero have each feature, int64 (n_features,)."""
        counted = np.ones(self.shape[0], bool) if sample_weight is None else sample_weight > 0
        if self.dense:
            return np.count_nonzero(self.matrix()[counted], axis=0)
        counts = np.zeros(self.shape[1], dtype=np.int64)
        kernel.count_entries(*self[:3], counted.view(np.uint8), counts)
        return counts

    def weighted_norms(self, sample_weight: np.ndarray) -> np.ndarray:
        """Return sqrt(sum_i sample_weight_i x_ij^2) of each feature j, float32 (n_features,)."""
        if self.dense:
            X = self.matrix()
            squares = np.einsum("ij,ij,i->j", X, X, sample_weight, dtype=np.float64)
        else:
            squares = np.zeros(self.shape[1])
            kernel.add_squares(*self[:3], np.float32(sample_weight), squares)
        with np.errstate(over="ignore"):
            return np.sqrt(squares).astype(np.float32)

    def extremes(self) -> tuple[np.ndarray, np.ndarray]:
        """Return max(0, max_i x_ij) and min(0, min_i x_ij) of each feature j, two float32
        arrays.
        """
        if self.dense:
            X = self.matrix()
            return X.max(axis=0, initial=0), X.min(axis=0, initial=0)
        highest, lowest = np.zeros((2, self.shape[1]), dtype=np.float32)
        kernel.extend_extremes(*self[:3], highest, lowest)
        return highest, lowest

    def column_moments(
        self, weight: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the total weight of dense rows, and for each column the weighted mean, the sum of
        squared deviations from it, the smallest and the largest value.
        """
        # Two passes, as E[x^2] - mean^2 would cancel; in parts, so that little is in float64.
        X, total = self.matrix(), weight.sum()
        size = max(1, HASHED_AT_ONCE // max(1, X.shape[1]))
        parts = [slice(start, start + size) for start in range(0, len(X), size)]
        mean = sum(weight[part] @ X[part] for part in parts) / total
        squares = sum(weight[part] @ np.square(X[part] - mean) for part in parts)
        return total, mean, squares, X.min(axis=0).astype(float), X.max(axis=0).astype(float)

    def feature_sums(
        self, weight: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return how many rows have each feature, their weights, and weighted sums of its values
        and of their squares, each in float64 (n_features,).

        Rows of weight zero do not count, and none as longer than `_far_rows.LONGEST` median ones.
        """
        return self._dense_sums(weight) if self.dense else self._sparse_sums(weight)

    def _sparse_sums(
        self, weight: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return `feature_sums` of sparse rows, in three passes over slices of them."""
        n_samples, n_features = self.shape
        n_entries, magnitude = np.zeros((2, n_features))
        for _, features, values, of_row in self._pieces():
            counted = (values != 0) & of_row(weight > 0)
            n_entries += np.bincount(features, counted, n_features)
            magnitude += np.bincount(features, counted * np.abs(values), n_features)
        typical = magnitude / np.maximum(n_entries, 1)
        typical[typical == 0] = 1
        # Lengths are measured in typical values, so that no column decides which rows are far.
        squares = np.zeros(n_samples)
        for some, features, values, _ in self._pieces():
            sums = np.append(0, np.cumsum((values / typical[features]) ** 2))
            ends = self.indptr[some.start : some.stop + 1] - self.indptr[some.start]
            squares[some] = np.diff(sums[ends])
        shorter, sums = factors(squares, weight), np.zeros((3, n_features))
        for _, features, values, of_row in self._pieces():
            of_entry = (values != 0) * of_row(weight)
            values *= of_row(shorter)
            # weight x^0, x^1 and x^2, each from the one before
            for power in range(3):
                sums[power] += np.bincount(features, of_entry, n_features)
                of_entry *= values
        return n_entries, *sums

    def _pieces(
        self,
    ) -> Iterator[tuple[slice, np.ndarray, np.ndarray, Callable[[np.ndarray], np.ndarray]]]:
        """Yield slices of sparse rows: which rows, features and values, and what is per row."""
        for some, entries in stretches(self.indptr, 4):
            lengths = np.diff(self.indptr[some.start : some.stop + 1])

            def of_row(
                what: np.ndarray, some: slice = some, lengths: np.ndarray = lengths
            ) -> np.ndarray:
                return np.repeat(what[some], lengths)

            yield some, self.indices[entries], self.data[entries].astype(np.float64), of_row

    def _dense_sums(
        self, weight: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return `feature_sums` of dense rows, step by step as of sparse ones."""
        X = self.matrix()
        size = max(1, SUMMED_AT_ONCE // max(1, X.shape[1]))
        parts = [slice(start, start + size) for start in range(0, len(X), size)]
        n_entries, magnitude = np.zeros((2, X.shape[1]))
        for part in parts:
            counted = (X[part] != 0) & (weight[part] > 0)[:, None]
            n_entries += counted.sum(axis=0)
            magnitude += np.abs(X[part], dtype=np.float64).sum(axis=0, where=counted)
        typical = magnitude / np.maximum(n_entries, 1)
        typical[typical == 0] = 1
        lengths = [np.einsum("ij,ij->i", part, part) for part in (X[p] / typical for p in parts)]
        shorter = factors(np.concatenate(lengths) if lengths else np.zeros(0), weight)
        sums = np.zeros((3, X.shape[1]))
        for part in parts:
            values = X[part] * shorter[part][:, None]
            sums[0] += weight[part] @ (X[part] != 0)
            sums[1] += weight[part] @ values
            sums[2] += weight[part] @ (values * values)
        return n_entries, *sums

    # ---------------------------------------------------------------- coordinates that suit them

    def coordinates(self, sample_weight: np.ndarray | None = None) -> Coordinates:
        """Return `Coordinates` that suit the rows, each as often as its weight says."""
        rows, weight = self.counted(sample_weight)
        # Dense columns in very different units are brought to one size. With deviation 1 in each of
        # them, rows would have the mean squared length n_varying: hence the factor.
        if rows.dense and (columns := rows._uneven_columns(weight)) is not None:
            mean, deviation, n_varying = columns
            return Coordinates(mean, deviation * np.sqrt(n_varying))
        return rows.coordinates_of_length(weight)

    def coordinates_of_length(self, sample_weight: np.ndarray | None = None) -> Coordinates:
        """Return `Coordinates` in which the median row has length 1, with nothing else changed."""
        length = self.typical_length(sample_weight)
        return Coordinates(scale=1.0 if abs(length - 1) < ALREADY else length)

    def coordinates_for_steps(
        self,
        sample_weight: np.ndarray | None = None,
        columns: bool = True,
        fit_intercept: bool = True,
    ) -> Coordinates:
        """Return `Coordinates` of a fit by steps of one rate for all weights.

        `columns` says whether each column may get a scale of its own.
        """
        # Dense rows, unless they are mostly zeros, are taken from their mean, which intercepts
        # without penalty take up: what all rows share would make most of their length, and of the
        # steps.
        if not self.dense:
            return self._coordinates_of_entries(sample_weight, columns)
        if not fit_intercept:
            return self.coordinates_of_length(sample_weight)
        rows = self if sample_weight is None else self.take(sample_weight > 0)
        found = rows.coordinates()
        if columns and np.ndim(found.scale):
            return found
        if np.count_nonzero(rows.data) < FULL * rows.data.size:
            return rows.coordinates_of_length()
        squares = rows.squared_norms()
        near = squares <= FAR**2 * np.median(squares)  # a far row could move the mean
        mean = rows.matrix()[near].mean(axis=0, dtype=np.float64)
        return Coordinates(mean, rows.inside(Coordinates(mean)).coordinates_of_length().scale)

    def _coordinates_of_entries(
        self, sample_weight: np.ndarray | None, columns: bool
    ) -> Coordinates:
        """Return `coordinates_for_steps` of sparse rows."""
        if columns:
            weight = np.ones(self.shape[0]) if sample_weight is None else sample_weight
            n_entries, _, _, squares = self.feature_sums(np.sign(weight, dtype=np.float64))
            size, some = np.ones(self.shape[1]), squares > 0
            size[some] = np.sqrt(squares[some] / n_entries[some])
            # Columns in very different units, and words that fill most of all rows: each has a
            # scale of its own, or steps would learn the largest alone.
            if some.any() and size[some].max() > UNEVEN * np.median(size[some]):
                even = self.inside(Coordinates(scale=size))
                return Coordinates(scale=size * even.coordinates_of_length(sample_weight).scale)
        return self.coordinates_of_length(sample_weight)

    def typical_length(self, sample_weight: np.ndarray | None = None) -> float:
        """Return the weighted median length of the rows that are not zero; 1 if all are."""
        rows, weight = self.counted(sample_weight)
        squares = rows.squared_norms()
        order = np.argsort(squares, kind="stable")
        order = order[squares[order] > 0]
        if not order.size:
            return 1.0
        below = np.cumsum(weight[order])
        # Where the half of the weight falls between two rows, the mean of both: as of equal weights
        # the median of an even number.
        middle = [np.searchsorted(below, below[-1] / 2, side) for side in ("left", "right")]
        return float(np.sqrt(squares[order[np.minimum(middle, len(order) - 1)]].mean()))

    def _uneven_columns(self, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, int] | None:
        """Return mean and deviation of columns of very uneven size, and how many vary; or None."""
        X = self.matrix()
        if not X.shape[0]:
            return None
        share = weight / weight.sum()
        parts = [part for part, _ in stretches(self.indptr, IN_CACHE)]
        mean = sum(share[part] @ X[part] for part in parts)
        varies = n_varying = X.max(axis=0) > X.min(axis=0)
        spread = sum(share[part] @ np.square(X[part] - mean) for part in parts)
        deviation = np.where(varies, np.sqrt(spread), 0)
        varies = varies & (deviation > 0)
        if not varies.any():
            return None
        # E[x^2] = variance + mean^2: a column far from zero is uneven too
        size = np.sqrt(spread + mean**2)
        if size[varies].max() <= UNEVEN * np.median(deviation[varies]):
            return None
        # a column that does not vary is zero inside, to the last bit
        found = np.where(varies, mean, X[0]), np.where(varies, deviation, 1.0)
        return *found, int(np.count_nonzero(n_varying))


def _of_csr(csr: sparse.csr_array) -> Rows:
    """Return `Rows` of CSR; shares its arrays where they have the right integers."""
    return Rows(
        csr.indptr.astype(np.int64, copy=False),
        csr.indices.astype(np.int32, copy=False),
        csr.data,
        False,
        csr.shape,
    )


def _of_dense(values: np.ndarray) -> Rows:
    """Return `Rows` of a C-contiguous array of float32, whose values they share."""
    n_samples, n_features = values.shape
    return Rows(
        np.arange(n_samples + 1, dtype=np.int64) * n_features,
        np.arange(n_features, dtype=np.int32),
        values.ravel(),
        True,
        values.shape,
    )

"""Blocked top-k prediction of linear models with sparse weights."""

from collections.abc import Callable, Iterator
from copy import copy
from functools import cached_property
from types import ModuleType
from typing import Any, Self

import numpy as np
from scipy import sparse

from .._kernels.topk import _dense_rows as dense_rows
from .._kernels.topk import _inverted_index as kernel
from .._kernels.topk._inverted_index import count_lists, fill_lists
from ..utils._column_map import ColumnMap, used_columns
from ..utils._csr import even_stretches
from ..utils._matrix import narrow_indices, normalise
from ..utils._parallel import in_threads
from ..utils._rows import Rows
from ..utils._typing import Matrix
from ._candidates import candidate_scores
from ._feature_major import CACHE_LINE, aligned_zeros, feature_major, n_places, padded_intercept
from ._layout import Layout, ranks_of

# Rows handed to the kernel at once: between two blocks Python can take an interrupt.
ROW_BLOCK = 4096
# Dense rows with a smaller share of numbers that are not zero are scored one by one, which leaves
# zeros out; together they take as long with two fifths of 5,000 classes, and a tenth of 300.
LEAST_DENSE = 1 / 3
# Scores that a thread holds of dense rows at once.
MOST_SCRATCH = 1 << 21
# Classes whose numbers in the lists take two bytes each: prediction waits for lists to be read.
MOST_NARROW = 1 << 16


def class_dtype(n_classes: int) -> type[np.integer]:
    """Return the type that holds the number of a class in a list."""
    return np.uint16 if n_classes <= MOST_NARROW else np.int32


class InvertedIndex:
    """The weights of a linear model feature by feature: the classes that use it, and how much.

    Scoring a row then walks the lists of its non-zero features only. In it classes stand by their
    ranks, those with many weights first (see `_layout`); arguments and results have their numbers.
    Never changes after it is built, so that several threads may use it at once.

    Parameters
    ----------
    coef : CSR or ndarray of shape (n_classes, n_features)
        Weights. Other sparse matrices are converted; dense float32 weights that lie feature by
        feature are read where they are, others copied.
    intercept : ndarray of shape (n_classes,)
    zeros : callable, default=None
        Makes the large arrays of sparse weights, as :func:`numpy.zeros`; by default in memory.
    layout : Layout, default=None
        That of sparse weights; by default the one that suits them. Sums are the same to the last
        bit only where it is.
    n_threads : int, default=1
        That put sparse weights into lists.
    columns : ColumnMap, default=None
        With `layout`: the features that it is of, in the place of all.

    Attributes
    ----------
    columns : ColumnMap, or None
        The features that have weights, where they are few of very many: everything else is then of
        these alone, and shapes below have their number for n_features.
    order : ndarray of int32 (n_classes,), or None
        The classes, rank by rank; None where ranks are their numbers, as of dense weights.
    indptr : ndarray of int64, shape (n_features + 1,)
        Feature j has the list of entries ``indptr[j]`` to ``indptr[j + 1] - 1``.
    classes : ndarray of uint16 or, of more than 65,536 classes, int32, shape (n_entries,)
        By rank, ascending in each list.
    weights : ndarray of float32, shape (n_entries,)
    full_stop : ndarray of int32, shape (n_features,)
        For how many classes, from rank 0 on, the weights of a feature are stored in
        ``full_weights``; its list has others only.
    full_start : ndarray of int64, shape (n_features,)
        Where these begin there.
    full_weights : ndarray of float32
        Of sparse weights 1-D, of dense ones all, (n_features, n_classes or more).
    n_stored : int
        How many of its numbers a feature has that is stored for all classes.
    intercept : ndarray of float32, shape (n_places,)
        By rank; minus infinity beyond the classes.
    by_intercept : ndarray of int32, shape (n_classes,)
        The ranks by falling intercept, ties to the smaller class.
    shape : tuple (n_classes, n_features)
    """

    rows_at_once = ROW_BLOCK
    columns = None

    def __init__(
        self,
        coef: Matrix,
        intercept: np.ndarray,
        zeros: Callable[..., np.ndarray] | None = None,
        layout: Layout | None = None,
        n_threads: int = 1,
        columns: ColumnMap | None = None,
    ) -> None:
        if np.shape(intercept) != (coef.shape[0],):
            raise ValueError(
                f"intercept_ must have one entry for each of the {coef.shape[0]} rows of coef_, "
                f"got shape {np.shape(intercept)}"
            )
        self.shape = coef.shape
        if sparse.issparse(coef):
            coef = normalise(coef, "coef_")
            if layout is None and (used := used_columns(coef.indices, coef.shape[1])) is not None:
                columns = ColumnMap(used, coef.shape[1])
            if columns is not None:
                self.columns, coef = columns, columns.narrow_csr(coef)
            layout = Layout.of(coef) if layout is None else layout
            self._set_lists(coef, zeros, layout, n_threads)
        else:
            self._set_full(np.asarray(coef))
        self._set_intercept(self._by_rank(np.asarray(intercept)))
        self._set_postings()

    @classmethod
    def from_arrays(cls, shape: tuple[int, int], **arrays: Any) -> Self:
        """Return an index of arrays that another one had as its attributes, and that were
        checked.
        """
        index = cls.__new__(cls)
        index.shape = shape
        vars(index).update(arrays)
        index._set_postings()
        return index

    @classmethod
    def of_columns(cls, weights: np.ndarray, intercept: np.ndarray, columns: ColumnMap) -> Self:
        """Return the index of weights that all classes have of the same few columns.

        `weights` are as `feature_major` returns them, and kept.
        """
        n_classes, (n_columns, n_stored) = len(intercept), weights.shape
        index = cls.__new__(cls)
        index.shape, index.columns = (n_classes, columns.n_columns), columns
        vars(index).update(all_stored(weights, (n_classes, n_columns)), n_stored=n_stored)
        index.full_weights = weights.reshape(-1)
        index.indptr = np.zeros(n_columns + 1, dtype=np.int64)
        index.classes = np.empty(0, class_dtype(n_classes))
        index.weights = np.empty(0, np.float32)
        index._set_intercept(intercept)
        index._set_postings()
        return index

    def _by_rank(self, values: np.ndarray) -> np.ndarray:
        """Return values of classes in the order of ranks."""
        return values if self.order is None else values[self.order]

    @cached_property
    def _rank_of(self) -> np.ndarray | None:
        """The rank of each class; None where these are their numbers."""
        return None if self.order is None else ranks_of(self.order)

    def ranks(self, places: np.ndarray) -> np.ndarray:
        """Return the ranks of classes."""
        return places if self.order is None else self._rank_of[places]

    @cached_property
    def _lowest(self) -> np.ndarray | None:
        """The smallest class of each block, which decides whether ties have to be looked at."""
        if self.order is None:
            return None
        return np.minimum.reduceat(self.order, np.arange(0, len(self.order), n_places(1)))

    def _set_intercept(self, intercept: np.ndarray) -> None:
        """Set the intercept of each rank."""
        self.intercept = padded_intercept(intercept)
        falling = -self.intercept[: len(intercept)]
        if self.order is None:
            places = np.argsort(falling, kind="stable")
        else:
            places = np.lexsort((self.order, falling))
        self.by_intercept = places.astype(np.int32)

    def stored(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the weights that are stored for the first classes, as kernels take them."""
        return self.full_stop, self.full_start, np.atleast_2d(self.full_weights)

    def _set_postings(self) -> None:
        """Give kernels their view of the arrays."""
        self._postings = kernel.Postings(
            self.indptr,
            self.classes,
            self.weights,
            *self.stored(),
            self.n_stored,
            self.intercept,
            self.by_intercept,
            self.order,
            self._lowest,
        )

    def _set_lists(
        self,
        csr: sparse.csr_array,
        zeros: Callable[..., np.ndarray] | None,
        layout: Layout,
        n_threads: int,
    ) -> None:
        """Put sparse weights into lists, and where those of the first classes are stored."""
        n_classes, n_features = csr.shape
        self.order, self.full_stop = layout.order, layout.stops
        # Each thread has classes of about as many weights, counts what it puts into each list, and
        # then knows where: behind what threads with smaller ranks put there.
        order = np.arange(n_classes) if self.order is None else self.order.astype(np.int64)
        indptr = csr.indptr.astype(np.int64)
        starts = np.append(0, np.cumsum(np.diff(indptr)[order]))  # of each rank
        # A part costs counts of all features, and has to have far more weights.
        n_parts = min(n_threads, len(csr.indices) // (4 * n_features + 1))
        parts = even_stretches(starts, n_parts)
        lengths = np.zeros((len(parts), n_features), dtype=np.int64)

        def count(number: int) -> None:
            some = parts[number]
            of_some = order[some], some.start, self.full_stop
            count_lists(indptr, csr.indices, *of_some, lengths[number])

        list(in_threads(count, range(len(parts)), n_threads=len(parts)))
        self.indptr = np.append(0, np.cumsum(lengths.sum(axis=0)))
        self.full_start, size = layout.starts()
        self.full_weights = aligned_zeros((size,)) if zeros is None else zeros((size,), np.float32)
        self.n_stored = n_places(n_classes)
        empty = np.empty if zeros is None else zeros
        self.classes = empty(self.indptr[-1], class_dtype(n_classes))
        self.weights = empty(self.indptr[-1], np.float32)
        # Where each part goes on in each list; lists are the same for any number of threads.
        free = self.indptr[:-1] + np.cumsum(lengths, axis=0) - lengths

        def fill(number: int) -> None:
            some = parts[number]
            of_some = order[some], some.start, self.full_stop, self.full_start, free[number]
            lists = self.classes, self.weights, self.full_weights
            fill_lists(indptr, csr.indices, csr.data, *of_some, *lists)

        list(in_threads(fill, range(len(parts)), n_threads=len(parts)))

    def _set_full(self, coef: np.ndarray) -> None:
        """Store dense weights of all classes, so that no feature has a list."""
        n_classes, n_features = coef.shape
        if coef.dtype == np.float32 and n_classes == 1 and coef.flags.c_contiguous:
            self.full_weights = coef.reshape(-1, 1)
        # Feature by feature already: read where it lies, with no places behind the classes.
        elif coef.dtype == np.float32 and coef.strides[0] == coef.itemsize:
            self.full_weights = coef.T
        else:
            self.full_weights = feature_major(normalise(coef))
        vars(self).update(all_stored(self.full_weights, self.shape))
        self.indptr = np.zeros(n_features + 1, dtype=np.int64)
        self.classes, self.weights = np.empty(0, np.int32), np.empty(0, np.float32)

    def _arguments(self, rows: Rows) -> tuple:
        """Return rows and weights as kernels take them, or raise ValueError."""
        if rows.shape[1] != self.shape[1]:  # the kernel would read beyond the lists
            raise ValueError(f"X has {rows.shape[1]} features, but coef_ has {self.shape[1]}")
        rows = self._narrow(rows)
        return rows.indptr, rows.indices, rows.data, rows.dense, self._postings

    def _narrow(self, rows: Rows) -> Rows:
        """Return a block of rows by the features that lists are of."""
        return rows.narrowed(self.columns)

    def _scratch(self, n_threads: int) -> np.ndarray:
        """Return the intercepts once for each thread, no two of them on one cache line."""
        # Two threads that write to one cache line take it from one another.
        scratch = aligned_zeros((n_threads, len(self.intercept) + CACHE_LINE))
        scratch[:, : len(self.intercept)] = self.intercept
        return scratch

    def topk(
        self, rows: Rows, k: int, n_threads: int, way: int = 0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the k best classes of each row, best first, ties to the smaller class, and scores.

        `way` reads all scores (1), or only those of classes the row touches (2); 0 takes the
        cheaper for each row. The results are the same to the last bit.

        Raises ValueError if a score overflows float32, or k is not from 1 to the number of classes.
        """
        if not 1 <= k <= self.shape[0]:  # as where `classes_` was set to others than were learnt
            raise ValueError(f"coef_ has {self.shape[0]} classes, of which k={k} were requested")
        n_rows = rows.shape[0]
        n_threads = max(1, min(n_threads, n_rows))
        classes = np.empty((n_rows, k), dtype=np.int32)
        scores = np.empty((n_rows, k), dtype=np.float32)
        of, scratch, at_once = self._way(rows, n_threads, grouped=way == 0)
        for start, block in row_blocks(rows, self.rows_at_once):
            part = slice(start, start + block.shape[0])
            arguments = *self._arguments(block), scratch, classes[part], scores[part]
            of.topk(*arguments, *(at_once or [way]), n_threads)
        # An overflow gives infinity or NaN, and NaN has no rank: an error, no answer.
        check_finite(scores)
        return classes, scores

    def _way(
        self, rows: Rows, n_threads: int, grouped: bool = True
    ) -> tuple[ModuleType, np.ndarray, list[int]]:
        """Choose the kernel for these rows, its scratch memory, and how many it groups."""
        together = self._together(rows, n_threads) if grouped else 1
        if together == 1:
            return kernel, self._scratch(n_threads), []
        # Without lists there are no scores of all classes between two steps of the kernel.
        n_scratch = n_threads * together if self._has_lists() else 1
        return dense_rows, self._scratch(n_scratch), [together]

    def _together(self, rows: Rows, n_threads: int) -> int:
        """Return how many rows at a time are scored: dense ones share what is read of full
        weights.
        """
        if not rows.dense:
            return 1
        n_classes = self.shape[0]
        if 2 * self.full_stop.sum(dtype=np.int64) < n_classes * len(self.full_stop):
            return 1
        # Together zeros are multiplied too.
        if np.count_nonzero(rows.data) < LEAST_DENSE * len(rows.data):
            return 1
        most = dense_rows.most_together(self._has_lists())
        if self._has_lists():
            # With lists each row of a group has scores of all classes.
            most = min(most, MOST_SCRATCH // len(self.intercept))
        return max(1, min(most, rows.shape[0] // n_threads))

    def _has_lists(self) -> bool:
        """Return whether a class may be in the list of a feature."""
        return bool((self.full_stop < self.shape[0]).any())

    def scores(self, rows: Rows, n_threads: int) -> np.ndarray:
        """Compute all scores: ndarray of float32, shape (n_rows, n_classes)."""
        n_threads = max(1, min(n_threads, rows.shape[0]))
        of, scratch, at_once = self._way(rows, n_threads)
        ranks = [] if at_once else [self._rank_of]
        out = np.empty((rows.shape[0], self.shape[0]), dtype=np.float32)
        for start, block in row_blocks(rows, self.rows_at_once):
            part = slice(start, start + block.shape[0])
            of.all_scores(*self._arguments(block), scratch, *ranks, out[part], *at_once, n_threads)
        check_finite(out)
        return out

    def positives(self, rows: Rows, n_threads: int) -> sparse.csr_array:
        """Return classes with a score above zero: CSR pattern of bool, shape (n_rows, n_classes).

        Raises ValueError if a score overflows float32.
        """
        n_threads = max(1, min(n_threads, rows.shape[0]))
        of, scratch, at_once = self._way(rows, n_threads)
        counts, found = [], []
        for _, block in row_blocks(rows, self.rows_at_once):
            n_found = np.zeros(block.shape[0], dtype=np.int64)
            starts = np.zeros(block.shape[0] + 1, dtype=np.int64)
            which = np.empty(0, dtype=np.int32)
            arguments = *self._arguments(block), scratch, n_found
            of.positives(*arguments, starts, which, *at_once, n_threads)
            # The kernel counts -1 where a score is not finite.
            check_finite(np.where(n_found < 0, np.nan, 0))
            np.cumsum(n_found, out=starts[1:])
            if starts[-1]:
                which = np.empty(starts[-1], dtype=np.int32)
                of.positives(*arguments, starts, which, *at_once, n_threads)
            counts.append(n_found)
            found.append(which)
        indptr = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
        indices = np.concatenate(found)
        pattern = sparse.csr_array(
            (np.ones(len(indices), dtype=bool), indices, indptr),
            shape=(rows.shape[0], self.shape[0]),
        )
        pattern.sort_indices()
        return pattern

    # ----------------------------------------------------------------- of some classes only

    def _is_dense(self) -> bool:
        """Return whether the weights were dense."""
        return self.full_weights.ndim == 2

    def shifted(self, weight: np.ndarray) -> Self:
        """Return the index with a weight added to each intercept; shares everything else.

        Classes with a weight of minus infinity are not to be found.
        """
        other = copy(self)
        other._set_intercept(self.intercept[: self.shape[0]] + self._by_rank(weight))
        other._set_postings()
        return other

    def part(self, coef: Callable[[], sparse.csr_array], places: np.ndarray) -> "IndexPart":
        """Return an index of some classes, ascending, at the cost of a model of these.

        Its ``topk`` answers with the numbers and, to the last bit, the scores of this index. `coef`
        returns the weights, CSR of shape (n_classes, n_features), where they are sparse.
        """
        ranks = self.ranks(places)
        intercept = self.intercept[ranks]
        if self._is_dense():
            return IndexPart(InvertedIndex(self.full_weights[:, places].T, intercept), places)
        # A feature keeps its list and its stored weights, so sums keep their order and their bits.
        layout = Layout.of_some(ranks, self.full_stop)
        of_some = InvertedIndex(coef()[places], intercept, layout=layout, columns=self.columns)
        return IndexPart(of_some, places)

    def scores_at(
        self,
        coef: Callable[[], sparse.csr_array],
        rows: Rows,
        starts: np.ndarray,
        places: np.ndarray,
        n_threads: int,
    ) -> np.ndarray:
        """Return scores of the candidates of each row, at a cost that grows with their number.

        `places` are their classes, starts[i], ..., starts[i + 1] - 1 those of row i. Scores are, to
        the last bit, those of :meth:`scores`.
        """
        self._arguments(rows.block(0, 0))  # which checks the number of features
        weights, rows = None if self._is_dense() else coef(), self._narrow(rows)
        if self.columns is not None:
            weights = self.columns.narrow_csr(weights)
        scores = candidate_scores(self, weights, rows, starts, places, n_threads)
        check_finite(scores)
        return scores


def all_stored(full_weights: np.ndarray, shape: tuple[int, int]) -> dict[str, Any]:
    """Return attributes that say how dense weights, (n_features, n_classes or more), lie."""
    n_classes, n_features = shape
    stride = full_weights.strides[0] // full_weights.itemsize
    return {
        "order": None,
        "full_stop": np.full(n_features, n_classes, dtype=np.int32),
        "full_start": np.arange(n_features, dtype=np.int64) * stride,
        "n_stored": min(full_weights.shape[1], n_places(n_classes)),
    }


class IndexPart:
    """An index of some classes that answers with their numbers among all."""

    def __init__(self, index: Any, places: np.ndarray) -> None:
        self._index, self._places = index, places

    def topk(self, rows: Rows, k: int, n_threads: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the k best of the classes, by their numbers among all, and their scores."""
        best, scores = self._index.topk(rows, k, n_threads)
        return self._places[best], scores


def topk_matrix(classes: np.ndarray, scores: np.ndarray, n_classes: int) -> sparse.csr_array:
    """Return the k best classes of each row as one sparse matrix (n_rows, n_classes).

    Classes of a row differ, and are -1 where it has fewer. Zeros are stored.
    """
    n_rows = len(classes)
    order = np.argsort(classes, axis=1)
    columns = np.take_along_axis(classes, order, axis=1)
    there = columns >= 0
    values, columns = np.take_along_axis(scores, order, axis=1)[there], columns[there]
    starts = np.append(0, np.cumsum(np.count_nonzero(there, axis=1)))
    return narrow_indices(sparse.csr_array((values, columns, starts), shape=(n_rows, n_classes)))


def row_blocks(rows: Rows, size: int = ROW_BLOCK) -> Iterator[tuple[int, Rows]]:
    """Yield the rows in blocks of this size, each with the number of its first row."""
    for start in range(0, rows.shape[0], size):
        yield start, rows.block(start, min(start + size, rows.shape[0]))


def check_finite(scores: np.ndarray) -> None:
    """Refuse scores that overflowed."""
    if not np.isfinite(scores).all():
        raise ValueError(
            "some scores are not finite in float32: values of X or weights are too large; "
            "scale the features as in fit"
        )

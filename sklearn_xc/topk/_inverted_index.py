"""Blocked top-k prediction of linear models with sparse weights."""

from copy import copy

import numpy as np
from scipy import sparse

from .._kernels.topk import _dense_rows as dense_rows
from .._kernels.topk import _inverted_index as kernel
from .._kernels.topk._list_build import fill_lists
from ..utils._csr import stretches
from ..utils._matrix import narrow_indices, normalise
from ._candidates import candidate_scores
from ._feature_major import CACHE_LINE, aligned_zeros, feature_major, n_places, padded_intercept

# Rows handed to the kernel at once: between two blocks Python can take an interrupt.
ROW_BLOCK = 4096
# A feature that more than this share of the classes use has its weights stored for all classes.
# Its list would need two numbers for each weight, so that this at most doubles the memory (but for
# rounding up); with a smaller share, prediction waits for memory where classes are many.
FULL_SHARE = 0.25
# Scores that a thread holds of dense rows at once.
MOST_SCRATCH = 1 << 21
# Classes whose numbers in the lists take two bytes each: prediction waits for lists to be read.
MOST_NARROW = 1 << 16


def class_dtype(n_classes):
    """What holds the number of a class in a list."""
    return np.uint16 if n_classes <= MOST_NARROW else np.int32


class InvertedIndex:
    """The weights of a linear model feature by feature: the classes that use it, and how much.

    Scoring a row then walks the lists of its non-zero features only. Never changes after it is
    built, so that several threads may use it at once.

    Parameters
    ----------
    coef : CSR or ndarray of shape (n_classes, n_features)
        Weights. Other sparse matrices are converted; dense float32 weights that lie feature by
        feature are read where they are, others copied.
    intercept : ndarray of shape (n_classes,)
    zeros : callable, default=None
        Makes the large arrays of sparse weights, as :func:`numpy.zeros`; by default in memory.
    full : ndarray of bool (n_features,), default=None
        Features whose weights are stored for all classes; by default those that more than
        ``FULL_SHARE`` of the classes use. Sums are the same to the last bit only where it is.

    Attributes
    ----------
    indptr : ndarray of int64, shape (n_features + 1,)
        Feature j has the list of entries ``indptr[j]`` to ``indptr[j + 1] - 1``.
    classes : ndarray of uint16 or, of more than 65,536 classes, int32, shape (n_entries,)
    weights : ndarray of float32, shape (n_entries,)
    full_column : ndarray of int32, shape (n_features,)
        For a feature that more than ``FULL_SHARE`` of the classes use, its place in
        ``full_weights``, and its list is empty; otherwise -1.
    full_weights : ndarray of float32, shape (n_full, n_classes or more)
    intercept : ndarray of float32, shape (n_places,)
        Minus infinity beyond the classes.
    by_intercept : ndarray of int32, shape (n_classes,)
        The classes by falling intercept, ties to the smaller class.
    shape : tuple (n_classes, n_features)
    """

    rows_at_once = ROW_BLOCK

    def __init__(self, coef, intercept, zeros=None, full=None):
        if np.shape(intercept) != (coef.shape[0],):
            raise ValueError(
                f"intercept_ must have one entry for each of the {coef.shape[0]} rows of coef_, "
                f"got shape {np.shape(intercept)}"
            )
        self.shape = coef.shape
        if sparse.issparse(coef):
            coef = normalise(coef, "coef_")
            self._set_lists(coef, zeros, full)
        else:
            self._set_full(np.asarray(coef))
        self._set_intercept(np.asarray(intercept))
        self._set_postings()

    @classmethod
    def from_arrays(cls, shape, **arrays):
        """An index of arrays that another one had as its attributes, and that were checked."""
        index = cls.__new__(cls)
        index.shape = shape
        vars(index).update(arrays)
        index._set_postings()
        return index

    def _set_intercept(self, intercept):
        self.intercept = padded_intercept(intercept)
        falling = np.argsort(-self.intercept, kind="stable")
        self.by_intercept = falling[: len(intercept)].astype(np.int32)

    def _set_postings(self):
        self._postings = kernel.Postings(
            self.indptr,
            self.classes,
            self.weights,
            self.full_column,
            self.full_weights,
            self.intercept,
            self.by_intercept,
        )

    def _set_lists(self, csr, zeros, full):
        n_classes, n_features = csr.shape
        lengths = np.zeros(n_features, dtype=np.int64)
        for _, entries in stretches(csr.indptr):
            lengths += np.bincount(csr.indices[entries], minlength=n_features)
        full = lengths > FULL_SHARE * n_classes if full is None else full
        self.full_column = np.where(full, np.cumsum(full) - 1, -1).astype(np.int32)
        self.indptr = np.append(0, np.cumsum(np.where(full, 0, lengths), dtype=np.int64))
        shape, n_entries = (np.count_nonzero(full), n_places(n_classes)), self.indptr[-1]
        self.full_weights = aligned_zeros(shape) if zeros is None else zeros(shape, np.float32)
        empty = np.empty if zeros is None else zeros
        self.classes = empty(n_entries, class_dtype(n_classes))
        self.weights = empty(n_entries, np.float32)
        fill_lists(
            csr.indptr.astype(np.int64), csr.indices, csr.data, self.full_column,
            self.indptr[:-1].copy(), self.classes, self.weights, self.full_weights,
        )  # fmt: skip

    def _set_full(self, coef):
        n_classes, n_features = coef.shape
        if coef.dtype == np.float32 and n_classes == 1 and coef.flags.c_contiguous:
            self.full_weights = coef.reshape(-1, 1)
        elif coef.dtype == np.float32 and coef.strides[0] == coef.itemsize:
            self.full_weights = coef.T
        else:
            self.full_weights = feature_major(normalise(coef))
        self.full_column = np.arange(n_features, dtype=np.int32)
        self.indptr = np.zeros(n_features + 1, dtype=np.int64)
        self.classes, self.weights = np.empty(0, np.int32), np.empty(0, np.float32)

    def _arguments(self, rows):
        if rows.shape[1] != self.shape[1]:  # the kernel would read beyond the lists
            raise ValueError(f"X has {rows.shape[1]} features, but coef_ has {self.shape[1]}")
        return rows.indptr, rows.indices, rows.data, rows.dense, self._postings

    def _scratch(self, n_threads):
        """The intercepts once for each thread, no two of them on one cache line."""
        scratch = aligned_zeros((n_threads, len(self.intercept) + CACHE_LINE))
        scratch[:, : len(self.intercept)] = self.intercept
        return scratch

    def topk(self, rows, k, n_threads, way=0):
        """The k best classes of each row, best first, ties to the smaller class.

        Parameters
        ----------
        rows : Rows
        k : int
            At most the number of classes.
        n_threads : int
        way : {0, 1, 2}, default=0
            Read all scores (1), or only those of classes the row touches (2); 0 takes the cheaper
            for each row. The results are the same to the last bit.

        Returns
        -------
        classes : ndarray of int32, shape (n_rows, k)
        scores : ndarray of float32, shape (n_rows, k)

        Raises
        ------
        ValueError
            If a score overflows float32, or k is not from 1 to the number of classes.
        """
        if not 1 <= k <= self.shape[0]:  # as where `classes_` was set to others than were learnt
            raise ValueError(f"coef_ has {self.shape[0]} classes, of which k={k} were asked for")
        n_rows = rows.shape[0]
        n_threads = max(1, min(n_threads, n_rows))
        classes = np.empty((n_rows, k), dtype=np.int32)
        scores = np.empty((n_rows, k), dtype=np.float32)
        of, scratch, at_once = self._way(rows, n_threads, grouped=way == 0)
        for start, block in row_blocks(rows, self.rows_at_once):
            part = slice(start, start + block.shape[0])
            arguments = *self._arguments(block), scratch, classes[part], scores[part]
            of.topk(*arguments, *(at_once or [way]), n_threads)
        check_finite(scores)
        return classes, scores

    def _way(self, rows, n_threads, grouped=True):
        """The kernel for these rows, its scratch memory, and in a list how many it groups."""
        together = self._together(rows, n_threads) if grouped else 1
        if together == 1:
            return kernel, self._scratch(n_threads), []
        # Without lists there are no scores of all classes between two steps of the kernel.
        n_scratch = n_threads * together if (self.full_column < 0).any() else 1
        return dense_rows, self._scratch(n_scratch), [together]

    def _together(self, rows, n_threads):
        """How many rows at a time are scored: dense ones share what is read of full weights."""
        if not rows.dense:
            return 1
        n_full = np.count_nonzero(self.full_column >= 0)
        if 2 * n_full < self.shape[1]:
            return 1
        has_lists = n_full < self.shape[1]
        most = dense_rows.most_together(has_lists)
        if has_lists:
            if n_full > dense_rows.batch_of_features() and not rows.data.all():
                return 1  # zeros are left out of batches, between which lists are added
            most = min(most, MOST_SCRATCH // len(self.intercept))
        return max(1, min(most, rows.shape[0] // n_threads))

    def scores(self, rows, n_threads):
        """All scores: ndarray of float32, shape (n_rows, n_classes)."""
        n_threads = max(1, min(n_threads, rows.shape[0]))
        of, scratch, at_once = self._way(rows, n_threads)
        out = np.empty((rows.shape[0], self.shape[0]), dtype=np.float32)
        for start, block in row_blocks(rows, self.rows_at_once):
            part = slice(start, start + block.shape[0])
            of.all_scores(*self._arguments(block), scratch, out[part], *at_once, n_threads)
        check_finite(out)
        return out

    def positives(self, rows, n_threads):
        """The classes with a score above zero: CSR pattern of bool, shape (n_rows, n_classes).

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

    def _has_all(self):
        """Whether the weights of all features are stored for all classes."""
        return len(self.full_weights) == self.shape[1]

    def shifted(self, weight):
        """The index with a weight added to each intercept; shares everything else.

        Parameters
        ----------
        weight : ndarray of float32 (n_classes,)
            Minus infinity for classes that are not to be found.
        """
        other = copy(self)
        other._set_intercept(self.intercept[: self.shape[0]] + weight)
        other._set_postings()
        return other

    def part(self, coef, places):
        """What finds the k best among some classes, at the cost of a model of these.

        Parameters
        ----------
        coef : callable
            Returns the weights, CSR of shape (n_classes, n_features), where they are sparse.
        places : ndarray of int (n_places,)
            The classes, ascending.

        Returns
        -------
        part : object
            Has ``topk``, with the numbers and, to the last bit, the scores of this index.
        """
        intercept = self.intercept[places]
        if self._has_all():
            return Part(InvertedIndex(self.full_weights[:, places].T, intercept), places)
        full = self.full_column >= 0
        return Part(InvertedIndex(coef()[places], intercept, full=full), places)

    def scores_at(self, coef, rows, starts, places, n_threads):
        """Scores of the candidates of each row, at a cost that grows with their number.

        Parameters
        ----------
        coef : callable
            As of :meth:`part`.
        rows : Rows
        starts : ndarray of int64 (n_rows + 1,)
            Where the candidates of each row begin.
        places : ndarray of int64 (n_candidates,)
            Their classes.
        n_threads : int

        Returns
        -------
        scores : ndarray of float32 (n_candidates,)
            To the last bit those of :meth:`scores`.
        """
        self._arguments(rows)  # which checks the number of features
        weights = None if self._has_all() else coef()
        scores = candidate_scores(self, weights, rows, starts, places, n_threads)
        check_finite(scores)
        return scores


class Part:
    """An index of some classes that answers with their numbers among all."""

    def __init__(self, index, places):
        self._index, self._places = index, places

    def topk(self, rows, k, n_threads):
        best, scores = self._index.topk(rows, k, n_threads)
        return self._places[best], scores


def topk_matrix(classes, scores, n_classes):
    """The k best classes of each row as one sparse matrix.

    Parameters
    ----------
    classes : ndarray of integers (n_rows, k)
        Different ones in a row; -1 where a row has fewer.
    scores : ndarray (n_rows, k)
    n_classes : int

    Returns
    -------
    matrix : csr_array (n_rows, n_classes)
        Of k entries a row, in the order of the columns; zeros are stored.
    """
    n_rows = len(classes)
    order = np.argsort(classes, axis=1)
    columns = np.take_along_axis(classes, order, axis=1)
    there = columns >= 0
    values, columns = np.take_along_axis(scores, order, axis=1)[there], columns[there]
    starts = np.append(0, np.cumsum(np.count_nonzero(there, axis=1)))
    return narrow_indices(sparse.csr_array((values, columns, starts), shape=(n_rows, n_classes)))


def row_blocks(rows, size=ROW_BLOCK):
    """The rows in blocks of this size, each with the number of its first row."""
    for start in range(0, rows.shape[0], size):
        yield start, rows.block(start, min(start + size, rows.shape[0]))


def check_finite(scores):
    """Refuse scores that overflowed."""
    if not np.isfinite(scores).all():
        raise ValueError(
            "some scores are not finite in float32: values of X or weights are too large; "
            "scale the features as in fit"
        )

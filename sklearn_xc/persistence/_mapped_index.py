"""The index of a model that is mapped: it reads of the file what an answer needs, and checks it."""

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from .._kernels.topk import _inverted_index as kernel
from ..topk._candidates import candidate_scores
from ..topk._feature_major import n_places
from ..topk._inverted_index import IndexPart, InvertedIndex, check_finite, row_blocks
from ..topk._layout import Layout
from ..utils._rows import Rows

# What is read at once of a mapped file; between two blocks of rows memory is given back.
ROWS_AT_ONCE = 256
# Lists with more than READ_AT_LEAST entries, and WORTH_SEARCHING more for each class wanted, are
# searched for each of these; others are read.
READ_AT_LEAST, WORTH_SEARCHING = 4096, 16


class MappedIndex(InvertedIndex):
    """An index whose lists and full weights lie in a mapped file that nothing is known of.

    For each block of rows the lists of its features are copied into memory, and the numbers of
    the classes in the copy are checked. The kernels see the copies only, so that neither what the
    file holds nor what another program writes into it meanwhile leads them out of bounds. Weights
    that are stored for all classes are only ever values, and stay where they are.

    Of the arrays, `classes`, `weights` and `full_weights` are mapped, the weights of float32 or
    float16; all others are in memory and checked.
    """

    rows_at_once = ROWS_AT_ONCE

    def __init__(self, shape: tuple[int, int], **arrays: Any) -> None:
        self.shape = shape
        vars(self).update(arrays)

    def _set_postings(self) -> None:
        """Leave postings unset: they are made for each block of rows."""

    def part(self, coef: object, places: np.ndarray) -> IndexPart:
        """Return a part, as the base does; of the lists only weights of these classes are read.

        `coef` is not used: it would have to be made of the whole file.
        """
        return IndexPart(_ClassesOf(self, places), places)

    def scores_at(
        self, coef: object, rows: Rows, starts: np.ndarray, places: np.ndarray, n_threads: int
    ) -> np.ndarray:
        """Score candidates as the base does; each block of rows reads the weights of its own.

        Memory: those weights, in the features of the block.
        """
        scores = np.empty(len(places), dtype=np.float32)
        # Candidates of all samples together may be all classes; those of a block are few.
        for first, block in row_blocks(rows, self.rows_at_once):
            of_block = starts[first : first + block.shape[0] + 1]
            part = slice(of_block[0], of_block[-1])
            wanted, own = np.unique(places[part], return_inverse=True)
            if len(wanted):
                classes = _ClassesOf(self, wanted)
                scores[part] = classes.candidate_scores(
                    block, of_block - of_block[0], own, n_threads
                )
        check_finite(scores)
        return scores

    def _arguments(self, rows: Rows) -> tuple[Any, ...]:
        """Return arguments of the kernels for a block of rows: copies of the lists it needs."""
        if rows.shape[1] != self.shape[1]:
            raise ValueError(f"X has {rows.shape[1]} features, but coef_ has {self.shape[1]}")
        # Features are renumbered to those of the block, so that the copies have no empty lists for
        # the others, of which a hashed space has a million.
        features, rows = _compact(self._narrow(rows))
        *weights, full = self._weights_of(features)
        postings = kernel.Postings(
            *weights,
            np.atleast_2d(full),
            self.n_stored,
            self.intercept,
            self.by_intercept,
            self.order,
            self._lowest,
        )
        return rows.indptr, rows.indices, rows.data, rows.dense, postings

    def _lists_of(self, features: np.ndarray) -> list[slice]:
        """Return where the lists of the features lie that are not empty."""
        starts, stops = self.indptr[features], self.indptr[features + 1]
        there = stops > starts
        return list(map(slice, starts[there].tolist(), stops[there].tolist()))

    def _weights_of(self, features: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return indptr, classes, weights, full_stop, full_start and full_weights of features."""
        lists = self._lists_of(features)
        classes = _joined(self.classes, lists, self.classes.dtype)
        # Of the copy, after it was made: the kernel adds to the score of each class, and a class
        # outside, which another program may write into the file at any moment, would be a write out
        # of bounds.
        require_within(classes, self.shape[0], "a damaged model file: the array classes")
        indptr = np.append(0, np.cumsum(np.diff(self.indptr)[features]))
        stops, starts, full = self.full_stop[features], self.full_start[features], self.full_weights
        # Weights of float32 are read in place: bounds come from full_start and full_stop, which are
        # in memory, and any bits are a number.
        if full.dtype != np.float32:
            starts, full = self._converted(features, stops, starts)
        return indptr, classes, _joined(self.weights, lists, np.float32), stops, starts, full

    def _converted(
        self, features: np.ndarray, stops: np.ndarray, starts: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the stored weights of some features in float32, and where those of each begin."""
        if self._is_dense():
            full = self.full_weights[features].astype(np.float32)
            return np.arange(len(features)) * full.shape[1], full
        # Whole blocks, as `Layout.starts` lays them out and kernels read them.
        lengths = np.minimum(n_places(stops.astype(np.int64)), self.n_stored)
        parts = list(map(slice, starts.tolist(), (starts + lengths).tolist()))
        return np.cumsum(lengths) - lengths, _joined(self.full_weights, parts, np.float32)


class _ClassesOf(MappedIndex):
    """Some classes of a mapped index, ascending, by numbers of their own."""

    def __init__(self, whole: MappedIndex, places: np.ndarray) -> None:
        self._whole, self._places, self.columns = whole, places, whole.columns
        self.shape = len(places), whole.shape[1]
        ranks = whole.ranks(places)
        if whole._is_dense():
            self.order, self.n_stored = None, len(places)
            self.full_stop = np.full(whole.shape[1], len(places), dtype=np.int32)
        else:
            layout = Layout.of_some(ranks, whole.full_stop)
            self.order, self.full_stop = layout.order, layout.stops
            self.n_stored = n_places(len(places))
        self._ranks = np.sort(ranks)
        self._set_intercept(whole.intercept[self._ranks])
        # Own number of each rank of the whole, from 1 on; 0 for classes that are not among these.
        self._number = np.zeros(whole.shape[0], dtype=np.int32)
        self._number[self._ranks] = np.arange(1, len(places) + 1)

    def _is_dense(self) -> bool:
        """Return whether the whole index is of dense weights."""
        return self._whole._is_dense()

    def _weights_of(self, features: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return what the base does, of these classes, by their own numbers."""
        whole, n = self._whole, len(features)
        starts = whole.indptr[features]
        lengths = whole.indptr[features + 1] - starts
        # A list of n entries is read in n steps, or searched for c classes in c log n. That of a
        # common word has an entry for nearly every class, of which a few are wanted.
        long = lengths > READ_AT_LEAST + WORTH_SEARCHING * len(self._places)
        entries = [self._read(starts, np.where(long, 0, lengths))]
        entries += [self._searched(starts, lengths, feature) for feature in np.flatnonzero(long)]
        feature, own, at = (np.concatenate(parts) for parts in zip(*entries, strict=True))
        # Stable: the entries of a feature keep the order of its list, which ascends.
        order = np.argsort(feature, kind="stable")
        return (
            np.append(0, np.cumsum(np.bincount(feature, minlength=n))),
            own[order].astype(np.int32),
            whole.weights[at[order]].astype(np.float32),
            *self._stored_of(features),
        )

    def _stored_of(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return full_stop, full_start and full_weights of these features, for these classes."""
        whole, stops = self._whole, self.full_stop[features]
        if self._is_dense():
            full = whole.full_weights[np.ix_(features, self._places)].astype(np.float32)
            return stops, np.arange(len(features)) * len(self._places), full
        starts, size = Layout(None, stops).starts()
        full = np.zeros(size, dtype=np.float32)
        for f in np.flatnonzero(stops):
            places = whole.full_start[features[f]] + self._ranks[: stops[f]]
            full[starts[f] : starts[f] + stops[f]] = whole.full_weights[places]
        return stops, starts, full

    def _read(
        self, starts: np.ndarray, lengths: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Read lists; return the features, own classes and places of the entries wanted."""
        there = np.flatnonzero(lengths)
        starts, bounds = starts[there], np.append(0, np.cumsum(lengths[there]))
        stops = starts + lengths[there]
        lists = map(slice, starts.tolist(), stops.tolist())
        classes = _joined(self._whole.classes, lists, self._whole.classes.dtype)
        # The next line follows them into an array of ours.
        require_within(classes, len(self._number), "a damaged model file: the array classes")
        own = self._number[classes]
        hits = np.flatnonzero(own)
        of = np.searchsorted(bounds, hits, side="right") - 1
        return there[of], own[hits] - 1, starts[of] + (hits - bounds[of])

    def _searched(
        self, starts: np.ndarray, lengths: np.ndarray, feature: np.intp
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Search a list for each class by bisection; return what `_read` does."""
        start, length = int(starts[feature]), int(lengths[feature])
        classes = self._whole.classes[start : start + length]
        # Of the type of the list: otherwise NumPy converts the whole list first.
        ranks = self._ranks.astype(classes.dtype)
        # Bisection of a list that does not ascend ends somewhere in it: a forged file gets a wrong
        # answer, within bounds.
        at = np.minimum(np.searchsorted(classes, ranks), length - 1)
        own = np.flatnonzero(classes[at] == self._ranks)
        return np.full(len(own), feature), own, start + at[own]

    def candidate_scores(
        self, rows: Rows, starts: np.ndarray, places: np.ndarray, n_threads: int
    ) -> np.ndarray:
        """Return scores of the candidates of each row, by numbers of these classes."""
        features, rows = _compact(self._narrow(rows))
        indptr, ranks, weights, stops, starts_of, full = self._weights_of(features)
        index = SimpleNamespace(
            shape=self.shape,
            ranks=self.ranks,
            stored=lambda: (stops, starts_of, np.atleast_2d(full)),
            intercept=self.intercept,
        )
        coef = None
        # A list and the stored weights of a feature are two parts of one row of weights; here they
        # are joined again, since the kernel of candidates reads weights class by class.
        if not self._is_dense():
            firsts = [np.arange(stop) for stop in stops]
            stored = [
                full[start : start + stop] for start, stop in zip(starts_of, stops, strict=True)
            ]
            column = np.arange(len(features))
            ranks = np.concatenate([ranks, *firsts])
            columns = np.concatenate([np.repeat(column, np.diff(indptr)), np.repeat(column, stops)])
            parts = np.concatenate([weights, *stored]), (self.order[ranks], columns)
            coef = sparse.csr_array(sparse.coo_array(parts, shape=(self.shape[0], len(features))))
        return candidate_scores(index, coef, rows, starts, places, n_threads)


def require_within(numbers: np.ndarray, high: int, name: str) -> None:
    """Raise ValueError unless all numbers are in [0, high)."""
    if len(numbers) and not (numbers.min() >= 0 and numbers.max() < high):
        raise ValueError(f"{name} holds numbers outside [0, {high})")


def _compact(rows: Rows) -> tuple[np.ndarray, Rows]:
    """Return the features that a block of rows has, and the rows with these alone."""
    # A block of rows is a view, whose pointers need not begin at 0.
    start, stop = rows.indptr[0], rows.indptr[-1]
    data = rows.data[start:stop]
    if rows.dense:
        data = data.reshape(rows.shape)
        features = np.flatnonzero((data != 0).any(axis=0))
        n = len(features)
        return features, Rows(
            np.arange(rows.shape[0] + 1, dtype=np.int64) * n,
            np.arange(n, dtype=np.int32),
            np.ascontiguousarray(data[:, features]).ravel(),
            True,
            (rows.shape[0], n),
        )
    features, places = np.unique(rows.indices[start:stop], return_inverse=True)
    return features, Rows(
        rows.indptr - start, places.astype(np.int32), data, False, (rows.shape[0], len(features))
    )


def _joined(array: np.ndarray, lists: Iterable[slice], dtype: DTypeLike) -> np.ndarray:
    """Return the parts of an array one after the other: a copy."""
    parts = [array[part] for part in lists]
    return np.concatenate(parts, dtype=dtype) if parts else np.empty(0, dtype=dtype)

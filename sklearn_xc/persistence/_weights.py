"""Linear weights in a model file: the lists that prediction reads, and `coef_` made of them.

A file holds the arrays of an `_topk.InvertedIndex`, the weights feature by feature, so that a
mapped model predicts without building anything. `coef_`, class by class, follows from them.
"""

import numpy as np
from scipy import sparse

from .._kernels.topk import _inverted_index as kernel
from ..topk._feature_major import n_places, padded_intercept
from ..topk._inverted_index import InvertedIndex, row_blocks
from ..utils._matrix import Rows, narrow_indices, narrow_pointers
from ._file import AT_ONCE, Segment, array_segment

PADDING = 1.125  # places for each class, at most; small numbers of classes are stored without
DTYPES = {"float32": np.dtype("<f4"), "float16": np.dtype("<f2")}
# What is read at once of a mapped file; between two blocks of rows memory is given back.
ROWS_AT_ONCE = 256
SCORES_AT_ONCE = 1 << 23


class StoredWeights:
    """Weights on their way into a file.

    Parameters
    ----------
    index : InvertedIndex
    is_sparse : bool
        Whether `coef_` is.
    dtype : {"float32", "float16"}
    """

    def __init__(self, index, is_sparse, dtype):
        self.index, self.is_sparse, self.dtype = index, is_sparse, DTYPES[dtype]

    def segments(self):
        """Name -> Segment."""
        index, n_classes = self.index, self.index.shape[0]
        return {
            "indptr": array_segment(index.indptr),
            "classes": array_segment(index.classes),
            "weights": self._converted(index.weights, len(index.weights)),
            "full_column": array_segment(index.full_column),
            "full_weights": self._converted(index.full_weights, n_classes),
            "intercept": array_segment(index.intercept[:n_classes]),
            "by_intercept": array_segment(index.by_intercept),
        }

    def _converted(self, weights, n):
        """The first n columns, in places that end with a cache line where that costs little."""
        if weights.ndim == 1:
            shape = (n,)
        else:
            places = n_places(n)
            shape = weights.shape[0], places if places <= PADDING * n else n
        step = max(1, AT_ONCE // max(1, 4 * np.prod(shape[1:], dtype=int)))

        def blocks():
            for start in range(0, shape[0], step):
                part = weights[start : start + step]
                block = np.zeros((len(part), *shape[1:]), dtype=self.dtype)
                block[..., :n] = part[..., :n]
                yield block.tobytes()

        return Segment(self.dtype.str, shape, blocks)


def weights_to_store(coef, intercept, index, dtype, threshold):
    """Arrays to write for the weights of a model.

    Parameters
    ----------
    coef : CSR or ndarray (n_columns, n_features)
    intercept : ndarray (n_columns,)
    index : InvertedIndex
        Of these.
    dtype : {"float32", "float16"}
    threshold : float
        Weights of a magnitude up to it are left out; of sparse weights only.

    Returns
    -------
    weights : StoredWeights
    """
    is_sparse = sparse.issparse(coef)
    if dtype == "float16":
        values = coef.data if is_sparse else coef
        largest = max(values.max(initial=0), -values.min(initial=0))
        if largest > np.finfo(np.float16).max:
            raise ValueError(
                f"dtype='float16': coef_ holds {largest:g}, and float16 ends at 65504; scale the "
                "features, or store float32"
            )
    if not is_sparse:
        if threshold:
            raise ValueError(
                f"threshold={threshold!r} leaves out weights of a sparse coef_, and that of this "
                "model is dense; use dtype='float16'"
            )
        return StoredWeights(index, False, dtype)
    stored = coef.data.astype(DTYPES[dtype]).astype(np.float32) if dtype == "float16" else coef.data
    dropped = (np.abs(coef.data) <= threshold) | (stored == 0)
    if dropped.any():
        kept = coef.copy()
        kept.data = np.where(dropped, 0, stored)
        kept.eliminate_zeros()
        index = InvertedIndex(kept, intercept)
    return StoredWeights(index, True, dtype)


class LoadedWeights:
    """Weights that came from a file.

    Parameters
    ----------
    shape : tuple (n_columns, n_features)
    is_sparse : bool
    array : callable
        The array of a name and whether it may stay mapped, from the file.
    mapped : bool

    Attributes
    ----------
    index : InvertedIndex
    intercept : ndarray of float32 (n_columns,)

    Raises
    ------
    ValueError
        If the arrays do not fit together, or point outside one another.
    """

    def __init__(self, shape, is_sparse, array, mapped):
        if len(shape) != 2 or not all(type(n) is int and 0 < n < 2**31 for n in shape):
            raise ValueError(f"weights of shape {shape}")
        self.is_sparse, self._coef = is_sparse, None
        small = {
            name: _typed(array(name, False), name, dtype, length)
            for name, dtype, length in (
                ("indptr", "<i8", shape[1] + 1),
                ("full_column", "<i4", shape[1]),
                ("intercept", "<f4", shape[0]),
                ("by_intercept", "<i4", shape[0]),
            )
        }
        indptr = small["indptr"]
        _require_ascending(indptr)
        large = {name: array(name, mapped) for name in ("classes", "weights", "full_weights")}
        _typed(large["classes"], "classes", "<i4", indptr[-1])
        _typed(large["weights"], "weights", ("<f4", "<f2"), indptr[-1])
        full = large["full_weights"]
        _typed(full, "full_weights", ("<f4", "<f2"), None)
        if full.ndim != 2 or full.shape[1] < shape[0]:
            raise ValueError(f"full_weights has the shape {full.shape}")
        _require_within(small["full_column"], -1, len(full), "full_column")
        _require_within(small["by_intercept"], 0, shape[0], "by_intercept")
        if not is_sparse and not _is_all(small["full_column"], len(full)):
            raise ValueError("dense weights lack a feature")
        small["intercept"] = padded_intercept(small["intercept"])
        if mapped:
            self.index = MappedIndex(shape, **small, **large)
        else:
            _require_within(large["classes"], 0, shape[0], "classes")
            for name in ("weights", "full_weights"):
                large[name] = large[name].astype(np.float32, copy=False)
            self.index = InvertedIndex.from_arrays(shape, **small, **large)
        self.intercept = self.index.intercept[: shape[0]]
        self.intercept.flags.writeable = False

    def coef(self):
        """`coef_`, made when first asked for; of a dense model a view of the file's array."""
        if self._coef is None:
            self._coef = _class_by_class(self.index) if self.is_sparse else _dense(self.index)
        return self._coef


def _typed(array, name, dtypes, length):
    dtypes = (dtypes,) if isinstance(dtypes, str) else dtypes
    if array.dtype.str not in dtypes or (length is not None and array.shape != (length,)):
        raise ValueError(f"{name} has the dtype {array.dtype} and the shape {array.shape}")
    return array


def require_lists(arrays, n_lists, n_classes):
    """Check lists of classes and values, as kernels take them, that were loaded.

    Parameters
    ----------
    arrays : tuple of ndarray
        Starts of the lists (int64, n_lists + 1), their classes (int32), their values (float32) and
        more values, of the same length or of size 0.
    n_lists, n_classes : int

    Raises
    ------
    ValueError
        If a kernel that follows them would leave the arrays.
    """
    indptr, classes, values, others = arrays
    _typed(indptr, "starts", "<i8", n_lists + 1)
    _require_ascending(indptr)
    _typed(classes, "classes", "<i4", indptr[-1])
    _require_within(classes, 0, n_classes, "classes")
    _typed(values, "values", "<f4", indptr[-1])
    _typed(others, "values", "<f4", indptr[-1] if others.size else 0)


def _require_ascending(indptr):
    if indptr[0] != 0 or (np.diff(indptr) < 0).any():
        raise ValueError("the starts of the lists of weights do not ascend from 0")


def _is_all(numbers, n):
    return len(numbers) == n and (numbers == np.arange(n)).all()


def _require_within(numbers, low, high, name):
    if len(numbers) and not (low <= numbers.min() and numbers.max() < high):
        raise ValueError(f"{name} holds numbers outside [{low}, {high})")


def _dense(index):
    full = index.full_weights
    coef = full.astype(np.float32, copy=False)[:, : index.shape[0]].T
    coef.flags.writeable = False
    return coef


def _class_by_class(index):
    """CSR weights from an index: its lists, with those of the full features between them."""
    n_classes = index.shape[0]
    lengths, classes, weights, done = np.diff(index.indptr), [], [], 0
    for feature in np.flatnonzero(index.full_column >= 0):
        start, stop = index.indptr[feature], index.indptr[feature + 1]
        full = index.full_weights[index.full_column[feature], :n_classes].astype(np.float32)
        users = np.flatnonzero(full).astype(np.int32)
        classes += [index.classes[done:start], users]
        weights += [index.weights[done:start], full[users]]
        lengths[feature] = len(users)
        done = stop
    classes = np.concatenate([*classes, index.classes[done:]])  # a copy: of a mapped file as well
    weights = np.concatenate([*weights, index.weights[done:]], dtype=np.float32)
    _require_within(classes, 0, n_classes, "classes")
    starts = narrow_pointers(np.append(0, np.cumsum(lengths)))
    coef = sparse.csc_array((weights, classes, starts), shape=index.shape).tocsr()
    coef.sort_indices()
    coef = narrow_indices(coef)
    for array in (coef.data, coef.indices, coef.indptr):
        array.flags.writeable = False
    return coef


class MappedIndex(InvertedIndex):
    """An index whose lists and full weights lie in a mapped file that nothing is known of.

    For each block of rows the lists of its features are copied into memory, and the numbers of
    the classes in the copy are checked. The kernels see the copies only, so that neither what the
    file holds nor what another program writes into it meanwhile leads them out of bounds. Weights
    that are stored for all classes are only ever values, and stay where they are.

    Parameters
    ----------
    shape : tuple (n_columns, n_features)
    indptr, full_column, intercept, by_intercept : ndarray
        In memory and checked.
    classes, weights, full_weights : ndarray
        Mapped; the weights of float32 or float16.
    """

    rows_at_once = ROWS_AT_ONCE

    def __init__(self, shape, **arrays):
        self.shape = shape
        vars(self).update(arrays)

    def _set_postings(self):
        """They are made for each block of rows."""

    def part(self, coef, places):
        """As of the base, at the cost of all classes: the file has no weights class by class."""
        weight = np.full(self.shape[0], -np.inf, dtype=np.float32)
        weight[places] = 0
        return self.shifted(weight)

    def scores_at(self, coef, rows, starts, places, n_threads):
        """As of the base, at the cost of all classes."""
        found = np.empty(len(places), dtype=np.float32)
        at_once = max(1, min(ROWS_AT_ONCE, SCORES_AT_ONCE // self.shape[0]))
        for first, block in row_blocks(rows, at_once):
            part = slice(starts[first], starts[first + block.shape[0]])
            row = np.repeat(
                np.arange(block.shape[0]), np.diff(starts[first : first + block.shape[0] + 1])
            )
            found[part] = self.scores(block, n_threads)[row, places[part]]
        return found

    def _arguments(self, rows):
        if rows.shape[1] != self.shape[1]:
            raise ValueError(f"X has {rows.shape[1]} features, but coef_ has {self.shape[1]}")
        features, rows = _compact(rows)
        lists = [
            slice(start, stop)
            for start, stop in zip(self.indptr[features], self.indptr[features + 1], strict=True)
            if stop > start
        ]
        classes = _joined(self.classes, lists, np.int32)
        _require_within(classes, 0, self.shape[0], "a damaged model file: the array classes")
        column, full = self.full_column[features], self.full_weights
        if full.dtype != np.float32:
            own = column >= 0
            full = full[column[own]].astype(np.float32)
            column[own] = np.arange(len(full), dtype=np.int32)
        postings = kernel.Postings(
            np.append(0, np.cumsum(np.diff(self.indptr)[features])),
            classes,
            _joined(self.weights, lists, np.float32),
            column,
            full,
            self.intercept,
            self.by_intercept,
        )
        return rows.indptr, rows.indices, rows.data, rows.dense, postings


def _compact(rows):
    """The features that a block of rows has, and the rows with these alone."""
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


def _joined(array, lists, dtype):
    """The parts of an array one after the other: a copy."""
    parts = [array[part] for part in lists]
    return np.concatenate(parts, dtype=dtype) if parts else np.empty(0, dtype=dtype)

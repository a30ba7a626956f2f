"""Linear weights in a model file: the lists that prediction reads, and `coef_` made of them.

A file holds the arrays of a `topk/_inverted_index.InvertedIndex`, the weights feature by feature,
so that a mapped model predicts without building anything. `coef_`, class by class, follows from
them.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from ..topk._feature_major import n_places, padded_intercept
from ..topk._inverted_index import InvertedIndex, all_stored, class_dtype
from ..topk._layout import Layout, ranks_of
from ..topk._weight_store import WeightStore
from ..utils._column_map import ColumnMap
from ..utils._csr import narrow_pointers
from ..utils._matrix import narrow_indices
from ..utils._typing import Matrix
from ._file import AT_ONCE, Segment, array_segment
from ._mapped_index import MappedIndex, require_within

# An array of a file by its name; whether it may stay where it is mapped.
ArrayReader: TypeAlias = Callable[[str, bool], np.ndarray]
# Places for each class, at most. Rows of whole cache lines are read fastest, also where they are
# mapped; of few classes the padding would be several times the weights.
PADDING = 1.125
DTYPES = {"float32": np.dtype("<f4"), "float16": np.dtype("<f2")}


class StoredWeights:
    """Weights on their way into a file; `is_sparse` says whether `coef_` is."""

    def __init__(self, index: InvertedIndex, is_sparse: bool, dtype: str) -> None:
        self.index, self.is_sparse, self.dtype = index, is_sparse, DTYPES[dtype]

    def segments(self) -> dict[str, Segment]:
        """Return the arrays of a file by name."""
        index, n_classes = self.index, self.index.shape[0]
        used, features = self._used()
        lengths = np.diff(index.indptr)
        indptr = index.indptr if used is None else np.append(0, np.cumsum(lengths[used]))
        # Intercepts by class, as `intercept_` has them; the reader puts them by rank.
        segments = {
            "indptr": array_segment(indptr),
            "classes": array_segment(index.classes, index.classes.dtype.newbyteorder("<")),
            "weights": self._converted(index.weights, n_classes),
            "full_weights": self._converted(index.full_weights, n_classes),
            "intercept": array_segment(index.intercept[index.ranks(np.arange(n_classes))]),
            "by_intercept": array_segment(index.by_intercept),
        }
        if self.is_sparse:
            # Empty stands for the order of the numbers: JSON and arrays have no None here.
            plain = np.empty(0, dtype=np.int32)
            order = plain if index.order is None else index.order
            segments["order"] = array_segment(order)
            stops = index.full_stop
            segments["full_stop"] = array_segment(stops if used is None else stops[used])
            segments["features"] = array_segment(features)
            # Starts are not written: a file that said them could point anywhere, and the reader
            # would have to check what it can compute from the stops.
            starts, size = Layout(index.order, index.full_stop).starts()
            if (index.full_start != starts).any() or index.full_weights.shape != (size,):
                raise ValueError("the weights do not lie as a file lays them out")
        return segments

    def _used(self) -> tuple[np.ndarray | None, np.ndarray]:
        """Return which lists are written, None for all, and their features, none for all."""
        # A hashed space has a million columns, of which a collection uses some thousand: pointers
        # of the others would be most of the file.
        index, every = self.index, np.empty(0, dtype=np.int64)
        if index.columns is not None:
            return None, index.columns.columns.astype(np.int64)
        if not self.is_sparse:
            return None, every
        # Where it pays: each number takes 8 bytes, each feature that is left out saves 12.
        used = np.flatnonzero((np.diff(index.indptr) > 0) | (index.full_stop > 0))
        return (used, used) if 0 < len(used) < index.shape[1] // 4 else (None, every)

    def _converted(self, weights: np.ndarray, n: int) -> Segment:
        """Convert the first n columns of a matrix, in whole cache lines where that costs little."""
        if weights.ndim == 1:
            n = len(weights)
            shape = (n,)
        else:
            places = n_places(n)
            shape = weights.shape[0], places if places <= PADDING * n else n
        step = max(1, AT_ONCE // max(1, 4 * np.prod(shape[1:], dtype=int)))

        def blocks() -> Iterator[bytes]:
            # Padding is written as zeros: a view of wider memory has other data behind its columns,
            # which do not belong into a file.
            for start in range(0, shape[0], step):
                part = weights[start : start + step]
                block = np.zeros((len(part), *shape[1:]), dtype=self.dtype)
                block[..., :n] = part[..., :n]
                yield block.tobytes()

        return Segment(self.dtype.str, shape, blocks)


def weights_to_store(
    weights: WeightStore, intercept: np.ndarray, index: InvertedIndex, dtype: str, threshold: float
) -> StoredWeights:
    """Return arrays to write for the weights of a model, whose index is given too.

    Sparse weights of a magnitude up to `threshold` are left out.
    """
    if dtype == "float16" and (largest := weights.largest()) > np.finfo(np.float16).max:
        raise ValueError(
            f"dtype='float16': coef_ holds {largest:g}, and float16 ends at 65504; scale the "
            "features, or store float32"
        )
    kept = weights.for_file(dtype, threshold)
    if kept is not weights.coef:
        index = InvertedIndex(kept, intercept)
    return StoredWeights(index, weights.is_sparse, dtype)


class LoadedWeights:
    """Weights that came from a file: their `index`, and `intercept` by class.

    Raises ValueError if the arrays do not fit together, or point outside one another.
    """

    def __init__(
        self, shape: tuple[int, int], is_sparse: bool, array: ArrayReader, mapped: bool
    ) -> None:
        # Kernels number classes and features with int32.
        if len(shape) != 2 or not all(type(n) is int and 0 < n < 2**31 for n in shape):
            raise ValueError(f"weights of shape {shape}")
        self.is_sparse, self._coef = is_sparse, None
        used = _features(array, shape[1]) if is_sparse else None
        n_listed = shape[1] if used is None else len(used)
        # What kernels follow is read into memory and checked once; a mapped copy could be changed
        # afterwards. Its length is a few numbers for each class and feature.
        small = {
            name: _typed(array(name, False), name, dtype, length)
            for name, dtype, length in (
                ("indptr", "<i8", n_listed + 1),
                ("intercept", "<f4", shape[0]),
                ("by_intercept", "<i4", shape[0]),
            )
        }
        # With the lengths below: from 0, never falling, to the very end of the lists. A list then
        # neither begins before its array nor ends behind it.
        _require_ascending(small["indptr"])
        indptr = small["indptr"]
        require_within(small["by_intercept"], shape[0], "by_intercept")
        large = {name: array(name, mapped) for name in ("classes", "weights", "full_weights")}
        _typed(large["classes"], "classes", ("<u2", "<i4"), indptr[-1])
        _typed(large["weights"], "weights", ("<f4", "<f2"), indptr[-1])
        full = _typed(large["full_weights"], "full_weights", ("<f4", "<f2"), None)
        where = _of_prefixes(array, full, shape, n_listed) if is_sparse else _of_dense(full, shape)
        # `_features` has checked that they ascend: ColumnMap finds them by bisection and by bits.
        where["columns"] = None if used is None else ColumnMap(used, shape[1])
        # Read-only, as after a fit: the index has its own copy, which an edit would not reach.
        self.intercept = small["intercept"]
        self.intercept.flags.writeable = False
        order = where["order"]
        small["intercept"] = padded_intercept(
            self.intercept if order is None else self.intercept[order]
        )
        if mapped:
            self.index = MappedIndex(shape, **small, **where, **large)
            return
        # In memory nothing changes any more: one check of all lists, where `MappedIndex` checks the
        # copies that it makes for each block of rows.
        require_within(large["classes"], shape[0], "classes")
        large["classes"] = large["classes"].astype(class_dtype(shape[0]), copy=False)
        for name in ("weights", "full_weights"):
            large[name] = large[name].astype(np.float32, copy=False)
        self.index = InvertedIndex.from_arrays(shape, **small, **where, **large)

    def coef(self) -> Matrix:
        """Return `coef_`, made when first used; of a dense model a view of the file's array."""
        if self._coef is None:
            self._coef = _class_by_class(self.index) if self.is_sparse else _dense(self.index)
        return self._coef


def _of_dense(full: np.ndarray, shape: tuple[int, int]) -> dict[str, Any]:
    """Return how dense weights lie, feature by feature."""
    # A row a feature, and in it a place a class at least: kernels read n_classes numbers of a row.
    if full.ndim != 2 or len(full) != shape[1] or full.shape[1] < shape[0]:
        raise ValueError(f"full_weights has the shape {full.shape}")
    return all_stored(full, shape)


def _features(array: ArrayReader, n_features: int) -> np.ndarray | None:
    """Return the features that a file has weights of; None for all."""
    used = _typed(array("features", False), "features", "<i8", None)
    if used.shape == (0,):
        return None
    # Ascending, each once: `ColumnMap` finds features by bits, counts and bisection, which would
    # otherwise contradict one another and lead behind the last list.
    if used.ndim != 1 or used[0] < 0 or used[-1] >= n_features or (np.diff(used) <= 0).any():
        raise ValueError(f"features do not ascend within {n_features}")
    return used


def _of_prefixes(
    array: ArrayReader, full: np.ndarray, shape: tuple[int, int], n_listed: int
) -> dict[str, Any]:
    """Return how the weights of a sparse model lie, from the arrays of its file."""
    order = _typed(array("order", False), "order", "<i4", None)
    stops = _typed(array("full_stop", False), "full_stop", "<i4", n_listed)
    # A permutation, by sorting. Kernels write the score of a rank to order[rank]: a number outside
    # would be a write out of bounds, and one that comes twice leave a class without a score.
    if order.shape == (0,):
        order = None
    elif order.shape != (shape[0],) or (np.sort(order) != np.arange(shape[0])).any():
        raise ValueError(f"order does not hold each of {shape[0]} classes once")
    # Starts follow from the stops, and the array has exactly their end: no prefix leaves it.
    require_within(stops, shape[0] + 1, "full_stop")
    starts, size = Layout(order, stops).starts()
    if full.shape != (size,):
        raise ValueError(f"full_weights has the shape {full.shape}")
    return {
        "order": order,
        "full_stop": stops,
        "full_start": starts,
        "n_stored": n_places(shape[0]),
    }


def _typed(
    array: np.ndarray, name: str, dtypes: str | tuple[str, ...], length: int | None
) -> np.ndarray:
    """Return an array that has one of these dtypes and this length; raise ValueError if not."""
    # The dtype too: a kernel would raise in a prediction, and SciPy convert indices without a word.
    dtypes = (dtypes,) if isinstance(dtypes, str) else dtypes
    if array.dtype.str not in dtypes or (length is not None and array.shape != (length,)):
        raise ValueError(f"{name} has the dtype {array.dtype} and the shape {array.shape}")
    return array


def require_lists(arrays: tuple[np.ndarray, ...], n_lists: int, n_classes: int) -> None:
    """Raise ValueError if a kernel that follows lists which were loaded would leave their arrays.

    They are the starts of the lists (int64, n_lists + 1), their classes (int32), their values
    (float32) and more values, of the same length or of size 0.
    """
    indptr, classes, values, others = arrays
    _typed(indptr, "starts", "<i8", n_lists + 1)
    _require_ascending(indptr)
    _typed(classes, "classes", "<i4", indptr[-1])
    require_within(classes, n_classes, "classes")
    _typed(values, "values", "<f4", indptr[-1])
    _typed(others, "values", "<f4", indptr[-1] if others.size else 0)


def _require_ascending(indptr: np.ndarray) -> None:
    """Raise ValueError unless starts of lists begin at 0 and never fall."""
    if indptr[0] != 0 or (np.diff(indptr) < 0).any():
        raise ValueError("the starts of the lists of weights do not ascend from 0")


def _dense(index: InvertedIndex) -> np.ndarray:
    """Return dense weights class by class: a view of those feature by feature, read-only."""
    full = index.full_weights
    coef = full.astype(np.float32, copy=False)[:, : index.shape[0]].T
    coef.flags.writeable = False
    return coef


def _class_by_class(index: InvertedIndex) -> sparse.csr_array:
    """Return CSR weights from an index: of each feature what is stored, and then its list."""
    n_classes, lengths, ranks, weights = index.shape[0], np.diff(index.indptr), [], []
    # Lists without stored weights in front are taken together, as one slice up to the next feature
    # that has some: most features have none.
    done = 0
    for feature in np.flatnonzero(index.full_stop):
        start, list_start = index.full_start[feature], index.indptr[feature]
        stored = index.full_weights[start : start + index.full_stop[feature]].astype(np.float32)
        users = np.flatnonzero(stored).astype(np.int32)
        ranks += [index.classes[done:list_start], users]
        weights += [index.weights[done:list_start], stored[users]]
        lengths[feature] += len(users)
        done = list_start
    # Copies, of a mapped file as well: what is checked next is what is used.
    classes = np.concatenate([*ranks, index.classes[done:]], dtype=np.int32)
    values = np.concatenate([*weights, index.weights[done:]], dtype=np.float32)
    require_within(classes, n_classes, "classes")
    starts = narrow_pointers(np.append(0, np.cumsum(lengths)))
    coef = sparse.csc_array((values, classes, starts), shape=(n_classes, len(lengths))).tocsr()
    if index.order is not None:
        coef = coef[ranks_of(index.order)]
    coef.sort_indices()
    if index.columns is not None:
        coef = index.columns.widen_csr(coef)
    coef = narrow_indices(coef)
    for array in (coef.data, coef.indices, coef.indptr):
        array.flags.writeable = False
    return coef

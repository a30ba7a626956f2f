"""The columns that a model keeps weights of, where few of very many have entries."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from ..persistence._decoder import Origin
from ..topk._feature_major import feature_major
from ..topk._inverted_index import InvertedIndex
from ..topk._weight_store import store_of
from ..utils._column_map import ColumnMap, used_columns
from ..utils._matrix import narrow_indices
from ..utils._typing import Matrix


class KeepsUsedColumns:
    """Mixin of classifiers with dense weights that train on the columns in use alone.

    A hashed space has 2**20 to 2**24 columns, of which texts use some thousand. All that training
    keeps of columns is then kept of these, by their numbers among them; ``coef_`` is a CSR of all
    columns, which has the weights of these for each class, zero or not.
    """

    # int32, ascending, and their map, which is not saved; None where all are kept. `Any` stands for
    # None, since most callers know by another way that there are some.
    _columns: np.ndarray | Any = None
    _column_map: ColumnMap | Any = None

    @property
    def _n_kept(self) -> int:
        """Columns that training knows."""
        return self.n_features_in_ if self._columns is None else len(self._columns)

    def _may_keep_few(self) -> bool:
        """Return whether weights of columns without entries are zero, and need not be kept."""
        return True

    def _move_columns(self, before: np.ndarray) -> None:
        """Bring what the solver keeps of the columns `before`, weights apart, to those of now."""

    def _keep_columns(
        self, features: Callable[[], np.ndarray], n_columns: int, cold: bool, dense: bool
    ) -> ColumnMap | None:
        """Keep columns with entries in the rows of a call; return their map, None for all columns.

        A `cold` start decides whether all are kept; where few are, that number grows. `features` is
        `Rows.features` of the rows, and only called where it is needed.
        """
        before = self._columns
        if cold:
            may = not dense and self._may_keep_few()
            self._columns = used_columns(features(), n_columns) if may else None
        elif before is not None:
            # Columns never leave: weights of a column without entries in this call stay.
            parts = [before, np.unique(features()), self._columns_by_hand()]
            self._columns = np.unique(np.concatenate(parts)).astype(np.int32)
            if len(self._columns) > len(before):
                self._move_columns(before)
        kept = self._columns
        self._column_map = None if kept is None else ColumnMap(kept, n_columns)
        return self._column_map

    def _columns_by_hand(self) -> np.ndarray:
        """Return columns in which `coef_`, if it was put in its place, has weights."""
        # The very pattern that `_as_coef` makes: each class has all columns, zeros too, in order.
        if self._columns is not None and store_of(self.coef_).are_of(self._columns):
            return self._columns[:0]
        return store_of(self.coef_).checked().features()

    def _kept_weights(self) -> np.ndarray:
        """Return the weights of the columns kept, ndarray of float32 (n_classes, n_kept)."""
        weights = store_of(self.coef_).checked()
        # Of the CSR that `_as_coef` has made a view, without a copy.
        return weights.dense() if self._columns is None else weights.of_columns(self._columns)

    def _like_kept_weights(self) -> np.ndarray:
        """Return an array of the shape of the weights kept, which takes no memory."""
        return np.broadcast_to(np.float32(0), (self.coef_.shape[0], self._n_kept))

    def _as_coef(self, W: np.ndarray) -> Matrix:
        """Return weights of the columns kept as `coef_` has them, for all columns."""
        if self._columns is None or W.shape[1] != len(self._columns):
            return W
        n_classes, n_kept = W.shape
        indptr = np.arange(n_classes + 1, dtype=np.int64) * n_kept
        # In memory of its own: W is the solver's, and changes with the next call.
        parts = np.array(W, order="C").ravel(), np.tile(self._columns, n_classes), indptr
        return narrow_indices(sparse.csr_array(parts, shape=(n_classes, self.n_features_in_)))

    def _set_kept_model(self, W: np.ndarray, intercept: np.ndarray) -> None:
        """Become the model of these weights (n_classes, n_kept); see `_set_linear_model`."""
        if self._columns is None:
            self._set_linear_model(W, intercept)
            return
        # The index is made of W, the dense weights of few columns, not of the CSR of all.
        self._set_linear_model(self._as_coef(W), intercept, indexed=False)
        index = InvertedIndex.of_columns(feature_major(W), self.intercept_, self._column_map)
        self._index_cache.put(self.coef_, self.intercept_, index)

    def _in_all_columns(self, X: Matrix) -> Matrix:
        """Return a CSR of the columns kept by the numbers of all."""
        if self._columns is None or not sparse.issparse(X):
            return X
        return self._column_map.widen_csr(X)

    def _set_loaded_state(self, state: dict[str, Any], origin: Origin | None) -> None:
        """Take over the attributes of a file, after a check of the columns; see `SaveMixin`."""
        # Before the map is made, which sets a bit for each column where its number says.
        if (columns := state.get("_columns")) is not None:
            check_columns(columns, state.get("n_features_in_"))
            self._column_map = ColumnMap(columns, state["n_features_in_"])
        super()._set_loaded_state(state, origin)


def n_columns_to_pay(
    estimator: BaseEstimator, indices: np.ndarray | None, n_columns: int, first: bool
) -> int:
    """Return how many columns a call has to have weights of, for entries in these columns.

    `indices` is None where rows are dense.
    """
    # Asked before a fit, for the refusal of what does not fit into memory: 2**20 columns of a
    # hashed space would be refused by their width, while texts use some thousand.
    may = getattr(estimator, "_may_keep_few", None)
    if may is None or not may() or indices is None:
        return n_columns
    if not first and estimator._columns is None:
        return n_columns
    used = used_columns(indices, n_columns)
    return n_columns if used is None else len(used)


def moved(table: np.ndarray, before: np.ndarray, now: np.ndarray, axis: int = 0) -> np.ndarray:
    """Return a table whose numbers along `axis`, of the columns `before`, are of the columns `now`.

    New columns have zeros. Both are ascending int32, and all of `before` are among those of `now`.
    """
    shape = list(table.shape)
    shape[axis] = len(now)
    wider = np.zeros(shape, dtype=table.dtype)
    np.moveaxis(wider, axis, 0)[np.searchsorted(now, before)] = np.moveaxis(table, axis, 0)
    return wider


def check_columns(columns: Any, n_features: Any) -> None:
    """Raise ValueError if columns that were loaded are none of a model of `n_features`."""
    if columns is None:
        return
    known = isinstance(columns, np.ndarray) and columns.dtype == np.int32 and columns.ndim == 1
    known = known and type(n_features) is int and len(columns) > 0
    if not known or columns[0] < 0 or columns[-1] >= n_features or (np.diff(columns) <= 0).any():
        raise ValueError(f"the columns in use do not ascend within {n_features}")

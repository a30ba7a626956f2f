"""How the scores of LDGS come from rows: by embeddings, linearly or by squared distance."""

from collections.abc import Callable
from copy import copy
from typing import Any, Self

import numpy as np
from scipy import sparse

from ..base._linear_model import LinearScores
from ..topk._inverted_index import InvertedIndex
from ..topk._weight_store import WeightStore, store_of
from ..utils._column_map import ColumnMap
from ..utils._matrix import as_rows
from ..utils._rows import Rows
from ._prediction import embedded


class EmbeddedScores(LinearScores):
    """Scores of embeddings, which a table of the features `columns`, by default all, makes of rows.

    Without a table rows are their own embeddings. Scores are linear, or if `squared` minus squared
    distances to label embeddings, each with an intercept.
    """

    def __init__(
        self,
        n_features: int,
        binary: bool,
        table: np.ndarray | None,
        squared: bool,
        columns: ColumnMap | None = None,
    ) -> None:
        super().__init__(n_features, binary)
        self._table, self._squared, self._columns = table, squared, columns
        self.kept_as_lists = not squared

    def n_inputs(self) -> int:
        """Return the width of embeddings; ValueError if the table does not fit the features."""
        table = self._table
        if table is None:
            return self.n_features
        if not isinstance(table, np.ndarray) or table.dtype != np.float32 or table.ndim != 2:
            raise ValueError("input_embeddings_ is no matrix of float32")
        if len(table) != (self.n_features if self._columns is None else len(self._columns)):
            raise ValueError(f"input_embeddings_ has {len(table)} rows")
        return table.shape[1]

    def inputs(self, rows: Rows, n_threads: int) -> Rows:
        """Return embeddings of rows."""
        if self._table is None and not self._squared:
            return rows
        return as_rows(embedded(rows, self._table, n_threads, self._columns))

    def index(
        self, coef: np.ndarray, intercept: np.ndarray, n_threads: int = 1
    ) -> "InvertedIndex | Distances":
        """Return what scores rows by these label embeddings."""
        if self._squared:
            return Distances(coef, intercept, self.binary)
        return super().index(coef, intercept, n_threads)

    def weights_at(self, store: WeightStore, row: int, features: np.ndarray) -> np.ndarray:
        """Return the weights of one label on some features, through the layer."""
        if self._table is None:
            return super().weights_at(store, row, features)
        return self._embeddings(features) @ self._label_embedding(store, row)

    def weights_of_label(
        self,
        store: WeightStore,
        intercept: np.ndarray,
        place: int,
        features: np.ndarray,
        values: np.ndarray,
    ) -> tuple[np.ndarray, float]:
        """Return the weights of a label on features of a row, and the constant of its score."""
        if not self._squared:
            return super().weights_of_label(store, intercept, place, features, values)
        weights, constant = self._of_distance(store, intercept, place, features, values)
        if self.binary:  # the difference of two scores
            others, other = self._of_distance(store, intercept, 1 - place, features, values)
            return weights - others, constant - other
        return weights, constant

    def _embeddings(self, features: np.ndarray) -> np.ndarray:
        """Return the embeddings of features; zeros for those that the table is not of."""
        if self._columns is None:
            return self._table[features]
        known = self._columns.columns
        # Beyond the last known feature the place is the last one, which is not equal then.
        places = np.minimum(np.searchsorted(known, features), len(known) - 1)
        return self._table[places] * (known[places] == features)[:, None]

    def _label_embedding(self, store: WeightStore, row: int) -> np.ndarray:
        """Return one row of the label embeddings, dense."""
        return super().weights_at(store, row, np.arange(store.coef.shape[1]))

    def _of_distance(
        self,
        store: WeightStore,
        intercept: np.ndarray,
        place: int,
        features: np.ndarray,
        values: np.ndarray,
    ) -> tuple[np.ndarray, float]:
        """Return minus the squared distance to a label embedding, as weights and an intercept."""
        # -||x - w||^2 + b = <x, 2 w> - ||w||^2 - ||x||^2 + b, with x the embedding of the row.
        w = self._label_embedding(store, place).astype(np.float64)
        if self._table is None:
            square, weights = values @ values, 2 * w[features]
        else:
            table = self._embeddings(features).astype(np.float64)
            embedding = values @ table
            square, weights = embedding @ embedding, 2 * (table @ w)
        return weights.astype(np.float32), float(intercept[place] - w @ w - square)


class Distances:
    """Scores minus the squared distance to each label embedding, plus its intercept.

    In a `binary` model the one score is that of the second class minus that of the first.
    """

    def __init__(self, coef: np.ndarray, intercept: np.ndarray, binary: bool) -> None:
        coef = store_of(coef).dense()
        # In the difference of two scores ||x||^2 cancels.
        self._whole = np.float32(0 if binary else -1)  # the factor of ||x||^2
        intercept = intercept - np.einsum("ij,ij->i", coef, coef, dtype=np.float64)
        coef = 2 * coef
        if binary:
            coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        # One more column, which `_rows` fills with ||x||^2: a linear index scores distances.
        last = np.full((len(coef), 1), self._whole, dtype=np.float32)
        self._index = InvertedIndex(np.hstack([coef, last]), intercept.astype(np.float32))

    def _rows(self, rows: Rows) -> Rows:
        """Return rows with their squared length as one more column."""
        X = rows.matrix()
        return as_rows(np.hstack([X, np.einsum("ij,ij->i", X, X)[:, None]]))

    def topk(self, rows: Rows, k: int, n_threads: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the k best classes of rows, and their scores."""
        return self._index.topk(self._rows(rows), k, n_threads)

    def scores(self, rows: Rows, n_threads: int) -> np.ndarray:
        """Return all scores of rows."""
        return self._index.scores(self._rows(rows), n_threads)

    def positives(self, rows: Rows, n_threads: int) -> sparse.csr_array:
        """Return the classes with a positive score, as an indicator."""
        return self._index.positives(self._rows(rows), n_threads)

    def shifted(self, weight: np.ndarray) -> Self:
        """Return scores with a weight added for each class."""
        other = copy(self)
        other._index = self._index.shifted(weight)
        return other

    def part(self, coef: Callable[[], Any], places: np.ndarray) -> Self:
        """Return scores of some classes."""
        other = copy(self)
        other._index = self._index.part(coef, places)
        return other

    def scores_at(
        self,
        coef: Callable[[], Any],
        rows: Rows,
        starts: np.ndarray,
        places: np.ndarray,
        n_threads: int,
    ) -> np.ndarray:
        """Return scores of given classes for each row."""
        return self._index.scores_at(coef, self._rows(rows), starts, places, n_threads)

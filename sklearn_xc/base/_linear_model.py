"""Linear weights as prediction follows them: their index, kept or read from a file."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..topk._inverted_index import InvertedIndex
from ..topk._weight_store import WeightStore, store_of
from ..utils._locks import ForkSafeLock
from ..utils._rows import Rows
from ..utils._typing import Matrix


class LinearScores:
    """Scores of an estimator by its weights alone, as ``W x + b``.

    An estimator whose scores come otherwise has a subclass, from its ``_scores_of(state)``. In a
    `binary` model two classes share one score.
    """

    # Whether coef_ and intercept_ are kept as the inverted lists that prediction follows.
    kept_as_lists = True

    def __init__(self, n_features: int, binary: bool) -> None:
        self.n_features, self.binary = n_features, binary

    def n_inputs(self) -> int:
        """Return the number of columns of coef_."""
        return self.n_features

    def inputs(self, rows: Rows, n_threads: int) -> Rows:
        """Return the rows that weights are multiplied with, made of the rows of features."""
        return rows

    def index(self, coef: Matrix, intercept: np.ndarray, n_threads: int = 1) -> Any:
        """Return the object that scores inputs: has ``topk``, ``scores`` and ``positives``."""
        return InvertedIndex(coef, intercept, n_threads=n_threads)

    def weights_at(self, store: WeightStore, row: int, features: np.ndarray) -> np.ndarray:
        """Return weights of some features, ascending, in a row of coef_."""
        return store.of_class(row, features)

    def weights_of_label(
        self,
        store: WeightStore,
        intercept: np.ndarray,
        place: int,
        features: np.ndarray,
        values: np.ndarray,
    ) -> tuple[np.ndarray, float]:
        """Return weights and intercept of the label at a place of ``classes_``.

        The weights are those of the features that a row has, which ascend; the score is their
        product with the values of the row, and the intercept. `values` are for subclasses.
        """
        if not self.binary:
            return self.weights_at(store, place, features), float(intercept[place])
        # One row for two classes: the score of the first is minus that of the second.
        sign = 1 if place else -1
        return sign * self.weights_at(store, 0, features), sign * float(intercept[0])


class IndexCache:
    """The inverted index of an estimator's weights, built when it is first used."""

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._arrays = ()
        self._index = None

    def get(
        self,
        coef: Matrix,
        intercept: np.ndarray,
        make: Callable[[Matrix, np.ndarray], Any] = InvertedIndex,
    ) -> Any:
        """Return the index of these weights."""
        weights = store_of(coef)
        arrays = (*weights.arrays(), intercept)
        # Held while an index is built: of two threads that predict, one builds and one waits.
        with self._lock.held:
            # By identity: to compare a million weights would take as long as a prediction.
            if not _same(arrays, self._arrays):
                index = make(weights.checked().coef, intercept)
                # Weights that a user has put in place and may still edit are indexed again at every
                # call: an index of before the edit would answer with the weights of before.
                if any(array.flags.writeable for array in arrays):
                    return index
                self._arrays, self._index = arrays, index
            return self._index

    def put(self, coef: Matrix, intercept: np.ndarray, index: Any) -> None:
        """Keep an index that is built already, of arrays that cannot be written to."""
        with self._lock.held:
            self._arrays, self._index = (*store_of(coef).arrays(), intercept), index


def _same(some: tuple[np.ndarray, ...], others: tuple[np.ndarray, ...]) -> bool:
    """Return whether two tuples are of the very same arrays."""
    return len(some) == len(others) and all(a is b for a, b in zip(some, others, strict=True))

"""Linear weights as prediction follows them: their index, kept or read from a file."""

from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from scipy import sparse

from ..topk._inverted_index import InvertedIndex
from ..utils._locks import ForkSafeLock
from ..utils._matrix import checked_csr
from ..utils._rows import Rows
from ..utils._typing import Matrix
from ._explain import weights_at


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

    def weights_at(self, coef: Matrix, row: int, features: np.ndarray) -> np.ndarray:
        """Return weights of some features, ascending, in a row of coef."""
        return weights_at(coef, row, features)

    def weights_of_label(
        self,
        coef: Matrix,
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
            return self.weights_at(coef, place, features), float(intercept[place])
        # One row for two classes: the score of the first is minus that of the second.
        sign = 1 if place else -1
        return sign * self.weights_at(coef, 0, features), sign * float(intercept[0])


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
        arrays = arrays_of(coef, intercept)
        # Held while an index is built: of two threads that predict, one builds and one waits.
        with self._lock.held:
            # By identity: to compare a million weights would take as long as a prediction.
            if not _same(arrays, self._arrays):
                coef = checked_weights(coef)
                index = make(coef, intercept)
                # Weights that a user has put in place and may still edit are indexed again at every
                # call: an index of before the edit would answer with the weights of before.
                if any(array.flags.writeable for array in arrays):
                    return index
                self._arrays, self._index = arrays, index
            return self._index

    def put(self, coef: Matrix, intercept: np.ndarray, index: Any) -> None:
        """Keep an index that is built already, of arrays that cannot be written to."""
        with self._lock.held:
            self._arrays, self._index = arrays_of(coef, intercept), index


# Arrays of sparse weights whose structure is known to be right, by their ids: those that a fit has
# made, and those that were checked when nothing could be written into them. Weak: an array that is
# freed leaves, and the next one with its id is another.
_TRUSTED = WeakValueDictionary()


def trust(coef: Matrix) -> None:
    """Remember the very arrays of sparse weights, which were made or checked here."""
    if sparse.issparse(coef):
        _TRUSTED.update({id(array): array for array in _parts_of(coef)})


def checked_weights(coef: Matrix) -> Matrix:
    """Return ``coef_`` as CSR or ndarray, its structure checked if a user put it in place."""
    # Kernels read each number at a multiple of its size.
    if not sparse.issparse(coef):
        return np.require(coef, requirements="A")
    if coef.format == "csr":
        # An array is trusted for being the very one that was trusted before. Not to be writable,
        # which anybody can say of any array, only keeps it as it was then.
        fixed = not any(array.flags.writeable for array in _parts_of(coef))
        if fixed and all(_TRUSTED.get(id(array)) is array for array in _parts_of(coef)):
            return coef
    checked = checked_csr(coef, "coef_")
    if not any(array.flags.writeable for array in _parts_of(checked)):
        trust(checked)
    return checked


def arrays_of(coef: Matrix, intercept: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the arrays that weights and intercepts lie in."""
    parts = _parts_of(coef) if sparse.issparse(coef) else (coef,)
    return *parts, intercept


def _parts_of(coef: sparse.csr_array) -> tuple[np.ndarray, ...]:
    """Return the arrays that a sparse matrix lies in."""
    # A user may put any matrix in place. One of another format has no arrays to know it by: an
    # array that is never the same, and can be written to, stands for it.
    if coef.format not in ("csr", "csc"):
        return (np.empty(0, dtype=np.float32),)
    return coef.data, coef.indices, coef.indptr


def _same(some: tuple[np.ndarray, ...], others: tuple[np.ndarray, ...]) -> bool:
    """Return whether two tuples are of the very same arrays."""
    return len(some) == len(others) and all(a is b for a, b in zip(some, others, strict=True))

"""Fitted weights in another form: without the small ones, sparse, dense; and their size.

All of this leaves the state of the solver as it is: what trains on afterwards (``partial_fit``,
``warm_start``) goes on from there, and says in its own docstring what that is.
"""

from dataclasses import fields, is_dataclass
from numbers import Real
from typing import Self, TypeVar

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ..topk._weight_store import store_of
from ..utils._typing import Matrix

LARGEST = float(np.finfo(np.float32).max)

Estimator = TypeVar("Estimator")


class WeightFormat:
    """Mixin of what changes the form of `coef_`, and of its size."""

    def prune(self, threshold: float) -> Self:
        """Set the weights of magnitude up to `threshold` to zero.

        A score moves by at most `threshold` times the sum of the magnitudes in its row. Intercepts
        stay. Sparse weights take less memory at once, dense ones after :meth:`sparsify`.

        Parameters
        ----------
        threshold : float
            Zero or more, and finite. 0 only drops zeros that are stored.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If threshold is not such a number.
        MemoryError
            If a second copy of dense weights would take more than half of the memory available.

        Notes
        -----
        A later fit with ``warm_start=True``, or `partial_fit`, starts from what the solver has
        kept: pruned weights come back where that is the dual variables (PPDSparseClassifier) or
        lists of its own (MemoirSVC), and stay zero at the start where it is ``coef_``.
        """
        check_is_fitted(self)
        limit = _limit(threshold)
        return _replace_weights(self, store_of(self.coef_).checked().pruned(limit))

    def sparsify(self) -> Self:
        """Store ``coef_`` as CSR, without its zeros; the model stays the same.

        Scores may differ in the last bit of float32.

        Returns
        -------
        self : object

        Raises
        ------
        MemoryError
            If the non-zeros, 8 bytes each, would take more than half of the memory available.

        Notes
        -----
        Less memory than dense weights only where fewer than half are not zero (see :meth:`prune`).
        Training on makes the weights of the softmax estimators dense again.
        """
        check_is_fitted(self)
        return _replace_weights(self, store_of(self.coef_).checked().sparsified())

    def densify(self) -> Self:
        """Store ``coef_`` as an ndarray; the model stays the same.

        Scores may differ in the last bit of float32.

        Returns
        -------
        self : object

        Raises
        ------
        MemoryError
            If the weights of all classes and features, 4 bytes each, would take more than half of
            the memory available.
        """
        check_is_fitted(self)
        weights = store_of(self.coef_)
        if not weights.is_sparse:
            return self
        return _replace_weights(self, weights.checked().densified())

    @property
    def nbytes_(self) -> int:
        """Bytes of all fitted arrays, with what the solver keeps to train on, and the labels.

        The index by which sparse weights are searched in prediction, about as large as they are,
        comes on top.
        """
        check_is_fitted(self)
        state = {name: value for name, value in vars(self).items() if name != "_index_cache"}
        return _n_bytes(state, set())


def _replace_weights(estimator: Estimator, coef: Matrix) -> Estimator:
    """Give an estimator weights of another form, all or nothing."""
    with estimator._all_or_nothing():
        estimator._set_linear_model(coef, estimator.intercept_)
    return estimator


def _limit(threshold: float) -> np.float32:
    """Return the largest magnitude that `prune` drops; raise ValueError for no such number."""
    if isinstance(threshold, (bool, np.bool_)) or not isinstance(threshold, Real):
        raise ValueError(f"threshold must be a number of zero or more, got {threshold!r}")
    if not 0 <= threshold < np.inf:
        raise ValueError(f"threshold must be a finite number of zero or more, got {threshold!r}")
    # Compared in float32, as weights are: 0.1 is another number in float64.
    return np.float32(min(float(threshold), LARGEST))


def _n_bytes(value: object, seen: set[int]) -> int:
    """Return the bytes of the arrays in a value, each counted once."""
    # Two attributes may share an array, as classes_ and the encoding do.
    if id(value) in seen:
        return 0
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        strings = sum(label.__sizeof__() for label in value.flat) if value.dtype == object else 0
        return value.nbytes + strings
    if sparse.issparse(value):
        return sum(_n_bytes(part, seen) for part in vars(value).values())
    if is_dataclass(value):
        return sum(_n_bytes(getattr(value, field.name), seen) for field in fields(value))
    if isinstance(value, dict):
        return sum(_n_bytes(part, seen) for part in value.values())
    if isinstance(value, (list, tuple)):
        return sum(_n_bytes(part, seen) for part in value)
    return 0

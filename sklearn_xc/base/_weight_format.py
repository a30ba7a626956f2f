"""Fitted weights in another form: without the small ones, sparse, dense; and their size."""

from dataclasses import fields, is_dataclass
from numbers import Real

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ..topk._feature_major import feature_major, n_places
from ..utils._memory_limit import require_memory

BYTES_OF_AN_ENTRY = 8  # of CSR with float32 values and int32 indices
LARGEST = float(np.finfo(np.float32).max)


class WeightSurgery:
    """Methods of all estimators with linear weights that change the form of ``coef_``.

    All of them leave the state of the solver alone: what trains on afterwards (``partial_fit``,
    ``warm_start``) goes on from there, and says in its own docstring what that is.
    """

    def prune(self, threshold):
        """Set the weights of magnitude up to `threshold` to zero.

        A score moves by at most `threshold` times the sum of the magnitudes in its row. Intercepts
        stay. Sparse weights take less room at once, dense ones after :meth:`sparsify`.

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
        if isinstance(threshold, (bool, np.bool_)) or not isinstance(threshold, Real):
            raise ValueError(f"threshold must be a number of zero or more, got {threshold!r}")
        if not 0 <= threshold < np.inf:
            raise ValueError(
                f"threshold must be a finite number of zero or more, got {threshold!r}"
            )
        limit = np.float32(min(float(threshold), LARGEST))
        if sparse.issparse(self.coef_):
            coef = sparse.csr_array(self.coef_)
            kept = np.abs(coef.data) > limit
            indptr = np.append(0, np.cumsum(kept))[coef.indptr].astype(coef.indptr.dtype)
            coef = sparse.csr_array((coef.data[kept], coef.indices[kept], indptr), coef.shape)
        else:
            coef = self._dense_copy("prune", "sparsify first, or prune fewer classes at a time")
            coef[np.abs(coef) <= limit] = 0
        return self._replace_weights(coef)

    def sparsify(self):
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
        Less room than dense weights only where fewer than half are not zero (see :meth:`prune`).
        Training on makes the weights of the softmax estimators dense again.
        """
        check_is_fitted(self)
        if sparse.issparse(self.coef_):
            coef = sparse.csr_array(self.coef_)
        else:
            n_entries = np.count_nonzero(self.coef_)
            require_memory(
                BYTES_OF_AN_ENTRY * n_entries + 8 * len(self.coef_),
                f"sparsify: {n_entries} weights that are not zero",
                "prune first",
            )
            coef = sparse.csr_array(self.coef_)
        return self._replace_weights(coef)

    def densify(self):
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
        if sparse.issparse(self.coef_):
            return self._replace_weights(self._dense_copy("densify", "leave them sparse"))
        return self

    @property
    def nbytes_(self):
        """Bytes of all fitted arrays, with what the solver keeps to train on, and the labels.

        The index by which sparse weights are searched in prediction, about as large as they are,
        comes on top.
        """
        check_is_fitted(self)
        state = {name: value for name, value in vars(self).items() if name != "_index_cache"}
        return _n_bytes(state, set())

    def _dense_copy(self, method, instead):
        """The weights in the dense layout of prediction, in memory of their own."""
        n_classes, n_features = self.coef_.shape
        require_memory(
            4 * n_features * (n_places(n_classes) if n_classes > 1 else 1),
            f"{method}: dense weights of {n_classes} classes and {n_features} features",
            instead,
        )
        if n_classes == 1:
            coef = self.coef_.toarray() if sparse.issparse(self.coef_) else self.coef_
            return np.array(coef, dtype=np.float32, order="C")
        if not sparse.issparse(self.coef_):
            return feature_major(self.coef_)[:, :n_classes].T
        weights = feature_major(np.broadcast_to(np.float32(0), self.coef_.shape))
        entries = sparse.coo_array(self.coef_)
        np.add.at(weights, (entries.col, entries.row), entries.data)
        return weights[:, :n_classes].T

    def _replace_weights(self, coef):
        with self._all_or_nothing():
            self._set_linear_model(coef, self.intercept_)
        return self


def _n_bytes(value, seen):
    """The bytes of the arrays in a value, each counted once."""
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

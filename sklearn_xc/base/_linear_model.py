"""Linear weights as prediction follows them: their index, kept or read from a file."""

import numpy as np
from scipy import sparse

from ..topk._inverted_index import InvertedIndex
from ..utils._locks import ForkSafeLock
from ._labels import LabelEncoding


class IndexCache:
    """The inverted index of an estimator's weights, built when first asked for.

    An index is kept only for arrays that cannot be written to; weights that the user has put in
    place and may still edit are indexed afresh at every call.
    """

    def __init__(self):
        self._lock = ForkSafeLock()
        self._arrays = ()
        self._index = None

    def get(self, coef, intercept, make=None):
        arrays = arrays_of(coef, intercept)
        with self._lock:
            if not _same(arrays, self._arrays):
                index = (make or InvertedIndex)(coef, intercept)
                if any(array.flags.writeable for array in arrays):
                    return index
                self._arrays, self._index = arrays, index
            return self._index

    def put(self, coef, intercept, index):
        """Take an index that there is already, of arrays that cannot be written to."""
        with self._lock:
            self._arrays, self._index = arrays_of(coef, intercept), index


def arrays_of(coef, intercept):
    """The arrays that weights and intercepts lie in."""
    parts = (coef.data, coef.indices, coef.indptr) if sparse.issparse(coef) else (coef,)
    return *parts, intercept


def _same(some, others):
    return len(some) == len(others) and all(a is b for a, b in zip(some, others, strict=True))


def check_shape(state, shape, n_inputs):
    """Refuse what is loaded if the weights are not those of the labels and features beside them."""
    encoding, classes, n_features = (state[n] for n in ("_encoding", "classes_", "n_features_in_"))
    if not isinstance(encoding, LabelEncoding) or not isinstance(classes, np.ndarray):
        raise ValueError("the labels are of the wrong kind")
    if classes.shape != encoding.classes_.shape or type(n_features) is not int:
        raise ValueError("the numbers of classes or features contradict one another")
    if shape[1:] != (n_inputs,) or shape[0] not in (encoding.n_columns, len(classes)):
        raise ValueError(f"weights of shape {shape} for {len(classes)} classes")
    if "feature_names_in_" in state and len(state["feature_names_in_"]) != n_features:
        raise ValueError("the names of the features are not as many as the features")

"""Small models of every kind that are saved and loaded."""

import numpy as np
from scipy import sparse

from sklearn_xc import (
    AugmentReduceClassifier,
    ImplicitSoftmaxRegressor,
    LDGSClassifier,
    MemoirSVC,
    PPDSparseClassifier,
)

ESTIMATORS = {
    "ppdsparse": PPDSparseClassifier(random_state=0, warm_start=True),
    "memoir": MemoirSVC(max_iter=2, random_state=0),
    "augment_reduce": AugmentReduceClassifier(max_iter=2, random_state=0),
    "implicit_softmax": ImplicitSoftmaxRegressor(max_iter=2, learning_rate=0.3, random_state=0),
    "ldgs": LDGSClassifier(hidden_dim=8, max_iter=2, random_state=0),
}
MODES = [None, "r"]


def problem(n_classes=70, n_samples=200, n_features=90):
    """Sparse rows, and labels as texts; 70 classes are more than a block of the kernels."""
    rng = np.random.default_rng(0)
    X = rng.random((n_samples, n_features), dtype=np.float32)
    X[rng.random(X.shape) > 0.1] = 0
    X[:, 0] = 1  # a feature that most classes use
    X = sparse.csr_array(X)
    y = np.array([f"class {i}" for i in range(n_classes)])[np.arange(n_samples) % n_classes]
    return X, y


X, Y_TEXT = problem()
INDICATOR = sparse.csr_array((Y_TEXT[:, None] == np.unique(Y_TEXT)).astype(np.int8))


NAMES = [*ESTIMATORS, "multilabel", "binary", "dense binary"]


def assert_same_arrays(some, others):
    if sparse.issparse(some):
        assert type(some) is type(others)
        for name in ("data", "indices", "indptr"):
            assert_same_arrays(getattr(some, name), getattr(others, name))
    else:
        assert some.dtype == others.dtype
        assert np.array_equal(some, others)


def assert_same_predictions(model, other, X=X):
    for a, b in zip(model.predict_topk(X, k=2), other.predict_topk(X, k=2), strict=True):
        assert_same_arrays(a, b)
    assert_same_arrays(model.decision_function(X), other.decision_function(X))
    assert_same_arrays(model.predict(X), other.predict(X))

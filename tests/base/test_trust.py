"""Weights that a user puts in place are checked, whatever their flags say."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse

from sklearn_xc import (
    AugmentReduceClassifier,
    ImplicitSoftmaxRegressor,
    LDGSClassifier,
    MemoirSVC,
    PPDSparseClassifier,
)

X, Y = np.eye(40), np.arange(40) % 8
MODELS = {
    "ppdsparse": PPDSparseClassifier(random_state=0),
    "memoir": MemoirSVC(random_state=0, max_iter=2),
    "ldgs": LDGSClassifier(random_state=0, max_iter=2),
    "ldgs warm": LDGSClassifier(random_state=0, max_iter=2, warm_start=True),
    "augment_reduce": AugmentReduceClassifier(random_state=0, max_iter=2, warm_start=True),
    "implicit_softmax": ImplicitSoftmaxRegressor(
        random_state=0, max_iter=2, learning_rate=1.0, warm_start=True
    ),
}


def malformed(coef):
    """Weights that name features which there are not, in arrays that nobody can write to."""
    dense = coef.toarray() if sparse.issparse(coef) else np.asarray(coef)
    bad = sparse.csr_array(dense)
    bad.indices[:] = 10**8
    for array in (bad.data, bad.indices, bad.indptr):
        array.flags.writeable = False  # as joblib.load(mmap_mode="r") leaves them
    return bad


@pytest.mark.parametrize("name", MODELS)
def test_read_only_arrays_are_checked(name):
    model = MODELS[name].fit(X, Y)
    bad = malformed(model.coef_)
    for way in (lambda m: m, copy.copy, lambda m: pickle.loads(pickle.dumps(m))):
        for method in ("predict", "partial_fit", "explain", "fit", "prune"):
            if not hasattr(model, method) or (name == "memoir" and method == "partial_fit"):
                continue  # MemoirSVC goes on from what it has kept beside its weights
            broken = way(set_weights(pickle.loads(pickle.dumps(model)), bad))
            if method == "fit" and not getattr(broken, "warm_start", False):
                continue
            arguments = {"predict": (X,), "explain": (X,), "prune": (0.1,)}.get(method, (X, Y))
            with pytest.raises(ValueError, match="coef_"):
                getattr(broken, method)(*arguments)


def set_weights(model, coef):
    model.coef_ = coef
    return model

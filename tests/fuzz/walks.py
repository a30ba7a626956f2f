"""Walks of public calls: whatever was called, answers agree, and files have the model."""

import contextlib
import pickle
import warnings

import numpy as np
from scipy import sparse
from sklearn.base import clone

from sklearn_xc import (
    AugmentReduceClassifier,
    ImplicitSoftmaxRegressor,
    LDGSClassifier,
    MemoirSVC,
    PPDSparseClassifier,
    TopKAbstainClassifier,
    TopKCalibratedClassifier,
    TopKNeighborsClassifier,
    TopKStackingClassifier,
    TopKThresholdClassifier,
    load,
    topk_predictor,
)

REFUSED = ValueError, TypeError, MemoryError, AttributeError


def walks(rng, folder):
    """A model fitted, grown, pruned and read again by chance; laws after each call."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        n_features = int(rng.choice([1, 3, 30, 2000]))
        model, X, y = model_of(rng), rows_of(rng, n_features), None
        for _ in range(rng.integers(2, 6)):
            before = dict(vars(model))
            X = rows_of(rng, n_features)
            y = labels_of(rng, X.shape[0])
            try:
                model = _step(model, rng, X, y, folder)
            except REFUSED:
                mapped = "_origin" in before  # and may have been read into memory
                if not mapped and not same(vars(model), before):
                    raise AssertionError("a refused call has changed the model") from None
            if model.__sklearn_is_fitted__():
                _laws(model, X, folder)


def same(some, other):
    return some.keys() == other.keys() and all(some[name] is other[name] for name in other)


def model_of(rng):
    weighted = {"class_weight": [None, "balanced"][rng.integers(2)]}
    models = [
        PPDSparseClassifier(warm_start=bool(rng.integers(2)), random_state=0, **weighted),
        MemoirSVC(max_iter=2, random_state=0),
        LDGSClassifier(hidden_dim=[None, 3][rng.integers(2)], max_iter=2, random_state=0),
        LDGSClassifier(similarity="sqeuclidean", max_iter=2, random_state=0),
        AugmentReduceClassifier(max_iter=2, random_state=0),
        ImplicitSoftmaxRegressor(max_iter=2, learning_rate=0.1, random_state=0),
        TopKCalibratedClassifier(PPDSparseClassifier(random_state=0), cv=2),
        TopKThresholdClassifier(PPDSparseClassifier(random_state=0), cv=2),
        TopKAbstainClassifier(MemoirSVC(max_iter=2, random_state=0), cv=2),
        TopKNeighborsClassifier(graded=bool(rng.integers(2))),
        TopKStackingClassifier(
            [("linear", PPDSparseClassifier(random_state=0)), ("rows", TopKNeighborsClassifier())],
            random_state=0,
        ),
    ]
    return clone(models[rng.integers(len(models))])


def rows_of(rng, n_features, n=None):
    X = rng.normal(size=(n or int(rng.choice([1, 12, 40])), n_features)).astype(np.float32)
    X[rng.random(X.shape) < 0.5] = 0
    if rng.random() < 0.1:
        X[:] = 0
    return sparse.csr_array(X) if rng.random() < 0.5 else X


def labels_of(rng, n):
    codes = np.arange(n) % int(rng.integers(2, 6))
    kind = rng.integers(5)
    if kind == 0:
        return codes
    if kind == 1:
        return np.array([f"name {code}" for code in codes])
    if kind == 2:
        return np.array([f"name {code}" for code in codes], dtype=object)
    if kind == 3:
        return codes + 7 * 10**18
    return sparse.csr_array(rng.random((n, 5)) < 0.3).astype(int)


def _step(model, rng, X, y, folder):
    """One call, by chance; the model to go on with."""
    calls = ["fit", "fit", "partial_fit", "prune", "sparsify", "densify", "load", "pickle"]
    call = calls[rng.integers(len(calls))]
    if call == "load":
        model.save(folder / "walk")
        return load(folder / "walk", [None, "r"][rng.integers(2)])
    if call == "pickle":
        return pickle.loads(pickle.dumps(model))
    if call == "partial_fit" and not model.__sklearn_is_fitted__() and not sparse.issparse(y):
        return model.partial_fit(X, y, classes=np.unique(y))
    arguments = {"prune": (0.1,), "sparsify": (), "densify": ()}.get(call, (X, y))
    return getattr(model, call)(*arguments)


def _laws(model, X, folder):
    labels, scores = model.predict_topk(X, k=2)
    with contextlib.suppress(AttributeError):
        one = topk_predictor(model, k=2)(X)
        np.testing.assert_array_equal(one[0], labels)
        np.testing.assert_array_equal(one[1], scores)
    model.save(folder / "walk")
    for other in (
        load(folder / "walk"),
        load(folder / "walk", "r"),
        pickle.loads(pickle.dumps(model)),
    ):
        found = other.predict_topk(X, k=2)
        np.testing.assert_array_equal(found[0], labels)
        np.testing.assert_array_equal(found[1], scores)

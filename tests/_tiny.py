"""A tiny softmax problem on which every draw of classes can be gone through."""

import numpy as np

from sklearn_xc.implicit_softmax._data import SoftmaxData
from sklearn_xc.implicit_softmax._solvers import SolverSettings
from sklearn_xc.utils._matrix import as_rows

NONE = np.empty(0, dtype=np.float32)
NO_DOUBLES = np.empty(0)
GO = np.zeros(1, dtype=np.int32)
N, D, K = 4, 3, 4
Y = np.array([0, 2, 2, 1], dtype=np.int32)


def tiny(seed=0):
    """Rows (one of them empty), weights, intercepts and auxiliary variables."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D)).astype(np.float32)
    X[1, 1] = 0
    X[3] = 0
    W = rng.normal(size=(K, D)).astype(np.float32)
    b = rng.normal(size=K).astype(np.float32)
    return X, W, b, rng.uniform(0.2, 2, size=N)


def settings(solver="implicit", **changes):
    options = {
        "raman": False,
        "batch_size": 1,
        "n_sampled": 1,
        "sampling": "uniform",
        "alpha": 0.0,
        "delta": 1.0,
        "intercept": 1.0,
        "shuffle": True,
    }
    return SolverSettings(solver=solver, **{**options, **changes})


def data_of(X, y, weight=NONE):
    return SoftmaxData(as_rows(X), y.astype(np.int32), weight)

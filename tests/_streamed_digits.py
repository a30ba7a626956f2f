"""Digits that come in parts, and the solvers that take them."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.preprocessing import normalize

SOLVERS = {
    "implicit": {"solver": "implicit", "learning_rate": 0.1},
    "implicit batches": {
        "solver": "implicit",
        "batch_size": 8,
        "n_sampled_classes": 3,
        "learning_rate": 0.1,
    },
    "umax": {"solver": "umax", "learning_rate": 0.1},
    "sgd": {"solver": "sgd", "learning_rate": 0.01},
    "one_vs_each": {"solver": "one_vs_each", "batch_size": 8, "learning_rate": 0.03},
    "nce": {"solver": "nce", "batch_size": 8, "learning_rate": 0.03},
    "importance": {"solver": "importance", "batch_size": 8, "learning_rate": 0.03},
    "exact": {"solver": "exact", "learning_rate": 0.1},
}


def digits():
    X, y = load_digits(return_X_y=True)
    return normalize(X)[:1000].astype(np.float32), y[:1000]

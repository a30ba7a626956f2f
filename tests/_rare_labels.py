"""Labels of which most samples have none, and models fitted on them."""

import numpy as np
from scipy import sparse

from sklearn_xc import PPDSparseClassifier, TopKCalibratedClassifier


def rare_labels(n_samples=600, share_with_labels=1.0):
    """Labels that the features say nothing about, each of few rows: no score gets above zero."""
    rng = np.random.default_rng(0)
    X = sparse.random(n_samples, 40, 0.2, "csr", np.float32, rng)
    Y = np.zeros((n_samples, 30), dtype=int)
    Y[np.arange(n_samples), rng.integers(0, 30, n_samples)] = 1
    Y[rng.random(n_samples) > share_with_labels] = 0
    return X, sparse.csr_array(Y)


def fitted(X, Y, kind="plain", **options):
    model = PPDSparseClassifier(l2=100.0, random_state=0)
    if kind == "calibrated":
        model = TopKCalibratedClassifier(model, cv=0.3)
    return model.fit(X, Y, **options)

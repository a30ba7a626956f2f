"""Samples, names and fast parts of the tests of stacks."""

import numpy as np
from scipy import sparse

from sklearn_xc import (
    PPDSparseClassifier,
    TopKNeighborsClassifier,
    TopKStackingClassifier,
)
from sklearn_xc.datasets import make_xc_classification

X, Y = make_xc_classification(900, 300, 40, n_labels=2.0, signal=0.3, random_state=0)

X, Q, Y, Y_Q = X[:700], X[700:], Y[:700], Y[700:]

CODES = np.asarray(Y.argmax(axis=1)).ravel()

NAMES = np.array([f"c{i:02}" for i in range(40)])

T = sparse.csr_matrix(Y.T @ X)
T = sparse.csr_matrix(T.multiply(T > 2))

FAST = [
    ("ovr", PPDSparseClassifier(l1=0.1, l2=1.0, random_state=0)),
    ("near", TopKNeighborsClassifier(20, 2.0, 0.0, 1.0)),
]


def fitted(kind="labels", texts=True, **parameters):
    model = TopKStackingClassifier(FAST, random_state=0, **parameters)
    given = {"label_features": T} if texts else {}
    if kind == "classes":
        return model.fit(X, NAMES[CODES], classes=NAMES, **given)
    return model.fit(X, Y, **given)

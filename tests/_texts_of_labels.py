"""Samples and texts of labels of one-vs-rest fits."""

import numpy as np
from scipy import sparse

from sklearn_xc.datasets import make_xc_classification

N_LABELS = 30

X, _ = make_xc_classification(400, 200, N_LABELS, random_state=0)

X = sparse.csr_array(X)

RNG = np.random.default_rng(0)

WAY = RNG.normal(size=(200, N_LABELS))

SCORES = X @ WAY

Y = sparse.csr_array((np.sort(SCORES, axis=1)[:, [-2]] <= SCORES).astype(np.uint8))

TEXTS = sparse.csr_array(np.where(WAY > 2, WAY, 0).T.astype(np.float32))

GIVEN = {"l1": 0.01, "l2": 1.0, "random_state": 0, "label_feature_weight": 1.0}


def weights_of(model):
    return np.column_stack([model.coef_.toarray(), model.intercept_])

"""Thirty rows, their labels and the containers that rows come in."""

import numpy as np
from scipy import sparse

RNG = np.random.default_rng(0)
X = (RNG.normal(size=(30, 6)) * (RNG.random((30, 6)) < 0.6)).astype(np.float32)
LABELS = np.array(["ant", "bee", "cow"])[np.arange(30) % 3]
INDICATOR = (RNG.random((30, 4)) < 0.4).astype(np.int64)
CONTAINERS = [np.asarray, sparse.csr_array, sparse.csc_matrix, sparse.coo_array]

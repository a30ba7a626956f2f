"""Samples that resemble those of their class, with labels partly by chance."""

import numpy as np
from scipy import sparse


def near_copies(n_classes, n_copies, chance, seed=0):
    """Samples with six of the features of their class and two others; labels changed by chance."""
    rng = np.random.default_rng(seed)
    own = rng.permuted(np.tile(np.arange(400), (n_classes, 1)), axis=1)[:, :8]
    y = np.repeat(np.arange(n_classes), n_copies)
    rows = np.zeros((len(y), 400))
    for row, label in zip(rows, y, strict=True):
        row[rng.permutation(own[label])[:6]] = 1
        row[rng.integers(400, size=2)] = 1
    changed = rng.random(len(y)) < chance
    y[changed] = rng.integers(n_classes, size=changed.sum())
    return sparse.csr_array(rows / np.sqrt(rows.sum(axis=1))[:, None]), y

"""Steps of the LDGS paper, replayed in NumPy."""

import numpy as np
from scipy.special import softmax


def replayed(X, y, n_classes, rate, n_passes):
    """SGD on the softmax, one sample a step, in the order of the rows: rate / (1 + t)."""
    W, t = np.zeros((n_classes, X.shape[1])), 0
    for _ in range(n_passes):
        for x, own in zip(X, y, strict=True):
            p = softmax(W @ x)
            p[own] -= 1
            W -= rate / (1 + t) * np.outer(p, x)
            t += 1
    return W

"""An epoch of the full softmax in NumPy, and a problem for it."""

import numpy as np
from scipy.special import log_softmax, softmax

from sklearn_xc.softmax._full_softmax import BEYOND, cuts_at, equal_cuts
from sklearn_xc.topk._feature_major import n_places, padded_intercept


def problem(n=37, d=13, n_classes=70, seed=0, density=0.4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
    X[3] = 0
    y = rng.integers(0, n_classes, n).astype(np.int32)
    W = np.zeros((d, n_places(n_classes)), dtype=np.float32)
    W[:, :n_classes] = rng.normal(size=(d, n_classes))
    b = padded_intercept(rng.normal(size=n_classes), BEYOND)
    weight = rng.integers(0, 3, n).astype(np.float32)
    return X.astype(np.float32), y, weight, W, b


def reference(X, y, weight, W, b, order, batch_size, rates, alpha, adaptive, intercept=True):
    """The epoch in float64; weights (d, K), intercepts (K,).

    The weights are W times a scale for each row, which takes the shrinking of plain steps.
    """
    W, b, s = W.astype(float), b.astype(float), np.zeros((X.shape[1] + 1, len(b)))
    scale = np.ones((len(W), 1))
    counts = np.maximum((X != 0).sum(axis=0), 1)
    loss = 0
    cuts = (equal_cuts if adaptive else cuts_at)(len(order), batch_size)
    for rate, start, stop in zip(rates, cuts[:-1], cuts[1:], strict=True):
        rows = order[start:stop]
        x, w = X[rows].astype(float), weight[rows]
        scores = x @ (scale * W) + b
        loss -= (w * log_softmax(scores, axis=1)[np.arange(len(rows)), y[rows]]).sum()
        residual = softmax(scores, axis=1)
        residual[np.arange(len(rows)), y[rows]] -= 1
        residual *= w[:, None]
        share = alpha * (x != 0).sum(axis=0)[:, None] / counts[:, None]
        present = (x != 0).any(axis=0)
        if adaptive:
            gain = len(X) / len(rows)
            g = gain * np.vstack([x.T @ residual + share * W, residual.sum(axis=0)])
            s = 0.1 * g**2 + 0.9 * s
            step = rate * g / (1 + np.sqrt(s))
            W[present] -= step[:-1][present]
            b = b - intercept * step[-1]
        else:
            W[present] -= (rate / scale * (x.T @ residual))[present]
            scale[present] /= (1 + rate * share)[present]
            b = b - intercept * rate * residual.sum(axis=0)
    return scale * W, b, loss

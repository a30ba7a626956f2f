"""Rows with frequent and rare features."""

import numpy as np
from scipy import sparse

TERMS = 8  # entries a row


def make_text(n=4000, d=1500, k=60, signs=False, seed=0):
    """Short rows of Zipf words and small classes with words of their own."""
    rng = np.random.default_rng(seed)
    p = 1 / np.arange(5, d + 5)
    words = rng.choice(d, size=(n, TERMS), p=p / p.sum())
    code = rng.integers(4 * k, size=n)  # three rows in four have no label
    labelled = code < k
    own = rng.integers(d // 2, d, size=(k, 4))
    words[labelled, :2] = own[code[labelled][:, None], rng.integers(4, size=(labelled.sum(), 2))]
    values = rng.random(words.shape) + 0.2
    if signs:
        values *= rng.choice([-1, 1], size=words.shape)
    rows = np.repeat(np.arange(n), TERMS)
    X = sparse.csr_array((values.ravel(), (rows, words.ravel())), shape=(n, d)).astype("f4")
    X = sparse.csr_array(X.multiply(1 / np.sqrt(X.multiply(X).sum(axis=1))[:, None]), dtype="f4")
    Y = np.zeros((n, k))
    Y[np.flatnonzero(labelled), code[labelled]] = 1
    return X, Y

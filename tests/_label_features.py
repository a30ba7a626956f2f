"""Rows of labels with words of their own, texts of the labels, and the fit that both stand for."""

import numpy as np
from scipy import sparse

N_SAMPLES, N_FEATURES, N_LABELS = 240, 60, 12
WITHOUT_ROWS = [3, 11]  # labels
WITHOUT_TEXT = 5
RNG = np.random.default_rng(0)
WORDS = np.repeat(np.eye(N_LABELS), 5, axis=1)[:, :N_FEATURES]  # five words of each label
LABEL_OF = RNG.choice(np.setdiff1d(np.arange(N_LABELS), WITHOUT_ROWS), N_SAMPLES)
DENSE = (WORDS[LABEL_OF] * (RNG.random((N_SAMPLES, N_FEATURES)) < 0.5)).astype(np.float32)
DENSE += (RNG.random((N_SAMPLES, N_FEATURES)) < 0.05).astype(np.float32)
SECOND = RNG.choice(np.setdiff1d(np.arange(N_LABELS), WITHOUT_ROWS), N_SAMPLES)
INDICATOR = np.zeros((N_SAMPLES, N_LABELS), dtype=np.uint8)
INDICATOR[np.arange(N_SAMPLES), LABEL_OF] = INDICATOR[np.arange(N_SAMPLES), SECOND] = 1
NAMES = np.array([f"label {i:02}" for i in range(N_LABELS)])
Y_1D = NAMES[LABEL_OF]
TEXTS = WORDS.astype(np.float32)
TEXTS[WITHOUT_TEXT] = 0
QUESTION = sparse.csr_array(WORDS[WITHOUT_ROWS].astype(np.float32))
FORMS = {"sparse": (sparse.csr_array(DENSE), sparse.csr_array(TEXTS)), "dense": (DENSE, TEXTS)}


def below(X, y, weight, texts, labels, of_text):
    """The ten lines that fit stands for: samples, then texts that are not zero."""
    dense = texts.toarray() if sparse.issparse(texts) else texts
    there = np.flatnonzero(np.abs(dense).sum(axis=1) > 0)
    X = sparse.csr_array(sparse.vstack([X, dense[there]])) if sparse.issparse(X) else X
    X = X if sparse.issparse(X) else np.vstack([X, dense[there]])
    if y.ndim == 1:
        y = np.append(y, labels[there])
    else:
        y = np.vstack([y, np.eye(len(dense), dtype=y.dtype)[there]])
    weight = np.ones(len(y) - len(there)) if weight is None else weight
    return X, y, np.append(weight, np.full(len(there), of_text))


def weights_of(model):
    coef = model.coef_.toarray() if sparse.issparse(model.coef_) else model.coef_
    return np.column_stack([coef, model.intercept_])

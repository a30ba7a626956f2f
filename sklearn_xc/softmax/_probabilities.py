"""Probabilities of classes from scores: blocks of rows, in float64."""

import numpy as np

from ..topk._dense_topk import best_columns

# Scores that are held at once, on the way to probabilities.
SCORES_AT_ONCE = 2**23


def log_softmax(scores):
    """Logarithms of the softmax, float64, of scores of float32 (n_samples, n_classes).

    In float32 probabilities near 0 and 1 would be cut where measures such as the log loss still
    tell them apart. None is above 1: the highest score is subtracted first.
    """
    log_p = scores.astype(np.float64)
    log_p -= log_p.max(axis=1, keepdims=True)
    log_p -= np.log(np.exp(log_p).sum(axis=1, keepdims=True))
    return log_p


def log_probability_blocks(model, rows, encoding, n_threads, log_probabilities=log_softmax):
    """Slices of rows, and the log-probabilities of all classes there.

    Parameters
    ----------
    model : object
        Has ``scores(rows, n_threads)``; of two classes one column, of the second against nothing.
    rows : Rows
    encoding : LabelEncoding
    n_threads : int
    log_probabilities : callable, default=log_softmax
        Of the scores of all classes.

    Yields
    ------
    part : slice
    log_p : ndarray of float64 (n_part, n_classes)
    """
    n_rows, size = rows.shape[0], max(1, SCORES_AT_ONCE // len(encoding.classes_))
    for start in range(0, n_rows, size):
        part = slice(start, min(start + size, n_rows))
        scores = model.scores(rows.block(part.start, part.stop), n_threads)
        if encoding.kind == "binary":
            scores = np.hstack([np.zeros_like(scores), scores])
        yield part, log_probabilities(scores)


def joined(blocks, shape, logarithms=False):
    """Probabilities, or their logarithms, of all rows: ndarray of float64 of this shape."""
    out = np.empty(shape)
    for part, log_p in blocks:
        out[part] = log_p if logarithms else np.exp(log_p, out=log_p)
    return out


def topk_probabilities(blocks, n_rows, k):
    """The k most probable classes of each row, and their probabilities.

    Parameters
    ----------
    blocks : iterable
        From `log_probability_blocks`.
    n_rows, k : int

    Returns
    -------
    columns : ndarray of int64 (n_rows, k)
        Best first, ties to the smaller column.
    probabilities : ndarray of float32 (n_rows, k)
    """
    columns = np.empty((n_rows, k), dtype=np.int64)
    values = np.empty((n_rows, k), dtype=np.float32)
    for part, log_p in blocks:
        columns[part] = best_columns(log_p, k)
        values[part] = np.exp(np.take_along_axis(log_p, columns[part], axis=1))
    return columns, values

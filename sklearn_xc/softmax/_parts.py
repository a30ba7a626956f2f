"""Samples that wait for a mini-batch, as both softmax models see them (`training/_waiting.py`)."""

import numpy as np

from ..base._multiclass import labels_of
from ..training._waiting import take_back


def tables_of(model):
    """Return the weights and intercepts of a model, dense."""
    return model._kept_weights(), np.asarray(model.intercept_)


def put_back(model, coef, intercept):
    """Set what `tables_of` returned."""
    model.coef_, model.intercept_ = model._as_coef(coef), intercept


def with_waiting(model, X, codes, sample_weight, first):
    """Return the samples of weight above zero, after those that wait, whose step is undone.

    Returns
    -------
    X, codes, sample_weight : object
        As given.
    n_new : int
        How many of them are of this call, the last ones.
    cold : bool
        Whether training begins with them.
    """
    X, codes, sample_weight = of_weight(X, codes, sample_weight)
    n_new, waiting = len(codes), None if first else take_back(model, tables_of, put_back)
    if waiting is None:
        return X, codes, sample_weight, n_new, first
    X, labels, sample_weight = waiting.followed_by(X, labels_of(codes), sample_weight)
    return X, labels[1], sample_weight, n_new, waiting.cold


def of_weight(X, codes, sample_weight):
    """Return the samples of weight above zero."""
    if sample_weight is None or (sample_weight > 0).all():
        return X, codes, sample_weight
    return chosen(X, codes, sample_weight, np.flatnonzero(sample_weight))


def chosen(X, codes, sample_weight, some):
    """Take some of the samples."""
    return X[some], codes[some], None if sample_weight is None else sample_weight[some]

"""What both softmax models ask of samples that wait for a mini-batch (see `utils/_waiting.py`)."""

import numpy as np

from ..base._linear_model import checked_weights
from ..utils._csr import as_dense


def tables_of(model):
    """The weights and intercepts of a model, dense."""
    return as_dense(checked_weights(model.coef_)), np.asarray(model.intercept_)


def take_back(model):
    """Undo the step on samples that wait; they, or None without any."""
    waiting = vars(model).get("_waiting")
    if waiting is None or not waiting.is_of(tables_of(model)):
        model._waiting = None
        return None
    if waiting.replaced:
        model.coef_, model.intercept_ = waiting.before(tables_of(model))
        model._waiting = waiting.placed(np.arange(len(model.classes_)), tables_of(model))
    return model._waiting


def of_weight(X, codes, sample_weight):
    """The samples of weight above zero."""
    if sample_weight is None or (sample_weight > 0).all():
        return X, codes, sample_weight
    return chosen(X, codes, sample_weight, np.flatnonzero(sample_weight))


def chosen(X, codes, sample_weight, some):
    """Some of the samples."""
    return X[some], codes[some], None if sample_weight is None else sample_weight[some]

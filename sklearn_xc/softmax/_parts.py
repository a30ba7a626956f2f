"""Some of the samples of a part."""

import numpy as np


def of_weight(X, codes, sample_weight):
    """Return the samples of weight above zero."""
    if sample_weight is None or (sample_weight > 0).all():
        return X, codes, sample_weight
    return chosen(X, codes, sample_weight, np.flatnonzero(sample_weight))


def chosen(X, codes, sample_weight, some):
    """Take some of the samples."""
    return X[some], codes[some], None if sample_weight is None else sample_weight[some]

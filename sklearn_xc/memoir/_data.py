"""The samples of a call of fit: the weights, those kept apart, their score."""

from typing import NamedTuple

import numpy as np
from sklearn.metrics import f1_score

from ..base._multiclass import held_out_samples
from ..topk._inverted_index import InvertedIndex
from ..utils._class_weight import weights_of_labels
from ..utils._matrix import as_rows


class Data(NamedTuple):
    """Samples, their classes and their weights, which are of size 0, or None, for 1."""

    X: object
    codes: np.ndarray
    weight: np.ndarray | None

    def take(self, chosen):
        weight = self.weight
        if weight is not None and weight.size:
            weight = weight[chosen]
        return Data(self.X[chosen], self.codes[chosen], weight)

    def counted(self):
        """The samples without those of weight zero, which are nowhere."""
        if not self.weight.size or self.weight.all():
            return self
        return self.take(self.weight > 0)


def with_class_weight(class_weight, classes, codes, sample_weight, totals=0):
    """Weights with those of the classes, of size 0 for 1.

    Parameters
    ----------
    class_weight : "balanced", dict or None
    classes : ndarray (n_classes,)
    codes : ndarray of int32 (n_samples,)
    sample_weight : ndarray of float32 (n_samples,), or None
    totals : ndarray of float64 (n_classes,), default=0
        Weights of the classes in the calls before, which "balanced" counts.

    Returns
    -------
    weight : ndarray of float32 (n_samples,), or of size 0
    totals : ndarray of float64 (n_classes,), or None
        With this call; None where they are not needed.
    """
    if class_weight is None:
        return np.empty(0, np.float32) if sample_weight is None else sample_weight, None
    weight = np.ones(len(codes)) if sample_weight is None else sample_weight
    totals = np.bincount(codes, weights=weight, minlength=len(classes)) + totals
    factors = weights_of_labels(class_weight, classes, totals)
    return (weight * factors[codes]).astype(np.float32), totals


def split(X, codes, weight, sample_weight, fraction, rng):
    """The samples to train on and those kept apart for early stopping, or None.

    Parameters
    ----------
    X, codes : ndarray or csr_array, ndarray
    weight : ndarray
        With those of the classes.
    sample_weight : ndarray or None
        Without, for the scores of the samples kept apart.
    fraction : float
        Of the samples that is kept apart; 0 for none.
    rng : RandomState
    """
    data = Data(X, codes, weight).counted()
    if not fraction:
        return data, None
    held_out = held_out_samples(data.codes, fraction, rng)
    if not held_out.any():
        return data, None
    if sample_weight is not None:
        sample_weight = sample_weight[weight > 0]
    return data.take(~held_out), data._replace(weight=sample_weight).take(held_out)


def macro_f1(coef, intercept, data, n_threads):
    """The macro-averaged F1 of the samples by these weights."""
    found = InvertedIndex(coef, intercept).topk(as_rows(data.X), 1, n_threads)[0].ravel()
    return f1_score(data.codes, found, average="macro", zero_division=0, sample_weight=data.weight)

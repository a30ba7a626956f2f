"""`classes_` and `score` of classifiers around others, whatever the form of their labels."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..utils._given_labels import in_order_of, plain_indicator, plain_labels
from ..utils._typing import LabelsLike, MatrixLike
from ._labels import accuracy


class ScoredByLabels:
    """Mixin of classifiers that keep their `Labels` in the attribute ``_labels``."""

    _labels: Any

    @property
    def classes_(self) -> np.ndarray:
        """The sorted labels, or the column names or numbers of an indicator."""
        check_is_fitted(self)
        return self._labels.classes

    def score(self, X: MatrixLike, y: LabelsLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of samples whose class, or whole set of labels, is predicted.

        Parameters
        ----------
        X : array-like, sparse, or whatever :meth:`predict` takes
        y : array-like of shape (n_samples,), or indicator of shape (n_samples, n_classes)
            The columns of a DataFrame go by their names.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        score : float
        """
        check_is_fitted(self)
        if self._labels.kind == "multilabel":
            y = plain_indicator(in_order_of(y, self.classes_))
        return accuracy(self, X, plain_labels(y), sample_weight)

"""Base of the wrappers that compare scores or probabilities with a threshold."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..utils._available import available_if
from ..utils._typing import MatrixLike
from ._base import BaseTopKWrapper

RESPONSES = {"predict_proba": "proba", "decision_function": "decision"}  # for predict_topk


def _estimator_has(method: str) -> Callable[[Any], bool]:
    """Return a check of whether the estimator has a method."""

    def check(self: Any) -> bool:
        # The attribute is read, not looked for: the error of the estimator says why it has none.
        getattr(vars(self).get("estimator_", self._wrapped()), method)
        return True

    return check


class BaseThresholdWrapper(BaseTopKWrapper):
    """Base of the wrappers with the parameter `response_method`, which leave rankings as they are.

    `fit` calls :meth:`_choose_response` once ``estimator_`` is there.
    """

    def _choose_response(self) -> None:
        """Set response_method_, by what the fitted estimator has."""
        self.response_method_ = self.response_method
        if self.response_method == "auto":
            has_it = hasattr(self.estimator_, "predict_proba")
            self.response_method_ = "predict_proba" if has_it else "decision_function"

    def _response(self) -> str:
        """Return the `scores` argument of `predict_topk`."""
        # a model saved before there was a choice has thresholds on scores
        return RESPONSES[vars(self).get("response_method_", "decision_function")]

    @available_if(_estimator_has("predict_proba"))
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Return probabilities of all classes by the estimator, where it gives them.

        Parameters
        ----------
        X : array-like, sparse, or whatever the estimator takes

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

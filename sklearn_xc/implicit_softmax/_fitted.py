"""Checks of the state of a fitted ImplicitSoftmaxRegressor."""

import numpy as np

from ..softmax._base import BaseSoftmaxClassifier
from ..training._waiting import Waiting
from ..utils._records import either, is_a, is_array, is_not_negative, is_text, require_attributes
from ._stream import Stream


def check_loaded(model: BaseSoftmaxClassifier) -> None:
    """Raise ValueError if attributes that were loaded do not fit together."""
    require_attributes(
        model,
        _stream=either(None, is_a(Stream)),
        _waiting=either(None, is_a(Waiting)),
        solver_=is_text,
        learning_rate_=is_not_negative,
        intercept_scaling_=is_not_negative,
        alpha_=either(is_not_negative, is_array(np.float64, least=0)),
    )
    stream = model._stream
    if stream is None:
        return
    sizes = stream.coordinates.sizes() | stream.sizes.sizes()
    if np.ndim(stream.entries):
        sizes |= {np.size(stream.entries)}
    if sizes - {model._n_kept}:
        raise ValueError("the coordinates of the samples do not fit the features")
    if model._waiting is not None:
        tables = model._like_kept_weights(), model.intercept_
        model._waiting.check(tables, len(model.classes_), model.n_features_in_)

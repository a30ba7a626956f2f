"""State of a fitted AugmentReduceClassifier."""

from ..softmax._base import BaseSoftmaxClassifier
from ..training._waiting import Waiting
from ..utils._records import (
    either,
    is_a,
    is_int32,
    is_not_negative,
    is_text,
    require_attributes,
)
from ._state import AugmentReduceState


def check_loaded(model: BaseSoftmaxClassifier) -> None:
    """Raise ValueError if attributes that were loaded do not fit together."""
    require_attributes(
        model,
        _state=is_a(AugmentReduceState),
        n_steps_=is_int32,
        bound_=is_text,
        learning_rate_=is_not_negative,
        alpha_=is_not_negative,
        _waiting=either(None, is_a(Waiting)),
    )
    model._state.require_sizes(len(model.classes_), model._n_kept)
    if model._waiting is not None:
        tables = model._like_kept_weights(), model.intercept_
        model._waiting.check(tables, len(model.classes_), model.n_features_in_)

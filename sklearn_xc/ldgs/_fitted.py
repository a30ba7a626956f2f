"""Checks of the attributes of a fitted LDGSClassifier."""

import numpy as np
from sklearn.base import BaseEstimator

from ..training._waiting import Waiting
from ..utils._records import (
    either,
    is_a,
    is_array,
    is_count,
    is_not_negative,
    is_one_of,
    is_positive,
    is_truth,
    require_attributes,
)
from ._state import LDGSState


def check_loaded(model: BaseEstimator) -> None:
    """Raise ValueError if attributes that were loaded do not fit together."""
    require_attributes(
        model,
        _state=is_a(LDGSState),
        input_embeddings_=either(None, is_array(np.float32, ndim=2, finite=False)),
        _squared=is_truth,
        hidden_dim_=either(None, is_count),
        gradient_=is_one_of("exact", "decomposed", "sampled", "mips"),
        learning_rate_=is_positive,
        alpha_=is_not_negative,
        n_scored_=is_not_negative,
        _waiting=either(None, is_a(Waiting)),
    )
    model._state.require_sizes(len(model.classes_), model.n_features_in_, model._n_kept)
    table = model._kept_table()
    if table is not None and len(table) != model._n_kept:
        raise ValueError("the embeddings of features are not one for each feature")
    if model._waiting is not None:
        weights = model._like_kept_weights() if table is None else model.coef_
        tables = [weights, model.intercept_, *([] if table is None else [table])]
        model._waiting.check(tables, len(model.classes_), model.n_features_in_)

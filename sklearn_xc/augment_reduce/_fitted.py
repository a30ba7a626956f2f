"""State of a fitted AugmentReduceClassifier."""

import numpy as np

from ..training._rows_seen import RowsSeen
from ..training._waiting import Waiting
from ..utils._records import (
    either,
    is_a,
    is_int32,
    is_not_negative,
    is_text,
    require_attributes,
)
from ._feature_moments import FeatureMoments


def grown_averages(model, places):
    """Return the averages when classes have moved to these places, with zeros for new ones."""
    if model._averages is None:
        return None
    grown = []
    for of_classes in model._averages:
        new = np.zeros((len(model.classes_), *of_classes.shape[1:]), dtype=np.float32)
        new[places] = of_classes
        grown.append(new)
    return tuple(grown)


def check_loaded(model):
    """Raise ValueError if attributes that were loaded do not fit together."""
    require_attributes(
        model,
        n_steps_=is_int32,
        _averages=either(None, is_a(tuple)),
        _seen=is_a(RowsSeen),
        _moments=is_a(FeatureMoments),
        bound_=is_text,
        learning_rate_=is_not_negative,
        _waiting=either(None, is_a(Waiting)),
    )
    n_classes, n_features = len(model.classes_), model._n_kept
    averages, moments = model._averages, model._moments
    shapes = (n_classes, n_features), (n_classes,)
    if averages is not None and (
        tuple(map(np.shape, averages)) != shapes
        or any(getattr(part, "dtype", None) != np.float32 for part in averages)
    ):
        raise ValueError("the averages of squared gradients do not fit the weights")
    if len(moments.first) != n_features:
        raise ValueError("the moments of the features are not one for each feature")
    if (waiting := vars(model).get("_waiting")) is not None:
        tables = model._like_kept_weights(), model.intercept_
        waiting.check(tables, n_classes, model.n_features_in_)

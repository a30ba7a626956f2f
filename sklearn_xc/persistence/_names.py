"""A fitted estimator with other names for its labels."""

from copy import copy
from dataclasses import replace

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from ..utils._label_places import check_names
from ..utils._typing import LabelsLike


def with_names(estimator: BaseEstimator, names: LabelsLike) -> BaseEstimator:
    """Return a shallow copy of a fitted estimator that calls its labels by other names.

    It is a classifier of ours, or a Pipeline or FrozenEstimator that ends in one; the copy shares
    what was learnt. `names` may be a fitted MultiLabelBinarizer. Raises ValueError if there are not
    as many names as labels, or a name twice, and TypeError if there are no labels of ours.
    """
    names = np.asarray(getattr(names, "classes_", names))
    # Shallow at each level of nesting: the user's own pipeline keeps its names.
    renamed = copy(estimator)
    if isinstance(estimator, Pipeline):
        last, step = estimator.steps[-1]
        renamed.steps = [*estimator.steps[:-1], (last, with_names(step, names))]
    elif isinstance(estimator, FrozenEstimator):
        renamed.estimator = with_names(estimator.estimator, names)
    elif "_encoding" in vars(estimator):
        check_names(names, len(estimator.classes_))
        renamed._encoding = replace(estimator._encoding, classes_=names)
        renamed.classes_ = names
        renamed._index_cache = estimator._index_cache  # the weights are the same
    else:
        raise TypeError(
            f"names are for a classifier of sklearn_xc at the end; {type(estimator).__name__} is "
            "none: give them to its fit"
        )
    return renamed

"""State of a fitted classifier that comes from a file or was set by hand: taken in, and checked."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator

from ..persistence import SaveMixin
from ..topk._weight_store import are_weights
from ..training._waiting import Waiting
from ..utils._records import (
    either,
    is_a,
    is_array,
    is_count,
    is_int32,
    is_labels,
    is_number,
    require_attributes,
)
from ..utils._unwrap import find_inner
from ._labels import LabelEncoding
from ._used_columns import check_columns


def check_labels_and_counts(model: BaseEstimator, mapped: bool) -> None:
    """Raise ValueError if labels and counts of a model do not fit together.

    `mapped` is that of ``SaveMixin._check_loaded``.
    """
    n_classes = len(model._encoding.classes_)
    # Names and kinds first: what follows computes with them, and no attribute that a file names may
    # be without a test.
    require_attributes(
        model,
        _support=either(None, is_array(np.int64, least=0)),
        _held_out_counts=either(None, is_array(np.int64, ndim=2, least=0)),
        n_iter_=is_int32,
        loss_curve_=is_array(np.float64, finite=False),
        _beginning=either(None, is_a(Waiting)),
        _columns=either(None, is_array(np.int32, least=0)),
        _encoding=is_a(LabelEncoding),
        classes_=is_labels,
        coef_=are_weights,
        intercept_=is_array(np.float32, finite=False),
        n_features_in_=is_count,
        feature_names_in_=is_labels,
        _share_with_labels=is_number,
        search_recall_=is_a(float, np.floating),
        validation_scores_=is_array(np.float64, finite=False),
    )
    classes = model._encoding.classes_
    # Two arrays of a file for one thing, which may differ. Of a mapped file only the shapes are
    # compared, until all is read: a million labels would be read from the disk at each start.
    same = np.shape(model.classes_) == classes.shape
    if not same or not (mapped or np.array_equal(model.classes_, classes)):
        raise ValueError("classes_ are not those that the model was fitted on")
    # Counts of other labels would lead LabelReport's indices behind the end of `classes_`.
    counts = [part for part in (model._support, model._held_out_counts) if part is not None]
    if {np.shape(part)[-1] for part in counts} - {n_classes} or np.shape(model._held_out_counts)[
        :-1
    ] not in ((), (3,)):
        raise ValueError(f"counts of labels for another number than {n_classes} classes")
    check_columns(vars(model).get("_columns"), model.n_features_in_)
    if (beginning := vars(model).get("_beginning")) is not None:
        beginning.check((), n_classes, model.n_features_in_)


def check_shape(state: Mapping[str, Any], shape: tuple[int, ...], n_inputs: int) -> None:
    """Refuse weights that are loaded with labels or features of other numbers."""
    # The very kinds: `len` and `.shape` of another kind could fit here, and not in a kernel.
    encoding, classes, n_features = (state[n] for n in ("_encoding", "classes_", "n_features_in_"))
    if not isinstance(encoding, LabelEncoding) or not isinstance(classes, np.ndarray):
        raise ValueError("the labels are of the wrong kind")
    if classes.shape != encoding.classes_.shape or type(n_features) is not int:
        raise ValueError("the numbers of classes or features contradict one another")
    # Kernels take the number of classes from the weights, and predictions look up that many labels:
    # one class too many would be a label read behind the end.
    if shape[1:] != (n_inputs,) or shape[0] not in (encoding.n_columns, len(classes)):
        raise ValueError(f"weights of shape {shape} for {len(classes)} classes")
    if "feature_names_in_" in state and len(state["feature_names_in_"]) != n_features:
        raise ValueError("the names of the features are not as many as the features")


def predicts_topk(estimator: object) -> bool:
    """Return whether a loaded value is an estimator of ours, or a Pipeline that ends in one."""
    while isinstance(estimator, FrozenEstimator):
        estimator = estimator.estimator
    try:
        return isinstance(find_inner(estimator, "predict_topk").estimator, SaveMixin)
    except (TypeError, AttributeError):
        return False

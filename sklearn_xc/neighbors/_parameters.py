"""The ranges of the parameters of TopKNeighborsClassifier, and what a file of one may hold."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator

from ..base._labels import LabelEncoding
from ..base._validation import Interval, StrOptions
from ..utils._csr import LARGEST_INDEX
from ..utils._records import (
    either,
    is_a,
    is_array,
    is_count,
    is_not_negative,
    is_number,
    require_attributes,
)
from ._row_labels import RowLabels
from ._row_lists import RowLists
from ._row_parts import RowParts
from ._texts import LabelTexts

# (2^31) ** -4 = 2^-124 is still a normal float32: no factor of a frequency vanishes.
FREQUENCY_POWERS = -4, 4
AUTO = StrOptions({"auto"})
CONSTRAINTS = {
    "n_neighbors": [AUTO, Interval(Integral, 1, LARGEST_INDEX, closed="both")],
    # beyond these bounds float64 would overflow, or all votes would vanish
    "power": [AUTO, Interval(Real, 0, 64, closed="both")],
    "frequency_power": [AUTO, Interval(Real, *FREQUENCY_POWERS, closed="both")],
    "text_weight": [AUTO, Interval(Real, 0, 1e6, closed="both")],
    "index": [StrOptions({"exact", "hnsw"})],
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
    "label_names": ["array-like", None],
    "graded": ["boolean"],
}


def check_loaded(model: BaseEstimator, mapped: bool) -> None:
    """Raise ValueError if what a file holds of a TopKNeighborsClassifier does not fit together."""
    needed = (
        "_encoding",
        "classes_",
        "_row_parts",
        "_row_labels",
        "_texts",
        "_frequencies",
        "n_features_in_",
        "n_neighbors_",
        "power_",
        "frequency_power_",
        "text_weight_",
    )
    missing = [name for name in needed if name not in vars(model)]
    if missing:
        raise ValueError(f"it holds a TopKNeighborsClassifier without {missing}")
    require_attributes(
        model,
        _encoding=is_a(LabelEncoding),
        classes_=is_a(np.ndarray),
        _row_parts=is_a(RowParts),
        _row_labels=is_a(RowLabels),
        _texts=either(None, is_a(LabelTexts)),
        _frequencies=is_array(np.float64, least=0),
        n_features_in_=is_count,
        n_neighbors_=is_count,
        power_=is_not_negative,
        frequency_power_=is_exponent,
        text_weight_=is_not_negative,
        _share_with_labels=is_not_negative,
        feature_names_in_=is_a(np.ndarray),
    )
    n_labels, labels = len(model._encoding.classes_), model._encoding.classes_
    # The labels of a mapped file are compared once they are read; until then only their number is.
    same = model.classes_.shape == labels.shape
    if not same or not (mapped or np.array_equal(model.classes_, labels)):
        raise ValueError("classes_ are not those that the model was fitted on")
    texts = model._texts
    if model._row_labels.n_labels != n_labels or model._frequencies.shape != (n_labels,):
        raise ValueError(f"labels of rows, or frequencies, for another number than {n_labels}")
    # Sizes alone are compared here. What the arrays point at, kernels compare with these sizes, for
    # a mapped file is not read as a whole.
    if model._row_labels.n_rows != model._row_parts.n_rows:
        raise ValueError("labels for another number of rows")
    if model.n_features_in_ != model._row_parts.n_features:
        raise ValueError("training samples of another number of features")
    # A query is brought into one form, sparse or dense, for samples and texts alike.
    if texts is not None and (
        texts.n_labels != n_labels or isinstance(texts.rows, RowLists) == model._row_parts.dense
    ):
        raise ValueError("texts of other labels, or in another form than the training samples")
    if "feature_names_in_" in vars(model) and len(model.feature_names_in_) != model.n_features_in_:
        raise ValueError("the names of the features are not as many as the features")


def is_exponent(value: object) -> bool:
    """Return whether a loaded value can be a power of a frequency."""
    return is_number(value) and FREQUENCY_POWERS[0] <= value <= FREQUENCY_POWERS[1]

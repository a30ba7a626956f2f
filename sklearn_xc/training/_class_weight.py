"""The parameter class_weight."""

from numbers import Real

import numpy as np
from sklearn.base import ClassifierMixin

from ..utils._propensity import propensities_of
from ..utils._validation import check_sample_weight

LARGEST_WEIGHT = 1e12  # of a class: float32 must hold its product with sample_weight


def weights_of_labels(
    class_weight: str | dict | None,
    classes: np.ndarray,
    counts: np.ndarray,
    n_rows: float | None = None,
) -> np.ndarray:
    """Return a factor for each class, float64, from a value of `class_weight`.

    Raises ValueError if a dict names a label that is not there, or a weight that is not above zero.
    `counts` are samples of each class, or their weights; `n_rows` is their total for propensities,
    by default the sum of the counts.
    """
    if class_weight is None:
        return np.ones(len(classes))
    if class_weight == "propensity":
        return 1 / propensities_of(counts, counts.sum() if n_rows is None else n_rows)
    if isinstance(class_weight, str):
        # "balanced": inversely proportional to the frequency, 1 for a class of average frequency. A
        # class without samples has no frequency to balance.
        mean = counts.sum() / len(counts)
        return mean / np.where(counts > 0, counts, mean)
    # Labels that the dict does not name have the factor 1.
    per_class = np.ones(len(classes))
    position = {label: i for i, label in enumerate(classes.tolist())}
    for label, weight in class_weight.items():
        if label not in position:
            raise ValueError(f"class_weight names {label!r}, which is not a class of y")
        if not (isinstance(weight, Real) and 0 < weight <= LARGEST_WEIGHT):
            raise ValueError(
                f"class_weight must be above zero and up to {LARGEST_WEIGHT:g}, "
                f"got {weight!r} for {label!r}"
            )
        per_class[position[label]] = weight
    return per_class


def times_class_weight(
    estimator: ClassifierMixin,
    codes: np.ndarray,
    sample_weight: np.ndarray | None,
    part: bool = False,
) -> np.ndarray | None:
    """Multiply the weights of samples of one class each by the weights of their classes.

    Raises ValueError as `weights_of_labels`, or if a part of several calls is to be weighted by
    frequencies, or the products leave the range of weights.
    """
    class_weight, classes = estimator.class_weight, estimator.classes_
    if class_weight is None:
        return sample_weight
    weight = np.ones(len(codes)) if sample_weight is None else sample_weight.astype(np.float64)
    if part:
        if isinstance(class_weight, str):
            raise ValueError(
                f"class_weight={class_weight!r} follows the frequencies of all samples, which "
                "partial_fit does not know: give a dict of weights, or sample_weight"
            )
        # A dict may name classes that come with later parts.
        known = set(classes.tolist())
        class_weight = {label: w for label, w in class_weight.items() if label in known}
    counts = np.bincount(codes, weights=weight, minlength=len(classes))
    factors = weights_of_labels(class_weight, classes, counts)
    try:
        return check_sample_weight(weight * factors[codes], len(codes), estimator._range_of_weights)
    except ValueError as error:
        raise ValueError(f"sample_weight times class_weight: {error}") from error

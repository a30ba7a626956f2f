"""The parameter class_weight."""

from numbers import Real

import numpy as np

from ._propensity import propensities_of

LARGEST_WEIGHT = 1e12  # of a class: float32 must hold its product with sample_weight


def weights_of_labels(class_weight, classes, counts, n_rows=None):
    """Return a factor for each class.

    Parameters
    ----------
    class_weight : {"balanced", "propensity"}, dict {label: weight} or None
        "balanced" makes it inversely proportional to the frequency, 1 for one of average frequency;
        "propensity" is the inverse of the propensity.
        Labels that a dict does not name have the factor 1.
    classes : ndarray (n_classes,)
    counts : ndarray (n_classes,)
        Samples of each class, or their weights.
    n_rows : float, default=None
        All samples, or their weights; by default the sum of the counts.

    Returns
    -------
    weights : ndarray of float64 (n_classes,)

    Raises
    ------
    ValueError
        If a dict names a label that is not there, or a weight that is not above zero.
    """
    if class_weight is None:
        return np.ones(len(classes))
    if class_weight == "propensity":
        return 1 / propensities_of(counts, counts.sum() if n_rows is None else n_rows)
    if isinstance(class_weight, str):
        mean = counts.sum() / len(counts)
        return mean / np.where(counts > 0, counts, mean)
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

"""Losses of one class against the rest in NumPy, of the lack m = max(0, 1 - y z) of margin."""

import numpy as np

VALUES = {
    "squared_hinge": lambda m: m**2 / 2,
    "smoothed_hinge": lambda m: np.where(m < 1, m**2 / 2, m - 0.5),
    "hinge": lambda m: m,
}
# For C_i = 1: what a dual variable takes from the dual objective, and the most that it may be.
TAKEN = {
    "squared_hinge": lambda a: a**2 / 2,
    "smoothed_hinge": lambda a: a**2 / 2,
    "hinge": lambda a: 0 * a,
}
TOPS = {"squared_hinge": np.inf, "smoothed_hinge": 1.0, "hinge": 1.0}
LOSSES = list(VALUES)


def taken(loss, a, weight):
    """Return what dual variables take; nothing where the weight is zero."""
    share = np.divide(a, weight, out=np.zeros(np.shape(a)), where=np.asarray(weight) > 0)
    return weight * TAKEN[loss](share)


def ridge(loss, weight):
    """Return the curvature that the loss gives the dual."""
    return 2 * TAKEN[loss](np.ones(np.shape(weight))) / weight

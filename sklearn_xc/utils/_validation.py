"""Checks of arguments that estimators, wrappers and helpers share."""

from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse


def check_k(k: int | None, n_classes: int) -> int:
    """Check how many classes are requested: k, or by default the smaller of 5 and all."""
    if k is None:
        return min(5, n_classes)
    if isinstance(k, Integral) and not isinstance(k, bool) and 1 <= k <= n_classes:
        return int(k)
    raise ValueError(
        f"k must be an integer from 1 to the number of classes, {n_classes}; got k={k!r}"
    )


def check_sample_weight(
    sample_weight: ArrayLike, n_samples: int, allowed: tuple[float, float] = (0, np.inf)
) -> np.ndarray:
    """Return the weights of samples in float32: finite, not negative, not all zero.

    `allowed` are the lowest and the highest value of the largest weight, beyond which training
    overflows float32, or learns nothing. ValueError says which of this is not so.
    """
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must be numbers: {error}") from error
    if weight.shape != (n_samples,):
        raise ValueError(
            f"sample_weight must be a 1d array of length {n_samples} like X, "
            f"got an array of shape {weight.shape}"
        )
    if not np.isfinite(weight).all() or weight.max() > np.finfo(np.float32).max:
        raise ValueError("sample_weight holds NaN, infinity or a value beyond float32")
    if weight.min() < 0:
        raise ValueError(f"sample_weight must not be negative, got {weight.min():g}")
    if not weight.any():
        raise ValueError("sample_weight is zero for every sample; at least one must count")
    lowest, highest = weight[weight > 0].min(), weight.max()
    if lowest < np.finfo(np.float32).smallest_subnormal:
        raise ValueError(f"sample_weight holds {lowest:.3g}, which is 0 in float32: make it 0")
    if not allowed[0] <= highest <= allowed[1]:
        raise ValueError(
            f"sample_weight is at most {highest:.3g}; the largest must be from {allowed[0]:g} to "
            f"{allowed[1]:g}, since training is in float32: multiply all weights by the same "
            "number, and alpha if it is one"
        )
    return weight.astype(np.float32)


def require_two_classes(
    Y: sparse.csr_array, sample_weight: np.ndarray, classes: np.ndarray
) -> None:
    """Refuse weights that leave fewer than two classes."""
    # In float64: of two classes Y has one column, and the weight of the other is a difference, for
    # which sums in float32 are too coarse.
    weights = Y.T @ sample_weight.astype(np.float64)
    if len(classes) == 2:
        weights = np.append(sample_weight.sum(dtype=np.float64) - weights, weights)
    present = classes[weights > 0]
    if len(present) == 1:
        raise ValueError(
            f"sample_weight is above zero for 1 class only, {present.tolist()[0]!r}; "
            "a classifier needs at least two classes"
        )

"""Weights kept as scale W, so that a ridge costs one product a step and not one a weight."""

import numpy as np

SMALLEST_SCALE = 1e-6  # float32 weights come to their end beyond it


def fold(W: np.ndarray, scale: np.ndarray, classes: np.ndarray | None = None) -> None:
    """Multiply the classes' weights (n_classes, n_features), by class or a view of weights by
    feature, by their scales, which become 1; of some `classes` only where their scales are tiny.
    """
    scaled = np.flatnonzero(scale != 1)
    if classes is not None:
        scaled = classes[scale[classes] < SMALLEST_SCALE]
    if W.flags.c_contiguous or classes is not None:
        for k in scaled:
            W[k] *= scale[k]
    elif len(scaled):
        # In the order of memory: a class of a feature-major table is one number a cache line.
        by_feature = W.T
        by_feature *= scale.astype(np.float32)
    scale[scaled] = 1

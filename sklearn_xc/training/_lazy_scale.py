"""Weights kept as scale W, so that a ridge costs one product a step and not one a weight."""

import numpy as np

SMALLEST_SCALE = 1e-6  # float32 weights come to their end beyond it


def fold(W: np.ndarray, scale: np.ndarray, classes: np.ndarray | None = None) -> None:
    """Multiply the classes' weights by their scales, which become 1.

    Parameters
    ----------
    W : ndarray of float32 (n_classes, n_features)
        By class, or a view of weights that lie feature by feature.
    scale : ndarray of float64 (n_classes,)
    classes : ndarray of int, default=None
        Only these, where their scales are tiny.
    """
    scaled = np.flatnonzero(scale != 1)
    if classes is not None:
        scaled = classes[scale[classes] < SMALLEST_SCALE]
    if W.flags.c_contiguous or classes is not None:
        for k in scaled:
            W[k] *= scale[k]
    elif len(scaled):
        by_feature = W.T
        by_feature *= scale.astype(np.float32)
    scale[scaled] = 1

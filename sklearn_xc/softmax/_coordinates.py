"""Weights of softmax models in the coordinates of their samples, and back."""

from typing import TypeAlias

import numpy as np

from ..utils._coordinates import Coordinates

# W (n_classes, n_features) and b (n_classes,), both of float32.
Weights: TypeAlias = tuple[np.ndarray, np.ndarray]


def weights_inside(coordinates: Coordinates, W: np.ndarray, b: np.ndarray) -> Weights:
    """Return `Coordinates.weights_inside` of weights that may be overwritten."""
    if np.ndim(coordinates.scale):
        return coordinates.weights_inside(W, b)
    b = b if coordinates.mean is None else (b + W @ coordinates.mean).astype(np.float32)
    W *= np.float32(coordinates.scale)
    return W, b


def weights_outside(coordinates: Coordinates, V: np.ndarray, a: np.ndarray) -> Weights:
    """Return `Coordinates.weights_outside` of weights that may be overwritten."""
    if np.ndim(coordinates.scale):
        return coordinates.weights_outside(V, a)
    V /= np.float32(coordinates.scale)
    return V, a if coordinates.mean is None else (a - V @ coordinates.mean).astype(np.float32)

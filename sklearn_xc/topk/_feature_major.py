"""Dense weights of many classes, feature by feature: the layout that prediction reads.

Row j holds the weights of feature j, one place a class; the number of places is that of the classes
rounded up to whole blocks of the kernels. `coef_` is a transposed view of the classes' places.
"""

import math
from typing import TypeVar

import numpy as np

from .._kernels.topk._inverted_index import block_of_classes

CACHE_LINE = 16  # numbers of 4 bytes
TRANSPOSED_AT_ONCE = 256  # classes, so that what is written stays in the caches

Count = TypeVar("Count", int, np.ndarray)


def n_places(n_classes: Count) -> Count:
    """Return the places of a row of weights: n_classes rounded up to whole blocks."""
    block = block_of_classes()
    return -(-n_classes // block) * block


def aligned_zeros(shape: tuple[int, ...]) -> np.ndarray:
    """Return a float32 array of zeros that begins at the start of a cache line."""
    zeros = untouched_zeros(shape)
    zeros[...] = 0
    return zeros


def untouched_zeros(shape: tuple[int, ...]) -> np.ndarray:
    """Return the same, of memory that the system clears where it is touched first."""
    size = math.prod(shape)
    # NumPy aligns to 16 bytes; a block that begins within a cache line would take five lines.
    memory = np.zeros(size + CACHE_LINE, dtype=np.float32)
    start = -(memory.ctypes.data // memory.itemsize) % CACHE_LINE
    return memory[start : start + size].reshape(shape)


def padded_intercept(intercept: np.ndarray, beyond: float = -np.inf) -> np.ndarray:
    """Return the intercepts in their places, float32, and `beyond` beyond the classes."""
    padded = np.full(n_places(len(intercept)), beyond, dtype=np.float32)
    padded[: len(intercept)] = intercept
    return padded


def feature_major(coef: np.ndarray) -> np.ndarray:
    """Return weights (n_features, n_places) from those of each class, (n_classes, n_features).

    They are a copy in float32, zero beyond the classes.
    """
    weights = aligned_zeros((coef.shape[1], n_places(coef.shape[0])))
    # Row by row would write one number a cache line.
    for start in range(0, coef.shape[0], TRANSPOSED_AT_ONCE):
        block = coef[start : start + TRANSPOSED_AT_ONCE]
        weights[:, start : start + len(block)] = block.T
    return weights

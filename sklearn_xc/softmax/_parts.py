"""Some of the samples of a part."""

from typing import TypeAlias

import numpy as np

from ..utils._typing import Matrix

# X, the classes of its samples and their weights.
Part: TypeAlias = tuple[Matrix, np.ndarray, np.ndarray | None]


def of_weight(X: Matrix, codes: np.ndarray, sample_weight: np.ndarray | None) -> Part:
    """Return the samples of weight above zero."""
    if sample_weight is None or (sample_weight > 0).all():
        return X, codes, sample_weight
    return chosen(X, codes, sample_weight, np.flatnonzero(sample_weight))


def chosen(
    X: Matrix, codes: np.ndarray, sample_weight: np.ndarray | None, some: np.ndarray
) -> Part:
    """Return some of the samples."""
    return X[some], codes[some], None if sample_weight is None else sample_weight[some]

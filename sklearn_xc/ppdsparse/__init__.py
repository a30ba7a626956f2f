"""PPDSparse."""

from ._classifier import PPDSparseClassifier

__all__ = ["PPDSparseClassifier"]
